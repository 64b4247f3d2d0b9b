// The one exception type. Thrown where the fact is known, caught once in cmd.
//
// Findings about an image or a recipe are values, never exceptions; an Error means that there is no answer.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace imgforge {

enum class ErrorKind {
  // What the user gave us is at fault: exit code 2.
  usage,      // arguments that make no sense
  recipe,     // a recipe that does not parse
  file,       // a file that cannot be read or written
  knowledge,  // a table that does not load
  templates,  // a template block that does not render
  // An image could not be read, so there is no verdict: exit code 3.
  image_not_found,
  image_access,       // credentials refused or missing
  image_network,      // connection, TLS, time-outs, a server's 5xx
  image_corrupt,      // a digest, a size, a document or a tar that is not what it has to be
  image_limit,        // larger, deeper or more numerous than imgforge is ready to read
  image_unsupported,  // a form of image that imgforge does not read
  // A build engine failed: exit code 4.
  engine,
};

/// The exit code that DESIGN's table gives to an error of this kind: 2, 3 or 4.
int exit_code(ErrorKind kind) noexcept;

/// A stable word for reports: "usage", "recipe", "file", ..., "not-found", "access", "network", "corrupt", "limit", "unsupported".
std::string_view to_string(ErrorKind kind) noexcept;

class Error : public std::runtime_error {
 public:
  /// `message` names the thing, what was expected and what was found; `hint` is the way out (may be empty).
  Error(ErrorKind kind, std::string message, std::string hint = {});

  ErrorKind kind() const noexcept { return kind_; }
  const std::string& message() const noexcept { return message_; }
  const std::string& hint() const noexcept { return hint_; }

  /// The same error told from further out: "CONTEXT: message".
  Error within(std::string_view context) const;

 private:
  ErrorKind kind_;
  std::string message_;
  std::string hint_;
};

}  // namespace imgforge
