#include "facts/commands_python.hpp"

#include <re2/re2.h>

#include <algorithm>

#include "base/text.hpp"

namespace imgforge {
namespace {

bool is_version_suffix(std::string_view rest) {
  return std::all_of(rest.begin(), rest.end(), [](char c) { return (c >= '0' && c <= '9') || c == '.'; }) &&
         !rest.starts_with(".") && !rest.ends_with(".");
}

/// Options of venv and virtualenv; uv venv has its own.
void read_environment_options(const RunCommand& command, std::size_t from, std::string_view tool, PythonCommand& made) {
  OptionTable table;
  if (tool == "uv") {
    table.short_with_value = "pif";
    table.long_with_value = {"python",         "prompt",    "index-url", "default-index",     "index",
                             "find-links",     "cache-dir", "link-mode", "python-preference", "exclude-newer",
                             "extra-index-url"};
  } else if (tool == "virtualenv") {
    table.short_with_value = "p";
    table.long_with_value = {"python", "app-data",   "prompt",  "extra-search-dir", "pip",    "setuptools",
                             "wheel",  "activators", "creator", "discovery",        "seeder", "try-first-with"};
  } else {
    table.long_with_value = {"prompt"};
  }
  const GivenArguments given = sort_arguments(command, from, table);
  made.action = PythonCommand::Action::environment;
  made.system_site_packages = given.has("--system-site-packages");
  made.without_pip = tool == "uv" ? !given.has("--seed") : given.has("--without-pip") || given.has("--no-pip");
  made.clear = given.has("--clear");
  made.copies = given.has("--copies") || given.has("--always-copy");
  made.upgrade_deps = given.has("--upgrade-deps");
  if (tool != "venv") {
    if (const auto python = given.value("-p", "--python")) made.python = python->text;
  }
  made.not_known = given.not_known;
  if (!given.operands.empty()) {
    made.what = given.operands.front();
    made.folder = path_from(command.folder, made.what.text);
  } else if (tool == "uv" && given.not_known.empty()) {
    made.folder = path_from(command.folder, ".venv");
  }
}

std::vector<Argument> arguments_from(const RunCommand& command, std::size_t from, std::string& not_known) {
  std::vector<Argument> all;
  for (std::size_t i = from; i < command.words.size(); ++i) {
    if (command.words[i].kind == CommandWord::Kind::text) {
      all.push_back({command.words[i].text, command.offsets[i]});
    } else if (not_known.empty()) {
      not_known = unknown_word(command.words[i]);
    }
  }
  return all;
}

std::optional<PythonCommand> uv_command(const RunCommand& command, PythonCommand made) {
  OptionTable table;
  table.operands_end_options = true;
  table.long_with_value = {"directory", "project", "cache-dir", "config-file", "color"};
  const GivenArguments given = sort_arguments(command, 1, table);
  if (given.operands.empty()) return std::nullopt;
  const std::size_t at = given.operand_positions.front();
  if (given.operands.front().text == "venv") {
    read_environment_options(command, at + 1, "uv", made);
    return made;
  }
  if (given.operands.front().text != "python" || given.operands.size() < 2 || given.operands[1].text != "install")
    return std::nullopt;
  OptionTable inner;
  inner.short_with_value = "i";
  inner.long_with_value = {"install-dir", "mirror", "pypy-mirror", "python-downloads-json-url"};
  const GivenArguments rest = sort_arguments(command, given.operand_positions[1] + 1, inner);
  made.action = PythonCommand::Action::interpreter;
  for (const Argument& version : rest.operands) made.versions.push_back(version.text);
  if (const auto folder = rest.value("-i", "--install-dir")) made.folder = path_from(command.folder, folder->text);
  made.not_known = rest.not_known;
  return made;
}

void module_command(const RunCommand& command, std::size_t name_at, const std::string& name, PythonCommand& made) {
  made.what = {name, name_at < command.offsets.size() ? command.offsets[name_at] : command.offset};
  if (name == "venv" || name == "virtualenv") {
    read_environment_options(command, name_at + 1, name, made);
    return;
  }
  made.action = name == "ensurepip" ? PythonCommand::Action::ensurepip : PythonCommand::Action::module;
  made.arguments = arguments_from(command, name_at + 1, made.not_known);
}

bool breaks_system_packages(const RunCommand& command, const PythonCommand& made) {
  for (const Argument& one : made.arguments) {
    if (one.text == "--break-system-packages") return true;
  }
  const auto variable = command.context ? command.variable("PIP_BREAK_SYSTEM_PACKAGES") : std::nullopt;
  return variable && (*variable == "1" || lower(*variable) == "true" || lower(*variable) == "yes");
}

std::optional<PythonCommand> python_command(const RunCommand& command, PythonCommand made) {
  const CommandLine& words = command.words;
  made.python = words.front().text;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].kind != CommandWord::Kind::text) {
      made.action = PythonCommand::Action::script;
      made.not_known = unknown_word(words[i]);
      made.arguments = arguments_from(command, i + 1, made.not_known);
      return made;
    }
    const std::string& text = words[i].text;
    if (text == "-" || text == "--") break;
    if (!text.starts_with("-")) {
      made.action = base_name(text) == "get-pip.py" ? PythonCommand::Action::get_pip : PythonCommand::Action::script;
      made.what = {text, command.offsets[i]};
      made.arguments = arguments_from(command, i + 1, made.not_known);
      made.break_system_packages = breaks_system_packages(command, made);
      return made;
    }
    if (text == "--version") {
      made.action = PythonCommand::Action::version;
      return made;
    }
    if (text.starts_with("--")) {
      if (text == "--check-hash-based-pycs") ++i;
      continue;
    }
    for (std::size_t c = 1; c < text.size(); ++c) {
      const char letter = text[c];
      if (letter == 'V') {
        made.action = PythonCommand::Action::version;
        return made;
      }
      if (letter == 'I' || letter == 'E' || letter == 's') made.isolated = true;
      if (letter == 'X' || letter == 'W') {
        if (c + 1 == text.size()) ++i;
        break;
      }
      if (letter != 'c' && letter != 'm') continue;
      const bool apart = c + 1 == text.size();
      const std::size_t value_at = apart ? i + 1 : i;
      if (apart && (value_at >= words.size() || words[value_at].kind != CommandWord::Kind::text)) {
        made.action = letter == 'c' ? PythonCommand::Action::text : PythonCommand::Action::module;
        made.not_known = value_at < words.size() ? unknown_word(words[value_at]) : "nothing follows the option";
        return made;
      }
      const std::string value = apart ? words[value_at].text : text.substr(c + 1);
      if (letter == 'm') {
        if (value == "pip" || value == "pip.__main__") return std::nullopt;
        module_command(command, value_at, value, made);
        made.break_system_packages = breaks_system_packages(command, made);
        return made;
      }
      made.action = PythonCommand::Action::text;
      made.what = {value, command.offsets[value_at] + (apart ? 0 : c + 1)};
      made.arguments = arguments_from(command, value_at + 1, made.not_known);
      return made;
    }
  }
  made.action = PythonCommand::Action::standard_input;
  made.break_system_packages = breaks_system_packages(command, made);
  return made;
}

}  // namespace

