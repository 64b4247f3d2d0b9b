#include "check/compat_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "check/compat.hpp"
#include "check/cuda.hpp"

namespace imgforge {

namespace {

CompatCell cell(std::string value) { return CompatCell::one(std::move(value)); }
CompatCell cell(const std::optional<Version>& version) { return cell(version ? version->to_string() : ""); }
CompatCell cell(const std::optional<Date>& date) { return cell(date ? date->to_string() : ""); }
CompatCell cell(const std::vector<PythonMinor>& minors) {
  std::vector<std::string> words;
  for (const PythonMinor& minor : minors) words.push_back(minor.to_string());
  return CompatCell::list(std::move(words));
}
CompatCell cell(const std::map<std::string, std::string, std::less<>>& requirements) {
  std::vector<std::string> words;
  for (const auto& [name, specifiers] : requirements) words.push_back(name + specifiers);
  return CompatCell::list(std::move(words));
}

CompatRow row_of(std::vector<CompatCell> cells, const Row& row) {
  return {std::move(cells), row.source, row.unverified};
}

/// A property of one subject: its name and its value.
CompatTable properties(std::string title) { return {std::move(title), {"property", "value"}, {}, ""}; }
void add(CompatTable& table, std::string name, CompatCell value, const Row& row) {
  table.rows.push_back(row_of({cell(std::move(name)), std::move(value)}, row));
}

std::string range(const std::string& from, const std::string& to) {
  if (from.empty()) return "";
  return to.empty() ? from + " and later" : fmt::format("{} to {}", from, to);
}

/// "12.2 (cuDNN 8.9)", "12.1 (cuDNN 9.1, cu121)".
std::string cuda_text(const FrameworkBuild::Cuda& one) {
  std::vector<std::string> details;
  if (one.cudnn) details.push_back("cuDNN " + one.cudnn->to_string());
  if (!one.local.empty()) details.push_back(one.local);
  if (one.on_pypi) details.emplace_back("PyPI");
  if (one.unverified) details.emplace_back("unverified");
  const std::string version = one.cuda.to_string();
  return details.empty() ? version : fmt::format("{} ({})", version, join(details, ", "));
}

CompatCell cuda_cell(const FrameworkBuild& build) {
  std::vector<std::string> words;
  for (const FrameworkBuild::Cuda& one : build.cuda) words.push_back(cuda_text(one));
  return CompatCell::list(std::move(words));
}

bool is_framework(const Knowledge& knowledge, std::string_view name) {
  const auto& all = knowledge.framework_builds();
  return std::any_of(all.begin(), all.end(), [&](const FrameworkBuild& one) { return one.framework == name; });
}

const std::array<std::string_view, 3> frameworks{"tensorflow", "torch", "jax"};

/// "2.14.0 to 2.21.0" of those that `fits`, one row a framework with the row of the newest.
template <typename Predicate>
CompatTable frameworks_that(const Knowledge& knowledge, std::string title, Predicate fits) {
  CompatTable table{std::move(title), {"framework", "releases", "newest"}, {}, "none that the tables know of"};
  for (const std::string_view name : frameworks) {
    std::vector<const FrameworkBuild*> found;
    for (const FrameworkBuild& one : knowledge.framework_builds()) {
      if (one.framework == name && !one.version.is_prerelease() && fits(one)) found.push_back(&one);
    }
    if (found.empty()) continue;
    std::vector<std::string> minors;
    for (const FrameworkBuild* one : found) {
      const std::string minor = fmt::format("{}.{}", one->version.major(), one->version.minor());
      if (minors.empty() || minors.back() != minor) minors.push_back(minor);
    }
    table.rows.push_back(
        row_of({cell(framework_title(name)), CompatCell::list(std::move(minors)), cell(found.back()->version)},
               *found.back()));
  }
  return table;
}

const std::array<std::pair<BeamBehaviour, std::string_view>, 9> behaviours{{
    {BeamBehaviour::pip_on_path, "pip is found on PATH, not only at /usr/local/bin/pip"},
    {BeamBehaviour::pip_as_module, "pip is run as python -m pip"},
    {BeamBehaviour::boot_venv, "boot makes a virtual environment for every worker"},
    {BeamBehaviour::default_environment, "RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT is read"},
    {BeamBehaviour::beam_required, "boot refuses to run without apache-beam in the image"},
    {BeamBehaviour::multi_arch_image, "the SDK image is for amd64 and arm64"},
    {BeamBehaviour::python_fallback, "the Python is PYTHON_PATH, else python, else python3"},
    {BeamBehaviour::options_file, "pipeline_options.json is written into the working directory"},
    {BeamBehaviour::no_build_isolation, "sdists are built with what the image has: setuptools, wheel"},
}};

void add_beam(CompatPage& page, const Knowledge& knowledge, const BeamRelease& beam,
              const std::optional<PythonMinor>& python) {
  const std::string version = beam.version.to_string();
  CompatTable facts = properties("Beam " + version);
  add(facts, "released", cell(beam.released.to_string()), beam);
  add(facts, "python", cell(beam.pythons), beam);
  if (!beam.without_wheel.empty()) add(facts, "without a wheel", cell(beam.without_wheel), beam);
  add(facts, "requires_python", cell(beam.requires_python), beam);
  if (!beam.image_base.empty()) add(facts, "image_base", cell("Debian " + beam.image_base), beam);
  add(facts, "requires", cell(beam.requires_dist), beam);
  page.tables.push_back(std::move(facts));

  CompatTable images{"SDK images", {"python", "image", "ships"}, {}, "no row tells of one"};
  for (const PythonMinor& minor : beam.pythons) {
    if (python && minor != *python) continue;
    const std::string repository = fmt::format("apache/beam_python{}_sdk", minor.to_string());
    const Publication published = knowledge.beam_publication("docker.io/" + repository, version);
    const BeamImagePins* pins = knowledge.beam_pins(beam.version, minor);
    std::vector<std::string> ships;
    if (pins != nullptr) {
      for (const auto& [name, pinned] : pins->packages) ships.push_back(name + " " + pinned.to_string());
    }
    std::string image = repository + ":" + version;
    if (published.answer == Publication::Answer::no) image = "none: " + published.why;
    if (published.answer == Publication::Answer::unknown) image += " (not known whether it is there)";
    CompatRow row{
        {cell(minor.to_string()), cell(image), CompatCell::list(ships)}, published.source, published.unverified};
    if (pins != nullptr) {
      row.source += (row.source.empty() ? "" : "; ") + pins->source;
      row.unverified = row.unverified || pins->unverified;
    }
    if (row.source.empty()) row.source = beam.source;
    images.rows.push_back(std::move(row));
  }
  page.tables.push_back(std::move(images));

  CompatTable boot{"what boot and the SDK do", {"behaviour", "here", "since"}, {}, ""};
  for (const auto& [behaviour, text] : behaviours) {
    boot.rows.push_back({{cell(std::string(text)), cell(knowledge.beam_has(behaviour, beam.version) ? "yes" : "no"),
                          cell(knowledge.beam_since(behaviour).to_string())},
                         knowledge.beam_source(behaviour),
                         false});
  }
  page.tables.push_back(std::move(boot));
}

}  // namespace

CompatCell CompatCell::one(std::string value) {
  CompatCell made;
  if (!value.empty()) made.values.push_back(std::move(value));
  return made;
}

CompatCell CompatCell::list(std::vector<std::string> values) { return {std::move(values), true}; }

std::string quoted_input(std::string_view text) {
  constexpr std::size_t longest = 80;
  if (text.size() <= longest) return escape_for_display(text);
  // Between two characters of UTF-8, not within one.
  std::size_t end = longest;
  while (end > longest - 4 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return escape_for_display(text.substr(0, end)) + "...";
}

void unknown_version(std::string_view what, const Version& asked, std::vector<Version> known) {
  std::sort(known.begin(), known.end());
  const auto above = std::lower_bound(known.begin(), known.end(), asked);
  const Version& near = above != known.end() ? *above : known.back();
  std::string hint = fmt::format("the tables go from {} to {}", known.front().to_string(), known.back().to_string());
  if (asked < known.front() || asked > known.back()) {
    hint += fmt::format("; the nearest is {}", near.to_string());
  } else {
    hint += fmt::format("; the nearest are {} and {}", std::prev(above)->to_string(), near.to_string());
  }
  throw Error(ErrorKind::usage, fmt::format("the tables hold no {} {}", what, quoted_input(asked.to_string())), hint);
}

void unknown_name(std::string_view what, std::string_view asked, const std::vector<std::string>& known) {
  const auto meant = nearest(asked, known);
  throw Error(ErrorKind::usage, fmt::format("there is no {} {} in the tables", what, quoted_input(asked)),
              meant ? fmt::format("did you mean {}?", *meant) : "it is one of " + join_words(known, "or"));
}

CompatPage framework_page(const Knowledge& knowledge, std::string_view framework,
                          const std::optional<Version>& version) {
  CompatPage page;
  const std::string title = framework_title(framework);
  page.subject = version ? title + " " + version->to_string() : title;
  if (!is_framework(knowledge, framework)) unknown_name("framework", framework, {frameworks.begin(), frameworks.end()});
  std::vector<const FrameworkBuild*> found;
  std::vector<Version> known;
  for (const FrameworkBuild& one : knowledge.framework_builds()) {
    if (one.framework != framework) continue;
    known.push_back(one.version);
    if (!version || is_version(one.version, *version)) found.push_back(&one);
  }
  if (found.empty()) unknown_version(title, *version, known);
  CompatTable table{title, {"version", "released", "python", "cuda", "compute", "glibc"}, {}, ""};
  for (auto one = found.rbegin(); one != found.rend(); ++one) {
    table.rows.push_back(
        row_of({cell((*one)->version.to_string()), cell((*one)->released), cell((*one)->wheels), cuda_cell(**one),
                cell(range((*one)->compute_from, (*one)->compute_to)), cell((*one)->glibc)},
               **one));
  }
  page.tables.push_back(std::move(table));
  if (!version) return page;
  // Details of the newest that was meant: a table for each of twenty patches is no answer.
  const FrameworkBuild& newest = *found.back();
  CompatTable details = properties(fmt::format("{} {} in detail", title, newest.version.to_string()));
  add(details, "requires_python", cell(newest.requires_python), newest);
  add(details, "wheels_arm64", cell(newest.wheels_arm64), newest);
  add(details, "requires", cell(newest.requires_dist), newest);
  if (!newest.cuda_extra.empty())
    add(details, "cuda_extra", cell(fmt::format("{}[{}]", framework, newest.cuda_extra)), newest);
  if (!newest.cuda_pins.empty()) add(details, "cuda_wheels", cell(newest.cuda_pins), newest);
  if (const FrameworkRelease* asked = knowledge.framework(framework, newest.version)) {
    if (!asked->gpu_requirement.empty()) add(details, "pip_gpu", cell(asked->gpu_requirement), *asked);
    if (!asked->gpu_find_links.empty()) add(details, "pip_gpu_find_links", cell(asked->gpu_find_links), *asked);
    if (!asked->tpu_requirement.empty()) add(details, "pip_tpu", cell(asked->tpu_requirement), *asked);
    if (!asked->tpu_find_links.empty()) add(details, "pip_tpu_find_links", cell(asked->tpu_find_links), *asked);
  }
  page.tables.push_back(std::move(details));
  CompatTable issues{"known issues", {"issue", "level", "when", "symptom", "fix"}, {}, "none that the tables know of"};
  for (const KnownIssue& one : knowledge.known_issues()) {
    const auto package = one.packages.find(framework);
    if (package == one.packages.end()) continue;
    const auto set = SpecifierSet::parse(package->second);
    const bool any = std::any_of(found.begin(), found.end(), [&](const FrameworkBuild* build) {
      return package->second.empty() || (set && set->contains(build->version));
    });
    if (!any) continue;
    std::vector<std::string> when;
    for (const auto& [name, specifiers] : one.packages) when.push_back(name + specifiers);
    if (!one.python.empty()) when.push_back("python" + one.python);
    if (!one.beam.empty()) when.push_back("beam" + one.beam);
    if (!one.cuda.empty()) when.push_back("cuda" + one.cuda);
    if (!one.cuda_from.empty()) when.push_back("cuda from " + one.cuda_from);
    if (!one.gpu.empty()) when.push_back("compute" + one.gpu);
    if (!one.tpu.empty()) when.push_back(one.tpu);
    issues.rows.push_back(
        row_of({cell(one.id), cell(one.level), CompatCell::list(when), cell(one.symptom), cell(one.fix)}, one));
  }
  page.tables.push_back(std::move(issues));
  return page;
}

CompatPage beam_page(const Knowledge& knowledge, const std::optional<Version>& version,
                     const std::optional<PythonMinor>& python) {
  CompatPage page;
  page.subject = version ? "Beam " + version->to_string() : "Beam";
  if (python) page.subject += " on Python " + python->to_string();
  std::vector<const BeamRelease*> found;
  std::vector<Version> known;
  for (const BeamRelease& one : knowledge.beam_releases()) {
    known.push_back(one.version);
    if (!version || is_version(one.version, version->base())) found.push_back(&one);
  }
  if (found.empty()) unknown_version("Beam", *version, known);
  if (python && knowledge.python_release(*python) == nullptr) python_page(knowledge, python);  // throws
  if (version) {
    if (python) {
      const Judgement supported = beam_supports_python(knowledge, found.back()->version, *python);
      CompatTable answer{"", {"python", "supported", "why"}, {}, ""};
      answer.rows.push_back(
          row_of({cell(python->to_string()), cell(std::string(to_string(supported.fits))), cell(supported.why)},
                 *found.back()));
      page.tables.push_back(std::move(answer));
    }
    add_beam(page, knowledge, *found.back(), python);
    return page;
  }
  CompatTable table{"Beam", {"version", "released", "python", "image_base"}, {}, "no release supports it"};
  for (auto one = found.rbegin(); one != found.rend(); ++one) {
    const auto& pythons = (*one)->pythons;
    if (python && std::find(pythons.begin(), pythons.end(), *python) == pythons.end()) continue;
    table.rows.push_back(row_of({cell((*one)->version.to_string()), cell((*one)->released.to_string()), cell(pythons),
                                 cell((*one)->image_base)},
                                **one));
  }
  page.tables.push_back(std::move(table));
  return page;
}

CompatPage python_page(const Knowledge& knowledge, const std::optional<PythonMinor>& minor) {
  CompatPage page;
  page.subject = minor ? "Python " + minor->to_string() : "Python";
  CompatTable table{"Python", {"minor", "released", "end_of_life"}, {}, ""};
  std::vector<Version> known;
  for (const PythonRelease& one : knowledge.python_releases()) {
    known.push_back(*Version::parse(one.minor.to_string()));
    if (!minor || one.minor == *minor)
      table.rows.push_back(row_of({cell(one.minor.to_string()), cell(one.released), cell(one.end_of_life)}, one));
  }
  if (table.rows.empty()) unknown_version("Python", *Version::parse(minor->to_string()), known);
  page.tables.push_back(std::move(table));
  if (!minor) return page;

  CompatTable beams{
      "Beam releases that support it", {"from", "through", "releases"}, {}, "none that the tables know of"};
  std::vector<const BeamRelease*> supporting;
  for (const BeamRelease& one : knowledge.beam_releases()) {
    if (std::find(one.pythons.begin(), one.pythons.end(), *minor) != one.pythons.end()) supporting.push_back(&one);
  }
  if (!supporting.empty()) {
    beams.rows.push_back(row_of({cell(supporting.front()->version.to_string()),
                                 cell(supporting.back()->version.to_string()), cell(std::to_string(supporting.size()))},
                                *supporting.back()));
    if (supporting.size() > 1)
      beams.rows.back().source = fmt::format("{}; {}", supporting.front()->source, supporting.back()->source);
  }
  page.tables.push_back(std::move(beams));
  page.tables.push_back(frameworks_that(knowledge, "frameworks with a wheel for it", [&](const FrameworkBuild& one) {
    return framework_supports_python(one, *minor).fits == Fits::yes;
  }));
  CompatTable linux{
      "distributions that have it", {"distribution", "code_name", "from"}, {}, "none that the tables know of"};
  for (const LinuxRelease& one : knowledge.linux_releases()) {
    if (distribution_has_python(knowledge, one.id, *minor).fits != Fits::yes) continue;
    linux.rows.push_back(
        row_of({cell(one.id), cell(one.code_name), cell(one.python == *minor ? "apt" : "deadsnakes")}, one));
  }
  page.tables.push_back(std::move(linux));
  return page;
}

CompatPage cuda_page(const Knowledge& knowledge, const std::optional<Version>& version) {
  CompatPage page;
  page.subject = version ? "CUDA " + version->to_string() : "CUDA";
  CompatTable table{"CUDA", {"version", "driver", "driver_minimum", "compute"}, {}, ""};
  std::vector<Version> known;
  std::vector<const CudaRelease*> found;
  for (const CudaRelease& one : knowledge.cuda_releases()) {
    known.push_back(one.version);
    if (!version || is_version(one.version, *version)) found.push_back(&one);
  }
  if (found.empty()) unknown_version("CUDA", *version, known);
  for (auto one = found.rbegin(); one != found.rend(); ++one) {
    table.rows.push_back(row_of({cell((*one)->version.to_string()), cell((*one)->driver), cell((*one)->driver_minimum),
                                 cell(range((*one)->compute_from, (*one)->compute_to))},
                                **one));
  }
  page.tables.push_back(std::move(table));
  if (!version) return page;

  const Version& cuda = found.back()->version;
  CompatTable gpus{
      "GPUs that it has code for", {"type", "model", "compute", "on_dataflow"}, {}, "none that the tables know of"};
  for (const GpuType& one : knowledge.gpus()) {
    const Judgement judgement = cuda_supports_gpu(knowledge, cuda, one);
    if (judgement.fits != Fits::yes) continue;
    gpus.rows.push_back(
        row_of({cell(one.type), cell(one.model), cell(one.compute), cell(one.on_dataflow ? "yes" : "no")}, one));
  }
  page.tables.push_back(std::move(gpus));
  page.tables.push_back(frameworks_that(knowledge, "frameworks built for its minor", [&](const FrameworkBuild& one) {
    return std::any_of(one.cuda.begin(), one.cuda.end(),
                       [&](const FrameworkBuild::Cuda& build) { return cuda_minor(build.cuda) == cuda_minor(cuda); });
  }));
  CompatTable images{"images of nvidia/cuda", {"tag", "cudnn", "there"}, {}, "none that the tables know of"};
  for (const CudaImage& one : knowledge.cuda_images()) {
    if (!is_version(one.cuda, *version)) continue;
    images.rows.push_back(row_of({cell(one.tag), cell(one.cudnn), cell(one.withdrawn ? "withdrawn" : "yes")}, one));
  }
  page.tables.push_back(std::move(images));
  CompatTable cudnn{"cuDNN built for its major", {"minor", "newest"}, {}, "none that the tables know of"};
  std::map<std::pair<std::uint64_t, std::uint64_t>, const CudnnRelease*> newest;
  for (const CudnnRelease& one : knowledge.cudnn_releases()) {
    if (cudnn_supports_cuda(knowledge, one.version, cuda).fits != Fits::yes) continue;
    const CudnnRelease*& kept = newest[{one.version.major(), one.version.minor()}];
    if (kept == nullptr || kept->version < one.version) kept = &one;
  }
  for (const auto& [minor, one] : newest)
    cudnn.rows.push_back(
        row_of({cell(fmt::format("{}.{}", minor.first, minor.second)), cell(one->version.to_string())}, *one));
  page.tables.push_back(std::move(cudnn));
  return page;
}

CompatPage cudnn_page(const Knowledge& knowledge, const std::optional<Version>& version) {
  CompatPage page;
  page.subject = version ? "cuDNN " + version->to_string() : "cuDNN";
  CompatTable table{"cuDNN", {"version", "cuda"}, {}, ""};
  std::vector<Version> known;
  for (const CudnnRelease& one : knowledge.cudnn_releases()) {
    known.push_back(one.version);
    if (version && !is_version(one.version, *version)) continue;
    std::vector<std::string> majors;
    for (const unsigned major : one.cuda_majors) majors.push_back(std::to_string(major));
    table.rows.push_back(row_of({cell(one.version.to_string()), CompatCell::list(std::move(majors))}, one));
  }
  if (table.rows.empty()) unknown_version("cuDNN", *version, known);
  std::reverse(table.rows.begin(), table.rows.end());
  page.tables.push_back(std::move(table));
  if (!version) return page;
  page.tables.push_back(frameworks_that(knowledge, "frameworks compiled against it", [&](const FrameworkBuild& one) {
    return std::any_of(one.cuda.begin(), one.cuda.end(), [&](const FrameworkBuild::Cuda& build) {
      // Of a framework often the minor alone is known ("8.9"), of a release every part.
      return build.cudnn && (is_version(*build.cudnn, *version) || is_version(*version, *build.cudnn));
    });
  }));
  CompatTable images{"images of nvidia/cuda with it", {"tag", "cudnn", "there"}, {}, "none that the tables know of"};
  for (const CudaImage& one : knowledge.cuda_images()) {
    if (!one.cudnn || !is_version(*one.cudnn, *version)) continue;
    images.rows.push_back(row_of({cell(one.tag), cell(one.cudnn), cell(one.withdrawn ? "withdrawn" : "yes")}, one));
  }
  page.tables.push_back(std::move(images));
  return page;
}

CompatPage gpu_page(const Knowledge& knowledge, std::string_view type) {
  CompatPage page;
  page.subject = type.empty() ? "GPUs" : "GPU " + std::string(type);
  CompatTable table{
      "GPUs",
      {"type", "model", "compute", "cuda_from", "cuda_through", "machine_families", "on_dataflow", "retired"},
      {},
      ""};
  std::vector<std::string> known;
  const GpuType* found = nullptr;
  for (const GpuType& one : knowledge.gpus()) {
    known.push_back(one.type);
    if (!type.empty() && one.type != type) continue;
    found = &one;
    table.rows.push_back(row_of({cell(one.type), cell(one.model), cell(one.compute), cell(one.cuda_from.to_string()),
                                 cell(one.cuda_through), CompatCell::list(one.machine_families),
                                 cell(one.on_dataflow ? "yes" : "no"), cell(one.retired ? "yes" : "no")},
                                one));
  }
  if (found == nullptr) unknown_name("GPU", type, known);
  page.tables.push_back(std::move(table));
  if (type.empty()) return page;
  page.tables.push_back(frameworks_that(knowledge, "frameworks whose kernels cover it", [&](const FrameworkBuild& one) {
    return !one.cuda.empty() && framework_supports_gpu(one, *found).fits == Fits::yes;
  }));
  CompatTable toolkits{"CUDA with code for it, or for an older GPU of its major",
                       {"from", "through"},
                       {},
                       "none that the tables know of"};
  const CudaRelease* first = nullptr;
  const CudaRelease* last = nullptr;
  for (const CudaRelease& one : knowledge.cuda_releases()) {
    if (cuda_supports_gpu(knowledge, one.version, *found).fits != Fits::yes) continue;
    if (first == nullptr) first = &one;
    // Of a minor the first row is enough, and is sure more often than that of its newest update.
    if (last == nullptr || cuda_minor(last->version) != cuda_minor(one.version)) last = &one;
  }
  if (first != nullptr) {
    toolkits.rows.push_back({{cell(cuda_minor(first->version)), cell(cuda_minor(last->version))},
                             fmt::format("{}; {}", first->source, last->source),
                             first->unverified || last->unverified || found->unverified});
  }
  page.tables.push_back(std::move(toolkits));
  return page;
}

CompatPage tpu_page(const Knowledge& knowledge, std::string_view type, std::string_view topology) {
  CompatPage page;
  page.subject = type.empty() ? "TPUs" : fmt::format("TPU {}{}{}", type, topology.empty() ? "" : " ", topology);
  CompatTable table{"TPUs", {"type", "topology", "machine_type", "chips", "vcpus", "environment"}, {}, ""};
  std::vector<std::string> types;
  std::vector<std::string> topologies;
  for (const TpuType& one : knowledge.tpus()) {
    if (std::find(types.begin(), types.end(), one.type) == types.end()) types.push_back(one.type);
    if (!type.empty() && one.type != type) continue;
    topologies.push_back(one.topology);
    if (!topology.empty() && one.topology != topology) continue;
    std::vector<std::string> environment;
    for (const auto& [name, value] : one.env) environment.push_back(name + "=" + value);
    table.rows.push_back(
        row_of({cell(one.type), cell(one.topology), cell(one.machine_type), cell(std::to_string(one.chips)),
                cell(std::to_string(one.vcpus)), CompatCell::list(std::move(environment))},
               one));
  }
  if (topologies.empty()) unknown_name("TPU", type, types);
  if (table.rows.empty()) unknown_name(fmt::format("topology of {}", type), topology, topologies);
  page.tables.push_back(std::move(table));
  return page;
}

}  // namespace imgforge
