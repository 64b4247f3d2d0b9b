#include "report/log_commands.hpp"

namespace imgforge {

std::string without_log_commands(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json.substr(i).starts_with("##"))
      result += "\\u0023";
    else
      result += json[i];
  }
  return result;
}

}  // namespace imgforge
