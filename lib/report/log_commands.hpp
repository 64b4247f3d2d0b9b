// A report in the log of a pipeline is no command to the service that runs it.
#pragma once

#include <string>
#include <string_view>

namespace imgforge {

/// The same JSON, in which no "##" is left for "##[name]", "##vso[name]" and the like, which services look for anywhere
/// in a line: the first of each two is written as an escape. Outside of strings JSON has no such character.
std::string without_log_commands(std::string_view json);

}  // namespace imgforge
