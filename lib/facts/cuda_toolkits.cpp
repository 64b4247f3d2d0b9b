// CUDA toolkits of an image: libcudart is what proves one; how exactly it is known, the files and records beside it
// say.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "facts/gpu_software.hpp"
#include "facts/package_databases.hpp"

namespace imgforge {

namespace {

constexpr std::uint64_t max_version_file = 64 << 10;

/// The toolkit that a folder of libraries is of: "/usr/local/cuda-12.2" of ".../targets/x86_64-linux/lib"; of the
/// system's own folders, themselves.
std::string toolkit_folder(const std::string& folder) {
  if (const std::size_t targets = folder.find("/targets/"); targets != std::string::npos && targets > 0)
    return folder.substr(0, targets);
  if (folder == "/usr/lib" || folder == "/usr/lib64" || folder == "/lib" || folder == "/lib64") return folder;
  if (folder.ends_with("/lib64") || folder.ends_with("/lib")) return std::string(folder_of(folder));
  return folder;
}

bool is_left_out(std::string_view path) { return path.find("/stubs/") != std::string_view::npos; }

/// The release that a name proves: "12.2" of libcudart.so.12.2.140, "10.2" of libcudart.so.10.2. "11.0" alone is the
/// soname of every CUDA 11, and "12" that of every 12.
std::optional<Version> release_of_name(std::string_view number) {
  const auto version = Version::parse(number);
  if (!version) return std::nullopt;
  const auto& parts = version->release();
  if (parts.size() >= 3) return cuda_release(*version);
  if (parts.size() == 2 && version->major() < 11) return version;
  return Version::parse(std::to_string(version->major()));
}

/// version.json (CUDA 11.1 and later), version.txt (before). The third number is an update or a date: a date says
/// nothing.
std::optional<Version> release_of_files(ImageReader& reader, const std::string& toolkit,
                                        std::vector<Evidence>& evidence) {
  std::string text;
  if (const Lookup found = reader.root().lookup(toolkit + "/version.json")) {
    const auto content = reader.root().read(*found.node, max_version_file);
    const nlohmann::json document =
        content ? nlohmann::json::parse(*content, nullptr, false) : nlohmann::json(nlohmann::json::value_t::discarded);
    if (document.is_object() && document.contains("cuda") && document["cuda"].is_object()) {
      const auto& cuda = document["cuda"];
      if (cuda.contains("version") && cuda["version"].is_string()) text = cuda["version"].get<std::string>();
    }
    if (!text.empty()) evidence.push_back(reader.evidence(*found.node));
  }
  if (text.empty()) {
    if (const Lookup found = reader.root().lookup(toolkit + "/version.txt")) {
      const std::string content = reader.root().read(*found.node, max_version_file).value_or("");
      constexpr std::string_view start = "CUDA Version ";
      if (content.starts_with(start)) text = trim(lines(content).front().substr(start.size()));
      if (!text.empty()) evidence.push_back(reader.evidence(*found.node));
    }
  }
  const auto version = Version::parse(text);
  if (!version || version->release().size() < 2) return std::nullopt;
  return version->micro() < 20 ? version : cuda_release(*version);
}

/// "12.2" of an installed cuda-cudart-12-2.
std::optional<Version> release_of_packages(ImageReader& reader, std::uint64_t major) {
  constexpr std::string_view start = "cuda-cudart-";
  std::optional<Version> only;
  const auto& packages = reader.packages();
  for (auto at = packages.lower_bound(std::string(start)); at != packages.end() && at->first.starts_with(start); ++at) {
    std::string text = at->first.substr(start.size());
    std::replace(text.begin(), text.end(), '-', '.');
    const auto version = Version::parse(text);
    if (!version || version->release().size() != 2 || version->major() != major) continue;
    if (only) return std::nullopt;  // which of them the file is of, the name does not say
    only = version;
  }
  return only;
}

struct Found {
  CudaToolkit toolkit;
  std::optional<std::size_t> position;
};

CudaToolkit::From origin(GpuSoftware& software, const std::string& folder, const std::string& toolkit) {
  ImageReader& reader = software.reader();
  if (reader.is_folder(toolkit + "/conda-meta")) return CudaToolkit::From::conda;
  // Variables that NVIDIA's images set say who put it there, not which it is.
  const auto claimed = reader.config().variable("NVIDIA_REQUIRE_CUDA");
  if (claimed && toolkit.starts_with("/usr/local/cuda")) return CudaToolkit::From::base;
  const auto installed = [&](std::string_view start) {
    const auto package = reader.packages().lower_bound(std::string(start));
    return package != reader.packages().end() && package->first.starts_with(start);
  };
  const bool own_folder = toolkit.starts_with("/usr/local/cuda");
  if (own_folder && installed("cuda-cudart-")) return CudaToolkit::From::apt;
  if (folder.starts_with("/usr/lib/") && installed("libcudart")) return CudaToolkit::From::apt;
  return CudaToolkit::From::files;
}

CudaToolkit::Flavour flavour_of(GpuSoftware& software, const std::string& folder, const std::string& toolkit) {
  if (software.reader().is_file(toolkit + "/bin/nvcc")) return CudaToolkit::Flavour::devel;
  const auto& cublas = software.files().cublas;
  const bool has_cublas = std::any_of(cublas.begin(), cublas.end(), [&](const Node& node) {
    return folder_of(node.path) == folder || toolkit_folder(std::string(folder_of(node.path))) == toolkit;
  });
  return has_cublas ? CudaToolkit::Flavour::runtime : CudaToolkit::Flavour::base;
}

/// "12.1.105" of "cuda-cudart-12.1.105-0", "11.8.0" of "cudatoolkit-11.8.0-h6a678d5_0".
std::optional<Version> release_of_conda(GpuSoftware& software, const std::string& prefix,
                                        std::vector<Evidence>& evidence) {
  for (const auto& [name, node] : software.conda_records(prefix)) {
    for (const std::string_view start : {"cuda-cudart-", "cudatoolkit-"}) {
      if (!name.starts_with(start)) continue;
      const std::string_view rest = std::string_view(name).substr(start.size());
      const auto version = Version::parse(rest.substr(0, rest.find('-')));
      if (!version || version->release().size() < 2) continue;
      evidence.push_back(software.reader().evidence(*node));
      return cuda_release(*version);
    }
  }
  return std::nullopt;
}

std::vector<Found> system_toolkits(GpuSoftware& software) {
  ImageReader& reader = software.reader();
  // By toolkit and major: a folder may hold two of them.
  std::map<std::pair<std::string, std::uint64_t>, Found> all;
  for (const Node& node : software.files().cudart) {
    if (is_left_out(node.path)) continue;
    const Lookup real =
        node.type == EntryType::symlink ? reader.root().lookup(node.path) : Lookup{Lookup::Status::found, node, {}, {}};
    if (!real || real.node->type != EntryType::file || real.node->size == 0) continue;
    // A link says where the loader finds it, the file behind the link which it is.
    const auto by_name = release_of_name(number_behind(name_of(real.node->path), "libcudart.so."));
    const auto by_link = release_of_name(number_behind(name_of(node.path), "libcudart.so."));
    const auto release = by_name ? by_name : by_link;
    if (!release) continue;
    const std::string folder(folder_of(node.path));
    const std::string toolkit = toolkit_folder(folder);
    const auto [place, fresh] = all.try_emplace({toolkit, release->major()});
    Found& found = place->second;
    if (fresh) {
      found.toolkit.folder = toolkit;
      found.toolkit.from = origin(software, folder, toolkit);
      found.toolkit.flavour = flavour_of(software, folder, toolkit);
      found.toolkit.version = release;
      found.toolkit.evidence = {reader.evidence(*real.node)};
      found.position = software.position(folder);
    } else {
      if (found.toolkit.version->release().size() < release->release().size()) {
        found.toolkit.version = release;
        found.toolkit.evidence = {reader.evidence(*real.node)};
      }
      if (!found.position) found.position = software.position(folder);
    }
  }
  std::vector<Found> toolkits;
  for (auto& [key, found] : all) {
    CudaToolkit& toolkit = found.toolkit;
    std::vector<Evidence> evidence;
    std::optional<Version> better = release_of_files(reader, toolkit.folder, evidence);
    if (!better && toolkit.from == CudaToolkit::From::conda)
      better = release_of_conda(software, toolkit.folder, evidence);
    const bool coarse = toolkit.version->release().size() < 2;
    if (!better && coarse && toolkit.folder.starts_with("/usr")) {
      better = release_of_packages(reader, key.second);
      if (better) evidence.push_back(reader.package_evidence());
    }
    // What the library itself proves is not overruled, only said more exactly.
    if (better && better->major() == key.second && (coarse || better->minor() == toolkit.version->minor())) {
      toolkit.version = better;
      toolkit.evidence.insert(toolkit.evidence.end(), evidence.begin(), evidence.end());
    }
    toolkits.push_back(std::move(found));
  }
  return toolkits;
}

/// nvidia-cuda-runtime-cu12 12.4.127, nvidia-cuda-runtime 13.0.48; what torch has in its own wheel says its build.
std::optional<CudaToolkit> wheel_toolkit(GpuSoftware& software) {
  for (const Distribution* one : software.distributions()) {
    if (!one->name.starts_with("nvidia-cuda-runtime") || !one->version) continue;
    CudaToolkit toolkit;
    toolkit.from = CudaToolkit::From::wheels;
    toolkit.version = cuda_release(*one->version);
    toolkit.flavour = CudaToolkit::Flavour::runtime;
    toolkit.evidence = {one->evidence};
    return toolkit;
  }
  const Distribution* torch = software.distribution("torch");
  if (torch == nullptr || !torch->version || !torch->version->local().starts_with("cu")) return std::nullopt;
  const std::string digits = torch->version->local().substr(2);
  if (digits.size() < 2 || digits.size() > 3 || digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  CudaToolkit toolkit;
  toolkit.from = CudaToolkit::From::wheels;
  toolkit.version = Version::parse(digits.substr(0, digits.size() - 1) + "." + digits.back());
  toolkit.flavour = CudaToolkit::Flavour::runtime;
  toolkit.evidence = {torch->evidence};
  return toolkit;
}

}  // namespace

Fact<std::vector<CudaToolkit>> read_cuda(GpuSoftware& software) {
  std::vector<Found> found = system_toolkits(software);
  std::stable_sort(found.begin(), found.end(), [](const Found& one, const Found& other) {
    return one.position.value_or(SIZE_MAX) < other.position.value_or(SIZE_MAX);
  });
  const bool any_found = !found.empty() && found.front().position.has_value();
  std::vector<CudaToolkit> toolkits;
  for (Found& one : found) {
    if (any_found && !one.position && !software.starts_through_script()) continue;
    toolkits.push_back(std::move(one.toolkit));
  }
  if (auto wheels = wheel_toolkit(software)) toolkits.push_back(std::move(*wheels));
  std::vector<Evidence> evidence;
  for (const CudaToolkit& one : toolkits) evidence.insert(evidence.end(), one.evidence.begin(), one.evidence.end());
  return Fact<std::vector<CudaToolkit>>::known(std::move(toolkits), std::move(evidence));
}

}  // namespace imgforge
