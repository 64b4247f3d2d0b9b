#include "facts/commands_files.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace imgforge {
namespace {

using Action = FileCommand::Action;

constexpr std::size_t max_text = 64 << 10;

bool is_glob(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

class Reader {
 public:
  Reader(const RunCommand& command, FileCommand& made) : command_(command), made_(made) {}

  void arguments(const OptionTable& table) {
    given_ = sort_arguments(command_, 1, table);
    made_.not_known = given_.not_known;
    for (const Argument& one : given_.operands) made_.globs = made_.globs || is_glob(one.text);
  }
  bool has(std::string_view name, std::string_view other) const { return given_.has(name) || given_.has(other); }
  const GivenArguments& given() const { return given_; }

  Argument path(const Argument& one) const { return {path_from(command_.folder, one.text), one.offset}; }

  /// All operands from `first` on as paths.
  void paths(std::size_t first = 0) {
    for (std::size_t i = first; i < given_.operands.size(); ++i) made_.paths.push_back(path(given_.operands[i]));
  }

  /// Sources and then a destination, or -t FOLDER.
  void sources_and_destination(bool keep_sources) {
    std::vector<Argument> operands = given_.operands;
    if (const auto target = given_.value("-t", "--target-directory")) {
      made_.destination = path(*target);
      made_.destination_is_folder = true;
    } else if (operands.size() > 1) {
      const Argument& last = operands.back();
      made_.destination = path(last);
      made_.destination_is_folder =
          last.text.ends_with("/") || last.text == "." || last.text.ends_with("/.") || operands.size() > 2;
      operands.pop_back();
    } else if (made_.action == Action::link && operands.size() == 1) {
      // "ln -s /a/b": a link "b" in the current folder.
      made_.destination = Argument{path_from(command_.folder, "."), operands.front().offset};
      made_.destination_is_folder = true;
    }
    for (const Argument& one : operands) made_.sources.push_back(keep_sources ? one : path(one));
    // What a word that is not known stands for may be the destination.
    if (!made_.not_known.empty() && !given_.value("-t", "--target-directory") &&
        command_.words.back().kind != CommandWord::Kind::text) {
      for (const Argument& one : given_.operands) {
        if (made_.destination && one.offset == made_.destination->offset)
          made_.sources.push_back(keep_sources ? one : path(one));
      }
      made_.destination.reset();
      made_.destination_is_folder = false;
    }
  }

 private:
  const RunCommand& command_;
  FileCommand& made_;
  GivenArguments given_;
};

void read_link(Reader& reader, FileCommand& made) {
  OptionTable table;
  table.short_with_value = "tS";
  table.long_with_value = {"target-directory", "suffix"};
  made.action = Action::link;
  reader.arguments(table);
  made.symbolic = reader.has("-s", "--symbolic");
  made.hard = !made.symbolic;
  made.force = reader.has("-f", "--force");
  made.destination_is_file = reader.has("-T", "--no-target-directory") || reader.has("-n", "--no-dereference");
  reader.sources_and_destination(made.symbolic);
}

void read_copy(Reader& reader, FileCommand& made) {
  OptionTable table;
  table.short_with_value = "tS";
  table.long_with_value = {"target-directory", "suffix", "no-preserve", "sparse"};
  made.action = made.program == "mv" ? Action::move : Action::copy;
  reader.arguments(table);
  const bool archive = reader.has("-a", "--archive");
  made.recursive = archive || reader.has("-r", "--recursive") || reader.has("-R", "-R");
  made.no_dereference = archive || reader.has("-d", "--no-dereference") || reader.has("-P", "-P");
  made.hard = reader.has("-l", "--link");
  made.symbolic = reader.has("-s", "--symbolic-link");
  made.force = reader.has("-f", "--force");
  made.parents = reader.has("--parents", "--parents");
  made.destination_is_file = reader.has("-T", "--no-target-directory");
  reader.sources_and_destination(false);
}

void read_install(Reader& reader, FileCommand& made) {
  OptionTable table;
  table.short_with_value = "mogtS";
  table.long_with_value = {"mode", "owner", "group", "target-directory", "suffix", "strip-program"};
  reader.arguments(table);
  if (const auto mode = reader.given().value("-m", "--mode")) made.mode = mode->text;
  if (const auto owner = reader.given().value("-o", "--owner")) made.owner = owner->text;
  if (reader.has("-d", "--directory")) {
    made.action = Action::make_folder;
    made.parents = true;
    reader.paths();
    return;
  }
  made.action = Action::copy;
  if (reader.has("-T", "--no-target-directory")) made.destination_is_file = true;
  if (reader.has("-D", "-D")) made.parents = true;
  reader.sources_and_destination(false);
}

void read_mode(Reader& reader, FileCommand& made) {
  made.action = made.program == "chmod" ? Action::mode : Action::owner;
  OptionTable table;
  table.long_with_value = {"from", "reference"};
  reader.arguments(table);
  made.recursive = reader.has("-R", "--recursive");
  std::size_t first = 1;
  std::string& to = made.action == Action::mode ? made.mode : made.owner;
  if (const auto reference = reader.given().value("--reference")) {
    made.not_known = "the mode or owner is that of " + reference->text;
    first = 0;
  } else if (made.action == Action::mode) {
    // "-x" and "-w" look like options.
    for (const GivenOption& option : reader.given().options) {
      if (option.name.size() == 2 && std::string_view("rwxXst").find(option.name[1]) != std::string_view::npos) {
        to += to.empty() ? option.name : option.name.substr(1);
        first = 0;
      }
    }
  }
  if (first == 1 && !reader.given().operands.empty()) to = reader.given().operands.front().text;
  reader.paths(first);
}

void read_unpack(const RunCommand& command, Reader& reader, FileCommand& made) {
  made.action = Action::unpack;
  if (made.program == "unzip") {
    OptionTable table;
    table.short_with_value = "dxP";
    reader.arguments(table);
    if (!reader.given().operands.empty()) made.sources.push_back(reader.path(reader.given().operands.front()));
    const auto folder = reader.given().value("-d");
    made.destination = folder ? reader.path(*folder) : Argument{path_from(command.folder, "."), command.offset};
  } else {
    // "tar xzf FILE": a first word of letters without a dash.
    RunCommand plain = command;
    if (plain.words.size() > 1 && plain.words[1].kind == CommandWord::Kind::text &&
        !plain.words[1].text.starts_with("-") && plain.words[1].text.find_first_of("/.") == std::string::npos)
      plain.words[1].text.insert(0, "-");
    OptionTable table;
    table.short_with_value = "fCTXIbLg";
    table.long_with_value = {"file",
                             "directory",
                             "strip-components",
                             "exclude",
                             "files-from",
                             "use-compress-program",
                             "transform",
                             "wildcards-match",
                             "owner",
                             "group",
                             "mode",
                             "one-top-level",
                             "exclude-from"};
    const GivenArguments given = sort_arguments(plain, 1, table);
    made.not_known = given.not_known;
    if (!given.has("-x") && !given.has("--extract") && !given.has("--get")) {
      made.program.clear();
      return;
    }
    const auto file = given.value("-f", "--file");
    if (file && file->text != "-") made.sources.push_back({path_from(command.folder, file->text), file->offset});
    const auto folder = given.value("-C", "--directory");
    const bool lost = !folder && (given.has("-C") || given.has("--directory"));
    if (!lost)
      made.destination = folder ? Argument{path_from(command.folder, folder->text), folder->offset}
                                : Argument{path_from(command.folder, "."), command.offset};
  }
  made.destination_is_folder = true;
}

bool writes_output(const std::string& operation) {
  return operation == ">" || operation == ">>" || operation == "1>" || operation == "1>>" || operation == ">|" ||
         operation == "&>" || operation == "&>>";
}

}  // namespace

std::optional<FileCommand> read_file_command(const RunCommand& command) {
  FileCommand made;
  made.program = program_name(command);
  made.offset = command.offsets.empty() ? command.offset : command.offsets.front();
  Reader reader(command, made);
  const std::string& name = made.program;
  if (name == "ln") {
    read_link(reader, made);
  } else if (name == "cp" || name == "mv") {
    read_copy(reader, made);
  } else if (name == "install") {
    read_install(reader, made);
  } else if (name == "rm" || name == "rmdir" || name == "unlink") {
    made.action = Action::remove;
    reader.arguments({});
    made.recursive = reader.has("-r", "--recursive") || reader.has("-R", "-R");
    made.force = reader.has("-f", "--force");
    reader.paths();
  } else if (name == "mkdir") {
    OptionTable table;
    table.short_with_value = "m";
    table.long_with_value = {"mode"};
    made.action = Action::make_folder;
    reader.arguments(table);
    made.parents = reader.has("-p", "--parents");
    if (const auto mode = reader.given().value("-m", "--mode")) made.mode = mode->text;
    reader.paths();
  } else if (name == "chmod" || name == "chown") {
    read_mode(reader, made);
  } else if (name == "touch" || name == "truncate") {
    OptionTable table;
    table.short_with_value = name == "touch" ? "drt" : "sr";
    table.long_with_value = {"date", "reference", "time", "size"};
    made.action = Action::touch;
    reader.arguments(table);
    reader.paths();
  } else if (name == "tee") {
    made.action = Action::write;
    reader.arguments({});
    made.append = reader.has("-a", "--append");
    reader.paths();
  } else if (name == "tar" || name == "bsdtar" || name == "unzip") {
    read_unpack(command, reader, made);
    if (made.program.empty()) return std::nullopt;
  } else {
    return std::nullopt;
  }
  return made;
}

namespace {

/// What printf and "echo -e" make of backslashes; nothing for what is not plain.
std::optional<std::string> unescape(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'n': result += '\n'; break;
      case 't': result += '\t'; break;
      case 'r': result += '\r'; break;
      case '\\': result += '\\'; break;
      case '"': result += '"'; break;
      default: return std::nullopt;
    }
  }
  return result;
}

