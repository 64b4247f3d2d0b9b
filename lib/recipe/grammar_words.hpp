// What the grammars of both files are written with: faults, and classes of characters. ASCII, whatever the locale.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace imgforge::grammar {

/// As Grammar::fault returns it.
using Fault = std::optional<std::string>;

inline const Fault fits = std::nullopt;
inline Fault no() { return std::string(); }  // the grammar's noun says it all
inline Fault fits_if(bool condition) { return condition ? fits : no(); }

inline bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
inline bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
inline bool is_letter(char c) noexcept { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

/// Whether `text` is not empty, and every character of it fits.
template <typename Predicate>
bool all(std::string_view text, Predicate predicate) {
  return !text.empty() && std::all_of(text.begin(), text.end(), predicate);
}

}  // namespace imgforge::grammar
