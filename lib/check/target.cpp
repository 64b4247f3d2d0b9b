#include "check/target.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "facts/build.hpp"

namespace imgforge {

std::string_view to_string(SubjectKind kind) noexcept {
  switch (kind) {
    case SubjectKind::recipe: return "recipe";
    case SubjectKind::dockerfile: return "dockerfile";
    case SubjectKind::image: return "image";
  }
  return "image";
}

namespace {

constexpr std::uint32_t spark_id = 1099;  // Managed Service for Apache Spark, custom containers: user and group "spark"
constexpr std::string_view installs_beam_sign = "it installs apache-beam";

bool ends_in_launcher(const Facts& facts) {
  const Fact<Entrypoint>& entrypoint = facts.entrypoint();
  return entrypoint.is_known() && entrypoint->ends_in == Program::launcher;
}

bool installs_beam(const Facts& facts) {
  const auto& distributions = facts.distributions();
  return distributions.is_known() && std::any_of(distributions->begin(), distributions->end(),
                                                 [](const Distribution& one) { return one.name == "apache-beam"; });
}

bool has_beam(const Facts& facts) { return !facts.boot().is_absent() || installs_beam(facts); }

bool is_spark(const Facts& facts) {
  const Fact<User>& user = facts.user();
  if (!user.is_known() || user->uid != spark_id || has_beam(facts)) return false;
  const Fact<SparkNeeds>& needs = facts.spark();
  // Where tini is proven not to be there, 1099 is a number like any other.
  return !needs.is_known() || !(needs->tini.is_absent() || (needs->tini.is_known() && !needs->tini.value()));
}

std::string full_repository(const ImageUse& use) {
  return use.reference ? use.reference->host() + "/" + use.reference->repository() : std::string();
}

/// Why a Dockerfile is that of a Beam worker; empty where nothing says so.
std::string sign_of_worker(const Facts& facts) {
  if (facts.boot().is_known()) return "it has /opt/apache/beam/boot";
  const Fact<Entrypoint>& entrypoint = facts.entrypoint();
  if (entrypoint.is_known()) {
    if (entrypoint->ends_in == Program::boot || entrypoint->boot_in_cmd_only) return "its entrypoint is boot";
    for (const auto* words : {&entrypoint->entrypoint, &entrypoint->cmd}) {
      for (const std::string& word : *words) {
        if (word.find("/opt/apache/beam") != std::string::npos) return "its entrypoint names /opt/apache/beam";
      }
    }
  }
  if (installs_beam(facts)) return std::string(installs_beam_sign);
  if (facts.build == nullptr) return {};
  for (const ImageUse& use : facts.build->images) {
    const std::string repository = full_repository(use);
    const bool sdk = (repository.starts_with("docker.io/apache/beam") ||
                      repository.starts_with("gcr.io/cloud-dataflow/v1beta3/beam")) &&
                     repository.find("sdk") != std::string::npos;
    if (sdk || (use.row && use.row->kind == "beam-sdk")) return "it uses an SDK image of Beam";
    for (const std::string& path : use.copied) {
      if (path.starts_with("/opt/apache/beam")) return "it copies /opt/apache/beam";
    }
  }
  for (const StageContract& stage : facts.build->stages) {
    if (stage.has_boot.is_known() && stage.has_boot.value()) return "one of its stages has boot";
  }
  for (const PipInstall& install : facts.build->pip) {
    const bool beam = std::any_of(install.requests.begin(), install.requests.end(),
                                  [](const PackageRequest& one) { return one.name == "apache-beam"; });
    if (beam && install.at.in_image) return std::string(installs_beam_sign);
  }
  return {};
}

JudgedAs judge_role(const Facts& facts, const Recipe* recipe, std::optional<Runner> asked, RecipeFrom from,
                    SubjectKind kind) {
  JudgedAs judged;
  if (recipe != nullptr && from == RecipeFrom::label) {
    judged.runner = asked.value_or(recipe->target.runner);
    if (judged.runner == Runner::spark_serverless && !asked && has_beam(facts)) {
      judged.runner = Runner::dataflow;
      judged.because = "its label calls it Spark's, but Apache Beam is in it";
    } else if (recipe->target.role == Role::launcher && !ends_in_launcher(facts)) {
      judged.because = "its label calls it a launcher, but its entrypoint is none";
    } else {
      judged.role = recipe->target.role;
      judged.because = asked ? "--target says so" : "the recipe in its label says so";
    }
    return judged;
  }
  if (recipe != nullptr) {
    judged.runner = recipe->target.runner;
    judged.role = recipe->target.role;
    judged.because = "the recipe says so";
    return judged;
  }
  if (asked) {
    judged.runner = *asked;
    judged.because = "--target says so";
  } else if (is_spark(facts)) {
    judged.runner = Runner::spark_serverless;
    judged.because = "its user is 1099 and it has neither boot nor apache-beam";
    return judged;
  } else {
    judged.because = "nothing says otherwise";
  }
  // What an unknown base of a Dockerfile may hold does not make a worker of a launcher.
  const bool no_boot = kind == SubjectKind::dockerfile ? !facts.boot().is_known() : facts.boot().is_absent();
  if (judged.runner != Runner::spark_serverless && ends_in_launcher(facts) && no_boot) {
    judged.role = Role::launcher;
    judged.because = "its entrypoint is the Flex Template launcher and it has no boot";
    return judged;
  }
  if (kind == SubjectKind::dockerfile && !asked) {
    const std::string sign = sign_of_worker(facts);
    judged.without_sign = sign.empty();
    judged.by_package = sign == installs_beam_sign;
    judged.because = sign.empty() ? "nothing says that it is a worker's" : sign;
  }
  return judged;
}

void set(JudgedAs& judged, Accelerator accelerator, std::string type, std::string because) {
  judged.accelerator = accelerator;
  judged.accelerator_type = std::move(type);
  judged.accelerator_because = std::move(because);
}

bool has_extra(const std::vector<std::string>& extras, std::string_view start) {
  return std::any_of(extras.begin(), extras.end(),
                     [&](const std::string& extra) { return normalise_name(extra).starts_with(start); });
}

bool is_cuda_local(std::string_view local) {
  return local.size() > 2 && local.starts_with("cu") && local[2] >= '0' && local[2] <= '9';
}

/// "jax[tpu]" of a package that computes on a TPU; empty of any other.
std::string tpu_package(std::string_view name, const std::vector<std::string>& extras) {
  if (name == "libtpu" || name == "libtpu-nightly" || name == "tensorflow-tpu") return std::string(name);
  if ((name == "jax" || name == "torch-xla") && has_extra(extras, "tpu")) return std::string(name) + "[tpu]";
  return {};
}

/// Likewise of one that asks for a GPU. A plain torch is a CUDA build on any machine, and asks for none.
std::string gpu_package(std::string_view name, const std::vector<std::string>& extras, std::string_view local) {
  if (name == "tensorflow-gpu" || name == "onnxruntime-gpu" || name == "vllm" || name.starts_with("cupy-cuda") ||
      name == "nvidia-tensorflow") {
    return std::string(name);
  }
  if (name == "tensorflow" && has_extra(extras, "and-cuda")) return "tensorflow[and-cuda]";
  if (name == "jax" && has_extra(extras, "cuda")) return "jax[cuda]";
  if (name.starts_with("jax-cuda")) return std::string(name);
  if (is_cuda_local(local)) return fmt::format("{} +{}", name, escape_for_display(local));
  return {};
}

/// The first sign of a kind of package among what is installed or asked for.
template <class Sign>
std::string find_package(const Facts& facts, Sign sign) {
  if (facts.distributions().is_known()) {
    for (const Distribution& one : facts.distributions().value()) {
      if (const std::string found = sign(one.name, one.extras, one.version ? one.version->local() : std::string());
          !found.empty())
        return found;
    }
  }
  if (facts.build == nullptr) return {};
  for (const PipInstall& install : facts.build->pip) {
    if (!install.at.in_image) continue;
    for (const PackageRequest& request : install.requests) {
      if (!request.requirement) continue;
      const auto pinned = request.requirement->specifiers().pinned();
      if (const std::string found =
              sign(request.name, request.requirement->extras(), pinned ? pinned->local() : std::string());
          !found.empty())
        return found;
    }
  }
  return {};
}

std::string tpu_sign(const Facts& facts) {
  if (facts.env().is_known()) {
    for (const auto& [name, value] : facts.env().value()) {
      if (name.starts_with("TPU_")) return fmt::format("{} is set", escape_for_display(name));
    }
  }
  const auto unknown = facts.env_unknown.lower_bound("TPU_");
  if (unknown != facts.env_unknown.end() && unknown->first.starts_with("TPU_"))
    return fmt::format("{} is set", escape_for_display(unknown->first));
  if (facts.frameworks().is_known()) {
    for (const Framework& framework : facts.frameworks().value()) {
      if (framework.tpu) return framework.name + "[tpu] is installed";
    }
  }
  const std::string package = find_package(
      facts, [](const std::string& name, const auto& extras, const std::string&) { return tpu_package(name, extras); });
  return package.empty() ? std::string() : package + " is installed";
}

std::string gpu_sign_of_base(const ImageUse& use) {
  const std::string repository = full_repository(use);
  const std::string tag = use.reference ? use.reference->tag() : std::string();
  const std::string kind = use.row ? use.row->kind : std::string();
  const bool gpu = kind == "cuda" || kind.starts_with("ngc") || (use.row && use.row->cuda) ||
                   repository == "docker.io/nvidia/cuda" || repository == "nvcr.io/nvidia/cuda" ||
                   repository == "nvcr.io/nvidia/pytorch" || repository == "nvcr.io/nvidia/tensorflow" ||
                   (repository == "docker.io/pytorch/pytorch" && tag.find("-cuda") != std::string::npos) ||
                   (repository == "docker.io/tensorflow/tensorflow" && tag.find("gpu") != std::string::npos);
  return gpu ? fmt::format("the base image is {}",
                           escape_for_display(use.reference ? use.reference->to_string() : use.written))
             : std::string();
}

std::string gpu_sign(const Facts& facts) {
  if (facts.build != nullptr) {
    for (const ImageUse& use : facts.build->images) {
      if (use.role != ImageUse::Role::base || !use.at.in_image) continue;
      if (std::string sign = gpu_sign_of_base(use); !sign.empty()) return sign;
    }
  } else {
    if (facts.variable("CUDA_VERSION") || facts.variable("NVIDIA_REQUIRE_CUDA")) return "its base is a CUDA image";
    const std::string devices = facts.variable("NVIDIA_VISIBLE_DEVICES").value_or("");
    if (!devices.empty() && devices != "void" && devices != "none") return "NVIDIA_VISIBLE_DEVICES is set";
  }
  const std::string package = find_package(facts, gpu_package);
  if (!package.empty()) return package + " is installed";
  if (facts.build != nullptr) {
    for (const PipInstall& install : facts.build->pip) {
      for (const std::string& index : install.indexes) {
        if (install.at.in_image && index.find("/whl/cu") != std::string::npos)
          return "a package index of CUDA builds is used";
      }
    }
  }
  if (facts.frameworks().is_known()) {
    for (const Framework& framework : facts.frameworks().value()) {
      if (is_cuda_local(framework.local) || framework.build == Framework::Build::ngc ||
          (framework.name != "torch" && framework.brings_cuda)) {
        return fmt::format("{} is a CUDA build", framework.name);
      }
    }
  }
  if (facts.cuda().is_known()) {
    for (const CudaToolkit& toolkit : facts.cuda().value()) {
      if (toolkit.from == CudaToolkit::From::wheels || toolkit.from == CudaToolkit::From::conda) continue;
      // A library that some program carries along is no toolkit.
      const bool carried = toolkit.from == CudaToolkit::From::files && !toolkit.folder.empty() &&
                           !toolkit.folder.starts_with("/usr/local/cuda") && !toolkit.folder.starts_with("/usr/lib");
      if (!carried) return "CUDA is in it";
    }
  }
  return {};
}

void judge_accelerator(JudgedAs& judged, const Facts& facts, const Recipe* recipe,
                       const std::optional<std::string>& asked) {
  if (recipe != nullptr && recipe->tpu) return set(judged, Accelerator::tpu, recipe->tpu->type, "the recipe says so");
  if (recipe != nullptr && recipe->gpu) return set(judged, Accelerator::gpu, recipe->gpu->type, "the recipe says so");
  if (asked)
    return set(judged, asked->starts_with("tpu") ? Accelerator::tpu : Accelerator::gpu, *asked,
               "--accelerator says so");
  if (std::string sign = tpu_sign(facts); !sign.empty()) return set(judged, Accelerator::tpu, {}, std::move(sign));
  if (std::string sign = gpu_sign(facts); !sign.empty()) return set(judged, Accelerator::gpu, {}, std::move(sign));
}

}  // namespace

JudgedAs judge_target(const Facts& facts, const Recipe* recipe, std::optional<Runner> asked, RecipeFrom from,
                      SubjectKind kind, const std::optional<std::string>& accelerator) {
  JudgedAs judged = judge_role(facts, recipe, asked, from, kind);
  judge_accelerator(judged, facts, recipe, accelerator);
  return judged;
}

}  // namespace imgforge
