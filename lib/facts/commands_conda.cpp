#include "facts/commands_conda.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace imgforge {
namespace {

using Action = CondaCommand::Action;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

bool is_path_or_url(std::string_view text) {
  return text.find("://") != std::string_view::npos || text.starts_with("/") || text.starts_with("./") ||
         text.ends_with(".conda") || text.ends_with(".tar.bz2");
}

const OptionTable& options() {
  static const OptionTable table = {
      "npcfr",
      {"name", "prefix", "channel", "file", "clone", "root-prefix", "solver", "experimental-solver", "platform",
       "subdir", "repodata-fn", "revision", "extra-safety-checks", "log-level", "rc-file", "category", "cache-dir"},
      false,
      false};
  return table;
}

Action action_of(std::string_view verb) {
  if (verb == "create") return Action::create;
  if (verb == "install") return Action::install;
  if (verb == "update" || verb == "upgrade") return Action::update;
  if (verb == "remove" || verb == "uninstall") return Action::remove;
  if (verb == "clean") return Action::clean;
  if (verb == "config") return Action::config;
  return Action::other;
}

bool is_environment_file(std::string_view name) { return name.ends_with(".yml") || name.ends_with(".yaml"); }

}  // namespace

std::string CondaSpec::pinned() const {
  std::string_view text = version;
  if (text.starts_with("==")) text.remove_prefix(2);
  if (text.ends_with(".*")) text.remove_suffix(2);
  if (text.ends_with("*")) text.remove_suffix(1);
  if (text.empty() || text.find_first_of("<>=!~,|*") != std::string_view::npos) return {};
  return std::string(text);
}

