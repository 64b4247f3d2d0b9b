#include "recipe/grammar.hpp"

#include <catch2/catch.hpp>

#include "recipe/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

struct Table {
  const Grammar* grammar;
  std::vector<std::string> fit;
  std::vector<std::string> wrong;
};

const std::string nul("a\0b", 3);
const std::string hex64(64, '0');

const std::vector<Table>& tables() {
  static const std::vector<Table> all = {
      {&name_grammar,
       {"a", "9", "heron-tf", std::string(63, 'a')},
       {"", "-a", "a-", "A", "a_b", "a.b", "a b", "a\n", nul, std::string(64, 'a')}},
      {&python_minor_grammar, {"3.11", "2.7", "3.6"}, {"3", "3.11.4", "3.x", "4.0", "03.1", "3.11\n", "", "auto"}},
      {&version_grammar,
       {"2.48.0", "2.60.0rc1", "2.8.0+cpu", "2.0"},
       {"", "latest", ">=2.0", "==2.0", " 2.0", "2.0\n", "2.0;id", "$(id)"}},
      {&release_grammar,
       {"12.2", "12.2.2", "8.9.7.29", "10"},
       {"", "12.", ".2", "12..2", "12.2rc1", "v12", "12.2+x", "12.2\n"}},
      {&image_reference_grammar,
       {"python:3.11-slim", "h.io/a/b@sha256:" + hex64},
       {"", "Python", "a b", "a\nRUN id", "a@sha256:00", "${X}", nul}},
      {&extra_grammar, {"gcp", "and-cuda"}, {"", "a,b", "a]", "a b", "-a", "a\n"}},
      {&accelerator_type_grammar, {"nvidia-tesla-t4", "l4", "tpu-v5p-slice"}, {"", "a b", "-a", "a;b", "$x", "a\n"}},
      {&topology_grammar,
       {"1x1", "2x4", "2x2x1"},
       {"", "1", "1x", "x1", "0x1", "1x1x1x1", "1X1", "1 x 1", "99999x1", "2*2"}},
      {&apt_package_grammar,
       {"curl", "g++", "libstdc++6", "python3.11-venv", "libcudnn8=8.9.7.29-1+cuda12.2", "a1=1:2.3~rc1-4",
        "libcudnn8=8.9.*"},
       {"", "a", "Curl", "curl wget", "curl\nRUN id", "curl;id", "curl=", "curl=x", "curl=1 2", "-y", "curl-",
        "--allow", "curl=1=2", "$(id)", "curl|sh", nul, "../a.deb"}},
      {&requirement_grammar,
       {"numpy", "jax[tpu]==0.6.2", "a @ https://example.org/a.whl", "a @ git+https://example.org/a@v1",
        "a; os_name == 'posix'"},
       {"", "-r x", "--index-url https://x", "a==1; rm -rf /", "a\nb", "a @ file:///etc/passwd", "a @ https://u:p@h/x",
        "a @ ssh://h/x", "./a", "$(id)"}},
      {&url_grammar,
       {"https://example.org", "http://localhost:8080/simple/?a=b#c", "https://h/p@v1", "https://[::1]:80/"},
       {"", "example.org", "ftp://h/", "https://", "https:///x", "https://user@h/", "https://u:p@h/x", "https://h/a b",
        "https://h/\n", "https://h/\"", "https://h/'", "https://h/`id`", "https://h\\x", "file:///x", "HTTPS://h",
        "https://h:", "https://\xc3\xa9/"}},
      {&sha256_grammar,
       {hex64},
       {"", "abc", "sha256:" + hex64, std::string(64, 'A'), std::string(64, 'g'), hex64 + "0", hex64 + "\n"}},
      {&context_path_grammar,
       {"a", "a/b", "./a", ".", "src/", "a b", "a..b", "...", "$x", "\xc3\xa9"},
       {"", "/a", "..", "../a", "a/..", "a/../b", "-a", "--from=x", "https://h/x", "a\nb", nul, "\xff"}},
      {&absolute_path_grammar, {"/", "/app", "/app/$(id)/", "/a b"}, {"", "a", "./a", "~/a", "/a\nb", "/a\x7f", nul}},
      {&variable_name_grammar, {"A", "_a1", "PATH"}, {"", "1A", "A=1 B", "A B", "A-B", "A.B", "A\n", "<<", "\xc3\xa9"}},
      {&label_key_grammar,
       {"a", "org.example.team", "com.example/x_y"},
       {"", ".a", "a.", "a b", "a=b", "a\n", "a\"", "dev.imgforge.recipe"}},
      {&value_grammar,
       {"", "any $(text) `of` \"this\" 'kind' \\ #", "\t", "\xc3\xa9"},
       {"a\nb", "a\rb", nul, "\x1b[2J", "\x7f", "\xff"}},
  };
  return all;
}

}  // namespace

