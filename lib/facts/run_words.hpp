// Words of a build step's shell text, expanded as the shell of the step would: a variable that the build does not give
// is unset, and a glob that a build step writes is kept as it is written.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "facts/run_step.hpp"
#include "facts/shell_syntax.hpp"

namespace imgforge {

struct RunField {
  CommandWord word;
  std::size_t offset = 0;  // in the text that was parsed
  bool glob = false;       // holds an unquoted *, ? or [
};

struct RunScope {
  const ShellContext& context;
  const CommandLine& positional;
  bool bash = false;                            // braces expand
  std::vector<UnsetVariable>* unset = nullptr;  // where names that are not set are told; offsets as in the text parsed
  std::vector<BashUse>* bash_uses = nullptr;
};

/// Fields of these words; of an assignment (`whole`) exactly one for each word, nothing split. At most 2,000.
std::vector<RunField> expand_run_words(const std::vector<shell::Word>& words, const RunScope& scope,
                                       bool whole = false);

/// Text of a heredoc or of double quotes with its variables replaced; nothing where one of them is not known.
std::optional<std::string> expand_run_text(std::string_view text, const RunScope& scope);

}  // namespace imgforge
