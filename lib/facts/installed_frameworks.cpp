// TensorFlow, PyTorch and JAX as they are installed for the interpreter that does the work.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "facts/gpu_software.hpp"
#include "facts/wheel_software.hpp"

namespace imgforge {

namespace {

constexpr std::uint64_t max_module = 64 << 10;
constexpr std::uint64_t max_wheel = 64 << 10;
constexpr std::uint64_t max_direct_url = 16 << 10;

using Build = Framework::Build;

std::string info_folder(const Distribution& one) { return std::string(folder_of(one.metadata_path)); }

std::vector<std::string> wheel_tags(ImageReader& reader, const Distribution& one) {
  if (!one.wheel_tags.empty()) return one.wheel_tags;
  std::vector<std::string> tags;
  const std::string text = reader.root().read(info_folder(one) + "/WHEEL", max_wheel).value_or("");
  for (const std::string_view line : lines(text)) {
    if (line.starts_with("Tag:") && tags.size() < 100) tags.emplace_back(trim(line.substr(4)));
  }
  return tags;
}

/// conda's record of a package below the interpreter's prefix: "pytorch-2.4.0-py3.11_cuda12.1_cudnn9.1.0_0".
std::string conda_record(GpuSoftware& software, std::string_view package) {
  if (software.interpreter() == nullptr) return {};
  for (const auto& [name, node] : software.conda_records(software.interpreter()->prefix)) {
    if (!name.starts_with(package) || name.size() <= package.size() + 1 || name[package.size()] != '-') continue;
    const char next = name[package.size() + 1];
    if (next >= '0' && next <= '9') return name;
  }
  return {};
}

/// Who built it. RULES, "Not to cry wolf (cuda)": upstream's tables are of wheels of PyPI and of PyTorch's index only.
Build build_of(GpuSoftware& software, const Distribution& one, std::string_view conda_name) {
  const std::string local = one.version ? one.version->local() : std::string();
  if (local.starts_with("nv") || local.find(".nv") != std::string::npos || one.name.starts_with("nvidia-"))
    return Build::ngc;
  if (one.installer == "conda" || (one.installer.empty() && !conda_record(software, conda_name).empty()))
    return Build::conda;
  if (one.editable) return Build::unknown;
  const std::string url =
      !one.direct_url.empty()
          ? one.direct_url
          : software.reader().root().read(info_folder(one) + "/direct_url.json", max_direct_url).value_or("");
  const auto names = [&](std::string_view host) { return url.find(host) != std::string::npos; };
  if (!url.empty() && !names("files.pythonhosted.org/") && !names("download.pytorch.org/") &&
      !names("download-r2.pytorch.org/") && !names("storage.googleapis.com/tensorflow/") &&
      !names("storage.googleapis.com/jax-releases/"))
    return Build::unknown;
  static constexpr std::array<std::string_view, 5> installers = {"pip", "uv", "poetry", "pdm", "pipenv"};
  if (std::none_of(installers.begin(), installers.end(),
                   [&](std::string_view name) { return one.installer.starts_with(name); }))
    return Build::unknown;
  const std::vector<std::string> tags = wheel_tags(software.reader(), one);
  const bool manylinux = std::any_of(tags.begin(), tags.end(), [](const std::string& tag) {
    return tag.find("-manylinux") != std::string::npos || tag.ends_with("-any");
  });
  const bool of_index =
      local == "cpu" || cuda_of_local(local).has_value() || local.starts_with("rocm") || local == "xpu";
  // PyTorch's own index had linux_x86_64 as the platform for long; what is built at home has it, too, but no such
  // local.
  if (of_index && !tags.empty()) return Build::pytorch_index;
  if (!manylinux) return Build::unknown;
  if (local.empty() || local.starts_with("cuda")) return Build::pypi;
  return Build::unknown;
}

/// What follows a key in a module that a build wrote: "True" of ('is_cuda_build', True), "12.4" of cuda = '12.4'.
std::string value_behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = text.substr(at + key.size());
  const std::size_t begin = rest.find_first_not_of("'\":=,( \t");
  if (begin == std::string_view::npos) return {};
  rest = rest.substr(begin);
  return std::string(rest.substr(0, rest.find_first_of("'\"), \t\r\n")));
}

/// Of torch/version.py: "cuda: Optional[str] = '12.4'", "cuda = None".
std::string version_module_value(std::string_view text, std::string_view name) {
  for (const std::string_view line : lines(text)) {
    if (!line.starts_with(name)) continue;
    const std::string_view rest = line.substr(name.size());
    if (rest.empty() || (rest.front() != ':' && rest.front() != ' ' && rest.front() != '=')) continue;
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos) continue;
    std::string_view value = trim(rest.substr(equals + 1));
    while (!value.empty() && (value.front() == '\'' || value.front() == '"')) value.remove_prefix(1);
    return std::string(value.substr(0, value.find_first_of("'\" ")));
  }
  return {};
}

