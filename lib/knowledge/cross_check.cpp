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
    frameworks();
    cuda_images();
    ngc_images();
    gpus();
    published_images();
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

  /// Whether there is a toolkit of its minor.
  bool has_cuda(const Version& version) const {
    const auto& rows = tables_.get<CudaRelease>().rows;
    return std::any_of(rows.begin(), rows.end(), [&](const CudaRelease& row) {
      return row.version.major() == version.major() && row.version.minor() == version.minor();
    });
  }
  static std::string no_cuda(const Version& version) {
    return "cuda: " + version.to_string() + " is of no minor in cuda_releases";
  }
  /// Whether there is a release that begins with these numbers: "8.9" is any of 8.9.
  bool has_cudnn(const Version& version) const {
    const auto& rows = tables_.get<CudnnRelease>().rows;
    const auto& wanted = version.release();
    return std::any_of(rows.begin(), rows.end(), [&](const CudnnRelease& row) {
      const auto& release = row.version.release();
      return release.size() >= wanted.size() && std::equal(wanted.begin(), wanted.end(), release.begin());
    });
  }
  static std::string no_cudnn(const Version& version) {
    return "cudnn: " + version.to_string() + " is no row of cudnn_releases";
  }
  bool has_os(std::string_view id) const {
    const auto& rows = tables_.get<LinuxRelease>().rows;
    return std::any_of(rows.begin(), rows.end(), [&](const LinuxRelease& row) { return row.id == id; });
  }

  void frameworks() {
    each<FrameworkBuild>([&](const FrameworkBuild& row) -> std::string {
      for (const FrameworkBuild::Cuda& cuda : row.cuda) {
        if (!has_cuda(cuda.cuda)) return no_cuda(cuda.cuda);
        if (cuda.cudnn && !has_cudnn(*cuda.cudnn)) return no_cudnn(*cuda.cudnn);
      }
      return {};
    });
    const auto& table = tables_.get<FrameworkBuild>();
    for (const auto& [framework, complete] : table.complete_of) {
      for (const Version& end : {complete->from, complete->through}) {
        if (std::any_of(table.rows.begin(), table.rows.end(), [&, &name = framework](const FrameworkBuild& row) {
              return row.framework == name && row.version == end;
            })) {
          continue;
        }
        diagnostics_.push_back(
            {{file_of(table), 0, 0},
             "complete: " + escape_for_display(framework) + " " + end.to_string() + " is not in the table itself",
             {},
             {}});
      }
    }
  }

  void cuda_images() {
    std::set<std::string> tags;
    each<CudaImageGroup>([&](const CudaImageGroup& row) -> std::string {
      const auto cuda = Version::parse(row.cuda);
      if (!cuda || !has_cuda(*cuda)) return no_cuda(cuda.value_or(Version()));
      if (row.cudnn && !has_cudnn(*row.cudnn)) return no_cudnn(*row.cudnn);
      // Other distributions have no apt and no row.
      if (row.os.starts_with("ubuntu") && !has_os(row.os))
        return "os: " + escape_for_display(row.os) + " is no id in linux_releases";
      for (const CudaImage& image : images_of(row)) {
        if (!tags.insert(image.tag).second)
          return "flavours: a second row for the tag " + escape_for_display(image.tag);
      }
      return {};
    });
  }

  void ngc_images() {
    each<NgcImage>([&](const NgcImage& row) -> std::string {
      if (!row.os.empty() && !has_os(row.os))
        return "os: " + escape_for_display(row.os) + " is no id in linux_releases";
      if (row.cuda && !has_cuda(*row.cuda)) return no_cuda(*row.cuda);
      // NVIDIA puts builds of cuDNN into them that it publishes nowhere else.
      const auto major = row.cudnn ? Version::parse(std::to_string(row.cudnn->major())) : std::nullopt;
      if (major && !has_cudnn(*major)) return no_cudnn(*row.cudnn);
      return row.python ? pythons({*row.python}) : std::string();
    });
  }

  void gpus() {
    const auto& toolkits = tables_.get<CudaRelease>().rows;  // oldest first
    each<GpuType>([&](const GpuType& row) -> std::string {
      const Version compute = *Version::parse(row.compute);
      for (const CudaRelease& toolkit : toolkits) {
        if (toolkit.compute_from.empty() || toolkit.compute_to.empty()) continue;
        const bool known =
            *Version::parse(toolkit.compute_from) <= compute && compute <= *Version::parse(toolkit.compute_to);
        const Version minor =
            *Version::parse(std::to_string(toolkit.version.major()) + "." + std::to_string(toolkit.version.minor()));
        const bool expected = row.cuda_from <= minor && (!row.cuda_through || minor <= *row.cuda_through);
        // A capability between two that a toolkit knows may still be younger than it: 8.9 lies between 8.0 and 9.0.
        if (expected && !known)
          return "compute: CUDA " + toolkit.version.to_string() + " has no code for " + row.compute +
                 " by cuda_releases, and is between cuda_from and cuda_through";
        if (!expected && known && row.cuda_through && *row.cuda_through < minor)
          return "cuda_through: CUDA " + toolkit.version.to_string() + " has code for " + row.compute +
                 " by cuda_releases";
      }
      return {};
    });
  }

  void published_images() {
    const auto& complete = tables_.get<BeamRelease>().complete;
    each<PublishedImages>([&](const PublishedImages& row) -> std::string {
      for (const auto* version : {&row.from, &row.sure, &row.through}) {
        if (*version && complete && complete->covers(**version) && release(**version) == nullptr)
          return "Beam " + (*version)->to_string() + " is no row of beam_releases";
      }
      return pythons(row.without);
    });
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
      if (row.cuda && !has_cuda(*row.cuda)) return no_cuda(*row.cuda);
      return row.python ? pythons({*row.python}) : std::string();
    });
  }

  void distributions() {
    each<LinuxRelease>([&](const LinuxRelease& row) -> std::string {
      if (row.python && !has_python(*row.python))
        return "python: " + row.python->to_string() + " is no row of python_releases";
      return pythons(row.deadsnakes) + pythons(row.universe);
    });
  }

  const Knowledge::Tables& tables_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace

std::vector<Diagnostic> cross_check(const Knowledge::Tables& tables) { return Check(tables).run(); }

}  // namespace imgforge::knowledge
