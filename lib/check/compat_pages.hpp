// What `imgforge compat NAME` answers: tables of rows of the knowledge, each with its source.
//
// Every function throws Error(usage) for a name or a version that the tables do not hold, with the nearest that they do
// and the range that they cover.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/knowledge.hpp"

namespace imgforge {

/// A value, or a list of them; an empty one is not known (or there is none).
struct CompatCell {
  std::vector<std::string> values;
  bool is_list = false;

  static CompatCell one(std::string value);
  static CompatCell list(std::vector<std::string> values);
};

struct CompatRow {
  std::vector<CompatCell> cells;  // as many as the table has columns
  std::string source;
  bool unverified = false;
};

struct CompatTable {
  std::string title;
  std::vector<std::string> columns;  // snake_case: the keys in JSON
  std::vector<CompatRow> rows;
  std::string empty;  // said where there is no row
};

struct CompatPage {
  std::string subject;  // "TensorFlow 2.15"
  std::vector<CompatTable> tables;
};

/// "tensorflow", "torch" or "jax"; every release where no version is given. "2.15" is every 2.15.*.
CompatPage framework_page(const Knowledge& knowledge, std::string_view framework,
                          const std::optional<Version>& version);
CompatPage beam_page(const Knowledge& knowledge, const std::optional<Version>& version,
                     const std::optional<PythonMinor>& python);
CompatPage python_page(const Knowledge& knowledge, const std::optional<PythonMinor>& minor);
CompatPage cuda_page(const Knowledge& knowledge, const std::optional<Version>& version);
CompatPage cudnn_page(const Knowledge& knowledge, const std::optional<Version>& version);
CompatPage gpu_page(const Knowledge& knowledge, std::string_view type);  // empty: all
CompatPage tpu_page(const Knowledge& knowledge, std::string_view type, std::string_view topology);

/// What a user wrote, safe for a message and cut after 80 bytes.
std::string quoted_input(std::string_view text);

/// Throws Error(usage): "the tables hold no CUDA 12.7", with the nearest of `known` (any order, not empty) and the
/// range.
[[noreturn]] void unknown_version(std::string_view what, const Version& asked, std::vector<Version> known);

/// Throws Error(usage): "there is no GPU nvidia-l40", with the one that may be meant, else all of them.
[[noreturn]] void unknown_name(std::string_view what, std::string_view asked, const std::vector<std::string>& known);

}  // namespace imgforge
