#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "render/planner.hpp"

namespace imgforge {

namespace {

constexpr std::string_view ngc_prefix = "ngc-";

/// "12.2.2" of "12.2.2-cudnn8-runtime-ubuntu22.04" or of "cuda_12.2.2_535.104.05_linux.run".
std::optional<Version> version_in(std::string_view text) {
  const std::size_t start = text.find_first_of("0123456789");
  if (start == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(start);
  const std::string_view number = rest.substr(0, rest.find_first_not_of("0123456789."));
  if (std::count(number.begin(), number.end(), '.') == 0) return std::nullopt;
  return Version::parse(number);
}

std::string file_name(std::string_view url) { return std::string(url.substr(url.rfind('/') + 1)); }

/// "12-2", as NVIDIA's package names have it.
std::string dashed(const Version& version) { return fmt::format("{}-{}", version.major(), version.minor()); }

}  // namespace

std::string checksum_command(const Download& download) {
  if (!download.file.empty()) return "sha256sum " + shell_word(download.file).text();
  return fmt::format("curl -fsSL {} | sha256sum", shell_word(download.url).text());
}

bool Planner::base_brings_cuda() const {
  // That of PyTorch's images is in their interpreter.
  return plan_.base && (plan_.base->cuda || base_is("cuda") || (base_is("pytorch") && base_interpreter()) ||
                        plan_.base->kind.starts_with(ngc_prefix) ||
                        (base_is("tensorflow") && recipe_.base_image->tag().find("-gpu") != std::string::npos));
}

void Planner::gpu() {
  if (!recipe_.gpu) return;
  GpuSpec& gpu = *recipe_.gpu;
  cuda_source(gpu);
  cudnn_source(gpu);
  if (gpu.cuda.from == CudaFrom::runfile) runfile(gpu);
  if (gpu.cudnn.from == CudnnFrom::archive) archive(gpu);
  apt_cuda(gpu);
  library_path();
}

void Planner::cuda_source(GpuSpec& gpu) {
  if (!gpu.cuda.from) {
    if (base_brings_cuda()) {
      gpu.cuda.from = CudaFrom::base;
      derive("accelerator.gpu.cuda.from", "base", "the base image brings CUDA", plan_.base->source);
    } else if (!plan_.base && recipe_.python_from == PythonFrom::base) {
      gpu.cuda.from = CudaFrom::base;
      derive("accelerator.gpu.cuda.from", "base", "nothing else is known of the base image");
      warning("base.image", fmt::format("nothing is known of {}: it is taken to bring CUDA", base_text()),
              "write accelerator.gpu.cuda.from where it does not");
    } else {
      gpu.cuda.from = CudaFrom::wheels;
      derive("accelerator.gpu.cuda.from", "wheels",
             "the base image brings no CUDA, and wheels are the smallest way to it");
    }
  } else if (gpu.cuda.from == CudaFrom::base && plan_.base && !base_brings_cuda()) {
    by_row(*plan_.base, "accelerator.gpu.cuda.from", fmt::format("{} brings no CUDA", base_text()),
           "leave it out for wheels, or take an nvidia/cuda image as base.image");
  }
  if (gpu.cuda.version || gpu.cuda.from != CudaFrom::base || !base_brings_cuda()) return;
  gpu.cuda.version = plan_.base->cuda;
  if (!gpu.cuda.version && base_is("cuda")) gpu.cuda.version = version_in(recipe_.base_image->tag());
  if (gpu.cuda.version) {
    derive("accelerator.gpu.cuda.version", gpu.cuda.version->to_string(), "what the base image brings",
           plan_.base->source);
  }
}

void Planner::cudnn_source(GpuSpec& gpu) {
  if (gpu.cudnn.from) {
    if (gpu.cudnn.from == CudnnFrom::base && gpu.cuda.from != CudaFrom::base && plan_.base && !base_brings_cuda()) {
      by_row(*plan_.base, "accelerator.gpu.cudnn.from", fmt::format("{} brings no cuDNN", base_text()),
             "leave it out for wheels");
    }
    return;
  }
  if (gpu.cuda.from == CudaFrom::runfile || gpu.cuda.from == CudaFrom::apt) {
    if (!recipe_.frameworks.empty()) {
      warning("accelerator.gpu.cuda.from", "CUDA comes without cuDNN, and the frameworks need it",
              "write accelerator.gpu.cudnn: {from: archive, file: cudnn-linux-x86_64-VERSION-archive.tar.xz}");
    }
    return;
  }
  gpu.cudnn.from = gpu.cuda.from == CudaFrom::base ? CudnnFrom::base : CudnnFrom::wheels;
  derive("accelerator.gpu.cudnn.from", to_string(*gpu.cudnn.from), "from where CUDA comes");
}

void Planner::runfile(GpuSpec& gpu) {
  CudaSpec& cuda = gpu.cuda;
  Download download{cuda.url, {}, cuda.sha256};
  const Installer* known = cuda.version ? knowledge_.installer("cuda", cuda.version) : nullptr;
  if (download.url.empty()) {
    if (known == nullptr) {
      std::vector<std::string> versions;
      for (const Installer& row : knowledge_.installers()) {
        if (row.name == "cuda") versions.push_back(row.version.to_string());
      }
      error(cuda.version ? "accelerator.gpu.cuda.version" : "accelerator.gpu.cuda.from",
            cuda.version ? fmt::format("the runfile of CUDA {} is not known", cuda.version->to_string())
                         : "CUDA from a runfile needs its version or its URL",
            fmt::format("write accelerator.gpu.cuda.url (and sha256); known are {}", join_words(versions)));
      return;
    }
    download.url = cuda.url = known->url;
    derive("accelerator.gpu.cuda.url", download.url, "NVIDIA's installer of this version", known->source);
  }
  if (download.sha256.empty() && known != nullptr && known->url == download.url) {
    download.sha256 = cuda.sha256 = known->sha256;
    derive("accelerator.gpu.cuda.sha256", download.sha256, "what packagers hold this installer against", known->source);
  }
  if (!cuda.version) {
    cuda.version = version_in(file_name(download.url));
    if (cuda.version) derive("accelerator.gpu.cuda.version", cuda.version->to_string(), "the name of the runfile");
  }
  if (download.sha256.empty()) {
    warning("accelerator.gpu.cuda.url",
            fmt::format("no SHA-256 sum is known for {}: the build will not check it", download.url),
            fmt::format("write what this prints as accelerator.gpu.cuda.sha256: {}", checksum_command(download)));
  }
  plan_.cuda_runfile = std::move(download);
  // The installer is a program of its own that links libxml2. No base image promises to have these.
  for (const char* package : {"ca-certificates", "curl", "libxml2"}) add_apt(package);
}

void Planner::archive(GpuSpec& gpu) {
  const CudnnSpec& cudnn = gpu.cudnn;
  if (cudnn.file.empty() && cudnn.url.empty()) {
    error("accelerator.gpu.cudnn.from", "cuDNN from an archive needs the archive",
          "write file: cudnn-linux-x86_64-VERSION-archive.tar.xz (in the build context), or url");
    return;
  }
  Download download{cudnn.url, cudnn.file, cudnn.sha256};
  if (download.sha256.empty()) {
    const std::string path = download.file.empty() ? "accelerator.gpu.cudnn.url" : "accelerator.gpu.cudnn.file";
    warning(path,
            fmt::format("no SHA-256 sum is known for {}: the build will not check it",
                        download.file.empty() ? download.url : download.file),
            fmt::format("write what this prints as accelerator.gpu.cudnn.sha256: {}", checksum_command(download)));
  }
  plan_.cudnn_archive = std::move(download);
}

void Planner::apt_cuda(GpuSpec& gpu) {
  const bool cuda = gpu.cuda.from == CudaFrom::apt;
  const bool cudnn = gpu.cudnn.from == CudnnFrom::apt;
  if (!cuda && !cudnn) return;
  const std::string path = cuda ? "accelerator.gpu.cuda.from" : "accelerator.gpu.cudnn.from";
  if (plan_.base && !base_is("cuda") && !plan_.base->kind.starts_with(ngc_prefix)) {
    error(path, fmt::format("{} has no apt repository of NVIDIA's", base_text()),
          "take an nvidia/cuda image as base.image, or leave it out for wheels");
    return;
  }
  if (cuda) {
    if (!gpu.cuda.version) {
      error(path, "CUDA from apt needs its version", "write accelerator.gpu.cuda.version: \"12.2\"");
      return;
    }
    add_apt("cuda-libraries-" + dashed(*gpu.cuda.version));
  }
  if (!cudnn) return;
  if (!gpu.cuda.version) gpu.cuda.version = version_in(recipe_.base_image->tag());
  if (!gpu.cudnn.version || !gpu.cuda.version) {
    error(path, "cuDNN from apt needs its version, and CUDA's",
          "write accelerator.gpu.cudnn.version: \"8.9\" and accelerator.gpu.cuda.version: \"12.2\"");
    return;
  }
  // From 9 on the package has CUDA's major in its name, before it is in the version.
  const Version& version = *gpu.cudnn.version;
  if (version.major() >= 9)
    add_apt(fmt::format("libcudnn{}-cuda-{}={}.*", version.major(), gpu.cuda.version->major(), version.to_string()));
  else
    add_apt(fmt::format("libcudnn{}={}.*+cuda{}.{}", version.major(), version.to_string(), gpu.cuda.version->major(),
                        gpu.cuda.version->minor()));
}

void Planner::library_path() {
  const auto own = std::find_if(recipe_.env.begin(), recipe_.env.end(),
                                [](const auto& variable) { return variable.first == "LD_LIBRARY_PATH"; });
  if (own != recipe_.env.end()) {
    if (own->second.find("/usr/local/nvidia/lib64") == std::string::npos) {
      warning("env.LD_LIBRARY_PATH",
              "without /usr/local/nvidia/lib64 on LD_LIBRARY_PATH the driver is not found, which workers mount there",
              "add it, or leave LD_LIBRARY_PATH to imgforge");
    }
    return;
  }
  const bool toolkit = plan_.cuda_runfile.has_value();
  if (base_brings_cuda() && !toolkit && !plan_.cudnn_archive) return;  // the image sets it
  plan_.library_path = {"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib"};
  if (toolkit) plan_.library_path.emplace_back("/usr/local/cuda/lib64");
  if (plan_.cudnn_archive) plan_.library_path.emplace_back("/usr/local/cudnn/lib64");
  plan_.library_path_inherited = !plan_.base || base_brings_cuda();
}

void Planner::tpu() {
  if (!recipe_.tpu) return;
  const TpuSpec& wanted = *recipe_.tpu;
  const TpuType* row = knowledge_.tpu(wanted.type, wanted.topology);
  if (row == nullptr) {
    std::vector<std::string> types;
    std::vector<std::string> topologies;
    for (const TpuType& known : knowledge_.tpus()) {
      if (std::find(types.begin(), types.end(), known.type) == types.end()) types.push_back(known.type);
      if (known.type == wanted.type) topologies.push_back(known.topology);
    }
    if (topologies.empty()) {
      const auto near = nearest(wanted.type, types);
      error("accelerator.tpu.type", fmt::format("Dataflow has no TPU {}", wanted.type),
            near ? fmt::format("did you mean {}?", *near) : fmt::format("it has {}", join_words(types)));
    } else {
      error("accelerator.tpu.topology", fmt::format("Dataflow has no {} of topology {}", wanted.type, wanted.topology),
            fmt::format("it has {}", join_words(topologies)));
    }
    return;
  }
  for (const auto& [name, value] : row->env) {
    const auto own = std::find_if(recipe_.env.begin(), recipe_.env.end(),
                                  [&, &name = name](const auto& variable) { return variable.first == name; });
    if (own == recipe_.env.end()) {
      recipe_.env.emplace_back(name, value);
      derive("env." + name, value, fmt::format("what {} of {} needs", row->type, row->topology), row->source);
    } else if (own->second != value) {
      by_row(*row, "env." + name, fmt::format("{} of topology {} needs {}={}", row->type, row->topology, name, value),
             "leave it out: it is derived");
    }
  }
}

void Planner::framework(const std::string& name, const std::optional<Version>& version) {
  if (!version) return;
  const std::string path = "frameworks." + name;
  const FrameworkRelease* row = knowledge_.framework(name, *version);
  std::string with_version = "==" + version->to_string();
  if (plan_.base && plan_.base->kind.starts_with(ngc_prefix) && base_interpreter()) {
    warning(path, fmt::format("{} brings its own build of {}: none is installed", base_text(), name),
            fmt::format("leave {} out", path));
    return;
  }
  const bool in_base = base_interpreter() && base_is(name == "torch" ? "pytorch" : name);
  if (in_base) {
    const auto brought = version_in(recipe_.base_image->tag());
    if (!brought || *brought == version->public_part()) {
      plan_.kept.push_back(name + with_version);
      return;
    }
    warning(path,
            fmt::format("{} brings {} {}, which will be replaced by {}", base_text(), name, brought->to_string(),
                        version->to_string()),
            "let the image and the recipe agree");
  }
  std::string wanted = name;
  if (recipe_.gpu) wanted = gpu_requirement(row, name);
  if (recipe_.tpu) {
    if (row == nullptr || row->tpu_requirement.empty()) {
      error(path, fmt::format("no wheel brings {} {} to a TPU, as far as is known", name, version->to_string()),
            "take another version, or install what it needs with packages.pip and leave frameworks out");
      return;
    }
    if (!row->tpu_find_links.empty()) {
      plan_.find_links.push_back(row->tpu_find_links);
      derive("packages.find_links", row->tpu_find_links,
             fmt::format("where libtpu is, for {} {}", name, version->to_string()), row->source);
    }
    const auto requirement = Requirement::parse(row->tpu_requirement);
    if (requirement && requirement->normalised() == name) {
      wanted = row->tpu_requirement;
    } else {
      // torch_xla has torch's minor, and not always its patch.
      const std::string companion =
          fmt::format("{}~={}.{}.0", row->tpu_requirement, version->major(), version->minor());
      plan_.frameworks.push_back(companion);
      derive("packages.pip", companion, fmt::format("what brings {} to a TPU", name), row->source);
    }
  }
  plan_.frameworks.push_back(wanted + with_version);
  if (wanted != name) derive(path, wanted + with_version, "what brings the accelerator's libraries along", row->source);
}

std::string Planner::gpu_requirement(const FrameworkRelease* row, const std::string& name) {
  const GpuSpec& gpu = *recipe_.gpu;
  const std::string path = "frameworks." + name;
  if (gpu.cuda.from == CudaFrom::wheels) {
    if (row == nullptr || row->gpu_requirement.empty()) {
      error(path, fmt::format("no wheel of this {} brings CUDA, as far as is known, and the base image has none", name),
            "take an nvidia/cuda image as base.image, or a newer version");
      return name;
    }
    if (!row->gpu_find_links.empty()) {
      plan_.find_links.push_back(row->gpu_find_links);
      derive("packages.find_links", row->gpu_find_links, fmt::format("where {} with CUDA is", name), row->source);
    }
    return row->gpu_requirement;
  }
  if (name != "jax" || row == nullptr || row->gpu_requirement.empty()) return name;
  // Plain jax is for the CPU; with CUDA from elsewhere its extra is cuda12_local.
  const std::string& with_cuda = row->gpu_requirement;
  const std::size_t end = with_cuda.find_first_of("_]");
  if (!row->gpu_find_links.empty()) plan_.find_links.push_back(row->gpu_find_links);
  return with_cuda.substr(0, end) + "_local]";
}

}  // namespace imgforge
