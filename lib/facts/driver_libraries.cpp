// The driver's own libraries where they should not be, the compilers of kernels, and libtpu.
#include <algorithm>

#include "base/text.hpp"
#include "facts/commands.hpp"
#include "facts/gpu_software.hpp"

namespace imgforge {

namespace {

/// Folders of forward-compatibility libraries ("compat", "cuda-compat", "compat.real") and of stubs.
bool is_harmless_folder(std::string_view path) {
  for (const std::string_view part : split(folder_of(path), '/')) {
    if (part == "stubs" || part.find("compat") != std::string_view::npos) return true;
  }
  return false;
}

bool is_program(const Node& node) { return node.type == EntryType::file && (node.mode & 0111) != 0; }

}  // namespace

Fact<std::vector<DriverLibrary>> read_driver_libraries(GpuSoftware& software) {
  std::vector<DriverLibrary> libraries;
  std::vector<Evidence> evidence;
  for (const Node& node : software.files().drivers) {
    // Runtimes leave empty files behind where they mounted the driver's while an image was built.
    if (node.size == 0 || is_harmless_folder(node.path) || node.path.starts_with("/usr/local/nvidia/")) continue;
    DriverLibrary library;
    library.path = node.path;
    const std::string_view name = name_of(node.path);
    library.version = name.substr(name.find(".so.") + 4);
    library.evidence = software.reader().evidence(node);
    evidence.push_back(library.evidence);
    libraries.push_back(std::move(library));
  }
  return Fact<std::vector<DriverLibrary>>::known(std::move(libraries), std::move(evidence));
}

Fact<bool> read_ptxas(GpuSoftware& software) {
  ImageReader& reader = software.reader();
  const auto proof = [&](const Node& node) { return Fact<bool>::known(true, {reader.evidence(node)}); };
  if (const auto command = reader.find("ptxas"); command && command->executable) {
    if (const Lookup found = reader.root().lookup(command->canonical)) return proof(*found.node);
  }
  for (const Node& node : software.files().ptxas) {
    const Lookup real = reader.root().lookup(node.path);
    if (!real || !is_program(*real.node)) continue;
    if (in_site_packages(node.path)) {
      // Triton has one for itself, which XLA does not look for.
      const bool of_nvidia =
          node.path.find("/nvidia/") != std::string::npos && node.path.find("/triton/") == std::string::npos;
      const Interpreter* python = software.interpreter();
      const bool seen = python == nullptr ||
                        std::any_of(python->site_packages.begin(), python->site_packages.end(),
                                    [&](const std::string& site) { return node.path.starts_with(site + "/nvidia/"); });
      if (of_nvidia && seen) return proof(*real.node);
      continue;
    }
    return proof(*real.node);
  }
  return Fact<bool>::known(false);
}

Fact<bool> read_tpu_library(ImageReader& reader) {
  const auto value = reader.config().variable("TPU_LIBRARY_PATH");
  if (!value || !value->starts_with('/')) return Fact<bool>::unknown("TPU_LIBRARY_PATH");
  const Lookup found = reader.root().lookup(absolute_path(*value, "/"));
  const bool there = found && found.node->type == EntryType::file;
  std::vector<Evidence> evidence = {Evidence::in_config("Env.TPU_LIBRARY_PATH")};
  if (there) evidence.push_back(reader.evidence(*found.node));
  return Fact<bool>::known(there, std::move(evidence));
}

Fact<bool> read_libtpu(GpuSoftware& software) {
  for (const std::string_view name : {"libtpu", "libtpu-nightly", "tensorflow-tpu"}) {
    if (const Distribution* one = software.distribution(name)) return Fact<bool>::known(true, {one->evidence});
  }
  ImageReader& reader = software.reader();
  if (const Fact<bool> named = read_tpu_library(reader); named.is_known() && named.value()) return named;
  // Old torch_xla has it in its own package, and images of Cloud TPU in /lib or /usr/lib.
  const Interpreter* python = software.interpreter();
  for (const Node& node : software.files().libtpu) {
    const std::string_view folder = folder_of(node.path);
    const bool in_sites =
        python != nullptr && std::any_of(python->site_packages.begin(), python->site_packages.end(),
                                         [&](const std::string& site) { return node.path.starts_with(site + "/"); });
    if (in_sites || software.position(folder)) return Fact<bool>::known(true, {reader.evidence(node)});
  }
  if (!software.open().empty()) return Fact<bool>::unknown(software.open());
  return Fact<bool>::known(false);
}

}  // namespace imgforge
