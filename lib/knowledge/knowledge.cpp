#include "knowledge/knowledge.hpp"

#include <re2/re2.h>

#include <algorithm>

#include "base/error.hpp"
#include "knowledge/pattern.hpp"
#include "knowledge/tables.hpp"

namespace imgforge {

using knowledge::BehaviourRow;

Knowledge::Knowledge(std::unique_ptr<Tables> tables) : tables_(std::move(tables)) {}
Knowledge::Knowledge(Knowledge&&) noexcept = default;
Knowledge& Knowledge::operator=(Knowledge&&) noexcept = default;
Knowledge::~Knowledge() = default;

const std::string& Knowledge::version() const {
  std::call_once(tables_->version_once, [this] {
    std::string text = std::max(tables_->compiled.newest(), tables_->newest_read).to_string();
    std::replace(text.begin(), text.end(), '-', '.');
    tables_->version = text + (tables_->custom ? "+custom" : "");
  });
  return tables_->version;
}

const std::vector<BeamRelease>& Knowledge::beam_releases() const { return tables_->get<BeamRelease>().rows; }

const std::optional<Complete>& Knowledge::beam_complete() const { return tables_->get<BeamRelease>().complete; }

const BeamRelease* Knowledge::beam_release(const Version& version) const {
  const auto& rows = beam_releases();
  const Version base = version.base();
  const auto found =
      std::lower_bound(rows.begin(), rows.end(), base,
                       [](const BeamRelease& row, const Version& wanted) { return row.version < wanted; });
  return found != rows.end() && found->version == base ? &*found : nullptr;
}

namespace {

const BehaviourRow& row_of(const Knowledge::Tables& tables, BeamBehaviour behaviour) {
  // Loading checks that every behaviour has its row.
  const auto& rows = tables.get<BehaviourRow>().rows;
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const BehaviourRow& row) { return row.behaviour == behaviour; });
  if (found == rows.end()) {
    throw Error(ErrorKind::knowledge, "beam_behaviour has no row for " + std::string(knowledge::to_string(behaviour)));
  }
  return *found;
}

}  // namespace

bool Knowledge::beam_has(BeamBehaviour behaviour, const Version& version) const {
  return beam_since(behaviour) <= version.base();
}

const Version& Knowledge::beam_since(BeamBehaviour behaviour) const { return row_of(*tables_, behaviour).since; }

const std::string& Knowledge::beam_source(BeamBehaviour behaviour) const { return row_of(*tables_, behaviour).source; }

const BeamImagePins* Knowledge::beam_pins(const Version& beam, const PythonMinor& python) const {
  const Version base = beam.base();
  const std::string minor = python.to_string();
  return tables_->pick<BeamImagePins>(
      [&](const knowledge::CompiledNode& row) {
        if (row.text("python") != minor) return false;
        const auto version = Version::parse(row.text("beam"));
        return version && *version == base;
      },
      [&](const BeamImagePins& row) { return row.python == python && row.beam == base; });
}

const std::vector<TpuType>& Knowledge::tpus() const { return tables_->get<TpuType>().rows; }

const TpuType* Knowledge::tpu(std::string_view type, std::string_view topology) const {
  const auto& rows = tpus();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const TpuType& row) { return row.type == type && row.topology == topology; });
  return found == rows.end() ? nullptr : &*found;
}

const std::vector<PythonRelease>& Knowledge::python_releases() const { return tables_->get<PythonRelease>().rows; }

const PythonRelease* Knowledge::python_release(const PythonMinor& minor) const {
  const auto& rows = python_releases();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const PythonRelease& row) { return row.minor == minor; });
  return found == rows.end() ? nullptr : &*found;
}

const std::vector<LinuxRelease>& Knowledge::linux_releases() const { return tables_->get<LinuxRelease>().rows; }

const LinuxRelease* Knowledge::linux_release(std::string_view id) const {
  const auto& rows = linux_releases();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const LinuxRelease& row) { return row.id == id; });
  return found == rows.end() ? nullptr : &*found;
}

namespace {

// The text of a named group of a pattern that matches all of `text`; empty where the pattern has no such group.
std::string group_of(const RE2& pattern, std::string_view text, const std::string& name) {
  const auto& groups = pattern.NamedCapturingGroups();
  const auto group = groups.find(name);
  if (group == groups.end()) return {};
  std::vector<re2::StringPiece> parts(static_cast<std::size_t>(group->second) + 1);
  const re2::StringPiece piece(text.data(), text.size());
  if (!pattern.Match(piece, 0, piece.size(), RE2::ANCHOR_BOTH, parts.data(), static_cast<int>(parts.size()))) return {};
  return std::string(parts.back().data() == nullptr ? "" : parts.back().data(), parts.back().size());
}

}  // namespace

std::optional<BaseImage> Knowledge::base_image(std::string_view host_and_repository, std::string_view tag) const {
  const auto matches = [](const RE2& pattern, std::string_view text) {
    return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), pattern);
  };
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  // Rows of a repository stand together: its pattern is compiled and asked once.
  const std::string* repository = nullptr;
  bool repository_matches = false;
  for (const BaseImage& row : tables_->get<BaseImage>().rows) {
    if (repository == nullptr || *repository != row.repository) {
      repository = &row.repository;
      repository_matches = knowledge::may_match(row.repository, host_and_repository) &&
                           matches(RE2(row.repository, options), host_and_repository);
    }
    if (!repository_matches || !knowledge::may_match(row.tag, tag)) continue;
    const RE2 pattern(row.tag, options);
    if (!matches(pattern, tag)) continue;
    BaseImage found = row;
    found.repository = host_and_repository;
    if (!row.python_group.empty()) {
      std::string minor = group_of(pattern, tag, row.python_group);
      if (minor.empty()) minor = group_of(RE2(row.repository, options), host_and_repository, row.python_group);
      // "311" of python311-template-launcher-base is 3.11.
      if (minor.size() > 1 && minor.find('.') == std::string::npos) minor.insert(1, ".");
      found.python = PythonMinor::parse(minor);
    }
    return found;
  }
  return std::nullopt;
}

const std::vector<Installer>& Knowledge::installers() const { return tables_->get<Installer>().rows; }

const Installer* Knowledge::installer(std::string_view name, const std::optional<Version>& version) const {
  const Installer* newest = nullptr;
  for (const Installer& row : installers()) {  // oldest first
    if (row.name == name && (!version || row.version == *version)) newest = &row;
  }
  return newest;
}

const FrameworkRelease* Knowledge::framework(std::string_view framework, const Version& version) const {
  const FrameworkRelease* newest = nullptr;
  const Version base = version.base();
  for (const FrameworkRelease& row : tables_->get<FrameworkRelease>().rows) {  // oldest first
    if (row.framework == framework && row.version <= base) newest = &row;
  }
  return newest;
}

}  // namespace imgforge
