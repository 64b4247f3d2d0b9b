// What the text of a field has to look like. One grammar serves many fields; every text that a recipe holds has one, so
// that nothing reaches a template that was not looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imgforge {

struct Grammar {
  std::string_view noun;     // "a Debian package name": messages say that the text is not this
  std::string_view advice;   // the way out, as the hint of a message; may be empty
  std::string_view pattern;  // for the JSON Schema (ECMA 262); never narrower than `fault`. Empty: any text
  std::vector<std::string_view> choices;  // where not empty, the only texts that fit
  std::size_t longest = 4096;             // bytes
  bool shown = true;                      // whether a message may repeat the text
  bool is_version = false;                // an unquoted number is a trap: YAML reads 3.10 as 3.1

  /// Nothing where the text fits; else what is wrong with it, empty where the noun says it all. Text is UTF-8 and no
  /// longer than `longest` when this is asked. Null where `choices` decide.
  std::optional<std::string> (*fault)(std::string_view text) = nullptr;
};

extern const Grammar api_version_grammar;
extern const Grammar name_grammar;  // lower-case DNS label, RFC 1123
extern const Grammar runner_grammar;
extern const Grammar role_grammar;
extern const Grammar python_minor_grammar;     // "3.11"
extern const Grammar version_grammar;          // PEP 440
extern const Grammar release_grammar;          // numbers and dots: what NVIDIA calls its releases
extern const Grammar image_reference_grammar;  // base/reference.hpp
extern const Grammar python_from_grammar;
extern const Grammar boot_from_grammar;
extern const Grammar cuda_from_grammar;
extern const Grammar cudnn_from_grammar;
extern const Grammar extra_grammar;  // an extra of PEP 508
extern const Grammar accelerator_type_grammar;
extern const Grammar topology_grammar;      // "2x4", "2x2x1"
extern const Grammar apt_package_grammar;   // Debian Policy 5.6.1, perhaps "=version" (5.6.12)
extern const Grammar requirement_grammar;   // base/requirement.hpp
extern const Grammar url_grammar;           // http or https, without user and password
extern const Grammar sha256_grammar;        // 64 hexadecimal digits
extern const Grammar context_path_grammar;  // relative to the build context, never out of it
extern const Grammar absolute_path_grammar;
extern const Grammar variable_name_grammar;  // POSIX "Name"
extern const Grammar label_key_grammar;
extern const Grammar resource_name_grammar;    // machine types, regions, zones
extern const Grammar provisioning_grammar;
extern const Grammar option_name_grammar;      // of a pipeline option
extern const Grammar property_name_grammar;    // of a Spark property
extern const Grammar runtime_version_grammar;  // "2.2"
extern const Grammar driver_grammar;           // default, latest, none, 5xx, 570, 570.124.06
extern const Grammar rule_grammar;             // "beam/boot-missing"
extern const Grammar date_grammar;             // base/date.hpp
extern const Grammar size_grammar;             // "12GB", "500 MiB"
extern const Grammar repository_grammar;       // a reference with a host, without tag and digest
extern const Grammar tag_template_grammar;     // of an image tag, with {{path}} in it
extern const Grammar value_grammar;  // of a variable or label: text in one line

/// What is wrong with `text` ("\"Curl\" is no Debian package name: ..."); nothing where it fits. What looks like a
/// secret is not repeated.
std::optional<std::string> check_text(const Grammar& grammar, std::string_view text);

/// "12GB", "1.5 GiB", "500000": bytes; nothing where it is no size, or none that fits 64 bits. Units as Docker reads them,
/// but decimal where they are written so.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// The size in the largest unit that needs no fraction: "12GB", "1GiB", "17B".
std::string spell_size(std::uint64_t bytes);

/// The paths between {{ and }} of a tag template.
std::vector<std::string_view> placeholders(std::string_view tag);

/// For grammars with `is_version`: what YAML makes of an unquoted number, and the quoted form; nothing where `plain` is
/// no number to YAML 1.2.
std::optional<std::string> number_trap(std::string_view plain);

}  // namespace imgforge
