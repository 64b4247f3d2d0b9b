#include "image/credentials_helper.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <chrono>

#include "image/environment.hpp"
#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

/// docker-credential-test with this shell script as its body, on PATH as long as this lives.
struct Helper {
  CleanEnvironment environment;
  TemporaryFolder folder;
  explicit Helper(const std::string& script, const std::string& name = "test") {
    const std::string path = folder / ("docker-credential-" + name);
    write_file(path, "#!/bin/sh\n" + script + "\n");
    ::chmod(path.c_str(), 0755);
    ::setenv("PATH", (folder.path + ":/usr/bin:/bin").c_str(), 1);
  }
};

std::optional<Credentials> ask(std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  return ask_credential_helper("test", "r.example", limit);
}

}  // namespace

TEST_CASE("a helper is asked for the server on its standard input", "[helper]") {
  const Helper helper(R"(read server; echo "{\"ServerURL\":\"x\",\"Username\":\"$1 $server\",\"Secret\":\"sesame\"}")");
  const auto found = ask();
  REQUIRE(found);
  CHECK(found->user == "get r.example");
  CHECK(found->password == "sesame");
  CHECK(found->from == "docker-credential-test");
}

TEST_CASE("the user <token> means an identity token", "[helper]") {
  const Helper helper(R"(echo '{"Username":"<token>","Secret":"refresh"}')");
  const auto found = ask();
  REQUIRE(found);
  CHECK(found->identity_token == "refresh");
  CHECK(found->user.empty());
}

TEST_CASE("no credentials are no error", "[helper]") {
  SECTION("as the protocol says it") {
    const Helper helper("echo 'credentials not found in native keychain'; exit 1");
    CHECK_FALSE(ask());
  }
  SECTION("as an empty answer") {
    const Helper helper(R"(echo '{"Username":"","Secret":""}')");
    CHECK_FALSE(ask());
  }
  SECTION("said on standard error only, it is a failure") {
    const Helper helper("echo 'credentials not found in native keychain' >&2; exit 1");
    CHECK(error_of([] { ask(); }).kind() == ErrorKind::image_access);
  }
}

TEST_CASE("a helper's failure says what it complained of", "[helper]") {
  SECTION("and not what it printed") {
    const Helper helper(R"(echo sesame; printf 'no \033[31mkeychain\n' >&2; exit 3)");
    const Error error = error_of([] { ask(); });
    CHECK(error.kind() == ErrorKind::image_access);
    CHECK(mentions(error, "docker-credential-test failed with 3: no \\x1b[31mkeychain"));
    CHECK_FALSE(mentions(error, "sesame"));
  }
  SECTION("nor nonsense") {
    for (const std::string script : {"echo sesame", "echo '[\"sesame\"]'", "echo '{\"Username\":\"sesame\"}'",
                                     "echo '{\"Username\":7,\"Secret\":\"sesame\"}'", "true"}) {
      INFO(script);
      const Helper helper(script);
      const Error error = error_of([] { ask(); });
      CHECK(error.kind() == ErrorKind::image_access);
      CHECK_FALSE(mentions(error, "sesame"));
    }
  }
  SECTION("a signal") {
    const Helper helper("kill -9 $$");
    CHECK(mentions(error_of([] { ask(); }), "signal 9"));
  }
}

TEST_CASE("hostile: helpers that never end, or never stop", "[helper][hostile]") {
  const auto start = std::chrono::steady_clock::now();
  SECTION("hanging: it and its children are killed") {
    const Helper helper("sleep 100 & echo $! > \"$(dirname \"$0\")/child\"; wait");
    const Error error = error_of([] { ask(std::chrono::milliseconds(600)); });
    CHECK(mentions(error, "has not answered in 0.6 s"));
    std::ifstream file(helper.folder / "child");
    pid_t child = 0;
    REQUIRE(file >> child);
    bool gone = false;
    for (int i = 0; i < 100 && !gone; ++i) {
      std::ifstream stat(fmt::format("/proc/{}/stat", child));
      std::string id, name, state;
      gone = !(stat >> id >> name >> state) || state == "Z";
      ::usleep(20'000);
    }
    CHECK(gone);
  }
  SECTION("its streams closed, and still hanging") {
    const Helper helper("exec >&- 2>&-; sleep 100");
    CHECK(mentions(error_of([] { ask(std::chrono::milliseconds(600)); }), "has not answered"));
  }
  SECTION("without end") {
    const Helper helper("while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done | cat");
    CHECK(mentions(error_of([] { ask(); }), "more than"));
  }
  SECTION("complaints without end are read, and cut") {
    const Helper helper(R"(yes complaint | head -c 500000 >&2; exit 1)");
    const Error error = error_of([] { ask(); });
    CHECK(mentions(error, "complaint"));
    CHECK(error.message().size() < 5000);
  }
  SECTION("an agent that it leaves behind keeps the pipe open") {
    const Helper helper(R"(sleep 5 & echo '{"Username":"joe","Secret":"x"}')");
    CHECK(ask()->user == "joe");
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(4));
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(15));
}

TEST_CASE("a helper that does not read its input does no harm", "[helper]") {
  const Helper helper(R"(exec <&-; echo '{"Username":"joe","Secret":"x"}')");
  CHECK(ask()->user == "joe");
}

TEST_CASE("hostile: names of helpers are names", "[helper][hostile]") {
  const Helper helper(R"(echo '{"Username":"joe","Secret":"x"}')");
  for (const std::string name : {"", "../x", "a/b", "a b", "a;b", "a\nb", "ä", "$(x)"}) {
    INFO(name);
    CHECK(error_of([&] { ask_credential_helper(name, "r.example"); }).kind() == ErrorKind::image_access);
  }
  CHECK(error_of([&] { ask_credential_helper("test", "a\nb"); }).kind() == ErrorKind::image_access);
}

TEST_CASE("hostile: helpers of the current folder are nobody's", "[helper][hostile]") {
  const Helper helper(R"(echo '{"Username":"joe","Secret":"x"}')");
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(helper.folder.path);
  for (const char* path : {"", ".", ":", "::/nonexistent", "./", "/nonexistent:."}) {
    INFO(path);
    ::setenv("PATH", path, 1);
    CHECK(mentions(error_of([] { ask(); }), "docker-credential-test is not on PATH"));
  }
  ::setenv("PATH", (std::string("/nonexistent:") + helper.folder.path).c_str(), 1);
  CHECK(ask());
  std::filesystem::current_path(before);
}
