// Which files `check` looks at, and that one that is not there keeps it from none of the others.
#include "check/discover.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/file.hpp"

using namespace imgforge;

namespace {

class Folder {
 public:
  Folder() { std::filesystem::create_directories(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string name(const std::string& file) const { return (path_ / file).string(); }
  std::string make(const std::string& file) const {
    std::filesystem::create_directories(std::filesystem::path(name(file)).parent_path());
    write_file_atomically(name(file), "FROM scratch\n");
    return name(file);
  }

 private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() / "imgforge-discover-test";
};

/// "ok", or the message of the fault, of each.
std::vector<std::pair<std::string, std::string>> shown(const std::vector<FileToCheck>& files) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const FileToCheck& file : files) all.emplace_back(file.path, file.fault ? file.fault->message() : "ok");
  return all;
}

}  // namespace

TEST_CASE("a path that is not there is at fault itself, in its place among the others") {
  const Folder folder;
  const std::string first = folder.make("a"), last = folder.make("c"), missing = folder.name("b");
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(shown(files_to_check({first, missing, last})) ==
        Pairs{{first, "ok"}, {missing, "cannot read " + missing + ": No such file or directory"}, {last, "ok"}});
  CHECK(shown(files_to_check({missing, missing})).size() == 1);
  folder.make("b");
  CHECK(shown(files_to_check({first, missing, last})) == Pairs{{first, "ok"}, {missing, "ok"}, {last, "ok"}});
}

TEST_CASE("a folder without a Dockerfile is at fault, one with one is not") {
  const Folder folder;
  folder.make("empty/notes.txt");
  const std::string file = folder.make("full/Dockerfile");
  const auto files = files_to_check({folder.name("empty"), folder.name("full")});
  REQUIRE(files.size() == 2);
  REQUIRE(files[0].fault);
  CHECK(files[0].fault->kind() == ErrorKind::file);
  CHECK(files[0].fault->message() == "no Dockerfile and no recipe below " + folder.name("empty"));
  CHECK(files[1].path == file);
  CHECK_FALSE(files[1].fault);
}

TEST_CASE("standard input can be named once") {
  CHECK(files_to_check({"-"}).size() == 1);
  CHECK_THROWS_AS(files_to_check({"-", "-"}), Error);
}