std::optional<std::string> printf_text(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  const auto format = unescape(words.front());
  if (!format) return std::nullopt;
  std::string result;
  std::size_t argument = 1;
  do {
    const std::size_t before = argument;
    for (std::size_t i = 0; i < format->size(); ++i) {
      if ((*format)[i] != '%') {
        result += (*format)[i];
        continue;
      }
      const char kind = i + 1 < format->size() ? (*format)[i + 1] : '\0';
      ++i;
      if (kind == '%') {
        result += '%';
      } else if (kind == 's' || kind == 'd') {
        if (argument < words.size()) result += words[argument++];
      } else if (kind == 'b' && argument < words.size()) {
        const auto text = unescape(words[argument++]);
        if (!text) return std::nullopt;
        result += *text;
      } else {
        return std::nullopt;
      }
    }
    if (argument == before || result.size() > max_text) break;
  } while (argument < words.size());
  return result;
}

}  // namespace

std::optional<std::string> printed_text(const RunCommand& command) {
  const std::string name = program_name(command);
  if (name == "cat" || name == "tee") {
    const bool from_input =
        command.words.size() == 1 || name == "tee" || (command.words.size() == 2 && command.words[1].text == "-");
    return from_input ? command.heredoc : std::nullopt;
  }
  if (name == ":" || name == "true") return std::string();
  if (name != "echo" && name != "printf") return std::nullopt;
  std::vector<std::string> words;
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    if (command.words[i].kind != CommandWord::Kind::text) return std::nullopt;
    words.push_back(command.words[i].text);
  }
  if (name == "printf") return printf_text(words);
  bool newline = true;
  while (!words.empty() &&
         (words.front() == "-n" || words.front() == "-e" || words.front() == "-ne" || words.front() == "-en")) {
    if (words.front().find('n') != std::string::npos) newline = false;
    words.erase(words.begin());
  }
  std::string text = join(words, " ");
  // dash takes "\n" as a line's end in any echo, bash after -e alone; nobody means to write a backslash.
  auto plain = unescape(text);
  if (!plain) return std::nullopt;
  return newline ? *plain + "\n" : *plain;
}

