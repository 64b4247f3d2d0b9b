#include "check/structure_test.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/yaml.hpp"

namespace imgforge {
namespace {

constexpr std::size_t max_bytes = 1 << 20;
constexpr std::size_t max_tests = 10'000;
constexpr std::string_view version = "2.0.0";

class Reader {
 public:
  Reader(const std::string& name, std::string_view text, std::vector<Diagnostic>& diagnostics)
      : name_(name), lines_(lines(text)), diagnostics_(diagnostics) {}

  StructureTests read(const YamlNode& document) {
    StructureTests tests;
    if (!document.is_map()) {
      fault(document, fmt::format("the file is {}, a map with schemaVersion is expected", kind_name(document)));
      return tests;
    }
    keys(document, {"schemaVersion", "globalEnvVars", "commandTests", "fileExistenceTests", "fileContentTests",
                    "metadataTest", "licenseTests", "containerRunOptions"});
    const YamlNode* schema = document.find("schemaVersion");
    if (schema == nullptr) {
      fault(document, "schemaVersion is missing", "schemaVersion: 2.0.0");
    } else if (!schema->is_scalar() || schema->text != version) {
      fault(*schema,
            fmt::format("schemaVersion is {}, {} is the one that is read",
                        schema->is_scalar() ? escape_for_display(schema->text) : std::string(kind_name(*schema)),
                        version));
      return tests;
    }
    each(document, "globalEnvVars", [&](const YamlNode& node) { pair(node, false); });
    each(document, "commandTests", [&](const YamlNode& node) { tests.commands.push_back(command(node)); });
    each(document, "fileExistenceTests",
         [&](const YamlNode& node) { tests.file_existence.push_back(existence(node)); });
    each(document, "fileContentTests", [&](const YamlNode& node) { tests.file_content.push_back(content(node)); });
    each(document, "licenseTests", [&](const YamlNode& node) { tests.licenses.push_back(license(node)); });
    if (const YamlNode* metadata = document.find("metadataTest"); metadata != nullptr && !metadata->is_null()) {
      if (metadata->is_map()) {
        tests.metadata.push_back(metadata_test(*metadata));
      } else {
        fault(*metadata, fmt::format("metadataTest is {}, a map is expected", kind_name(*metadata)));
      }
    }
    return tests;
  }

 private:
  Place place(std::size_t line, std::size_t column) const { return {name_, line, column}; }
  Place place(const YamlNode& node) const { return place(node.line, node.column); }

  void fault(std::size_t line, std::size_t column, std::string message, std::string hint = {}) {
    Diagnostic diagnostic;
    diagnostic.place = place(line, column);
    diagnostic.message = std::move(message);
    diagnostic.hint = std::move(hint);
    if (line != 0 && line <= lines_.size()) diagnostic.line_text = std::string(lines_[line - 1]);
    diagnostics_.push_back(std::move(diagnostic));
  }
  void fault(const YamlNode& node, std::string message, std::string hint = {}) {
    fault(node.line, node.column, std::move(message), std::move(hint));
  }

  void keys(const YamlNode& map, const std::vector<std::string>& known) {
    for (const YamlEntry& entry : map.entries) {
      if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
      const auto meant = nearest(entry.key, known);
      fault(entry.line, entry.column, fmt::format("there is no key {}", escape_for_display(entry.key)),
            meant ? fmt::format("did you mean {}?", *meant) : "known are " + join_words(known));
    }
  }

  /// The items of a list; a key that is not there, or without a value, is an empty one.
  template <class Visit>
  void each(const YamlNode& map, std::string_view key, Visit visit) {
    const YamlNode* list = map.find(key);
    if (list == nullptr || list->is_null()) return;
    if (!list->is_sequence()) {
      fault(*list, fmt::format("{} is {}, a list is expected", key, kind_name(*list)));
      return;
    }
    for (const YamlNode& item : list->items) {
      if (++tests_ > max_tests) {
        if (tests_ == max_tests + 1) fault(item, fmt::format("the file has more than {} tests", max_tests));
        return;
      }
      visit(item);
    }
  }

  bool is_map(const YamlNode& node, std::string_view what) {
    if (node.is_map()) return true;
    fault(node, fmt::format("{} is {}, a map is expected", what, kind_name(node)));
    return false;
  }

