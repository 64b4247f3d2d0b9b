#include <set>

#include "base/text.hpp"
#include "knowledge/tables.hpp"

namespace imgforge::knowledge {

namespace {

class Check {
 public:
  explicit Check(const Knowledge::Tables& tables) : tables_(tables) {}

  std::vector<Diagnostic> run() {
    releases();
    behaviours();
    pins();
    bases();
    distributions();
    // Rows that were read from a file come first: it is those that somebody just wrote.
    std::stable_partition(diagnostics_.begin(), diagnostics_.end(),
                          [](const Diagnostic& diagnostic) { return diagnostic.place.line != 0; });
    return std::move(diagnostics_);
  }

 private:
  // Calls `row_check(row)`, which answers with what is wrong; empty where nothing is.
  template <class RowType, class RowCheck>
  void each(RowCheck&& row_check) {
    const TableOf<RowType>& table = tables_.get<RowType>();
    std::set<std::string> told;  // of rows without a line, which would say the same many times
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      std::string wrong = row_check(table.rows[i]);
      if (wrong.empty() || (table.places[i].line == 0 && !told.insert(wrong).second)) continue;
      diagnostics_.push_back({table.places[i], std::move(wrong), {}, {}});
    }
  }

  template <class RowType>
  static std::string file_of(const TableOf<RowType>& table) {
    return table.places.empty() ? spec_of<RowType>().name : table.places[0].file;
  }

  bool has_python(const PythonMinor& minor) const {
    const auto& rows = tables_.get<PythonRelease>().rows;
    return std::any_of(rows.begin(), rows.end(), [&](const PythonRelease& row) { return row.minor == minor; });
  }
  const BeamRelease* release(const Version& version) const {
    const auto& rows = tables_.get<BeamRelease>().rows;  // sorted by version
    const auto found =
        std::lower_bound(rows.begin(), rows.end(), version,
                         [](const BeamRelease& row, const Version& wanted) { return row.version < wanted; });
    return found != rows.end() && found->version == version ? &*found : nullptr;
  }

  std::string pythons(const std::vector<PythonMinor>& minors) const {
    for (const PythonMinor& minor : minors) {
      if (!has_python(minor)) return "Python " + minor.to_string() + " is no row of python_releases";
    }
    return {};
  }

  void releases() {
    const auto& linux_rows = tables_.get<LinuxRelease>().rows;
    each<BeamRelease>([&](const BeamRelease& row) -> std::string {
      if (std::none_of(linux_rows.begin(), linux_rows.end(),
                       [&](const LinuxRelease& os) { return os.code_name == row.image_base; })) {
        return "image_base: " + escape_for_display(row.image_base) + " is no code name in linux_releases";
      }
      return pythons(row.pythons);
    });
    const auto& table = tables_.get<BeamRelease>();
    if (!table.complete) return;
    for (const Version& end : {table.complete->from, table.complete->through}) {
      if (release(end) == nullptr) {
        diagnostics_.push_back(
            {{file_of(table), 0, 0}, "complete: " + end.to_string() + " is not in the table itself", {}, {}});
      }
    }
  }

  void behaviours() {
    const auto& table = tables_.get<BehaviourRow>();
    for (std::size_t i = 0; i < behaviour_count; ++i) {
      const auto behaviour = static_cast<BeamBehaviour>(i);
      if (std::none_of(table.rows.begin(), table.rows.end(),
                       [&](const BehaviourRow& row) { return row.behaviour == behaviour; })) {
        diagnostics_.push_back(
            {{file_of(table), 0, 0}, "no row for the behaviour " + std::string(to_string(behaviour)), {}, {}});
      }
    }
    // A first release that never was would put the border where nobody looks.
    each<BehaviourRow>([&](const BehaviourRow& row) -> std::string {
      const auto& complete = tables_.get<BeamRelease>().complete;
      if (!complete || !complete->covers(row.since) || release(row.since) != nullptr) return {};
      return "since: Beam " + row.since.to_string() + " is no row of beam_releases";
    });
  }

  void pins() {
    each<BeamImagePins>([&](const BeamImagePins& row) -> std::string {
      const BeamRelease* beam = release(row.beam);
      if (beam == nullptr) return "beam: " + row.beam.to_string() + " is no row of beam_releases";
      if (std::find(beam->pythons.begin(), beam->pythons.end(), row.python) != beam->pythons.end()) return {};
      return "python: Beam " + row.beam.to_string() + " does not have Python " + row.python.to_string() +
             " in beam_releases";
    });
  }

  void bases() {
    const auto& linux_rows = tables_.get<LinuxRelease>().rows;
    each<BaseImage>([&](const BaseImage& row) -> std::string {
      if (!row.os.empty() &&
          std::none_of(linux_rows.begin(), linux_rows.end(), [&](const LinuxRelease& os) { return os.id == row.os; })) {
        return "os: " + escape_for_display(row.os) + " is no id in linux_releases";
      }
      return row.python ? pythons({*row.python}) : std::string();
    });
  }

  void distributions() {
    each<LinuxRelease>([&](const LinuxRelease& row) -> std::string {
      if (row.python && !has_python(*row.python))
        return "python: " + row.python->to_string() + " is no row of python_releases";
      return pythons(row.deadsnakes);
    });
  }

  const Knowledge::Tables& tables_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace

std::vector<Diagnostic> cross_check(const Knowledge::Tables& tables) { return Check(tables).run(); }

}  // namespace imgforge::knowledge
