// Secrets in short texts: values of variables, lines of a build's history.
#pragma once

#include <string_view>

#include "layer/secret_file.hpp"

namespace imgforge {

/// A private key, a URL with a password, or a token whose shape only tokens have (GitHub, Hugging Face, AWS, Google,
/// GitLab, Slack). Stricter than looks_secret (recipe/secret.hpp), which may err on the side of silence: this one
/// accuses.
SecretKind secret_in_text(std::string_view text);

}  // namespace imgforge
