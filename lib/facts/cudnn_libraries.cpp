// cuDNN in an image: libcudnn.so.N, as a loader asks for it, and what the file behind that name is.
#include <algorithm>

#include "base/text.hpp"
#include "facts/gpu_software.hpp"
#include "facts/package_databases.hpp"

namespace imgforge {

namespace {

constexpr std::uint64_t max_header = 64 << 10;

struct Found {
  Cudnn library;
  std::optional<std::size_t> position;
};

bool goes_on(const Version& longer, const Version& shorter) {
  const auto& a = longer.release();
  const auto& b = shorter.release();
  return a.size() > b.size() && std::equal(b.begin(), b.end(), a.begin());
}

/// "8.9.6.50" of libcudnn8, of libcudnn9-cuda-12.
std::optional<Version> version_of_package(ImageReader& reader, unsigned major) {
  const std::string start = "libcudnn" + std::to_string(major);
  const auto& packages = reader.packages();
  for (auto at = packages.lower_bound(start); at != packages.end() && at->first.starts_with(start); ++at) {
    const std::string_view rest = std::string_view(at->first).substr(start.size());
    if (!rest.empty() && !rest.starts_with("-cuda-")) continue;
    if (rest.ends_with("-dev") || rest.ends_with("-samples")) continue;
    return upstream_version(at->second);
  }
  return std::nullopt;
}

/// CUDNN_MAJOR, CUDNN_MINOR and CUDNN_PATCHLEVEL of cudnn_version.h.
std::optional<Version> version_of_header(ImageReader& reader, const std::string& path, Evidence& evidence) {
  const Lookup found = reader.root().lookup(path);
  if (!found || found.node->type != EntryType::file) return std::nullopt;
  const auto text = reader.root().read(*found.node, max_header);
  if (!text) return std::nullopt;
  std::string parts[3];
  for (const std::string_view line : lines(*text)) {
    constexpr std::string_view define = "#define CUDNN_";
    if (!line.starts_with(define)) continue;
    const std::string_view rest = line.substr(define.size());
    const std::size_t space = rest.find_first_of(" \t");
    if (space == std::string_view::npos) continue;
    const std::string_view name = rest.substr(0, space);
    const std::string_view value = trim(rest.substr(space));
    if (!to_number(value)) continue;
    if (name == "MAJOR") parts[0] = value;
    if (name == "MINOR") parts[1] = value;
    if (name == "PATCHLEVEL") parts[2] = value;
  }
  if (parts[0].empty() || parts[1].empty() || parts[2].empty()) return std::nullopt;
  evidence = reader.evidence(*found.node);
  return Version::parse(parts[0] + "." + parts[1] + "." + parts[2]);
}

/// "8.9.2.26" of "cudnn-8.9.2.26-cuda11_0".
std::optional<Version> version_of_conda(GpuSoftware& software, std::string_view prefix, Evidence& evidence) {
  for (const auto& [name, node] : software.conda_records(prefix)) {
    for (const std::string_view start : {"cudnn-", "libcudnn-"}) {
      if (!name.starts_with(start)) continue;
      const std::string_view rest = std::string_view(name).substr(start.size());
      const auto version = Version::parse(rest.substr(0, rest.find('-')));
      if (!version) continue;
      evidence = software.reader().evidence(*node);
      return version;
    }
  }
  return std::nullopt;
}

std::optional<Found> look_at(GpuSoftware& software, const Node& node) {
  ImageReader& reader = software.reader();
  const Lookup real = reader.root().lookup(node.path);
  if (!real || real.node->type != EntryType::file || real.node->size == 0) return std::nullopt;
  const auto major = to_number(number_behind(name_of(node.path), "libcudnn.so."));
  if (!major || *major == 0 || *major > 99) return std::nullopt;
  Found found;
  Cudnn& library = found.library;
  library.major = static_cast<unsigned>(*major);
  library.folder = folder_of(node.path);
  library.evidence = {reader.evidence(*real.node)};
  found.position = software.position(library.folder);
  const std::string parent(folder_of(library.folder));
  const bool conda = reader.is_folder(parent + "/conda-meta");
  const auto package = library.folder.starts_with("/usr") ? version_of_package(reader, library.major) : std::nullopt;
  library.from = conda                                                        ? CudaToolkit::From::conda
                 : package && reader.config().variable("NVIDIA_REQUIRE_CUDA") ? CudaToolkit::From::base
                 : package                                                    ? CudaToolkit::From::apt
                                                                              : CudaToolkit::From::files;
  // NVIDIA's files are called libcudnn.so.8.9.6; the fourth number is in records alone.
  const auto by_name = Version::parse(number_behind(name_of(real.node->path), "libcudnn.so."));
  if (by_name && by_name->release().size() >= 2) library.version = by_name;
  Evidence evidence;
  std::optional<Version> better;
  if (conda) {
    better = version_of_conda(software, parent, evidence);
  } else if (package) {
    better = package;
    evidence = reader.package_evidence();
  }
  const auto agrees = [&](const std::optional<Version>& version) {
    return version && version->major() == library.major && (!library.version || goes_on(*version, *library.version));
  };
  if (!agrees(better) && !library.version) {
    const std::vector<std::string> headers = {
        parent + "/include/cudnn_version.h", std::string(folder_of(parent)) + "/include/cudnn_version.h",
        "/usr/include/cudnn_version.h", "/usr/include/" + std::string(name_of(library.folder)) + "/cudnn_version.h"};
    for (const std::string& path : headers) {
      better = version_of_header(reader, path, evidence);
      if (agrees(better)) break;
    }
  }
  if (agrees(better)) {
    library.version = better;
    library.evidence.push_back(evidence);
  }
  return found;
}

}  // namespace

Fact<std::vector<Cudnn>> read_cudnn(GpuSoftware& software) {
  std::vector<Found> all;
  for (const Node& node : software.files().cudnn) {
    if (node.path.find("/stubs/") != std::string::npos) continue;
    if (auto found = look_at(software, node)) all.push_back(std::move(*found));
  }
  std::stable_sort(all.begin(), all.end(), [](const Found& one, const Found& other) {
    return one.position.value_or(SIZE_MAX) < other.position.value_or(SIZE_MAX);
  });
  std::vector<Cudnn> libraries;
  for (Found& one : all) {
    // Where no loader looks, a file is no library: unless a script that nobody read here tells the loader of it.
    if (!one.position && !software.starts_through_script()) continue;
    libraries.push_back(std::move(one.library));
  }
  // nvidia-cudnn-cu12 8.9.4.25
  for (const Distribution* one : software.distributions()) {
    if (!one->name.starts_with("nvidia-cudnn-cu") || !one->version) continue;
    Cudnn library;
    library.from = CudaToolkit::From::wheels;
    library.major = static_cast<unsigned>(one->version->major());
    library.version = one->version;
    const std::string folder = one->site + "/nvidia/cudnn/lib";
    const Lookup found = software.reader().root().lookup(folder + "/libcudnn.so." + std::to_string(library.major));
    if (found) library.folder = folder;
    library.evidence = {one->evidence};
    libraries.push_back(std::move(library));
  }
  std::vector<Evidence> evidence;
  for (const Cudnn& one : libraries) evidence.insert(evidence.end(), one.evidence.begin(), one.evidence.end());
  return Fact<std::vector<Cudnn>>::known(std::move(libraries), std::move(evidence));
}

}  // namespace imgforge
