#include "base/requirement.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace imgforge;

namespace {

std::string canonical(std::string_view text) {
  const std::optional<Requirement> requirement = Requirement::parse(text);
  return requirement ? requirement->to_string() : "-";
}

bool applies(const std::string& marker, std::string_view python = "3.11.4", std::string_view machine = "x86_64",
             std::string extra = "") {
  const std::optional<Requirement> requirement = Requirement::parse("name; " + marker);
  INFO(marker);
  REQUIRE(requirement);
  MarkerEnvironment environment = linux_markers(*Version::parse(python), machine);
  environment["extra"] = std::move(extra);
  return requirement->applies(environment);
}

}  // namespace

TEST_CASE("names are normalised as PyPI does", "[requirement]") {
  CHECK(normalise_name("Apache_Beam") == "apache-beam");
  CHECK(normalise_name("ruamel.yaml.-_clib") == "ruamel-yaml-clib");
  CHECK(is_project_name("a"));
  CHECK(is_project_name("zope.interface"));
  for (const std::string_view name : {"", "-a", "a-", "a b", ".a", "a_", "caf\xc3\xa9", "a/b"})
    CHECK_FALSE(is_project_name(name));
}

TEST_CASE("the parts of a requirement", "[requirement]") {
  const Requirement requirement =
      *Requirement::parse("Apache_Beam [gcp , interactive] >=2.48,<3 ; python_version >= '3.8'");
  CHECK(requirement.name() == "Apache_Beam");
  CHECK(requirement.normalised() == "apache-beam");
  CHECK(requirement.extras() == std::vector<std::string>{"gcp", "interactive"});
  CHECK(requirement.specifiers().to_string() == "<3,>=2.48");
  CHECK(requirement.has_marker());
  CHECK(requirement.to_string() == "Apache_Beam[gcp,interactive]<3,>=2.48; python_version >= \"3.8\"");

  const Requirement direct = *Requirement::parse("torch @ https://example.org/torch.whl ; extra == 'gpu'");
  CHECK(direct.url() == "https://example.org/torch.whl");
  CHECK(direct.to_string() == "torch @ https://example.org/torch.whl ; extra == \"gpu\"");
}

TEST_CASE("spellings of a requirement", "[requirement]") {
  CHECK(canonical("numpy") == "numpy");
  CHECK(canonical("  numpy==1.26.4  ") == "numpy==1.26.4");
  CHECK(canonical("numpy (>=1.2,<2)") == "numpy<2,>=1.2");
  CHECK(canonical("jax[tpu]==0.6.2") == "jax[tpu]==0.6.2");
  CHECK(canonical("jax[]") == "jax");
  CHECK(canonical("torch==2.8.0+cpu") == "torch==2.8.0+cpu");
  CHECK(canonical("a>=1,") == "a>=1");
  CHECK(canonical("a@file:///x") == "a @ file:///x");
  CHECK(canonical("a;os.name=='posix' and (extra==\"x\" or extra=='y')") ==
        "a; os_name == \"posix\" and (extra == \"x\" or extra == \"y\")");
  CHECK(canonical("a; python_version not   in '3.8 3.9'") == "a; python_version not in \"3.8 3.9\"");
  CHECK(canonical("a; '\"' == extra") == "a; '\"' == extra");
}

TEST_CASE("a canonical spelling is read back as itself", "[requirement]") {
  for (const std::string_view text :
       {"a", "a[b,c]<2,>=1; os_name == \"x\" and (extra == \"1\" or extra == \"2\") or extra == \"3\"",
        "a @ git+https://h/p@v1 ; python_version < \"3.9\"",
        "a; (os_name == \"x\" or extra == \"y\") and extra == \"z\""}) {
    INFO(text);
    CHECK(canonical(text) == text);
  }
}

