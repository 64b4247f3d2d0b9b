// What looks like a secret. Guessing errs on the side of silence: a value that is left out of a label costs little, a
// token in a label cannot be taken back.
#pragma once

#include <string_view>

namespace imgforge {

/// By its name (TOKEN, SECRET, PASSWORD, ...) or by the shape of its value (a GitHub, Hugging Face, AWS, Google, GitLab
/// or Slack token, a private key, a URL with a password).
bool looks_secret(std::string_view name, std::string_view value);

}  // namespace imgforge