Framework framework_of(GpuSoftware& software, const Distribution& one, std::string name, std::string_view conda_name) {
  Framework framework;
  framework.name = std::move(name);
  framework.package = one.name;
  framework.build = build_of(software, one, conda_name);
  if (one.version) {
    framework.local = one.version->local();
    framework.version = framework.local.empty() ? *one.version : one.version->public_part();
  }
  framework.evidence = {one.evidence};
  return framework;
}

bool has_wheel(GpuSoftware& software, std::string_view start) {
  const auto& all = software.distributions();
  return std::any_of(all.begin(), all.end(), [&](const Distribution* one) { return one->name.starts_with(start); });
}

/// Whether a requirement of `owner` (its extras' among them) is for exactly the cuDNN wheel that is installed.
bool pins_cudnn(const Distribution& owner, const Distribution& cudnn) {
  for (const std::string& text : owner.requires_dist) {
    if (text.find("cudnn") == std::string::npos) continue;
    const auto requirement = Requirement::parse(text);
    if (!requirement || requirement->normalised() != cudnn.name || !cudnn.version) continue;
    if (requirement->specifiers().contains(*cudnn.version)) return true;
  }
  return false;
}

/// The owner's requirement is for a cuDNN of another major than the installed one.
bool pins_other_cudnn(const Distribution& owner, const Distribution& cudnn) {
  for (const std::string& text : owner.requires_dist) {
    if (text.find("cudnn") == std::string::npos) continue;
    const auto requirement = Requirement::parse(text);
    if (!requirement || requirement->normalised() != cudnn.name || !cudnn.version) continue;
    const auto pinned = requirement->specifiers().pinned();
    if (pinned && pinned->major() != cudnn.version->major()) return true;
  }
  return false;
}

/// The wheels are there for TensorFlow: it asks for them as they are, or nothing else does and the image has no CUDA of
/// its own.
bool tensorflow_brings(GpuSoftware& software, const Distribution& tensorflow) {
  if (!has_wheel(software, "nvidia-cuda-runtime")) return false;
  const auto& all = software.distributions();
  const auto cudnn = std::find_if(all.begin(), all.end(),
                                  [](const Distribution* one) { return one->name.starts_with("nvidia-cudnn-cu"); });
  if (cudnn == all.end()) return false;
  if (pins_cudnn(tensorflow, **cudnn)) return true;
  const Distribution* torch = software.distribution("torch");
  if (torch != nullptr || has_wheel(software, "jax-cuda") || pins_other_cudnn(tensorflow, **cudnn)) return false;
  const auto& system = software.files().cudnn;
  return std::none_of(system.begin(), system.end(),
                      [&](const Node& node) { return software.position(folder_of(node.path)).has_value(); });
}

std::optional<Framework> tensorflow(GpuSoftware& software) {
  static constexpr std::array<std::string_view, 10> packages = {
      "tensorflow", "tensorflow-gpu", "nvidia-tensorflow", "tensorflow-cpu", "intel-tensorflow",
      "tf-nightly", "tf-nightly-gpu", "tf-nightly-cpu",    "tensorflow-tpu", "tensorflow-cpu-aws"};
  ImageReader& reader = software.reader();
  for (const std::string_view package : packages) {
    const Distribution* one = software.distribution(package);
    if (one == nullptr) continue;
    Framework framework = framework_of(software, *one, "tensorflow", "tensorflow");
    framework.tpu = package == "tensorflow-tpu";
    framework.cpu_only = package == "tensorflow-cpu" || package == "tf-nightly-cpu" || package == "intel-tensorflow" ||
                         package == "tensorflow-cpu-aws";
    // What the build wrote down of itself is better than any name.
    const std::string path = one->site + "/tensorflow/python/platform/build_info.py";
    const std::string info = reader.root().read(path, max_module).value_or("");
    const std::string cuda_build = value_behind(info, "is_cuda_build");
    if (cuda_build == "False" || cuda_build == "True") {
      framework.cpu_only = cuda_build == "False" && !framework.tpu;
      if (const Lookup found = reader.root().lookup(path)) framework.evidence.push_back(reader.evidence(*found.node));
    } else if (framework.build == Build::conda) {
      const std::string record = conda_record(software, "tensorflow");
      framework.cpu_only = record.find("cpu") != std::string::npos || record.find("mkl") != std::string::npos ||
                           record.find("eigen") != std::string::npos;
    }
    framework.brings_cuda = !framework.cpu_only && !framework.tpu && tensorflow_brings(software, *one);
    return framework;
  }
  return std::nullopt;
}