  /// Numbers and booleans are the text that was written, as for Go's YAML.
  std::string text(const YamlNode& map, std::string_view key) {
    const YamlNode* node = map.find(key);
    if (node == nullptr || node->is_null()) return {};
    if (node->is_scalar()) return node->text;
    fault(*node, fmt::format("{} is {}, text is expected", key, kind_name(*node)));
    return {};
  }

  std::string required(const YamlNode& map, std::string_view key) {
    std::string value = text(map, key);
    const YamlNode* node = map.find(key);
    if (value.empty() && (node == nullptr || node->is_scalar() || node->is_null())) {
      fault(node == nullptr ? map : *node, fmt::format("{} is missing", key));
    }
    return value;
  }

  bool boolean(const YamlNode& map, std::string_view key, bool otherwise) {
    const YamlNode* node = map.find(key);
    if (node == nullptr || node->is_null()) return otherwise;
    const std::string value = node->is_scalar() && node->plain ? lower(node->text) : std::string();
    if (value == "true" || value == "yes" || value == "on") return true;
    if (value == "false" || value == "no" || value == "off") return false;
    fault(*node, fmt::format("{} is {}, true or false is expected", key,
                             node->is_scalar() ? escape_for_display(node->text) : std::string(kind_name(*node))));
    return otherwise;
  }

  /// -1 is what the tool itself has for "not asked".
  std::optional<std::uint32_t> number(const YamlNode& map, std::string_view key) {
    const YamlNode* node = map.find(key);
    if (node == nullptr || node->is_null() || (node->is_scalar() && node->text == "-1")) return std::nullopt;
    const auto value = node->is_scalar() ? to_number(node->text) : std::nullopt;
    if (value && *value <= 0xFFFFFFFF) return static_cast<std::uint32_t>(*value);
    fault(*node, fmt::format("{} is {}, a number is expected", key,
                             node->is_scalar() ? escape_for_display(node->text) : std::string(kind_name(*node))));
    return std::nullopt;
  }

  std::vector<PlacedText> texts(const YamlNode& map, std::string_view key) {
    std::vector<PlacedText> all;
    each(map, key, [&](const YamlNode& node) {
      if (node.is_scalar()) {
        all.push_back({node.text, place(node)});
      } else {
        fault(node, fmt::format("an item of {} is {}, text is expected", key, kind_name(node)));
      }
    });
    return all;
  }

  std::optional<std::vector<std::string>> words(const YamlNode& map, std::string_view key) {
    const YamlNode* node = map.find(key);
    if (node == nullptr || node->is_null()) return std::nullopt;
    std::vector<std::string> all;
    for (PlacedText& one : texts(map, key)) all.push_back(std::move(one.text));
    return all;
  }

  void check_pattern(const std::string& pattern, std::size_t line, std::size_t column) {
    const RE2 compiled(pattern, RE2::Quiet);
    if (!compiled.ok()) {
      fault(line, column,
            fmt::format("the pattern {} does not compile: {}", escape_for_display(pattern),
                        escape_for_display(compiled.error())));
    }
  }

  std::vector<PlacedText> patterns(const YamlNode& map, std::string_view key) {
    std::vector<PlacedText> all = texts(map, key);
    for (const PlacedText& one : all) check_pattern(one.text, one.place.line, one.place.column);
    return all;
  }

  ExpectedPair pair(const YamlNode& node, bool with_pattern) {
    ExpectedPair result;
    result.place = place(node);
    if (!is_map(node, "an item")) return result;
    keys(node, {"key", "value", "isRegex"});
    result.key = required(node, "key");
    result.value = text(node, "value");
    result.is_pattern = boolean(node, "isRegex", false);
    if (result.is_pattern && with_pattern) {
      const YamlNode* value = node.find("value");
      check_pattern(result.value, value == nullptr ? node.line : value->line,
                    value == nullptr ? node.column : value->column);
    }
    return result;
  }

  std::vector<ExpectedPair> pairs(const YamlNode& map, std::string_view key) {
    std::vector<ExpectedPair> all;
    each(map, key, [&](const YamlNode& node) { all.push_back(pair(node, true)); });
    return all;
  }

