#include "knowledge/rows.hpp"

#include <re2/re2.h>

#include <array>

#include "base/requirement.hpp"
#include "base/text.hpp"

namespace imgforge::knowledge {

namespace {

constexpr std::array<std::string_view, behaviour_count> behaviour_names = {
    "pip_on_path",     "pip_as_module", "boot_venv",          "default_environment", "beam_required",
    "python_fallback", "options_file",  "no_build_isolation", "multi_arch_image"};

// Every variable that the TPU runtime needs where there is no metadata server to ask.
constexpr std::array<std::string_view, 6> tpu_variables = {"TPU_SKIP_MDS_QUERY",   "TPU_HOST_BOUNDS",
                                                           "TPU_WORKER_HOSTNAMES", "TPU_WORKER_ID",
                                                           "TPU_ACCELERATOR_TYPE", "TPU_CHIPS_PER_HOST_BOUNDS"};

constexpr std::array<std::string_view, 11> base_kinds = {"beam-sdk",   "python",  "conda",          "cuda",
                                                         "tensorflow", "pytorch", "ngc-tensorflow", "ngc-pytorch",
                                                         "beam-java",  "beam-go", "launcher"};

template <std::size_t Size>
bool one_of(std::string_view text, const std::array<std::string_view, Size>& known) {
  return std::find(known.begin(), known.end(), text) != known.end();
}

template <std::size_t Size>
std::string listed(const std::array<std::string_view, Size>& known) {
  return join_words(std::vector<std::string>(known.begin(), known.end()));
}

std::string check_beam_release(const BeamRelease& row) {
  if (row.pythons.empty()) return "pythons: a release supports at least one";
  const auto required = SpecifierSet::parse(row.requires_python);
  if (!required)
    return "requires_python: expected a specifier set such as \">=3.8\", found \"" +
           escape_for_display(row.requires_python) + "\"";
  for (const auto& [name, specifiers] : row.requires_dist) {
    if (name != normalise_name(name) || !SpecifierSet::parse(specifiers))
      return "requires_dist: expected a normalised name and specifiers at \"" + escape_for_display(name) + "\"";
  }
  for (const PythonMinor& minor : row.pythons) {
    if (!required->contains(*Version::parse(minor.to_string()))) {
      return "pythons: " + minor.to_string() + " is none of requires_python (" + row.requires_python + ")";
    }
  }
  for (const PythonMinor& minor : row.without_wheel) {
    if (std::find(row.pythons.begin(), row.pythons.end(), minor) == row.pythons.end())
      return "without_wheel: " + minor.to_string() + " is none of pythons";
  }
  return {};
}

std::string check_pins(const BeamImagePins& row) {
  if (row.packages.empty()) return "packages: is empty";
  for (const auto& [name, version] : row.packages) {
    if (name != normalise_name(name))
      return "packages: write " + normalise_name(name) + " for \"" + escape_for_display(name) + "\"";
  }
  return {};
}

std::string check_tpu(const TpuType& row) {
  if (row.chips == 0) return "chips: at least one";
  if (row.vcpus == 0) return "vcpus: at least one";
  for (const std::string_view name : tpu_variables) {
    if (std::none_of(row.env.begin(), row.env.end(), [&](const auto& variable) { return variable.first == name; })) {
      return "env: " + std::string(name) + " is missing";
    }
  }
  for (const auto& [name, value] : row.env) {
    if (!one_of(name, tpu_variables))
      return "env: unknown variable \"" + escape_for_display(name) + "\"; known are " + listed(tpu_variables);
  }
  return {};
}

std::string check_python(const PythonRelease& row) {
  if (row.released && row.end_of_life && !(*row.released < *row.end_of_life))
    return "end_of_life: is not after released";
  return {};
}

std::string check_base_image(const BaseImage& row) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  const RE2 repository(row.repository, options);
  if (!repository.ok()) return "repository: not a pattern: " + escape_for_display(repository.error());
  const RE2 tag(row.tag, options);
  if (!tag.ok()) return "tag: not a pattern: " + escape_for_display(tag.error());
  if (!one_of(row.kind, base_kinds) && row.kind != "os")
    return "kind: unknown \"" + escape_for_display(row.kind) + "\"; known are os, " + listed(base_kinds);
  if (row.python && !row.python_group.empty()) return "python and python_group: one of them";
  if (!row.python_group.empty() &&
      repository.NamedCapturingGroups().count(row.python_group) + tag.NamedCapturingGroups().count(row.python_group) !=
          1) {
    return "python_group: neither repository nor tag has one group of that name, (?P<" +
           escape_for_display(row.python_group) + ">...)";
  }
  const bool has_python = row.python || !row.python_group.empty();
  if (has_python && (row.python_path.empty() || row.python_path[0] != '/'))
    return "python_path: an absolute path is needed where there is a Python";
  return {};
}

std::string check_framework(const FrameworkRelease& row) {
  static constexpr std::array<std::string_view, 3> known = {"tensorflow", "torch", "jax"};
  if (!one_of(row.framework, known))
    return "framework: unknown \"" + escape_for_display(row.framework) + "\"; known are " + listed(known);
  for (const auto& [column, text] :
       {std::pair<const char*, const std::string&>{"gpu_requirement", row.gpu_requirement},
        std::pair<const char*, const std::string&>{"tpu_requirement", row.tpu_requirement}}) {
    if (text.empty()) continue;
    const auto requirement = Requirement::parse(text);
    if (!requirement || !requirement->specifiers().empty() || requirement->has_marker() ||
        !requirement->url().empty()) {
      return std::string(column) + ": expected a name and extras such as jax[tpu], found \"" +
             escape_for_display(text) + "\"";
    }
  }
  for (const auto& [name, links, requirement] : {std::tuple<const char*, const std::string&, const std::string&>{
                                                     "gpu_find_links", row.gpu_find_links, row.gpu_requirement},
                                                 std::tuple<const char*, const std::string&, const std::string&>{
                                                     "tpu_find_links", row.tpu_find_links, row.tpu_requirement}}) {
    if (links.empty()) continue;
    if (links.compare(0, 8, "https://") != 0) return std::string(name) + ": expected an https:// URL";
    if (requirement.empty()) return std::string(name) + ": without a requirement that needs it";
  }
  return {};
}

std::string check_installer(const Installer& row) {
  if (row.url.compare(0, 8, "https://") != 0) return "url: expected an https:// URL";
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (row.sha256.size() != 64 || !std::all_of(row.sha256.begin(), row.sha256.end(), is_digit))
    return "sha256: expected 64 lower-case hexadecimal digits";
  return {};
}

}  // namespace