std::optional<Framework> torch(GpuSoftware& software) {
  const Distribution* one = software.distribution("torch");
  if (one == nullptr) return std::nullopt;
  ImageReader& reader = software.reader();
  Framework framework = framework_of(software, *one, "torch", "pytorch");
  const std::string path = one->site + "/torch/version.py";
  const std::string module = reader.root().read(path, max_module).value_or("");
  const std::string cuda = version_module_value(module, "cuda");
  const std::string hip = version_module_value(module, "hip");
  framework.cpu_only = framework.local == "cpu";
  if (!cuda.empty()) {
    framework.cpu_only = cuda == "None" && (hip.empty() || hip == "None") && framework.local != "xpu";
    if (!hip.empty() && hip != "None" && framework.local.empty()) framework.local = "rocm" + hip;
    if (const Lookup found = reader.root().lookup(path)) framework.evidence.push_back(reader.evidence(*found.node));
  } else if (framework.build == Build::conda) {
    framework.cpu_only = conda_record(software, "pytorch").find("cpu") != std::string::npos;
  }
  const bool other_vendor = framework.local.starts_with("rocm") || framework.local == "xpu";
  framework.brings_cuda = !framework.cpu_only && !other_vendor &&
                          (framework.build == Build::pypi || framework.build == Build::pytorch_index ||
                           framework.build == Build::conda || has_wheel(software, "nvidia-cuda-runtime"));
  // The worker's XLA takes what torch_xla brings; torch itself is then the CPU's.
  framework.tpu = software.distribution("torch-xla") != nullptr && has_wheel(software, "libtpu");
  return framework;
}

std::optional<Framework> jax(GpuSoftware& software) {
  const Distribution* one = software.distribution("jax");
  if (one == nullptr) return std::nullopt;
  Framework framework = framework_of(software, *one, "jax", "jax");
  const Distribution* jaxlib = software.distribution("jaxlib");
  bool cuda = has_wheel(software, "jax-cuda");
  bool other_vendor = has_wheel(software, "jax-rocm") || has_wheel(software, "jax-metal");
  if (jaxlib != nullptr) {
    const Build of_library = build_of(software, *jaxlib, "jaxlib");
    // Which binaries are used, jaxlib says: jax itself is the same for all.
    if (of_library != Build::pypi) framework.build = of_library;
    const std::string local = jaxlib->version ? jaxlib->version->local() : std::string();
    cuda = cuda || local.starts_with("cuda");
    if (!local.empty()) framework.local = local;
    other_vendor = other_vendor || local.starts_with("rocm");
    if (of_library == Build::conda) cuda = cuda || conda_record(software, "jaxlib").find("cuda") != std::string::npos;
    // NVIDIA's and homemade builds have what nobody can tell by their names.
    if (of_library == Build::ngc || of_library == Build::unknown) cuda = true;
    framework.evidence.push_back(jaxlib->evidence);
  }
  framework.tpu = has_wheel(software, "libtpu");
  framework.cpu_only = !framework.tpu && !cuda && !other_vendor;
  if (other_vendor && !cuda) framework.local = "rocm";
  framework.brings_cuda = cuda && has_wheel(software, "nvidia-cudnn-cu");
  return framework;
}

}  // namespace

Fact<std::vector<Framework>> read_frameworks(GpuSoftware& software) {
  if (!software.open().empty()) return Fact<std::vector<Framework>>::unknown(software.open());
  std::vector<Framework> frameworks;
  std::vector<Evidence> evidence;
  for (const auto& read : {tensorflow, torch, jax}) {
    auto framework = read(software);
    if (!framework) continue;
    evidence.insert(evidence.end(), framework->evidence.begin(), framework->evidence.end());
    frameworks.push_back(std::move(*framework));
  }
  return Fact<std::vector<Framework>>::known(std::move(frameworks), std::move(evidence));
}

}  // namespace imgforge
