#include "facts/build_start.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "facts/entrypoint.hpp"

namespace imgforge {

namespace {

using Seen = BuildFiles::Seen;

/// The files of a stage, for the entrypoint.
class StateFiles final : public StartFiles {
 public:
  explicit StateFiles(const BuildState& state) : state_(state) {}

  Found at(const std::string& path) override { return found_of(find_program(state_, path), state_.files.look(path)); }
  Found find(std::string_view name, std::string_view path, std::string_view) override {
    const FoundProgram program = find_program(state_, name, std::string(path));
    if (program.seen == Seen::no || program.seen == Seen::yes) {
      // A program that a base is known to have, or pip brought, lies somewhere on PATH.
      if (program.seen == Seen::no && !program.dangles) {
        const auto known = state_.programs.find(name);
        if (known != state_.programs.end() && known->second != ProgramUse::There::no)
          return {std::nullopt, where(name)};
        if (!state_.programs_open.empty()) return {std::nullopt, state_.programs_open};
      }
      return found_of(program, {});
    }
    return {std::nullopt, program.reason.empty() ? where(name) : program.reason};
  }

  bool reaches_boot(const std::string& path, const std::optional<Command>& command) override {
    if (path == boot_path) return true;
    if (!command) return false;
    const BuildFiles::Look boot = state_.files.look(std::string(boot_path));
    if (boot.seen == Seen::yes && command->canonical == boot.canonical) return true;
    const BuildFiles::Look look = state_.files.look(path);
    return look.canonical == boot_path ||
           std::find(look.links.begin(), look.links.end(), boot_path) != look.links.end();
  }

  Content start_of(const std::string& canonical) override { return content(canonical); }
  Content all_of(const std::string& canonical) override { return content(canonical); }
  std::optional<Evidence> evidence(const std::string& path) override {
    const BuildFiles::Look look = state_.files.look(path);
    if (look.seen != Seen::yes || look.file->evidence == state_.base_evidence) return std::nullopt;
    return look.file->evidence;
  }

 private:
  static std::string where(std::string_view name) {
    return fmt::format("where {} is", escape_for_display(std::string(name)));
  }

  Found found_of(const FoundProgram& program, const BuildFiles::Look& look) const {
    if (program.seen == Seen::yes) return {Command{program.found_at, program.canonical, false, true}, {}};
    if (program.dangles) return {Command{program.found_at, {}, true, false}, {}};
    if (look.seen == Seen::yes && look.file->kind != BuildFile::Kind::link)
      return {Command{look.canonical, look.canonical, false,
                      look.file->executable && look.file->kind != BuildFile::Kind::folder},
              {}};
    if (program.seen == Seen::no) return {};
    return {std::nullopt, program.reason.empty() ? "whether it is there" : program.reason};
  }

  Content content(const std::string& canonical) const {
    const BuildFiles::Look look = state_.files.look(canonical);
    if (look.seen == Seen::no) return {};
    if (look.seen == Seen::unknown) return {Content::Kind::unknown, {}, look.reason};
    if (look.file->kind == BuildFile::Kind::folder) return {};
    if (look.file->kind == BuildFile::Kind::program) return {Content::Kind::program, {}, {}};
    if (look.file->text) return {Content::Kind::text, *look.file->text, {}};
    return {Content::Kind::unknown, {}, fmt::format("what {} holds", escape_for_display(canonical))};
  }

  const BuildState& state_;
};

}  // namespace

Fact<Entrypoint> entrypoint_of(const BuildState& state) {
  if (!state.entrypoint) return Fact<Entrypoint>::unknown(state.entrypoint_not_known);
  StartCommand start;
  start.entrypoint = *state.entrypoint;
  start.cmd = state.cmd.value_or(std::vector<std::string>());
  start.entrypoint_evidence = state.entrypoint_evidence;
  start.cmd_evidence = state.cmd_evidence;
  for (const auto& [name, value] : state.env) {
    start.context.variables[name] =
        value.value ? std::optional<CommandLine>(CommandLine{CommandWord::of(*value.value)}) : std::nullopt;
  }
  if (!state.env_open.empty() && !start.context.variables.contains("PATH"))
    start.context.variables["PATH"] = std::nullopt;
  start.context.folder = state.workdir;
  StateFiles files(state);
  return follow_entrypoint(start, files);
}

Fact<Boot> boot_of(const BuildState& state) {
  const std::string path(boot_path);
  const BuildFiles::Look look = state.files.look(path);
  if (look.seen == BuildFiles::Seen::unknown)
    return Fact<Boot>::unknown(look.reason.empty() ? "whether /opt/apache/beam/boot is there" : look.reason);
  if (look.seen == BuildFiles::Seen::no) {
    const BuildFiles::Look link = state.files.look(path, false);
    if (link.seen == BuildFiles::Seen::yes) {
      Boot boot;
      boot.path = link.canonical;
      boot.broken_link = link.file->link;
      return Fact<Boot>::known(std::move(boot), {link.file->evidence});
    }
    std::vector<Evidence> evidence;
    if (look.removed_by.place.line != 0) evidence.push_back(look.removed_by);
    if (evidence.empty() && state.base_evidence.place.line != 0) evidence.push_back(state.base_evidence);
    return Fact<Boot>::absent(std::move(evidence));
  }
  Boot boot;
  boot.path = look.canonical;
  boot.regular = look.file->kind != BuildFile::Kind::folder;
  boot.executable = look.file->executable;
  boot.elf = look.file->kind == BuildFile::Kind::program;
  return Fact<Boot>::known(std::move(boot), {look.file->evidence});
}

Fact<Version> boot_version_of(const BuildState& state) {
  for (const char* path : {"/opt/apache/beam/boot", "/opt/apache/beam/tars/apache-beam.tar.gz"}) {
    const BuildFiles::Look look = state.files.look(path);
    if (look.seen == BuildFiles::Seen::yes && look.file->sdk && !look.file->sdk->beam.release().empty())
      return Fact<Version>::known(look.file->sdk->beam, {look.file->evidence});
  }
  const Fact<Boot> boot = boot_of(state);
  if (boot.is_absent()) return Fact<Version>::absent(boot.evidence());
  if (boot.is_known()) return Fact<Version>::unknown("of which SDK boot is");
  return Fact<Version>::unknown(boot.reason());
}

}  // namespace imgforge
