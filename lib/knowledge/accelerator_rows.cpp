#include "knowledge/accelerator_rows.hpp"

#include <array>

#include "base/requirement.hpp"
#include "base/text.hpp"

namespace imgforge::knowledge {

namespace {

constexpr std::array<std::string_view, 3> frameworks = {"tensorflow", "torch", "jax"};
constexpr std::array<std::string_view, 3> flavours = {"base", "runtime", "devel"};

template <std::size_t Size>
bool one_of(std::string_view text, const std::array<std::string_view, Size>& known) {
  return std::find(known.begin(), known.end(), text) != known.end();
}

std::string unknown(std::string_view column, std::string_view text, std::string_view known) {
  return std::string(column) + ": unknown \"" + escape_for_display(text) + "\"; known are " + std::string(known);
}

// "7.5": digits, a dot, digits.
bool is_compute_capability(std::string_view text) {
  const std::size_t dot = text.find('.');
  return dot != std::string_view::npos && to_number(text.substr(0, dot)) && to_number(text.substr(dot + 1));
}

std::string check_compute(std::string_view column, const std::string& text) {
  if (text.empty() || is_compute_capability(text)) return {};
  return std::string(column) + ": expected a compute capability such as \"7.5\", found \"" + escape_for_display(text) +
         "\"";
}

std::string check_range(const std::string& from, const std::string& to) {
  for (const auto& [column, text] : {std::pair<std::string_view, const std::string&>{"compute_from", from},
                                     std::pair<std::string_view, const std::string&>{"compute_to", to}}) {
    if (std::string wrong = check_compute(column, text); !wrong.empty()) return wrong;
  }
  // "10.0" is above "9.0": as versions.
  if (!from.empty() && !to.empty() && *Version::parse(to) < *Version::parse(from))
    return "compute_to: is below compute_from";
  return {};
}

std::string check_specifiers(std::string_view column, std::string_view text) {
  if (SpecifierSet::parse(text)) return {};
  return std::string(column) + ": expected a specifier set such as \">=3.8\", found \"" + escape_for_display(text) +
         "\"";
}

// Package names to specifiers; "!" may stand before a name where `negated`.
std::string check_packages(std::string_view column, const std::map<std::string, std::string, std::less<>>& packages,
                           bool negated = false) {
  for (const auto& [key, specifiers] : packages) {
    const std::string_view name =
        negated && key.compare(0, 1, "!") == 0 ? std::string_view(key).substr(1) : std::string_view(key);
    if (!is_project_name(name) || name != normalise_name(name))
      return std::string(column) + ": \"" + escape_for_display(key) + "\" is no normalised name of a package";
    if (std::string wrong = check_specifiers(std::string(column) + ": " + std::string(name), specifiers);
        !wrong.empty())
      return wrong;
  }
  return {};
}

std::string check_framework_build(const FrameworkBuild& row) {
  if (!one_of(row.framework, frameworks)) return unknown("framework", row.framework, "tensorflow, torch and jax");
  if (std::string wrong = check_specifiers("requires_python", row.requires_python); !wrong.empty()) return wrong;
  const SpecifierSet required = *SpecifierSet::parse(row.requires_python);
  for (const PythonMinor& minor : row.wheels) {
    // ">=3.6.1" leaves out 3.6.0 alone.
    if (!required.contains(*Version::parse(minor.to_string() + ".999")))
      return "wheels: " + minor.to_string() + " is none of requires_python (" + row.requires_python + ")";
  }
  for (std::size_t i = 0; i < row.cuda.size(); ++i) {
    const FrameworkBuild::Cuda& cuda = row.cuda[i];
    if (cuda.on_pypi && !cuda.local.empty()) return "cuda: PyPI has no local versions";
    if (cuda.on_pypi && i != 0 && !row.cuda[0].on_pypi) return "cuda: PyPI's build comes first";
    for (std::size_t other = 0; other < i; ++other) {
      if (row.cuda[other].cuda == cuda.cuda && row.cuda[other].local == cuda.local)
        return "cuda: " + cuda.cuda.to_string() + " is there twice";
    }
  }
  if (!row.cuda_extra.empty() && !is_project_name(row.cuda_extra)) return "cuda_extra: is no extra";
  if (std::string wrong = check_packages("cuda_pins", row.cuda_pins); !wrong.empty()) return wrong;
  if (std::string wrong = check_packages("requires_dist", row.requires_dist); !wrong.empty()) return wrong;
  return check_range(row.compute_from, row.compute_to);
}

struct Flavour {
  std::string_view name;   // "runtime"
  std::string_view extra;  // "cudnn8", "cudnn", "tensorrt"; empty where there is none
};

std::optional<Flavour> parse_flavour(std::string_view text) {
  Flavour flavour;
  const std::size_t dash = text.rfind('-');
  flavour.name = dash == std::string_view::npos ? text : text.substr(dash + 1);
  if (dash != std::string_view::npos) flavour.extra = text.substr(0, dash);
  if (!one_of(flavour.name, flavours)) return std::nullopt;
  const bool is_cudnn = flavour.extra.substr(0, 5) == "cudnn" &&
                        (flavour.extra.size() == 5 || to_number(flavour.extra.substr(5)).has_value());
  if (!flavour.extra.empty() && !is_cudnn && flavour.extra != "tensorrt") return std::nullopt;
  return flavour;
}

// "cudnn8" is 8; plain "cudnn", which came with CUDA 12.4, is 9 until a row says more.
std::optional<Version> cudnn_of(std::string_view extra) {
  if (extra.substr(0, 5) != "cudnn") return std::nullopt;
  return Version::parse(extra.size() == 5 ? "9" : extra.substr(5));
}

std::string check_cuda_group(const CudaImageGroup& row) {
  if (!Version::parse(row.cuda)) return "cuda: expected a version, found \"" + escape_for_display(row.cuda) + "\"";
  if (row.flavours.empty()) return "flavours: is empty";
  bool any_cudnn = false;
  for (const std::string& text : row.flavours) {
    const auto flavour = parse_flavour(text);
    if (!flavour) return unknown("flavours", text, "base, runtime and devel, with cudnn, cudnnN or tensorrt before");
    const auto cudnn = cudnn_of(flavour->extra);
    any_cudnn = any_cudnn || cudnn;
    if (cudnn && row.cudnn && cudnn->major() != row.cudnn->major())
      return "cudnn: " + row.cudnn->to_string() + " does not fit the flavour " + text;
  }
  if (row.cudnn && !any_cudnn) return "cudnn: none of the flavours has it";
  return {};
}

std::string check_ngc(const NgcImage& row) {
  if (row.product != "tensorflow" && row.product != "pytorch")
    return unknown("product", row.product, "tensorflow and pytorch");
  const auto month = row.month.size() == 5 && row.month[2] == '.' ? to_number(row.month.substr(3)) : std::nullopt;
  if (!month || *month < 1 || *month > 12 || !to_number(row.month.substr(0, 2)))
    return "month: expected YY.MM, found \"" + escape_for_display(row.month) + "\"";
  return {};
}

// "535.104.05": numbers with dots.
bool is_driver(std::string_view text) {
  for (const std::string_view part : split(text, '.')) {
    if (!to_number(part)) return false;
  }
  return true;
}

std::string check_cuda_release(const CudaRelease& row) {
  for (const auto& [column, text] :
       {std::pair<std::string_view, const std::string&>{"driver", row.driver},
        std::pair<std::string_view, const std::string&>{"driver_minimum", row.driver_minimum}}) {
    if (!text.empty() && !is_driver(text)) return std::string(column) + ": expected a version such as \"535.104.05\"";
  }
  return check_range(row.compute_from, row.compute_to);
}

std::string check_gpu(const GpuType& row) {
  if (std::string wrong = check_compute("compute", row.compute); !wrong.empty()) return wrong;
  if (row.cuda_through && *row.cuda_through < row.cuda_from) return "cuda_through: is before cuda_from";
  return {};
}

std::string check_issue(const KnownIssue& row) {
  if (row.level != "error" && row.level != "warning") return unknown("level", row.level, "error and warning");
  if (!row.shows.empty() && row.shows != "build") return unknown("shows", row.shows, "build");
  const std::size_t slash = row.rule.find('/');
  const auto is_word = [](std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
  };
  if (slash == std::string::npos || !is_word(std::string_view(row.rule).substr(0, slash)) ||
      !is_word(std::string_view(row.rule).substr(slash + 1)))
    return "rule: expected a rule such as cuda/known-broken, found \"" + escape_for_display(row.rule) + "\"";
  if (!is_word(row.id))
    return "id: expected lower case, digits and \"-\", found \"" + escape_for_display(row.id) + "\"";
  if (row.packages.empty() && row.python.empty() && row.beam.empty() && row.cuda.empty() && row.gpu.empty() &&
      row.tpu.empty())
    return "a row without a condition holds for every image";
  if (std::string wrong = check_packages("packages", row.packages, true); !wrong.empty()) return wrong;
  for (const auto& [column, text] : {std::pair<std::string_view, const std::string&>{"python", row.python},
                                     std::pair<std::string_view, const std::string&>{"beam", row.beam},
                                     std::pair<std::string_view, const std::string&>{"cuda", row.cuda},
                                     std::pair<std::string_view, const std::string&>{"gpu", row.gpu}}) {
    if (std::string wrong = check_specifiers(column, text); !wrong.empty()) return wrong;
  }
  static constexpr std::array<std::string_view, 5> origins = {"base", "wheels", "apt", "runfile", "conda"};
  if (!row.cuda_from.empty() && !one_of(row.cuda_from, origins))
    return unknown("cuda_from", row.cuda_from, "base, wheels, apt, runfile and conda");
  return {};
}

std::string read_cuda(const YamlNode& node, FrameworkBuild::Cuda& cuda) {
  if (!node.is_map())
    return "expected a map with cuda, cudnn, local, on_pypi, brings, found " + std::string(kind_name(node));
  std::string wrong;
  for (const YamlEntry& entry : node.entries) {
    if (entry.key == "cuda") {
      wrong = read_value(entry.value, cuda.cuda);
    } else if (entry.key == "cudnn") {
      wrong = read_value(entry.value, cuda.cudnn);
    } else if (entry.key == "local") {
      wrong = read_value(entry.value, cuda.local);
    } else if (entry.key == "on_pypi") {
      wrong = read_value(entry.value, cuda.on_pypi);
    } else if (entry.key == "brings") {
      wrong = read_value(entry.value, cuda.brings);
    } else if (entry.key == "unverified") {
      wrong = read_value(entry.value, cuda.unverified);
    } else {
      wrong = "unknown; known are cuda, cudnn, local, on_pypi, brings and unverified";
    }
    if (!wrong.empty()) return escape_for_display(entry.key) + ": " + wrong;
  }
  return node.find("cuda") == nullptr ? "cuda is missing" : std::string();
}

template <class Element>
std::string read_list(const YamlNode& node, std::vector<Element>& value, std::string_view what,
                      std::string (*read)(const YamlNode&, Element&)) {
  if (!node.is_sequence()) return "expected " + std::string(what) + ", found " + std::string(kind_name(node));
  value.reserve(node.items.size());
  for (const YamlNode& item : node.items) {
    Element element{};
    if (std::string wrong = read(item, element); !wrong.empty()) return wrong;
    value.push_back(std::move(element));
  }
  return {};
}

}  // namespace

std::string read_value(const YamlNode& node, std::vector<std::string>& value) {
  return read_list<std::string>(node, value, "a list of words", read_value);
}

std::string read_value(const YamlNode& node, std::vector<unsigned>& value) {
  return read_list<unsigned>(node, value, "a list of whole numbers", read_value);
}

std::string read_value(const YamlNode& node, std::vector<FrameworkBuild::Cuda>& value) {
  return read_list<FrameworkBuild::Cuda>(node, value, "a list of CUDA builds", read_cuda);
}

std::string read_value(const YamlNode& node, std::map<std::string, std::string, std::less<>>& value) {
  if (!node.is_map()) return "expected a map of package names to specifiers, found " + std::string(kind_name(node));
  for (const YamlEntry& entry : node.entries) {
    if (!entry.value.is_scalar()) return escape_for_display(entry.key) + ": expected specifiers; \"\" for any version";
    value.emplace(entry.key, entry.value.text);
  }
  return {};
}

std::vector<CudaImage> images_of(const CudaImageGroup& group) {
  std::vector<CudaImage> images;
  images.reserve(group.flavours.size());
  for (const std::string& text : group.flavours) {
    const Flavour flavour = parse_flavour(text).value_or(Flavour{text, {}});
    CudaImage image;
    image.source = group.source;
    image.unverified = group.unverified;
    image.tag.reserve(group.cuda.size() + text.size() + group.os.size() + 2);
    image.tag.append(group.cuda).append("-").append(text).append("-").append(group.os);
    image.cuda = Version::parse(group.cuda).value_or(Version());
    image.flavour = flavour.name;
    image.os = group.os;
    image.cudnn = cudnn_of(flavour.extra);
    if (image.cudnn && group.cudnn) image.cudnn = group.cudnn;
    image.library_path = group.library_path;
    image.withdrawn = group.withdrawn;
    images.push_back(std::move(image));
  }
  return images;
}

template <>
const TableSpec<FrameworkBuild>& spec_of() {
  using Type = FrameworkBuild;
  static const TableSpec<Type> spec = {
      "framework_builds",
      {required<Type>("framework", &Type::framework), required<Type>("version", &Type::version),
       optional<Type>("released", &Type::released), optional<Type>("requires_python", &Type::requires_python),
       optional<Type>("wheels", &Type::wheels), optional<Type>("wheels_arm64", &Type::wheels_arm64),
       optional<Type>("glibc", &Type::glibc), optional<Type>("cuda", &Type::cuda),
       optional<Type>("cuda_extra", &Type::cuda_extra), optional<Type>("cuda_pins", &Type::cuda_pins),
       optional<Type>("requires_dist", &Type::requires_dist), optional<Type>("compute_from", &Type::compute_from),
       optional<Type>("compute_to", &Type::compute_to)},
      [](const Type& row) { return row.framework + " " + row.version.to_string(); },
      check_framework_build,
      [](const Type& a, const Type& b) {
        return a.framework != b.framework ? a.framework < b.framework : a.version < b.version;
      }};
  return spec;
}

template <>
const TableSpec<CudaImageGroup>& spec_of() {
  using Type = CudaImageGroup;
  static const TableSpec<Type> spec = {
      "cuda_images",
      {required<Type>("cuda", &Type::cuda), required<Type>("os", &Type::os),
       required<Type>("flavours", &Type::flavours), optional<Type>("cudnn", &Type::cudnn),
       optional<Type>("library_path", &Type::library_path), optional<Type>("withdrawn", &Type::withdrawn)},
      [](const Type& row) { return row.cuda + " " + row.os + " " + join_words(row.flavours); },
      check_cuda_group,
      {}};
  return spec;
}

template <>
const TableSpec<NgcImage>& spec_of() {
  using Type = NgcImage;
  static const TableSpec<Type> spec = {
      "ngc_images",
      {required<Type>("product", &Type::product), required<Type>("month", &Type::month),
       optional<Type>("os", &Type::os), optional<Type>("python", &Type::python), optional<Type>("cuda", &Type::cuda),
       optional<Type>("cudnn", &Type::cudnn), optional<Type>("framework", &Type::framework)},
      [](const Type& row) { return row.product + " " + row.month; },
      check_ngc,
      {}};
  return spec;
}

template <>
const TableSpec<CudaRelease>& spec_of() {
  using Type = CudaRelease;
  static const TableSpec<Type> spec = {
      "cuda_releases",
      {required<Type>("version", &Type::version), optional<Type>("driver", &Type::driver),
       optional<Type>("driver_minimum", &Type::driver_minimum), optional<Type>("compute_from", &Type::compute_from),
       optional<Type>("compute_to", &Type::compute_to)},
      [](const Type& row) { return "CUDA " + row.version.to_string(); },
      check_cuda_release,
      [](const Type& a, const Type& b) { return a.version < b.version; }};
  return spec;
}

template <>
const TableSpec<CudnnRelease>& spec_of() {
  using Type = CudnnRelease;
  static const TableSpec<Type> spec = {
      "cudnn_releases",
      {required<Type>("version", &Type::version), required<Type>("cuda_majors", &Type::cuda_majors)},
      [](const Type& row) { return "cuDNN " + row.version.to_string(); },
      [](const Type& row) -> std::string { return row.cuda_majors.empty() ? "cuda_majors: is empty" : ""; },
      [](const Type& a, const Type& b) { return a.version < b.version; }};
  return spec;
}

template <>
const TableSpec<GpuType>& spec_of() {
  using Type = GpuType;
  static const TableSpec<Type> spec = {
      "gpus",
      {required<Type>("type", &Type::type), required<Type>("model", &Type::model),
       required<Type>("compute", &Type::compute), required<Type>("cuda_from", &Type::cuda_from),
       optional<Type>("cuda_through", &Type::cuda_through), optional<Type>("machine_families", &Type::machine_families),
       optional<Type>("on_dataflow", &Type::on_dataflow), optional<Type>("retired", &Type::retired)},
      [](const Type& row) { return row.type; },
      check_gpu,
      {}};
  return spec;
}

template <>
const TableSpec<KnownIssue>& spec_of() {
  using Type = KnownIssue;
  static const TableSpec<Type> spec = {
      "known_issues",
      {required<Type>("id", &Type::id), required<Type>("rule", &Type::rule), required<Type>("level", &Type::level),
       optional<Type>("packages", &Type::packages), optional<Type>("python", &Type::python),
       optional<Type>("beam", &Type::beam), optional<Type>("cuda", &Type::cuda),
       optional<Type>("cuda_from", &Type::cuda_from), optional<Type>("gpu", &Type::gpu),
       optional<Type>("tpu", &Type::tpu), optional<Type>("shows", &Type::shows),
       optional<Type>("unless_on_path", &Type::unless_on_path), optional<Type>("unless_there", &Type::unless_there),
       required<Type>("symptom", &Type::symptom), required<Type>("fix", &Type::fix)},
      [](const Type& row) { return row.id; },
      check_issue,
      {}};
  return spec;
}

}  // namespace imgforge::knowledge
