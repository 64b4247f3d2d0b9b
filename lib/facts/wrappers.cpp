#include "facts/wrappers.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace imgforge {
namespace {

/// The options of a wrapper that take their value from the next word.
struct Wrapper {
  std::string_view name;
  std::string_view short_with_value;  // letters
  std::vector<std::string_view> long_with_value;
  std::size_t operands = 0;  // words before the command: nice has none, timeout one
};

const std::vector<Wrapper>& wrappers() {
  static const std::vector<Wrapper> all = {
      {"tini", "ep", {}, 0},
      {"tini-static", "ep", {}, 0},
      {"docker-init", "ep", {}, 0},
      {"dumb-init", "r", {"--rewrite"}, 0},
      {"catatonit", "", {}, 0},
      {"nohup", "", {}, 0},
      {"nice", "n", {"--adjustment"}, 0},
      {"stdbuf", "ioe", {"--input", "--output", "--error"}, 0},
      {"setsid", "", {}, 0},
      {"ionice", "cn", {"--class", "--classdata"}, 0},
      {"timeout", "ks", {"--kill-after", "--signal"}, 1},
      {"gosu", "", {}, 1},
      {"su-exec", "", {}, 1},
  };
  return all;
}

std::size_t behind_options(const Wrapper& wrapper, const CommandLine& line) {
  std::size_t i = 1;
  while (is_text(line, i) && line[i].text.size() > 1 && line[i].text.front() == '-') {
    const std::string& option = line[i++].text;
    if (option == "--") break;
    if (option.starts_with("--")) {
      const auto& names = wrapper.long_with_value;
      if (std::find(names.begin(), names.end(), option) != names.end()) ++i;
    } else if (wrapper.short_with_value.find(option.back()) != std::string_view::npos && option.size() == 2) {
      ++i;
    }
  }
  return i;
}

std::optional<CommandLine> env(const CommandLine& line, ShellContext& context) {
  CommandLine words = line;
  std::size_t i = 1;
  while (is_text(words, i)) {
    const std::string word = words[i].text;
    if (word == "--") {
      ++i;
      break;
    }
    if (word == "-i" || word == "-" || word == "--ignore-environment") {
      context.variables.clear();
      context.variables_lost = false;
      ++i;
    } else if (word == "-u" || word == "-C" || word == "--unset" || word == "--chdir") {
      if (word == "-C" || word == "--chdir") context.folder.reset();
      if (word == "-u" || word == "--unset") context.variables.erase(text_of(words, i + 1));
      i += 2;
    } else if (word == "-S" || word.starts_with("-S") || word.starts_with("--split-string")) {
      // One word that holds several.
      std::string text = word == "-S" || word == "--split-string" ? text_of(words, i + 1)
                         : word.starts_with("-S")                 ? word.substr(2)
                                                  : word.substr(std::min(word.size(), word.find('=') + 1));
      const std::size_t taken = word == "-S" || word == "--split-string" ? 2 : 1;
      CommandLine split_words;
      std::string part;
      for (const char c : text + ' ') {
        if (c != ' ' && c != '\t') {
          part += c;
        } else if (!part.empty()) {
          split_words.push_back(CommandWord::of(std::exchange(part, {})));
        }
      }
      const CommandLine rest = from(words, i + taken);
      words.resize(std::min(i, words.size()));
      words.insert(words.end(), split_words.begin(), split_words.end());
      words.insert(words.end(), rest.begin(), rest.end());
      if (words.size() > 4096) return CommandLine{};
    } else if (word.starts_with("-")) {
      ++i;
    } else if (const std::size_t equals = word.find('='); equals != std::string::npos && equals > 0) {
      context.variables[word.substr(0, equals)] = CommandLine{CommandWord::of(word.substr(equals + 1))};
      ++i;
    } else {
      break;
    }
  }
  return from(words, i);
}

/// conda run [options] command: only "run" hands over to a command.
std::optional<CommandLine> conda(const CommandLine& line, ShellContext& context) {
  std::size_t i = 1;
  while (text_of(line, i).starts_with("-")) ++i;
  if (text_of(line, i) != "run") return std::nullopt;
  static const std::set<std::string_view> with_value = {"-n", "--name", "-p", "--prefix", "--cwd",
                                                        "-e", "--env",  "-a", "--attach"};
  for (++i; is_text(line, i) && line[i].text.starts_with("-") && line[i].text != "--"; ++i) {
    const std::string& option = line[i].text;
    if (option == "--cwd") context.folder.reset();
    if (with_value.contains(option)) ++i;
  }
  if (text_of(line, i) == "--") ++i;
  // The environment's bin comes first on PATH then.
  context.variables["PATH"] = std::nullopt;
  return from(line, i);
}

}  // namespace

bool is_text(const CommandLine& line, std::size_t i) {
  return i < line.size() && line[i].kind == CommandWord::Kind::text;
}
std::string text_of(const CommandLine& line, std::size_t i) { return is_text(line, i) ? line[i].text : std::string(); }

CommandLine from(const CommandLine& line, std::size_t i) {
  return CommandLine(line.begin() + static_cast<std::ptrdiff_t>(std::min(i, line.size())), line.end());
}

bool is_shell_name(std::string_view name) {
  return name == "sh" || name == "bash" || name == "dash" || name == "ash" || name == "zsh" || name == "ksh";
}

bool is_wrapper(std::string_view name) {
  const auto& all = wrappers();
  return name == "env" || name == "conda" || name == "mamba" || name == "micromamba" ||
         std::any_of(all.begin(), all.end(), [&](const Wrapper& one) { return one.name == name; });
}

std::optional<CommandLine> unwrap(std::string_view name, const CommandLine& line, ShellContext& context) {
  if (name == "env") return env(line, context);
  if (name == "conda" || name == "mamba" || name == "micromamba") return conda(line, context);
  for (const Wrapper& wrapper : wrappers()) {
    if (wrapper.name == name) return from(line, behind_options(wrapper, line) + wrapper.operands);
  }
  return std::nullopt;
}

}  // namespace imgforge