TEST_CASE("each grammar takes what fits and refuses the rest", "[grammar]") {
  for (const Table& table : tables()) {
    for (const std::string& text : table.fit) {
      INFO(table.grammar->noun << " " << text);
      CHECK(check_text(*table.grammar, text).value_or("fits") == "fits");
    }
    for (const std::string& text : table.wrong) {
      INFO(table.grammar->noun << " " << text);
      const std::optional<std::string> fault = check_text(*table.grammar, text);
      REQUIRE(fault);
      CHECK(fault->find(table.grammar->noun) != std::string::npos);
      for (const char c : *fault) CHECK((c >= ' ' || c < 0));  // what is repeated of the text is escaped
    }
    CHECK(check_text(*table.grammar, std::string(100'000, 'a')));
  }
}

TEST_CASE("the fault is named", "[grammar]") {
  CHECK(*check_text(apt_package_grammar, "Curl") ==
        "\"Curl\" is no Debian package name: names are lower case, write \"curl\"");
  CHECK(has(*check_text(apt_package_grammar, "curl-"), "would remove"));
  CHECK(has(*check_text(python_minor_grammar, "3.11.4"), "write \"3.11\""));
  CHECK(has(*check_text(requirement_grammar, "-r x"), "options of pip have keys of their own"));
  CHECK(has(*check_text(context_path_grammar, "-x"), "write \"./-x\""));
  CHECK(has(*check_text(value_grammar, "a\nb"), "line break"));
}

TEST_CASE("what looks like a secret is not repeated", "[grammar]") {
  CHECK_FALSE(has(*check_text(url_grammar, "https://bob:hunter2@example.org/simple"), "hunter2"));
  CHECK_FALSE(has(*check_text(requirement_grammar, "a @ https://bob:hunter2@example.org/a.whl"), "hunter2"));
  CHECK_FALSE(has(faults("env: {PLAIN: \"swordfish\\n\"}\n"), "swordfish\\n\" is"));
  CHECK_FALSE(has(faults("env: {API_TOKEN: \"swordfish\\n\"}\n"), "swordfish"));
  CHECK_FALSE(has(faults("env: {API_TOKEN: swordfish, API_TOKEN: trout}\n"), "swordfish"));
  CHECK_FALSE(has(faults("env: {API_TOKEN: swordfish\n"), "swordfish"));
  CHECK_FALSE(has(faults("packages: {indexes: [\"https://bob:hunter2@example.org/simple\"]}\n"), "hunter2"));
}

TEST_CASE("the same faults in a recipe have a place", "[grammar]") {
  CHECK(has(
      faults("base: {image: \"Apache/Beam:1\"}\n"),
      "recipe.yaml:4:15: error: base.image: \"Apache/Beam:1\" is no image reference: a repository name is lower case"));
  CHECK(has(faults("packages: {apt: [curl, \"curl\\nRUN id\"]}\n"),
            "recipe.yaml:4:24: error: packages.apt[1]: \"curl\\nRUN id\" is no Debian package name"));
  CHECK(has(faults("packages: {pip: [\"a==1; rm -rf /\"]}\n"), "recipe.yaml:4:18: error: packages.pip[0]"));
  CHECK(has(faults("env: {\"A=1 B\": \"2\"}\n"), "recipe.yaml:4:7: error: env: \"A=1 B\" is no variable name"));
  CHECK(has(faults("env:\n  B: \"a\\0b\"\n"),
            "recipe.yaml:5:6: error: env.B: no value in one line: it holds the control character"));
  CHECK(has(faults("labels: {dev.imgforge.recipe: x}\n"), "are written by imgforge"));
  CHECK(has(faults("workdir: app/data\n"), "recipe.yaml:4:10: error: workdir: \"app/data\" is no absolute path"));
  CHECK(has(faults("files: [{from: ../x, to: y}]\n"), "would leave the build context"));
  CHECK(has(faults("files: [{from: ../x, to: y}]\n"), "files[0].to: \"y\" is no absolute path"));
}
