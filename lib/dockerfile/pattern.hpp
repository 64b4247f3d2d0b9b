// Patterns of ${V#p}, ${V%p} and ${V/p/r}: * and ? alone, neither matches a line break, \ before * ? \ } and /.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace imgforge::dockerfile {

struct PatternResult {
  std::optional<std::string> text;  // nothing where `error` says why, or where matching would take too long
  std::string error;
};

enum class PatternEnd { prefix, suffix };

/// The value without the shortest or the longest prefix or suffix that the pattern matches.
PatternResult cut_pattern(std::string_view value, std::string_view pattern, PatternEnd end, bool longest);

/// The value with the first match, or all of them, replaced.
PatternResult replace_pattern(std::string_view value, std::string_view pattern, std::string_view replacement, bool all);

}  // namespace imgforge::dockerfile