TEST_CASE("what is no requirement", "[requirement]") {
  for (const std::string_view text : {"",
                                      " ",
                                      "-r requirements.txt",
                                      "--index-url=x",
                                      "./local.whl",
                                      "numpy 1.2",
                                      "numpy=1.2",
                                      "numpy==",
                                      "numpy==1.0; rm -rf /",
                                      "shapely==2.1.2; rm -rf /",
                                      "numpy\nscipy",
                                      "numpy # comment",
                                      "numpy; ",
                                      "numpy; os_name",
                                      "numpy; os_name == ",
                                      "numpy; os_name == posix",
                                      "numpy; 'a' == 'b'",
                                      "numpy; os_name == 'a",
                                      "numpy; (os_name == 'a'",
                                      "numpy; os_name == 'a')",
                                      "numpy; unknown == 'a'",
                                      "numpy; os_name == 'a' && os_name == 'b'",
                                      "numpy; os_name == 'a' and",
                                      "numpy[a",
                                      "numpy[a,]",
                                      "numpy[,a]",
                                      "numpy[a b]",
                                      "numpy(>=1",
                                      "numpy>=1)",
                                      "numpy @",
                                      "numpy @ ",
                                      "numpy @ https://x y",
                                      "numpy,",
                                      "numpy,>=1",
                                      "numpy>=1,,<2",
                                      "$(id)",
                                      "`id`",
                                      "numpy;os_name=='\x01'",
                                      "a\\b",
                                      "\xc3\xa9"}) {
    INFO(text);
    CHECK_FALSE(Requirement::parse(text));
  }
  CHECK_FALSE(Requirement::parse(std::string_view("numpy\0", 6)));
  CHECK_FALSE(Requirement::parse(std::string(5000, 'a')));
}

TEST_CASE("markers on Linux", "[requirement]") {
  CHECK(applies("python_version >= '3.9'"));  // as versions: "3.11" is not less than "3.9"
  CHECK_FALSE(applies("python_version < '3.9'"));
  CHECK(applies("'3.9' < python_version"));
  CHECK(applies("python_full_version < '3.11.5'"));
  CHECK(applies("python_version == '3.11.*'"));
  CHECK(applies("python_version ~= '3.8'"));
  CHECK(applies("python_version in '3.10 3.11'"));
  CHECK(applies("python_version not in '3.8, 3.9'"));
  CHECK(applies("sys_platform == 'linux' and os_name == 'posix' and platform_system == 'Linux'"));
  CHECK(applies("platform_machine == 'aarch64'", "3.11", "aarch64"));
  CHECK_FALSE(applies("platform_machine == 'arm64' or sys_platform == 'win32'"));
  CHECK(applies("platform_python_implementation == 'CPython' and implementation_name == 'cpython'"));
  CHECK(applies("implementation_version == '3.11.0'", "3.11"));
  CHECK(applies("python_full_version >= '3.14.0rc1'", "3.14.0rc2"));
}

TEST_CASE("'and' binds before 'or'", "[requirement]") {
  CHECK(applies("os_name == 'posix' or os_name == 'nt' and os_name == 'java'"));
  CHECK_FALSE(applies("(os_name == 'posix' or os_name == 'nt') and os_name == 'java'"));
}

TEST_CASE("extras compare as names do", "[requirement]") {
  CHECK(applies("extra == 'And_CUDA'", "3.11", "x86_64", "and-cuda"));
  CHECK_FALSE(applies("extra == 'and-cuda'"));
  CHECK(Requirement::parse("a")->applies({}));
  CHECK_FALSE(Requirement::parse("a; extra == 'x'")->applies({}));  // a variable that is not there is empty
}

TEST_CASE("markers are bounded in depth", "[requirement]") {
  const auto nested = [](std::size_t depth) {
    return "a; " + std::string(depth, '(') + "os_name == 'posix'" + std::string(depth, ')');
  };
  CHECK(Requirement::parse(nested(32)));
  CHECK_FALSE(Requirement::parse(nested(33)));
  CHECK_FALSE(Requirement::parse(nested(2000)));
  CHECK_FALSE(Requirement::parse("a; " + std::string(4000, '(')));
}
