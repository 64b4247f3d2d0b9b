// Text helpers that need no locale. Strings are bytes; where UTF-8 matters, it is said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imgforge {

std::string_view trim(std::string_view text) noexcept;  // ASCII white space, both ends
std::string lower(std::string_view text);               // ASCII only
std::vector<std::string_view> split(std::string_view text, char separator);  // keeps empty parts; "" gives one empty part
std::vector<std::string_view> lines(std::string_view text);                  // without \n and \r\n; no empty last line
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string join_words(const std::vector<std::string>& words, std::string_view last = "and");  // "a, b and c"

/// A whole decimal number without sign, or nothing where it is none or does not fit.
std::optional<std::uint64_t> to_number(std::string_view text) noexcept;

/// True where every byte sequence is well-formed UTF-8 (no surrogates, no overlong forms).
bool is_utf8(std::string_view text) noexcept;

/// Text that is safe to show on a terminal, in one line: control characters, bytes that are no UTF-8, bidirectional
/// and zero-width controls become \n, \t, \xHH or \u{HHHH}; a backslash becomes \\.
std::string escape_for_display(std::string_view text);

/// The same, but backslashes stay: for text whose parts were escaped when it was put together, so that what slipped
/// through is harmless, too.
std::string display_safe(std::string_view text);

/// Well-formed UTF-8: every byte that is not part of any is written as \xHH. For JSON and XML, which have escapes of
/// their own for control characters.
std::string to_utf8(std::string_view bytes);

/// The nearest of `known` to `word` by edit distance, where it is near enough to be meant (at most a third of the
/// length, at least one); nothing otherwise. Ties go to the first.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

/// "4.9 GB", "312 KB", "17 B": decimal units, as registries and Docker print them.
std::string human_size(std::uint64_t bytes);

/// Standard base64 (RFC 4648 section 4), with padding. Decoding is strict: nothing on any stray character.
std::string base64_encode(std::string_view bytes);
std::optional<std::string> base64_decode(std::string_view text);

/// Shell-like glob for whole paths: * and ? do not match '/', ** matches any number of folders. Linear time.
bool glob_match(std::string_view pattern, std::string_view path) noexcept;

}  // namespace imgforge
