// Secrets in an image: files of its layers, also of those that a later layer deletes, and its config.
#pragma once

#include <string>
#include <string_view>

#include "facts/facts.hpp"
#include "facts/image_reader.hpp"

namespace imgforge {

inline constexpr std::size_t max_secrets = 100;  // that are told of

/// Every layer is read. The contents were judged while the layers passed (layer/secret_file.hpp), and no part of them
/// is here. Left out is what is no secret because everybody has it: files that a wheel's RECORD or dpkg lists, test
/// keys in the trees of packages, examples of documentation, Debian's snakeoil. Of a layer that is known by its table
/// of contents only, candidates are read one by one; where they are more than anybody would wait for, and nothing else
/// was found, the fact is unknown.
Fact<std::vector<Secret>> read_secrets(ImageReader& reader);

/// Whether a variable (of an environment, a build argument) holds a secret: by the shape of its value, or because it is
/// called TOKEN, PASSWORD, ... and its value is neither a path, a switch, a reference to another variable, nor a
/// placeholder. `name` may be empty.
bool is_secret_setting(std::string_view name, std::string_view value);

/// The value, or "***" where it is such a secret; for whatever shows settings.
std::string shown_setting(std::string_view name, std::string_view value);

/// A command or a line of a build's history with every word that holds a secret as "***" (of NAME=value, the value).
std::string without_secrets(std::string_view text);

}  // namespace imgforge
