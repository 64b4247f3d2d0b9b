#include "facts/entrypoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "facts/commands.hpp"
#include "facts/shebang.hpp"
#include "facts/start_script.hpp"
#include "facts/wrappers.hpp"

namespace imgforge {
namespace {

constexpr std::size_t max_chain = 16;
constexpr int max_followed = 400;  // programs looked at in all
constexpr std::uint64_t max_script = 256 << 10;
constexpr std::size_t max_environment = 64 << 10;

constexpr std::string_view launcher_folder = "/opt/google/dataflow/";
constexpr std::string_view launcher_ending = "_template_launcher";

bool is_launcher(std::string_view path) {
  return path.starts_with(launcher_folder) && path.ends_with(launcher_ending) &&
         path.find('/', launcher_folder.size()) == std::string_view::npos;
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_shell(std::string_view name) {
  return name == "sh" || name == "bash" || name == "dash" || name == "ash" || name == "ksh" || name == "zsh" ||
         name == "rbash";
}

/// Where following a command line came to.
struct Trail {
  std::vector<std::string> chain;
  Program ends_in = Program::other;
  bool arguments_dropped = false;
  std::string last;
  std::string why;
  std::optional<std::string> unknown;  // why it cannot be told

  static Trail lost(std::string reason) {
    Trail trail;
    trail.unknown = std::move(reason);
    return trail;
  }
  static Trail at(Program program, std::string last, std::string why = {}) {
    Trail trail;
    trail.ends_in = program;
    trail.last = std::move(last);
    trail.why = std::move(why);
    return trail;
  }
};

class Follower {
 public:
  explicit Follower(StartFiles& files) : files_(files) {}

  Trail follow(CommandLine line, ShellContext context, bool by_shell, std::size_t depth) {
    std::vector<std::string> chain;
    const auto with_chain = [&](Trail trail) {
      trail.chain.insert(trail.chain.begin(), chain.begin(), chain.end());
      return trail;
    };
    for (;;) {
      if (line.empty()) return with_chain(Trail::at(Program::other, "", "no program is left to run"));
      if (++followed_ > max_followed)
        return with_chain(Trail::lost("the entrypoint runs too many programs to be followed"));
      if (chain.size() + depth >= max_chain) {
        return with_chain(Trail::at(Program::other, line.front().text, "runs more than 16 programs one after another"));
      }
      const CommandWord& first = line.front();
      if (first.kind == CommandWord::Kind::arguments) {
        return with_chain(Trail::at(Program::other, "\"$@\"", "runs the runtime's arguments as a command"));
      }
      if (first.kind == CommandWord::Kind::unknown) {
        return with_chain(Trail::lost(
            fmt::format("the entrypoint runs {}, which only the run tells", escape_for_display(first.text))));
      }
      const std::string& name = first.text;

      // The program's file.
      std::optional<Command> command;
      std::string at;
      std::string not_told;
      const auto take = [&](StartFiles::Found found) {
        command = std::move(found.command);
        not_told = std::move(found.unknown);
      };
      if (name.find('/') != std::string::npos) {
        if (!name.starts_with('/') && !context.folder) return with_chain(Trail::lost(unknown_folder(name)));
        at = absolute_path(name, context.folder.value_or("/"));
        take(files_.at(at));
      } else {
        auto path = context.variable("PATH");
        if (!path)
          return with_chain(
              Trail::lost(fmt::format("the PATH by which {} is found is not known", escape_for_display(name))));
        if (path->empty()) path = default_path;
        take(files_.find(name, *path, context.folder.value_or("/")));
        if (command) at = command->found_at;
      }
      // Where a shell or a wrapper lies does not matter for what it runs.
      const std::string program(base_name(name));
      if (!command && !not_told.empty() && at != boot_path && !is_launcher(at)) {
        // Where they are, they are not boot, and run none.
        static constexpr std::string_view tools[] = {"pytest", "tox", "jupyter", "jupyter-lab", "gunicorn", "uvicorn",
                                                     "flask", "celery", "java", "spark-submit", "poetry", "sleep"};
        if (name == program && std::find(std::begin(tools), std::end(tools), program) != std::end(tools) && !names_boot(line))
          return with_chain(Trail::at(Program::other, name));
        if (!is_wrapper(program) && !is_shell(program)) return with_chain(Trail::lost(not_told));
        command = Command{at.empty() ? name : at, at.empty() ? name : at, false, true};
      }
      if (files_.reaches_boot(at, command)) return with_chain(ended(Program::boot, line, command ? command->canonical : at));
      if (is_launcher(at) || (command && is_launcher(command->canonical))) {
        return with_chain(ended(command && command->dangles ? Program::missing : Program::launcher, line,
                                command ? command->canonical : at));
      }
      if (!command) return with_chain(Trail::at(Program::missing, name, "is not in the image"));
      if (command->dangles) return with_chain(Trail::at(Program::missing, name, "is a link to nothing"));
      chain.push_back(command->canonical);
      if (!command->executable) return with_chain(Trail::at(Program::other, name, "is not executable"));

      // What it does with the rest of the line.
      if (const auto rest = unwrap(program, line, context)) {
        if (rest->empty()) return with_chain(Trail::at(Program::other, name, "is given no program to run"));
        line = *rest;
        by_shell = false;
        continue;
      }
      if (is_shell(program)) return with_chain(shell(line, context, depth + chain.size()));
      return with_chain(file(*command, line, context, by_shell, depth + chain.size()));
    }
  }

 private:
  static std::string unknown_folder(const std::string& name) {
    return fmt::format("the folder from which {} is run is not known", escape_for_display(name));
  }

  static Trail ended(Program program, const CommandLine& line, const std::string& canonical) {
    Trail trail = Trail::at(program, line.front().text);
    if (!canonical.empty()) trail.chain.push_back(canonical);
    bool unknown = false;
    trail.arguments_dropped = true;
    for (const CommandWord& word : from(line, 1)) {
      if (word.kind == CommandWord::Kind::arguments) trail.arguments_dropped = false;
      if (word.kind == CommandWord::Kind::unknown) unknown = true;
    }
    if (trail.arguments_dropped && unknown) {
      trail.unknown =
          fmt::format("whether the arguments reach {} only the run tells", escape_for_display(line.front().text));
    }
    return trail;
  }

  /// sh [options] script arguments, sh -c text [$0 arguments].
  Trail shell(const CommandLine& line, const ShellContext& context, std::size_t depth) {
    std::size_t i = 1;
    bool text_follows = false, from_input = false;
    for (; is_text(line, i) && line[i].text.size() > 1 && (line[i].text.front() == '-' || line[i].text.front() == '+');
         ++i) {
      const std::string& option = line[i].text;
      if (option == "--") {
        ++i;
        break;
      }
      if (option.starts_with("--")) {
        if (option == "--rcfile" || option == "--init-file") ++i;
        continue;
      }
      if (option.find('c') != std::string::npos) text_follows = true;
      if (option.find('s') != std::string::npos) from_input = true;
      if (option.back() == 'o' || option.back() == 'O') ++i;
    }
    if (i >= line.size()) return Trail::at(Program::other, line.front().text, "is a shell without a script");
    const CommandWord& word = line[i];
    if (word.kind == CommandWord::Kind::arguments || (from_input && !text_follows)) {
      return Trail::at(Program::other, line.front().text, "is a shell that takes the runtime's arguments for a script");
    }
    if (word.kind == CommandWord::Kind::unknown) {
      return Trail::lost(fmt::format("the shell runs {}, which only the run tells", escape_for_display(word.text)));
    }
    if (text_follows) {
      CommandLine arguments = from(line, i + 1);
      // The first word behind the text is $0. Where that is one of the runtime's arguments, boot misses it, unless the
      // text hands on both: sh -c 'exec boot "$0" "$@"'.
      std::string self = line.front().text;
      if (!arguments.empty() && arguments.front().kind == CommandWord::Kind::arguments) {
        if (const auto text = with_all_arguments(word.text)) return script(*text, self, arguments, context, depth);
      }
      if (!arguments.empty() && arguments.front().kind == CommandWord::Kind::text) {
        self = arguments.front().text;
        arguments.erase(arguments.begin());
      } else if (!arguments.empty()) {
        arguments.clear();
      }
      return script(word.text, self, arguments, context, depth);
    }
    if (!word.text.starts_with('/') && !context.folder) return Trail::lost(unknown_folder(word.text));
    const std::string at = absolute_path(word.text, context.folder.value_or("/"));
    StartFiles::Found found = files_.at(at);
    if (!found.command && word.text.find('/') == std::string::npos) {
      // A script that is not in the current folder is looked for on PATH.
      if (const auto path = context.variable("PATH")) {
        StartFiles::Found other = files_.find(word.text, path->empty() ? default_path : *path, context.folder.value_or("/"));
        if (other.command || found.unknown.empty()) found = std::move(other);
      }
    }
    const std::optional<Command>& command = found.command;
    if (!command && !found.unknown.empty()) return Trail::lost(found.unknown);
    if (!command || command->dangles) return Trail::at(Program::missing, word.text, "is not in the image");
    Trail trail = script_file(*command, from(line, i), context, depth);
    trail.chain.insert(trail.chain.begin(), command->canonical);
    return trail;
  }

  /// A program that is none of the known ones.
  Trail file(const Command& command, const CommandLine& line, const ShellContext& context, bool by_shell,
             std::size_t depth) {
    const StartFiles::Content content = files_.start_of(command.canonical);
    if (content.kind == StartFiles::Content::Kind::none) return Trail::at(Program::missing, line.front().text);
    if (content.kind == StartFiles::Content::Kind::unknown) return Trail::lost(content.why);
    const std::string& start = content.text;
    if (content.kind == StartFiles::Content::Kind::program) {
      if (names_boot(line)) {
        return Trail::lost(fmt::format("whether {} runs the boot that it is given cannot be told",
                                       escape_for_display(line.front().text)));
      }
      return Trail::at(Program::other, line.front().text);
    }
    const auto shebang = parse_shebang(start);
    if (!shebang && !by_shell)
      return Trail::at(Program::other, line.front().text, "is neither a program nor a script with a #! line");
    if (!shebang) return script_file(command, line, context, depth);

    // #!/usr/bin/env bash and #!/bin/sh are followed here; another interpreter's script is not.
    std::vector<std::string> interpreter = *shebang;
    if (interpreter.front().empty()) return Trail::at(Program::other, line.front().text, "has an empty #! line");
    const StartFiles::Found runs = files_.at(absolute_path(interpreter.front(), context.folder.value_or("/")));
    const std::optional<Command>& program = runs.command;
    if (runs.unknown.empty() && (!program || program->dangles)) {
      return Trail::at(
          Program::missing, interpreter.front(),
          fmt::format("is the interpreter of {} and not in the image", escape_for_display(command.canonical)));
    }
    std::string name(base_name(interpreter.front()));
    if (name == "env") {
      std::size_t i = 1;
      while (i < interpreter.size() &&
             (interpreter[i].starts_with("-") || interpreter[i].find('=') != std::string::npos))
        ++i;
      name = i < interpreter.size() ? std::string(base_name(interpreter[i])) : "";
      const auto path = context.variable("PATH");
      const auto found_on_path = [&] {
        const StartFiles::Found found = files_.find(name, path->empty() ? default_path : *path, context.folder.value_or("/"));
        return found.command.has_value() || !found.unknown.empty();
      };
      if (path && !name.empty() && interpreter[i].find('/') == std::string::npos && !found_on_path()) {
        return Trail::at(
            Program::missing, name,
            fmt::format("is the interpreter of {} and not in the image", escape_for_display(command.canonical)));
      }
    }
    if (is_shell(name)) return script_file(command, line, context, depth);
    if (names_boot(line)) {
      return Trail::lost(fmt::format("whether {} runs the boot that it is given cannot be told",
                                     escape_for_display(line.front().text)));
    }
    return Trail::at(Program::other, line.front().text);
  }

  /// A shell script in the image; `line` starts with its name.
  Trail script_file(const Command& command, const CommandLine& line, const ShellContext& context, std::size_t depth) {
    const StartFiles::Content content = files_.all_of(command.canonical);
    if (content.kind == StartFiles::Content::Kind::none) return Trail::at(Program::other, line.front().text, "is no file");
    if (content.kind == StartFiles::Content::Kind::unknown) return Trail::lost(content.why);
    if (!open_.insert(command.canonical).second) {
      return Trail::at(Program::other, line.front().text, "runs itself in a circle");
    }
    Trail trail = script(content.text, line.front().text, from(line, 1), context, depth + 1);
    open_.erase(command.canonical);
    if (trail.last.empty()) trail.last = line.front().text;
    return trail;
  }

  Trail script(const std::string& text, const std::string& self, const CommandLine& arguments,
               const ShellContext& context, std::size_t depth) {
    const EndsThere ends_there = [&](const CommandLine& line, const ShellContext& at) {
      if (depth + 1 >= max_chain || followed_ > max_followed) return false;
      const std::string& name = line.front().text;
      const std::string program(base_name(name));
      const bool wraps = is_wrapper(program) || is_shell(program);
      if (name.find('/') == std::string::npos && !wraps && name != "boot") return false;
      const Trail trail = follow(line, at, true, depth + 1);
      return !trail.unknown && (trail.ends_in == Program::boot || trail.ends_in == Program::launcher);
    };
    std::optional<Trail> agreed;
    for (const ScriptEnd& end : read_start_script(text, self, arguments, context, ends_there)) {
      Trail trail;
      if (end.kind == ScriptEnd::Kind::unknown) {
        trail = Trail::lost(fmt::format("{} cannot be followed: {}", escape_for_display(self), end.why));
      } else if (end.kind == ScriptEnd::Kind::exits) {
        trail = Trail::at(Program::other, self, "ends without running a program");
      } else if (end.builtin) {
        trail = Trail::at(Program::other, end.command.front().text, "is the last command of the script");
      } else {
        trail = follow(end.command, end.context, true, depth + 1);
      }
      if (trail.unknown) return trail;
      const bool same =
          !agreed || (agreed->ends_in == trail.ends_in && agreed->arguments_dropped == trail.arguments_dropped);
      if (!same)
        return Trail::lost(
            fmt::format("how {} ends depends on conditions that only the run tells", escape_for_display(self)));
      if (!agreed) agreed = std::move(trail);
    }
    return agreed ? *agreed : Trail::at(Program::other, self, "ends without running a program");
  }

  /// The text of a `sh -c` with "$0" "$@", which together are all arguments, as "$@"; nothing where it uses one of them
  /// otherwise.
  static std::optional<std::string> with_all_arguments(std::string text) {
    constexpr std::string_view both = "\"$0\" \"$@\"";
    constexpr std::string_view mark = "\x01";  // no shell word of its own, so the rest can be looked at without the pair
    if (text.find(mark) != std::string::npos) return std::nullopt;
    bool found = false;
    for (std::size_t at = text.find(both); at != std::string::npos; at = text.find(both, at)) {
      text.replace(at, both.size(), mark);
      found = true;
    }
    static constexpr std::string_view others = "0123456789@*#{";
    for (std::size_t at = text.find('$'); at != std::string::npos; at = text.find('$', at + 1)) {
      if (at + 1 < text.size() && others.find(text[at + 1]) != std::string_view::npos) return std::nullopt;
    }
    if (!found || text.find("shift") != std::string::npos || text.find("set ") != std::string::npos) return std::nullopt;
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) text.replace(at, mark.size(), "\"$@\"");
    return text;
  }

  static bool names_boot(const CommandLine& line) {
    return std::any_of(line.begin() + 1, line.end(), [](const CommandWord& word) {
      return word.kind == CommandWord::Kind::text && word.text.find("beam/boot") != std::string::npos;
    });
  }

  StartFiles& files_;
  std::set<std::string> open_;       // scripts that are being read
  int followed_ = 0;
};

/// Those of an image.
class RootFiles final : public StartFiles {
 public:
  explicit RootFiles(RootView& root) : root_(root) {}