std::string_view to_string(BeamBehaviour behaviour) noexcept {
  return behaviour_names[static_cast<std::size_t>(behaviour)];
}

std::string read_value(const YamlNode& node, BeamBehaviour& value) {
  std::string text;
  if (std::string wrong = read_value(node, text); !wrong.empty()) return wrong;
  const auto found = std::find(behaviour_names.begin(), behaviour_names.end(), text);
  if (found == behaviour_names.end()) {
    const std::vector<std::string> known(behaviour_names.begin(), behaviour_names.end());
    const auto near = nearest(text, known);
    return "unknown behaviour \"" + escape_for_display(text) + "\"; " +
           (near ? "did you mean " + *near + "?" : "known are " + join_words(known));
  }
  value = static_cast<BeamBehaviour>(found - behaviour_names.begin());
  return {};
}

template <>
const TableSpec<BeamRelease>& spec_of() {
  using Type = BeamRelease;
  static const TableSpec<Type> spec = {
      "beam_releases",
      {required<Type>("version", &Type::version), required<Type>("released", &Type::released),
       required<Type>("pythons", &Type::pythons), optional<Type>("without_wheel", &Type::without_wheel),
       required<Type>("requires_python", &Type::requires_python), required<Type>("image_base", &Type::image_base),
       optional<Type>("requires_dist", &Type::requires_dist)},
      [](const Type& row) { return row.version.to_string(); },
      check_beam_release,
      [](const Type& a, const Type& b) { return a.version < b.version; }};
  return spec;
}

template <>
const TableSpec<BehaviourRow>& spec_of() {
  using Type = BehaviourRow;
  static const TableSpec<Type> spec = {"beam_behaviour",
                                       {required<Type>("behaviour", &Type::behaviour),
                                        required<Type>("since", &Type::since), required<Type>("about", &Type::about)},
                                       [](const Type& row) { return std::string(to_string(row.behaviour)); },
                                       {},
                                       [](const Type& a, const Type& b) { return a.behaviour < b.behaviour; }};
  return spec;
}

