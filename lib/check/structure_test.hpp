// container-structure-test files, as they are: YAML or JSON, schemaVersion 2.0.0.
// https://github.com/GoogleContainerTools/container-structure-test
//
// Only what they say is here; structure_check.hpp holds an image against it. Patterns are RE2's, which is the syntax of
// Go's regexp, and were tried when the file was read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/place.hpp"

namespace imgforge {

struct PlacedText {
  std::string text;
  Place place;
};

struct CommandTest {
  std::string name;
  Place place;
};

struct FileExistenceTest {
  std::string name;
  Place place;
  std::string path;  // may hold $VARIABLES of the image
  bool should_exist = true;
  std::string
      permissions;  // as Go writes a mode: "-rw-r--r--", "drwxrwxrwx", "dtrwxrwxrwx"; empty where it is not asked
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  std::string executable_by;  // "owner", "group", "other", "any"; empty where it is not asked
};

struct FileContentTest {
  std::string name;
  Place place;
  std::string path;
  std::vector<PlacedText> expected;  // patterns
  std::vector<PlacedText> excluded;
};

/// A variable or a label.
struct ExpectedPair {
  std::string key;
  std::string value;
  bool is_pattern = false;
  Place place;
};

struct MetadataTest {
  Place place;
  std::vector<ExpectedPair> env;
  std::vector<ExpectedPair> unbound_env;  // keys alone count
  std::vector<ExpectedPair> labels;
  std::optional<std::vector<std::string>> entrypoint;  // an empty list is asked for, too
  std::optional<std::vector<std::string>> cmd;
  std::vector<PlacedText> exposed_ports;
  std::vector<PlacedText> unexposed_ports;
  std::vector<PlacedText> volumes;
  std::vector<PlacedText> unmounted_volumes;
  std::string workdir;
  std::string user;
};

struct LicenseTest {
  Place place;
  bool debian = false;
  std::vector<PlacedText> files;
};

struct StructureTests {
  std::vector<CommandTest> commands;
  std::vector<FileExistenceTest> file_existence;
  std::vector<FileContentTest> file_content;
  std::vector<LicenseTest> licenses;
  std::vector<MetadataTest> metadata;  // at most one a file
};

struct StructureParse {
  std::optional<StructureTests> tests;  // nothing where a diagnostic is an error
  std::vector<Diagnostic> diagnostics;  // all of them at once; a syntax error ends at the first
};

/// `name` is how places call the text. Never throws for what is in it. At most a megabyte and 10,000 tests.
StructureParse parse_structure_tests(std::string_view text, const std::string& name);

}  // namespace imgforge
