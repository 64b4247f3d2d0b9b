#include "dockerfile/ports.hpp"

#include "base/text.hpp"
#include "dockerfile/text_file.hpp"

namespace imgforge::dockerfile {
namespace {

bool is_port(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto number = to_number(text);
  return number && *number <= 65'535;
}

bool is_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view start = text.substr(0, dash);
  const std::string_view end = dash == std::string_view::npos ? start : text.substr(dash + 1);
  return is_port(start) && is_port(end) && to_number(start).value_or(0) <= to_number(end).value_or(65'535);
}

}  // namespace

std::string fault_of_port(std::string_view word) {
  if (word.find_first_of("$ \t") != std::string_view::npos) return {};
  std::string_view port = word;
  if (const std::size_t colon = port.rfind(':'); colon != std::string_view::npos) port.remove_prefix(colon + 1);
  const std::size_t slash = port.find('/');
  const std::string protocol = slash == std::string_view::npos ? "" : lower(port.substr(slash + 1));
  port = port.substr(0, slash);
  if (port.empty()) return "invalid port: " + quoted(word) + ": no port specified";
  if (!protocol.empty() && protocol != "tcp" && protocol != "udp" && protocol != "sctp") {
    return "invalid port: " + quoted(word) + ": invalid proto: " + to_utf8(protocol);
  }
  return is_range(port) ? "" : "invalid containerPort: " + to_utf8(port);
}

}  // namespace imgforge::dockerfile