std::vector<FileWrite> file_writes(const RunStep& step) {
  std::vector<FileWrite> writes;
  std::vector<std::optional<std::string>> inputs(step.commands.size());
  for (std::size_t i = 0; i < step.commands.size(); ++i) {
    const RunCommand& command = step.commands[i];
    const std::string name = program_name(command);
    std::optional<std::string> text = printed_text(command);
    if (!text && (name == "tee" || (name == "cat" && command.words.size() == 1))) text = inputs[i];
    if (command.piped_into && *command.piped_into < inputs.size()) inputs[*command.piped_into] = text;
    const auto add = [&](Argument path, bool append) {
      if (path.text == "/dev/null" || path.text == "/dev/stderr" || path.text == "/dev/stdout") return;
      FileWrite write;
      write.command = i;
      write.path = std::move(path);
      write.append = append;
      write.text = text;
      writes.push_back(std::move(write));
    };
    for (const Redirection& one : command.redirections) {
      if (!writes_output(one.operation)) continue;
      if (one.target.kind == CommandWord::Kind::text) {
        add({path_from(command.folder, one.target.text), one.offset}, one.operation.find(">>") != std::string::npos);
      } else {
        add({{}, one.offset}, one.operation.find(">>") != std::string::npos);
      }
    }
    if (name != "tee") continue;
    const auto tee = read_file_command(command);
    for (const Argument& path : tee->paths) add(path, tee->append);
    if (!tee->not_known.empty()) add({{}, command.offset}, tee->append);
  }
  return writes;
}

}  // namespace imgforge
