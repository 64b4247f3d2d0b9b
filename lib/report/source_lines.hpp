// The lines that findings speak of, for formats that show them or count columns as people do.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/place.hpp"
#include "report/report.hpp"

namespace imgforge {

class SourceLines {
 public:
  /// `texts` has to outlive it.
  explicit SourceLines(const SourceTexts& texts) : texts_(texts) {}

  /// The line itself, without its end; nothing where the text is not known.
  std::optional<std::string_view> line(const Place& place);

  /// The column in code points, from 1; 0 where none is known. Bytes where the text is not known.
  std::size_t column(const Place& place);

  /// The line with a caret below, as diagnostics show it; empty where it is not known, or may hold a secret.
  std::string shown(const Place& place);

 private:
  const SourceTexts& texts_;
  std::map<std::string, std::vector<std::string_view>, std::less<>> lines_;  // split once
};

}  // namespace imgforge