  CommandTest command(const YamlNode& node) {
    CommandTest test;
    test.place = place(node);
    if (!is_map(node, "a command test")) return test;
    keys(node, {"name", "setup", "teardown", "command", "args", "envVars", "exitCode", "expectedOutput",
                "excludedOutput", "expectedError", "excludedError"});
    test.name = required(node, "name");
    required(node, "command");
    for (const char* key : {"expectedOutput", "excludedOutput", "expectedError", "excludedError"}) patterns(node, key);
    return test;
  }

  FileExistenceTest existence(const YamlNode& node) {
    FileExistenceTest test;
    test.place = place(node);
    if (!is_map(node, "a file existence test")) return test;
    keys(node, {"name", "path", "shouldExist", "permissions", "uid", "gid", "isExecutableBy"});
    test.name = required(node, "name");
    test.path = required(node, "path");
    test.should_exist = boolean(node, "shouldExist", true);
    test.permissions = text(node, "permissions");
    test.uid = number(node, "uid");
    test.gid = number(node, "gid");
    test.executable_by = text(node, "isExecutableBy");
    if (!test.executable_by.empty() && test.executable_by != "owner" && test.executable_by != "group" &&
        test.executable_by != "other" && test.executable_by != "any") {
      fault(*node.find("isExecutableBy"), fmt::format("isExecutableBy is {}, owner, group, other or any is expected",
                                                      escape_for_display(test.executable_by)));
    }
    return test;
  }

  FileContentTest content(const YamlNode& node) {
    FileContentTest test;
    test.place = place(node);
    if (!is_map(node, "a file content test")) return test;
    keys(node, {"name", "path", "expectedContents", "excludedContents"});
    test.name = required(node, "name");
    test.path = required(node, "path");
    test.expected = patterns(node, "expectedContents");
    test.excluded = patterns(node, "excludedContents");
    return test;
  }

  LicenseTest license(const YamlNode& node) {
    LicenseTest test;
    test.place = place(node);
    if (!is_map(node, "a license test")) return test;
    keys(node, {"debian", "files"});
    test.debian = boolean(node, "debian", false);
    test.files = texts(node, "files");
    return test;
  }

  MetadataTest metadata_test(const YamlNode& node) {
    MetadataTest test;
    test.place = place(node);
    keys(node, {"env", "envVars", "unboundEnvVars", "labels", "entrypoint", "cmd", "exposedPorts", "unexposedPorts",
                "volumes", "unmountedVolumes", "workdir", "user"});
    test.env = pairs(node, "env");
    for (ExpectedPair& one : pairs(node, "envVars")) test.env.push_back(std::move(one));
    test.unbound_env = pairs(node, "unboundEnvVars");
    test.labels = pairs(node, "labels");
    test.entrypoint = words(node, "entrypoint");
    test.cmd = words(node, "cmd");
    test.exposed_ports = texts(node, "exposedPorts");
    test.unexposed_ports = texts(node, "unexposedPorts");
    test.volumes = texts(node, "volumes");
    test.unmounted_volumes = texts(node, "unmountedVolumes");
    test.workdir = text(node, "workdir");
    test.user = text(node, "user");
    return test;
  }

  const std::string& name_;
  std::vector<std::string_view> lines_;
  std::vector<Diagnostic>& diagnostics_;
  std::size_t tests_ = 0;  // and items of lists
};

/// JSON may be indented by tabs, which YAML does not allow; outside of strings they are nothing but white space. Places
/// stay the same.
std::string without_tabs(std::string_view json) {
  std::string text(json);
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (inside && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      inside = !inside;
    } else if (text[i] == '\t' && !inside) {
      text[i] = ' ';
    }
  }
  return text;
}

}  // namespace

StructureParse parse_structure_tests(std::string_view text, const std::string& name) {
  StructureParse parse;
  const bool json = trim(text).starts_with('{');
  const std::string plain = json ? without_tabs(text) : std::string(text);
  const std::optional<YamlNode> document = parse_yaml(plain, name, parse.diagnostics, {.bytes = max_bytes});
  if (document) {
    StructureTests tests = Reader(name, plain, parse.diagnostics).read(*document);
    if (!has_errors(parse.diagnostics)) parse.tests = std::move(tests);
  }
  std::stable_sort(
      parse.diagnostics.begin(), parse.diagnostics.end(), [](const Diagnostic& one, const Diagnostic& other) {
        return std::pair(one.place.line, one.place.column) < std::pair(other.place.line, other.place.column);
      });
  return parse;
}

}  // namespace imgforge
