// docs/hostile-images.md names a test for every kind of fault, and each of them is there.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kinds_of_others = 33;  // what is known to have gone wrong in other tools, tables one to four

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The rows of all tables that begin with a number, cell by cell.
std::vector<std::vector<std::string>> numbered_rows() {
  std::vector<std::vector<std::string>> rows;
  std::ifstream page(fs::path(IMGFORGE_SOURCE_DIR) / "docs" / "hostile-images.md");
  std::string line;
  while (std::getline(page, line)) {
    if (!line.starts_with("| ") || line.size() < 3 || line[2] < '0' || line[2] > '9') continue;
    std::vector<std::string> cells;
    std::size_t begin = 1;
    for (std::size_t bar = line.find('|', begin); bar != std::string::npos; bar = line.find('|', begin)) {
      cells.push_back(line.substr(begin, bar - begin));
      begin = bar + 1;
    }
    rows.push_back(std::move(cells));
  }
  return rows;
}

/// Whether a C++ or Python test file defines a test of that name.
bool defines(const std::string& path, const std::string& content, const std::string& name) {
  if (path.ends_with(".py")) return content.find("\ndef " + name + "(") != std::string::npos;
  return content.find("TEST_CASE(\"" + name + "\"") != std::string::npos;
}

}  // namespace

TEST_CASE("every kind of hostile image has its number and its tests", "[house]") {
  const auto rows = numbered_rows();
  REQUIRE(rows.size() >= kinds_of_others);
  const std::regex test_pattern(R"re(`(tests/[^`]+)` \*([^*]+)\*)re");
  std::map<std::string, std::string> files;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i + 1);
    REQUIRE(rows[i].size() == 5);
    CHECK(rows[i][0] == " " + std::to_string(i + 1) + " ");
    const std::string& tests = rows[i][4];
    const auto begin = std::sregex_iterator(tests.begin(), tests.end(), test_pattern);
    CHECK(begin != std::sregex_iterator());
    // Nothing in the cell that this test does not look at.
    CHECK(std::count(tests.begin(), tests.end(), '`') == 2 * std::distance(begin, std::sregex_iterator()));
    for (auto match = begin; match != std::sregex_iterator(); ++match) {
      const std::string path = (*match)[1];
      const std::string name = (*match)[2];
      CAPTURE(path, name);
      if (!files.contains(path)) files[path] = content_of(fs::path(IMGFORGE_SOURCE_DIR) / path);
      CHECK(defines(path, files[path], name));
    }
  }
}