  Found at(const std::string& path) override { return {command_at(root_, path), {}}; }
  Found find(std::string_view name, std::string_view path, std::string_view folder) override {
    return {find_command(root_, name, path, folder), {}};
  }

  bool reaches_boot(const std::string& at, const std::optional<Command>& command) override {
    if (at == boot_path) return true;
    if (!command) return false;
    if (!boot_) {
      const Lookup found = root_.lookup(boot_path);
      boot_ = found ? found.node->path : std::string();
    }
    if (!boot_->empty() && command->canonical == *boot_) return true;
    const Lookup found = root_.lookup(at);
    if (std::find(found.links.begin(), found.links.end(), boot_path) != found.links.end()) return true;
    if (found || found.links.empty()) return false;
    const Lookup last = root_.lookup_link(found.links.back());
    return last &&
           absolute_path(last.node->link, found.links.back().substr(0, found.links.back().rfind('/'))) == boot_path;
  }

  Content start_of(const std::string& canonical) override {
    const Lookup found = root_.lookup(canonical);
    if (!found) return {};
    if (found.node->elf_machine != 0) return {Content::Kind::program, {}, {}};
    std::string start = root_.read_prefix(*found.node, 260).value_or("");
    if (start.starts_with("\x7f"
                          "ELF"))
      return {Content::Kind::program, {}, {}};
    return {Content::Kind::text, std::move(start), {}};
  }

