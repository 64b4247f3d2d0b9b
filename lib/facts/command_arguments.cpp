#include "facts/command_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace imgforge {
namespace {

std::size_t offset_of(const RunCommand& command, std::size_t i) {
  return i < command.offsets.size() ? command.offsets[i] : command.offset;
}

}  // namespace

bool GivenArguments::has(std::string_view name) const {
  return std::any_of(options.begin(), options.end(), [&](const GivenOption& one) { return one.name == name; });
}

std::optional<Argument> GivenArguments::value(std::string_view name, std::string_view other) const {
  for (auto one = options.rbegin(); one != options.rend(); ++one) {
    if ((one->name == name || (!other.empty() && one->name == other)) && one->value) return one->value;
  }
  return std::nullopt;
}

std::vector<Argument> GivenArguments::values(std::string_view name, std::string_view other) const {
  std::vector<Argument> found;
  for (const GivenOption& one : options) {
    if ((one.name == name || (!other.empty() && one.name == other)) && one.value) found.push_back(*one.value);
  }
  return found;
}

GivenArguments sort_arguments(const RunCommand& command, std::size_t from, const OptionTable& table) {
  GivenArguments given;
  const CommandLine& words = command.words;
  const auto lost = [&](const CommandWord& word) {
    if (given.not_known.empty()) given.not_known = unknown_word(word);
  };
  // The value of an option in the next word.
  const auto next_value = [&](GivenOption& option, std::size_t& i) {
    if (i + 1 >= words.size()) return;
    ++i;
    if (words[i].kind == CommandWord::Kind::text) {
      option.value = Argument{words[i].text, offset_of(command, i)};
    } else {
      option.value_unknown = true;
      lost(words[i]);
    }
  };
  const auto takes_value = [&](std::string_view name) {
    return std::find(table.long_with_value.begin(), table.long_with_value.end(), name) != table.long_with_value.end();
  };
  bool options_end = false;
  for (std::size_t i = from; i < words.size(); ++i) {
    const CommandWord& word = words[i];
    const std::size_t offset = offset_of(command, i);
    if (word.kind != CommandWord::Kind::text) {
      // "--index-url=$URL": the option is known, its value is not.
      const std::size_t equals = word.prefix.find('=');
      if (!options_end && word.prefix.starts_with("--") && equals != std::string::npos)
        given.options.push_back({word.prefix.substr(0, equals), std::nullopt, true, offset});
      lost(word);
      continue;
    }
    const std::string& text = word.text;
    if (options_end || text.size() < 2 || text.front() != '-') {
      given.operands.push_back({text, offset});
      given.operand_positions.push_back(i);
      if (table.operands_end_options) options_end = true;
      continue;
    }
    if (text == "--") {
      options_end = true;
      continue;
    }
    if (text.starts_with("--") || table.single_dash_words) {
      const std::size_t dashes = text.starts_with("--") ? 2 : 1;
      const std::size_t equals = text.find('=');
      GivenOption option{text.substr(0, equals), std::nullopt, false, offset};
      if (equals != std::string::npos) {
        option.value = Argument{text.substr(equals + 1), offset + equals + 1};
      } else if (takes_value(std::string_view(text).substr(dashes))) {
        next_value(option, i);
      }
      given.options.push_back(std::move(option));
      continue;
    }
    for (std::size_t c = 1; c < text.size(); ++c) {
      GivenOption option{{'-', text[c]}, std::nullopt, false, offset};
      const bool value = table.short_with_value.find(text[c]) != std::string_view::npos;
      if (value && c + 1 < text.size()) {
        option.value = Argument{text.substr(c + 1), offset + c + 1};
      } else if (value) {
        next_value(option, i);
      }
      given.options.push_back(std::move(option));
      if (value) break;
    }
  }
  return given;
}

std::string unknown_word(const CommandWord& word) {
  return fmt::format("cannot tell what \"{}\" is", escape_for_display(std::string_view(word.text).substr(0, 120)));
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string program_name(const RunCommand& command) {
  if (command.words.empty() || command.words.front().kind != CommandWord::Kind::text) return {};
  return std::string(base_name(command.words.front().text));
}

std::string path_from(const std::optional<std::string>& folder, std::string_view path) {
  const bool absolute = path.starts_with('/');
  if (!absolute && !folder) {
    while (path.starts_with("./") && path.size() > 2) path.remove_prefix(2);
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    return std::string(path);
  }
  const std::string whole = absolute ? std::string(path) : *folder + "/" + std::string(path);
  std::vector<std::string_view> parts;
  for (const std::string_view part : split(whole, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else {
      parts.push_back(part);
    }
  }
  std::string result;
  for (const std::string_view part : parts) result.append("/").append(part);
  return result.empty() ? "/" : result;
}

}  // namespace imgforge
