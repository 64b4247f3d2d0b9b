#include "dockerfile/instructions.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "dockerfile/flags.hpp"
#include "dockerfile/heredoc_sign.hpp"
#include "dockerfile/instruction_reading.hpp"

namespace imgforge::dockerfile {
namespace {

using Kind = Instruction::Kind;

constexpr std::size_t most_heredocs = 1'000;

constexpr std::array<std::string_view, 18> keywords = {
    "ADD",   "ARG",        "CMD",     "COPY", "ENTRYPOINT", "ENV",        "EXPOSE", "FROM",   "HEALTHCHECK",
    "LABEL", "MAINTAINER", "ONBUILD", "RUN",  "SHELL",      "STOPSIGNAL", "USER",   "VOLUME", "WORKDIR"};

std::string hint_for_unknown(std::string_view keyword, char escape) {
  if (keyword.starts_with("&&") || keyword.starts_with('|') || keyword.starts_with('-') || keyword.starts_with(';')) {
    return std::string("the line above does not end in \"") + escape + "\", so this one is read as an instruction";
  }
  return {};
}

}  // namespace

std::optional<Kind> instruction_kind(std::string_view keyword) {
  if (keyword.size() > 16) return std::nullopt;
  const std::string wanted = lower(keyword);
  for (std::size_t i = 0; i < keywords.size(); ++i) {
    if (lower(keywords[i]) == wanted) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

std::string_view to_string(Kind kind) noexcept { return keywords[static_cast<std::size_t>(kind)]; }

namespace {

std::string without_leading_tabs(std::string_view line) {
  return std::string(line.substr(std::min(line.find_first_not_of('\t'), line.size())));
}

struct ReadHeredocs {
  std::vector<Heredoc> heredocs;
  MappedText in_shell;  // a line break, and the heredoc with its name, for each
  MappedText alone;     // the first one's content
};

// The heredocs of one line, or nothing where one has no end. "<< NAME" without an end is none ("$(( 1 << 20 ))"): older
// BuildKits read it so. `leniency` is how often that may still be tried, as each reads to the end of the file.
std::optional<ReadHeredocs> read_heredocs(const std::vector<HeredocSign>& signs, const JoinedLine& line,
                                          const TextFile& file, LineReader& reader, std::size_t& leniency) {
  ReadHeredocs read;
  std::size_t line_before = line.last_line;
  for (const HeredocSign& sign : signs) {
    const HeredocLines lines = reader.heredoc(sign.name, sign.chomp);
    if (!lines.terminated && sign.spaced && leniency > 0) {
      --leniency;
      reader.back_to(lines.first - 1);
      continue;
    }
    if (!lines.terminated) return std::nullopt;
    Heredoc heredoc{sign.name, sign.expand, {}, file.place(lines.first, 1)};
    read.in_shell.append("\n", file.place(line_before, file.raw_line(line_before).size()));
    for (std::size_t number = lines.first; number < lines.end; ++number) {
      const std::string_view raw = file.raw_line(number);
      const std::string content = sign.chomp ? without_leading_tabs(raw) : std::string(raw);
      heredoc.content += content;
      read.in_shell.append(raw, file.place(number, 1));
      if (read.heredocs.empty()) read.alone.append(content, file.place(number, 1 + raw.size() - content.size()));
    }
    const std::string_view end = file.line(lines.end);
    read.in_shell.append(sign.name, file.place(lines.end, 1 + end.size() - sign.name.size()));
    read.heredocs.push_back(std::move(heredoc));
    line_before = lines.end;
  }
  return read;
}

// The text that a shell (or, behind "#!", another program) gets.
MappedText command_with_heredocs(const MappedText& arguments, const ReadHeredocs& read) {
  if (read.heredocs.empty()) return arguments;
  if (heredoc_sign(arguments.text())) return read.alone;
  MappedText command = arguments;
  command.append(read.in_shell);
  return command;
}

const std::vector<std::string>& known_keywords() {
  static const std::vector<std::string> names(keywords.begin(), keywords.end());
  return names;
}

// What an ONBUILD may not hold; its trigger is only looked into when an image is built from this one.
std::optional<Fault> onbuild_fault(const InstructionReading& reading, const InstructionReading* trigger) {
  if (trigger == nullptr) return Fault{reading.place(), "ONBUILD requires at least one argument", {}};
  if (auto fault = check_flags(reading.instruction)) return Fault{fault->place, std::move(fault->message), {}};
  const std::string keyword = lower(trigger->keyword());
  if (keyword == "onbuild") return Fault{trigger->place(), "Chaining ONBUILD via `ONBUILD ONBUILD` isn't allowed", {}};
  if (keyword == "from" || keyword == "maintainer") {
    const std::string name(to_string(*instruction_kind(keyword)));
    return Fault{trigger->place(), name + " isn't allowed as an ONBUILD trigger", {}};
  }
  return std::nullopt;
}

}  // namespace

void InstructionParser::take_comments(const InstructionReading& reading) {
  for (const AssignmentReading::Comment& comment : reading.assignments.comments) {
    env_comments.push_back(comment.place);
    if (comment.fault.empty()) continue;
    file_.report(comment.place, comment.fault, "a comment stands on a line of its own");
    ++recovered;
  }
}

bool InstructionParser::take_heredocs(const JoinedLine& line, InstructionReading& reading) {
  const std::vector<HeredocSign> signs = heredoc_signs(line.text.text());
  if (signs.empty()) return true;
  heredoc_count_ += signs.size();
  if (heredoc_count_ > most_heredocs) {
    file_.report(reading.place(), "more than " + std::to_string(most_heredocs) + " heredocs");
    return false;
  }
  auto read = read_heredocs(signs, line, file_, reader_, heredoc_leniency_);
  if (!read) {
    file_.report(reading.place(), "unterminated heredoc",
                 "no line is \"" + to_utf8(signs.front().name) + "\" alone, nothing before or behind it");
    return false;
  }
  Instruction& instruction = reading.instruction;
  if (instruction.kind == Kind::run) instruction.command = command_with_heredocs(reading.arguments(), *read);
  instruction.heredocs = std::move(read->heredocs);
  return true;
}

ParsedInstruction InstructionParser::parse(const JoinedLine& line) {
  ParsedInstruction parsed;
  const auto report = [&](const Fault& fault, Diagnostic::Level level = Diagnostic::Level::error) {
    file_.report(fault.place, fault.message, fault.hint, level);
    return parsed;
  };
  InstructionReading reading(line.text, file_.place(line.first_line, 1), reader_.escape());
  const auto kind = instruction_kind(reading.keyword());
  if (!kind) {
    const std::string meant = suggestion(reading.keyword(), known_keywords());
    parsed.unknown = meant.empty();
    return report({reading.place(), "unknown instruction: " + to_utf8(reading.keyword()) + meant,
                   hint_for_unknown(reading.keyword(), reader_.escape())});
  }
  if (auto fault = reading.syntax(*kind)) return report(*fault);
  take_comments(reading);

  std::optional<InstructionReading> trigger;
  std::optional<Fault> trigger_fault;
  if (*kind == Kind::onbuild && !reading.arguments().text().empty()) {
    trigger.emplace(reading.arguments(), reading.place(), reader_.escape());
    if (const auto trigger_kind = instruction_kind(trigger->keyword())) {
      if (auto fault = trigger->syntax(*trigger_kind)) return report(*fault);
      take_comments(*trigger);
    } else {
      trigger_fault = Fault{trigger->place(), "unknown instruction: " + to_utf8(trigger->keyword()), {}};
    }
  }
  InstructionReading& holder = trigger && !trigger_fault ? *trigger : reading;
  if (holder.can_hold_heredocs() && !take_heredocs(line, holder)) {
    stop = true;
    return parsed;
  }
  reading.instruction.last_line = holder.instruction.last_line = reader_.line_number();

  if (*kind == Kind::onbuild) {
    if (auto fault = onbuild_fault(reading, trigger ? &*trigger : nullptr)) return report(*fault);
    if (!trigger_fault) trigger_fault = trigger->meaning();
    if (trigger_fault) {
      report(*trigger_fault, Diagnostic::Level::warning);
    } else {
      reading.instruction.trigger = std::make_shared<const Instruction>(std::move(trigger->instruction));
    }
  } else if (auto fault = reading.meaning()) {
    return report(*fault);
  }
  parsed.instruction = std::move(reading.instruction);
  return parsed;
}

}  // namespace imgforge::dockerfile