std::optional<CondaSpec> parse_conda_spec(std::string_view given) {
  std::string_view text = trim(given);
  if (text.empty() || text.size() > 1024 || is_path_or_url(text)) return std::nullopt;
  CondaSpec spec;
  spec.written = std::string(given);
  if (const std::size_t colons = text.find("::"); colons != std::string_view::npos) {
    spec.channel = std::string(text.substr(0, colons));
    text.remove_prefix(colons + 2);
  }
  // Brackets say the same as what stands before them in another way: name[version=1.2]
  std::string_view inside;
  if (const std::size_t bracket = text.find('['); bracket != std::string_view::npos) {
    inside = text.substr(bracket + 1);
    if (inside.ends_with("]")) inside.remove_suffix(1);
    text = text.substr(0, bracket);
  }
  std::size_t end = 0;
  while (end < text.size() && is_name_character(text[end])) ++end;
  if (end == 0) return std::nullopt;
  spec.name = lower(text.substr(0, end));
  std::string_view rest = trim(text.substr(end));
  // "=1.2=build" and "1.2 build"; "==1.2", ">=1,<2" stay as they are.
  if (rest.starts_with("=") && !rest.starts_with("==")) {
    rest.remove_prefix(1);
    if (const std::size_t equals = rest.find('='); equals != std::string_view::npos) {
      spec.build = std::string(trim(rest.substr(equals + 1)));
      rest = rest.substr(0, equals);
    }
  }
  if (const std::size_t space = rest.find(' '); space != std::string_view::npos) {
    const std::string_view behind = trim(rest.substr(space));
    const bool more = std::string_view("<>=!~,|").find(behind.front()) != std::string_view::npos ||
                      std::string_view("<>=!~,|").find(rest[space - 1]) != std::string_view::npos;
    if (!more) {
      spec.build = std::string(behind);
      rest = rest.substr(0, space);
    }
  }
  for (const char c : rest) {
    if (c != ' ') spec.version += c;
  }
  if (!rest.empty() && std::string_view("<>=!~*|0123456789v").find(spec.version.empty() ? ' ' : spec.version.front()) ==
                           std::string_view::npos)
    return std::nullopt;
  for (const std::string_view part : split(inside, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    std::string value(trim(part.substr(equals + 1)));
    std::erase_if(value, [](char c) { return c == '\'' || c == '"'; });
    const std::string_view key = trim(part.substr(0, equals));
    if (key == "version") spec.version = value;
    if (key == "build") spec.build = value;
    if (key == "channel") spec.channel = value;
  }
  return spec;
}

std::optional<CondaCommand> read_conda(const RunCommand& command) {
  CondaCommand made;
  made.program = program_name(command);
  if (made.program != "conda" && made.program != "mamba" && made.program != "micromamba") return std::nullopt;
  made.word = command.words.front().text;
  made.offset = command.offsets.empty() ? command.offset : command.offsets.front();
  const GivenArguments given = sort_arguments(command, 1, options());
  made.not_known = given.not_known;
  if (const auto name = given.value("-n", "--name")) made.environment = name->text;
  if (const auto prefix = given.value("-p", "--prefix")) made.prefix = prefix->text;
  if (const auto clone = given.value("--clone")) made.clone = clone->text;
  for (const Argument& channel : given.values("-c", "--channel")) made.channels.push_back(channel.text);
  made.override_channels = given.has("--override-channels");
  made.assume_yes = given.has("-y") || given.has("--yes");
  made.dry_run = given.has("-d") || given.has("--dry-run");
  made.no_deps = given.has("--no-deps");
  made.files = given.values("-f", "--file");
  if (given.operands.empty()) return made;
  std::size_t at = 1;
  made.subcommand = given.operands.front().text;
  made.action = action_of(made.subcommand);
  if (made.subcommand == "env" && given.operands.size() > 1) {
    const std::string verb = given.operands[1].text;
    made.subcommand = "env " + verb;
    at = 2;
    made.action = verb == "create"                       ? Action::environment_create
                  : verb == "update"                     ? Action::environment_update
                  : verb == "remove" || verb == "delete" ? Action::remove
                                                         : Action::other;
  }
  if (made.program == "micromamba" && std::any_of(made.files.begin(), made.files.end(), [](const Argument& file) {
        return is_environment_file(file.text);
      })) {
    if (made.action == Action::create) made.action = Action::environment_create;
    if (made.action == Action::install || made.action == Action::update) made.action = Action::environment_update;
  }
  const bool environment = made.action == Action::environment_create || made.action == Action::environment_update;
  if (environment && made.files.empty() && given.not_known.empty())
    made.files.push_back({"environment.yml", made.offset});
  if (made.action == Action::other || made.action == Action::clean || made.action == Action::config) return made;
  for (std::size_t i = at; i < given.operands.size(); ++i) {
    const Argument& word = given.operands[i];
    auto spec = parse_conda_spec(word.text);
    if (spec) {
      spec->offset = word.offset;
      made.packages.push_back(std::move(*spec));
    } else if (is_path_or_url(word.text)) {
      made.urls.push_back(word);
    } else if (made.not_known.empty()) {
      made.not_known = unknown_word(CommandWord::of(word.text));
    }
  }
  return made;
}

std::optional<CondaInstaller> read_conda_installer(const RunCommand& command) {
  std::size_t at = 0;
  const std::string name = program_name(command);
  if (name == "bash" || name == "sh" || name == "dash") {
    at = 1;
    while (at < command.words.size() && command.words[at].kind == CommandWord::Kind::text &&
           command.words[at].text.starts_with("-"))
      ++at;
  }
  if (at >= command.words.size() || command.words[at].kind != CommandWord::Kind::text) return std::nullopt;
  CondaInstaller made;
  made.script = command.words[at].text;
  const std::string file = lower(base_name(made.script));
  static constexpr std::string_view names[] = {"miniforge", "mambaforge", "miniconda", "anaconda", "conda"};
  const bool named =
      file.ends_with(".sh") && std::any_of(std::begin(names), std::end(names),
                                           [&](std::string_view one) { return file.find(one) != std::string::npos; });
  if (!named) return std::nullopt;
  OptionTable table;
  table.short_with_value = "p";
  const GivenArguments given = sort_arguments(command, at + 1, table);
  made.batch = given.has("-b");
  if (const auto prefix = given.value("-p")) made.prefix = path_from(command.folder, prefix->text);
  if (!made.batch && !given.has("-p")) return std::nullopt;
  made.not_known = given.not_known;
  return made;
}

}  // namespace imgforge