template <>
const TableSpec<BeamImagePins>& spec_of() {
  using Type = BeamImagePins;
  static const TableSpec<Type> spec = {
      "beam_image_pins",
      {required<Type>("beam", &Type::beam), required<Type>("python", &Type::python),
       required<Type>("packages", &Type::packages)},
      [](const Type& row) { return "Beam " + row.beam.to_string() + " and Python " + row.python.to_string(); },
      check_pins,
      [](const Type& a, const Type& b) { return std::tie(a.beam, a.python) < std::tie(b.beam, b.python); }};
  return spec;
}

template <>
const TableSpec<TpuType>& spec_of() {
  using Type = TpuType;
  static const TableSpec<Type> spec = {
      "tpus",
      {required<Type>("type", &Type::type), required<Type>("topology", &Type::topology),
       required<Type>("machine_type", &Type::machine_type), required<Type>("chips", &Type::chips),
       required<Type>("vcpus", &Type::vcpus), required<Type>("env", &Type::env)},
      [](const Type& row) { return row.type + " " + row.topology; },
      check_tpu,
      {}};
  return spec;
}

template <>
const TableSpec<PythonRelease>& spec_of() {
  using Type = PythonRelease;
  static const TableSpec<Type> spec = {
      "python_releases",
      {required<Type>("minor", &Type::minor), optional<Type>("released", &Type::released),
       optional<Type>("end_of_life", &Type::end_of_life)},
      [](const Type& row) { return "Python " + row.minor.to_string(); },
      check_python,
      [](const Type& a, const Type& b) { return a.minor < b.minor; }};
  return spec;
}

template <>
const TableSpec<BaseImage>& spec_of() {
  using Type = BaseImage;
  static const TableSpec<Type> spec = {
      "base_images",
      {required<Type>("repository", &Type::repository), required<Type>("tag", &Type::tag),
       required<Type>("kind", &Type::kind), optional<Type>("os", &Type::os), optional<Type>("python", &Type::python),
       optional<Type>("python_group", &Type::python_group), optional<Type>("python_path", &Type::python_path),
       optional<Type>("cuda", &Type::cuda)},
      [](const Type& row) { return row.repository + ":" + row.tag; },
      check_base_image,
      {}};
  return spec;
}

template <>
const TableSpec<LinuxRelease>& spec_of() {
  using Type = LinuxRelease;
  static const TableSpec<Type> spec = {
      "linux_releases",
      {required<Type>("id", &Type::id), optional<Type>("code_name", &Type::code_name),
       optional<Type>("python", &Type::python), optional<Type>("deadsnakes", &Type::deadsnakes),
       optional<Type>("universe", &Type::universe),
       optional<Type>("externally_managed", &Type::externally_managed),
       optional<Type>("has_distutils", &Type::has_distutils)},
      [](const Type& row) { return row.id; },
      {},
      {}};
  return spec;
}

template <>
const TableSpec<FrameworkRelease>& spec_of() {
  using Type = FrameworkRelease;
  static const TableSpec<Type> spec = {
      "frameworks",
      {required<Type>("framework", &Type::framework), required<Type>("version", &Type::version),
       optional<Type>("gpu_requirement", &Type::gpu_requirement),
       optional<Type>("gpu_find_links", &Type::gpu_find_links),
       optional<Type>("tpu_requirement", &Type::tpu_requirement),
       optional<Type>("tpu_find_links", &Type::tpu_find_links)},
      [](const Type& row) { return row.framework + " " + row.version.to_string(); },
      check_framework,
      [](const Type& a, const Type& b) { return a.version < b.version; }};
  return spec;
}

template <>
const TableSpec<Installer>& spec_of() {
  using Type = Installer;
  static const TableSpec<Type> spec = {"installers",
                                       {required<Type>("name", &Type::name), required<Type>("version", &Type::version),
                                        required<Type>("url", &Type::url), required<Type>("sha256", &Type::sha256)},
                                       [](const Type& row) { return row.name + " " + row.version.to_string(); },
                                       check_installer,
                                       [](const Type& a, const Type& b) { return a.version < b.version; }};
  return spec;
}

}  // namespace imgforge::knowledge
