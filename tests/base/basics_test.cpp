// Errors, places, digests, dates, files and JSON: small values that every room uses.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/date.hpp"
#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/place.hpp"

using namespace imgforge;

namespace {

ErrorKind kind_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("nothing was thrown");
  return ErrorKind::usage;
}

struct TemporaryFolder {
  std::string path;
  TemporaryFolder() {
    char name[] = "/tmp/imgforge-test-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("exit codes follow the kind of the error", "[error]") {
  CHECK(exit_code(ErrorKind::recipe) == 2);
  CHECK(exit_code(ErrorKind::image_corrupt) == 3);
  CHECK(exit_code(ErrorKind::engine) == 4);
}

TEST_CASE("a diagnostic shows the line and where in it", "[place]") {
  Diagnostic diagnostic{{"a.yaml", 3, 5}, "unknown key \"runer\"", "did you mean \"runner\"?", "  é runer: x", Diagnostic::Level::error};
  CHECK(to_string(diagnostic) ==
        "a.yaml:3:5: error: unknown key \"runer\"\n"
        "    é runer: x\n"
        "     ^\n"
        "  = did you mean \"runner\"?\n");
  diagnostic.place.file = "evil\x1b.yaml";
  CHECK(to_string(diagnostic).find('\x1b') == std::string::npos);
}

TEST_CASE("a diagnostic of an endless line shows the part around the fault", "[place]") {
  const Diagnostic diagnostic{{"a", 1, 5001}, "fault", "", std::string(10'000, 'x'), Diagnostic::Level::error};
  const std::string text = to_string(diagnostic);
  CHECK(text.size() < 500);
  CHECK(text.find('^') != std::string::npos);
}

TEST_CASE("digests are strict", "[digest]") {
  const std::string hex(64, 'a');
  CHECK(Digest::parse("sha256:" + hex)->to_string() == "sha256:" + hex);
  CHECK_FALSE(Digest::parse("sha256:" + hex.substr(1)));
  CHECK_FALSE(Digest::parse("sha256:" + std::string(64, 'A')));
  CHECK_FALSE(Digest::parse("sha256:../" + hex.substr(3)));
  CHECK_FALSE(Digest::parse("md5:" + hex));
  CHECK(Digest::parse("sha512:" + hex + hex));
  CHECK(Digest::of("abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-2
}

TEST_CASE("dates are days that exist", "[date]") {
  CHECK(Date::parse("2024-02-29"));
  CHECK_FALSE(Date::parse("2023-02-29"));
  CHECK_FALSE(Date::parse("2023-2-9"));
  CHECK(*Date::parse("2026-10-31") < *Date::parse("2026-11-01"));
  ::setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
  CHECK(Date::today().to_string() == "2023-11-14");
  ::unsetenv("SOURCE_DATE_EPOCH");
}

TEST_CASE("files are read within bounds and written whole", "[file]") {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/a";
  write_file_atomically(path, "one");
  write_file_atomically(path, "two");
  CHECK(read_file(path, 3) == "two");
  CHECK(kind_of([&] { read_file(path, 2); }) == ErrorKind::file);
  CHECK(kind_of([&] { read_file(folder.path, 100); }) == ErrorKind::file);
  CHECK(kind_of([&] { read_file(folder.path + "/none", 100); }) == ErrorKind::file);
  CHECK(kind_of([&] { write_file_atomically(folder.path + "/no/such", "x"); }) == ErrorKind::file);
  CHECK(kind_of([&] { write_file_atomically(folder.path, "x"); }) == ErrorKind::file);
  REQUIRE(::mkfifo((folder.path + "/fifo").c_str(), 0600) == 0);
  CHECK(kind_of([&] { read_file(folder.path + "/fifo", 100); }) == ErrorKind::file);  // and does not hang
  // A link stays a link, and nothing temporary is left.
  std::filesystem::create_symlink(path, folder.path + "/link");
  write_file_atomically(folder.path + "/link", "three");
  CHECK(std::filesystem::is_symlink(folder.path + "/link"));
  CHECK(read_file(path, 100) == "three");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 3);
}

TEST_CASE("JSON is read within bounds", "[json]") {
  CHECK(parse_json(R"({"a":[1,2]})", "x")["a"][1] == 2);
  CHECK(kind_of([] { parse_json("{", "x"); }) == ErrorKind::image_corrupt);
  CHECK(kind_of([] { parse_json("{} {}", "x"); }) == ErrorKind::image_corrupt);
  CHECK(kind_of([] { parse_json(R"({"a":1,"a":2})", "x"); }) == ErrorKind::image_corrupt);
  CHECK(kind_of([] { parse_json(std::string(60'000, '['), "x"); }) == ErrorKind::image_limit);
  CHECK(kind_of([] { parse_json("[1,2,3]", "x", {.elements = 3}); }) == ErrorKind::image_limit);
  CHECK(kind_of([] { parse_json("[1,2,3]", "x", {.bytes = 3}); }) == ErrorKind::image_limit);
}

TEST_CASE("JSON that is written can always be read", "[json]") {
  const nlohmann::json value = {{"b", "\xff\x1b"}, {"a", nlohmann::json::array({1, nullptr})}};
  CHECK(to_json_line(value) == R"({"a":[1,null],"b":"\\xff\u001b"})");
}
