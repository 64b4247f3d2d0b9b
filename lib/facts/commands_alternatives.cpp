#include "facts/commands_alternatives.hpp"

#include "base/text.hpp"

namespace imgforge {

std::optional<AlternativesCommand> read_alternatives(const RunCommand& command) {
  const std::string name = program_name(command);
  if (name != "update-alternatives" && name != "alternatives") return std::nullopt;
  AlternativesCommand made;
  made.offset = command.offsets.empty() ? command.offset : command.offsets.front();
  const auto word = [&](std::size_t i) -> Argument {
    if (i >= command.words.size()) return {};
    if (command.words[i].kind != CommandWord::Kind::text) {
      if (made.not_known.empty()) made.not_known = unknown_word(command.words[i]);
      return {{}, command.offsets[i]};
    }
    return {command.words[i].text, command.offsets[i]};
  };
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const std::string option = word(i).text;
    if (option == "--install") {
      made.action = AlternativesCommand::Action::install;
      made.main = {word(i + 1), word(i + 2), word(i + 3)};
      if (const auto number = to_number(word(i + 4).text); number && *number < 1'000'000'000)
        made.priority = static_cast<long>(*number);
      i += 4;
    } else if (option == "--slave" || option == "--follower") {
      made.slaves.push_back({word(i + 1), word(i + 2), word(i + 3)});
      i += 3;
    } else if (option == "--set" || option == "--remove") {
      made.action = option == "--set" ? AlternativesCommand::Action::set : AlternativesCommand::Action::remove;
      made.main = {{}, word(i + 1), word(i + 2)};
      i += 2;
    } else if (option == "--auto" || option == "--remove-all") {
      made.action =
          option == "--auto" ? AlternativesCommand::Action::automatic : AlternativesCommand::Action::remove_all;
      made.main = {{}, word(i + 1), {}};
      ++i;
    } else if (option == "--altdir" || option == "--admindir" || option == "--log" || option == "--initscript" ||
               option == "--family") {
      ++i;
    }
  }
  return made;
}

}  // namespace imgforge
