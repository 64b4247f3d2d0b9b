#include "facts/requirements_file.hpp"

#include <catch2/catch.hpp>
#include <map>

using namespace imgforge;

namespace {

using Files = std::map<std::string, std::string>;

RequirementsFile read(const Files& files, const std::string& path = "requirements.txt", bool constraints = false) {
  return read_requirements_file(
      path,
      [&](const std::string& name) {
        const auto found = files.find(name);
        return found == files.end() ? std::nullopt : std::optional(found->second);
      },
      [](std::string_view name) { return name == "TF" ? std::optional<std::string>("2.15.1") : std::nullopt; },
      constraints);
}

std::string shown(const std::vector<RequirementLine>& lines) {
  std::string text;
  for (const RequirementLine& line : lines) {
    text += line.editable ? "-e " : "";
    text += line.requirement ? line.requirement->to_string() : line.location.empty() ? "?" : "@" + line.location;
    text += line.hashed ? " #\n" : "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("lines of a requirements file", "[requirements_file]") {
  const struct {
    const char* text;
    const char* lines;
  } rows[] = {
      {"numpy==1.26.4\n\n# x\nPandas >= 2 # y\n", "numpy==1.26.4\nPandas>=2\n"},
      {"a#b\n", "?\n"},
      {"\xEF\xBB\xBFnumpy\r\n", "numpy\n"},
      {"numpy==1.26.4 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\nx==1\n", "numpy==1.26.4 #\nx==1\n"},
      {"apache-beam[gcp]==2.70.0 --config-settings=x=y\n", "apache-beam[gcp]==2.70.0\n"},
      {"./wheels/x-1-py3-none-any.whl\ngit+https://h/x.git@v1\nhttps://h/y.whl\n",
       "@./wheels/x-1-py3-none-any.whl\n@git+https://h/x.git@v1\n@https://h/y.whl\n"},
      {"-e .\n--editable=git+https://h/x\n", "-e @.\n-e @git+https://h/x\n"},
      {"tensorflow==${TF}\n", "tensorflow==2.15.1\n"},
      {"x==${tf}\n", "?\n"},
      {"x==1\\\n", "x==1\n"},
  };
  for (const auto& row : rows) {
    INFO(row.text);
    CHECK(shown(read({{"requirements.txt", row.text}}).requirements) == row.lines);
  }
  const auto marked = read({{"requirements.txt", "n==1 ; python_version < '3.10'\n"}});
  REQUIRE(marked.requirements.size() == 1);
  CHECK(marked.requirements[0].requirement->has_marker());
}

TEST_CASE("options of a requirements file", "[requirements_file]") {
  const auto file = read({{"requirements.txt",
                           "--index-url https://a/simple\n--extra-index-url=https://b\n-f https://c\n--find-links d\n"
                           "--pre\n--no-binary :all:\n--require-hashes\n--trusted-host h\nx\n"}});
  CHECK(file.index_urls == std::vector<std::string>{"https://a/simple", "https://b"});
  CHECK(file.replaces_index);
  CHECK(file.find_links == std::vector<std::string>{"https://c", "d"});
  CHECK(file.pre);
  CHECK(file.no_binary);
  CHECK(file.require_hashes);
  CHECK(!file.no_index);
  CHECK(file.requirements.size() == 1);
  CHECK(file.not_known.empty());
  CHECK(!read({{"requirements.txt", "--extra-index-url https://b\n"}}).replaces_index);
}

TEST_CASE("files that include others", "[requirements_file]") {
  const auto file = read({{"r/a.txt", "x\n-r b.txt\n-c sub/c.txt\n"},
                          {"r/b.txt", "y\n-r a.txt\n"},
                          {"r/sub/c.txt", "z<2\n-r d.txt\n"},
                          {"r/sub/d.txt", "w\n"}},
                         "r/a.txt");
  CHECK(shown(file.requirements) == "x\ny\nw\n");
  CHECK(shown(file.constraints) == "z<2\n");
  CHECK(file.constraints[0].place == Place{"r/sub/c.txt", 1, 1});
  CHECK(file.not_known.empty());
  CHECK(shown(read({{"c.txt", "z<2\n"}}, "c.txt", true).constraints) == "z<2\n");
}

TEST_CASE("what a requirements file leaves open", "[requirements_file]") {
  CHECK(read({}).not_known == std::vector<std::string>{"requirements.txt is not there"});
  CHECK(read({{"requirements.txt", "-r more.txt\n"}}).not_known == std::vector<std::string>{"more.txt is not there"});
  CHECK(read({{"requirements.txt", "-r https://h/r.txt\n"}}).not_known.size() == 1);
  const auto open = read({{"requirements.txt", "x==${NOPE}\ny\n"}});
  CHECK(open.not_known.size() == 1);
  CHECK(shown(open.requirements) == "?\ny\n");
  CHECK(read({{"requirements.txt", "not a requirement at all\n"}}).not_known.size() == 1);
  CHECK(read({{"requirements.txt", "x # fine\n"}}).not_known.empty());
  CHECK(read({{"requirements.txt", "-e\n"}}).not_known.size() == 1);
  CHECK(read({{"requirements.txt", "-r\n"}}).not_known.size() == 1);
  Files chain;
  for (int i = 0; i < 40; ++i)
    chain[std::to_string(i)] = "p" + std::to_string(i) + "\n-r " + std::to_string(i + 1) + "\n";
  const auto deep = read(chain, "0");
  CHECK(deep.requirements.size() == 16);
  CHECK(deep.not_known.size() == 1);
}