bool names_python(std::string_view name) {
  return name.starts_with("python") && is_version_suffix(name.substr(std::string_view("python").size()));
}

std::optional<PythonMinor> minor_of_program(std::string_view name) {
  name = base_name(name);
  const std::size_t digits = name.find_first_of("0123456789");
  if (digits == std::string_view::npos) return std::nullopt;
  return PythonMinor::parse(name.substr(digits));
}

std::optional<PythonCommand> read_python(const RunCommand& command) {
  const std::string name = program_name(command);
  PythonCommand made;
  if (name.empty()) return std::nullopt;
  made.program = command.words.front().text;
  made.offset = command.offsets.empty() ? command.offset : command.offsets.front();
  if (names_python(name)) return python_command(command, std::move(made));
  if (name == "uv") return uv_command(command, std::move(made));
  if (name == "virtualenv" || name == "pyvenv") {
    read_environment_options(command, 1, "virtualenv", made);
    return made;
  }
  if (name == "get-pip.py") {
    made.action = PythonCommand::Action::get_pip;
    made.what = {made.program, made.offset};
    made.arguments = arguments_from(command, 1, made.not_known);
    made.break_system_packages = breaks_system_packages(command, made);
    return made;
  }
  if (name == "pyenv") {
    const GivenArguments given = sort_arguments(command, 1, {});
    if (given.operands.empty() || given.operands.front().text != "install") return std::nullopt;
    made.action = PythonCommand::Action::interpreter;
    for (std::size_t i = 1; i < given.operands.size(); ++i) made.versions.push_back(given.operands[i].text);
    made.not_known = given.not_known;
    return made;
  }
  return std::nullopt;
}