  Content all_of(const std::string& canonical) override {
    const Lookup found = root_.lookup(canonical);
    if (!found || found.node->type != EntryType::file) return {};
    auto text = root_.read(*found.node, max_script);
    if (!text)
      return {Content::Kind::unknown, {}, fmt::format("{} is too large to be read as a script", escape_for_display(canonical))};
    return {Content::Kind::text, std::move(*text), {}};
  }

  std::optional<Evidence> evidence(const std::string& path) override {
    const Lookup found = root_.lookup(path);
    if (!found) return std::nullopt;
    return Evidence::in_layer(root_.layer_name(found.node->layer), found.node->path);
  }

 private:
  RootView& root_;
  std::optional<std::string> boot_;  // canonical path of boot; empty where there is none
};

}  // namespace

Fact<Entrypoint> follow_entrypoint(const StartCommand& start, StartFiles& files) {
  Entrypoint entrypoint;
  entrypoint.entrypoint = start.entrypoint;
  entrypoint.cmd = start.cmd;
  std::vector<Evidence> evidence = {start.entrypoint_evidence};

  const auto follow = [&](const std::vector<std::string>& words, bool arguments) {
    CommandLine line;
    for (const std::string& word : words) line.push_back(CommandWord::of(word));
    if (arguments) line.push_back(CommandWord::all_arguments());
    return Follower(files).follow(std::move(line), start.context, false, 0);
  };

  if (!start.entrypoint.empty()) {
    Trail trail = follow(start.entrypoint, true);
    if (trail.unknown) return Fact<Entrypoint>::unknown(*trail.unknown);
    entrypoint.chain = std::move(trail.chain);
    entrypoint.ends_in = trail.ends_in;
    entrypoint.arguments_dropped = trail.arguments_dropped;
    entrypoint.last = std::move(trail.last);
    entrypoint.why = std::move(trail.why);
    for (const std::string& path : entrypoint.chain) {
      if (auto seen = files.evidence(path)) evidence.push_back(std::move(*seen));
    }
  }
  if (entrypoint.ends_in != Program::boot && !start.cmd.empty()) {
    // The runtime's arguments take Cmd's place, so a boot that is only there never runs.
    const Trail trail = follow(start.cmd, false);
    entrypoint.boot_in_cmd_only = trail.ends_in == Program::boot;
    if (entrypoint.boot_in_cmd_only || start.entrypoint.empty()) evidence.push_back(start.cmd_evidence);
  }
  return Fact<Entrypoint>::known(std::move(entrypoint), std::move(evidence));
}

Fact<Entrypoint> follow_entrypoint(const ImageConfig& config, RootView& root) {
  StartCommand start;
  start.entrypoint = config.entrypoint;
  start.cmd = config.cmd;
  start.entrypoint_evidence = Evidence::in_config("Entrypoint");
  start.cmd_evidence = Evidence::in_config("Cmd");
  std::size_t size = 0;
  for (const auto& [name, value] : config.env) {
    size += name.size() + value.size();
    if (size <= max_environment) start.context.variables[name] = CommandLine{CommandWord::of(value)};
  }
  start.context.variables_lost = size > max_environment;
  start.context.folder = absolute_path(config.workdir, "/");
  RootFiles files(root);
  return follow_entrypoint(start, files);
}

}  // namespace imgforge
