// The house keeps its floors: a room includes only rooms below it, and heavy headers stay out of public ones.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// base < {knowledge, recipe, dockerfile, image} < {layer, render} < facts < launch < check < {report, build} < cmd
const std::map<std::string, int> floors = {{"base", 0},  {"knowledge", 1}, {"recipe", 1}, {"dockerfile", 1}, {"image", 1}, {"layer", 2},
                                           {"render", 2}, {"facts", 3},     {"launch", 4}, {"check", 5},      {"report", 6}, {"build", 6}};

struct Include {
  fs::path file;
  std::string room;
  std::string target;
};

std::vector<Include> includes(const fs::path& root) {
  const std::regex line_pattern(R"re(^\s*#\s*include\s*[<"]([^">]+)[">])re");
  std::vector<Include> result;
  for (const auto& item : fs::recursive_directory_iterator(root)) {
    if (item.path().extension() != ".hpp" && item.path().extension() != ".cpp") continue;
    std::ifstream file(item.path());
    std::string line;
    while (std::getline(file, line)) {
      std::smatch match;
      if (std::regex_search(line, match, line_pattern)) result.push_back({item.path(), fs::relative(item.path(), root).begin()->string(), match[1]});
    }
  }
  return result;
}

}  // namespace

TEST_CASE("a room includes only itself and rooms below it", "[house]") {
  const auto all = includes(fs::path(IMGFORGE_SOURCE_DIR) / "lib");
  REQUIRE(all.size() > 100);
  for (const Include& include : all) {
    const std::size_t slash = include.target.find('/');
    if (slash == std::string::npos) continue;
    const std::string target = include.target.substr(0, slash);
    if (!floors.contains(target) || target == include.room) continue;
    INFO(include.file << " includes " << include.target);
    REQUIRE(floors.contains(include.room));
    CHECK(floors.at(target) < floors.at(include.room));
  }
}

TEST_CASE("every room of lib has its floor", "[house]") {
  for (const auto& item : fs::directory_iterator(fs::path(IMGFORGE_SOURCE_DIR) / "lib")) {
    INFO(item.path());
    CHECK(floors.contains(item.path().filename().string()));
  }
}

TEST_CASE("public headers are light", "[house]") {
  const std::set<std::string> heavy = {"nlohmann/json.hpp", "yaml-cpp/yaml.h", "catch2/catch.hpp", "archive.h", "curl/curl.h", "re2/re2.h", "kainjow/mustache.hpp", "regex"};
  for (const Include& include : includes(fs::path(IMGFORGE_SOURCE_DIR) / "lib")) {
    if (include.file.extension() != ".hpp") continue;
    INFO(include.file << " includes " << include.target);
    CHECK_FALSE(heavy.contains(include.target));
  }
}