std::optional<PythonMinor> asserted_minor(const PythonCommand& command) {
  if (command.action != PythonCommand::Action::text || command.what.text.size() > 4096) return std::nullopt;
  static const RE2 tuple(
      R"(\bassert\s+\(?\s*(?:sys\.)?version_info\s*\[\s*:\s*2\s*\]\s*==\s*\(\s*(\d{1,2})\s*,\s*(\d{1,3})\s*\))");
  static const RE2 minor(R"(\bassert\s+\(?\s*(?:sys\.)?version_info(?:\.minor|\s*\[\s*1\s*\])\s*==\s*(\d{1,3})\b)");
  static const RE2 negated(
      R"((?:sys\.)?version_info\s*\[\s*:\s*2\s*\]\s*(?:==|!=)\s*\(\s*(\d{1,2})\s*,\s*(\d{1,3})\s*\))");
  static const RE2 text(
      R"re(\bassert\s+\(?\s*(?:sys|platform)\.(?:version|python_version\(\))\.startswith\(\s*["'](\d{1,2})\.(\d{1,3})[."'])re");
  const std::string& code = command.what.text;
  PythonMinor found;
  unsigned major = 0, second = 0;
  if (RE2::PartialMatch(code, tuple, &major, &second) || RE2::PartialMatch(code, text, &major, &second)) {
    found.major = major;
    found.minor = second;
    return found;
  }
  if (RE2::PartialMatch(code, minor, &second)) {
    found.minor = second;
    return found;
  }
  // sys.exit(sys.version_info[:2] != (3, 11)), sys.exit(0 if sys.version_info[:2] == (3, 11) else 1)
  static const RE2 exits(R"(\b(?:sys\.)?exit\()");
  if (RE2::PartialMatch(code, exits) && RE2::PartialMatch(code, negated, &major, &second)) {
    const bool unequal = code.find("!=") != std::string::npos;
    const bool equal_is_good =
        code.find("exit(0 if") != std::string::npos || code.find("exit(not") != std::string::npos;
    if (!unequal && !equal_is_good) return std::nullopt;
    if (unequal && code.find("exit(0 if") != std::string::npos) return std::nullopt;
    found.major = major;
    found.minor = second;
    return found;
  }
  // found = "%d.%d" % sys.version_info[:2]; sys.exit(0 if found == "3.11" else ...), as our own templates write it.
  static const RE2 formatted(
      R"re((\w+)\s*=\s*["']%d\.%d["']\s*%\s*(?:sys\.)?version_info\s*\[\s*:\s*2\s*\].*exit\(0 if (\w+) == ["'](\d{1,2})\.(\d{1,3})["'] else)re");
  std::string assigned, compared;
  if (RE2::PartialMatch(code, formatted, &assigned, &compared, &major, &second) && assigned == compared) {
    found.major = major;
    found.minor = second;
    return found;
  }
  return std::nullopt;
}

}  // namespace imgforge
