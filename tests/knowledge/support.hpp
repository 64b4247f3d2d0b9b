// A folder of tables for a test, and the tables as they are in the repository.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/error.hpp"
#include "knowledge/knowledge.hpp"

namespace imgforge::test {

class TableFolder {
 public:
  TableFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "imgforge-knowledge-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~TableFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TableFolder(const TableFolder&) = delete;
  TableFolder& operator=(const TableFolder&) = delete;

  TableFolder& write(const std::string& name, const std::string& text) {
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
    return *this;
  }
  const std::string& path() const { return path_; }

  /// The message of the Error(knowledge) that the folder gives; empty where it loads.
  std::string fault() const {
    try {
      Knowledge::with_directory(path_);
    } catch (const Error& error) {
      return error.kind() == ErrorKind::knowledge ? error.message() : "another kind: " + error.message();
    }
    return {};
  }

 private:
  std::string path_;
};

inline std::string table_file(const std::string& name) {
  std::ifstream file(std::string(IMGFORGE_SOURCE_DIR) + "/knowledge/" + name + ".yaml", std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace imgforge::test
