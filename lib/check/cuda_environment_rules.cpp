// What a GPU worker finds around it: the driver's libraries, the loader's path, the compiler, and the images and keys
// that a build of it asks for.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "check/cuda.hpp"
#include "check/cuda_image.hpp"
#include "check/cuda_tags.hpp"
#include "check/rule.hpp"
#include "check/steps.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

constexpr std::string_view variable = "LD_LIBRARY_PATH";
constexpr std::string_view driver_folder = "/usr/local/nvidia/lib64";
constexpr std::string_view guide = "https://cloud.google.com/dataflow/docs/gpu/use-gpus";

/// Why the loader's path is not known; empty where it is.
std::string path_open(const Case& subject) {
  const Facts& facts = subject.facts;
  if (!facts.env().is_known())
    return "the environment: " + (facts.env().is_unknown() ? facts.env().reason() : "not found");
  if (const auto unknown = facts.env_unknown.find(variable); unknown != facts.env_unknown.end()) {
    return fmt::format("{}: {}", variable, unknown->second);
  }
  if (!facts.variable(variable) && !facts.env_open.empty()) return fmt::format("{}: {}", variable, facts.env_open);
  return {};
}

/// The path as it is set, or nothing: then a base may set it. Rules about single elements are silent there.
bool has_path(const Case& subject) {
  return path_open(subject).empty() && subject.facts.variable(variable).has_value();
}

/// The FROM of the stage that is built.
std::vector<Evidence> stage_evidence(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return {};
  for (const StageContract& stage : build->stages) {
    if (stage.stage == build->stage) return {Evidence::at(stage.place)};
  }
  return {};
}

/// The nvidia/cuda image that the built stage stands on; null where it stands on none that is known.
const ImageUse* cuda_base(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return nullptr;
  for (const ImageUse& use : build->images) {
    if (use.role == ImageUse::Role::base && use.at.in_image && is_cuda_repository(use)) return &use;
  }
  return nullptr;
}

/// Images of NVIDIA have a line for the driver's folder in ld.so.conf.d.
bool base_has_loader_line(const Case& subject) {
  if (cuda_base(subject) != nullptr) return true;
  const Build* build = build_of(subject);
  if (build == nullptr) return false;
  const bool ngc = std::any_of(build->images.begin(), build->images.end(), [](const ImageUse& use) {
    return use.role == ImageUse::Role::base && use.at.in_image && use.row &&
           (use.row->kind.starts_with("ngc") || use.row->kind == "tensorflow" || use.row->kind == "pytorch");
  });
  const bool ldconfig = std::any_of(build->programs.begin(), build->programs.end(), [](const ProgramUse& use) {
    return use.at.in_image && (use.name == "ldconfig" || use.name.ends_with("/ldconfig"));
  });
  return ngc || ldconfig;
}

/// A script before boot may set the path when the worker starts.
bool starts_through_script(const Case& subject) {
  const Fact<Entrypoint>& entrypoint = subject.facts.entrypoint();
  if (!entrypoint.is_known()) return false;
  return std::any_of(entrypoint->chain.begin(), entrypoint->chain.end(), [](const std::string& program) {
    static constexpr std::array<std::string_view, 6> harmless = {"boot",      "tini", "dumb-init",
                                                                 "catatonit", "env",  "nvidia_entrypoint.sh"};
    const std::string_view name = std::string_view(program).substr(program.rfind('/') + 1);
    return std::find(harmless.begin(), harmless.end(), name) == harmless.end();
  });
}

Answer driver_path_missing(const Case& subject) {
  if (!is_gpu_worker(subject) || !subject.judged_as.on_dataflow()) return Answer::not_applicable();
  if (const std::string open = path_open(subject); !open.empty()) return Answer::undecided(open);
  const std::vector<std::string> path = library_path(subject);
  if (std::find(path.begin(), path.end(), driver_folder) != path.end()) return Answer::pass();
  if (starts_through_script(subject)) {
    return Answer::undecided("whether the start script sets LD_LIBRARY_PATH before boot");
  }
  const bool line =
      subject.kind == SubjectKind::image ? loader_conf_names(subject, driver_folder) : base_has_loader_line(subject);
  const std::string value = subject.facts.variable(variable).value_or("");
  const std::string fix = value.empty() ? fmt::format("ENV {}={}", variable, driver_folder)
                                        : fmt::format("ENV {}={}:{}", variable, driver_folder, shell_argument(value));
  std::string message = value.empty() ? fmt::format("{} is not set", variable)
                                      : fmt::format("{} is {}", variable, escape_for_display(value));
  message += fmt::format(": libcuda.so.1 is mounted at {} when the worker starts", driver_folder);
  message += line ? ", and only a line of ld.so.conf.d leads there, which needs ldconfig at start"
                  : ", and no route leads there: no GPU is found";
  return Answer::finding(line ? Level::warning : Level::error, message, fix,
                         subject.facts.variable(variable)
                             ? std::vector<Evidence>{subject.facts.variable_evidence(variable)}
                         : subject.kind == SubjectKind::image ? std::vector<Evidence>{Evidence::in_config("Env")}
                                                              : stage_evidence(subject));
}

Answer driver_baked_in(const Case& subject) {
  if (!is_gpu_worker(subject)) return Answer::not_applicable();
  if (subject.kind == SubjectKind::image) return driver_in_image(subject);
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  for (const StepPlace& step : build->driver_installs) {
    if (!step.in_image) continue;
    found.push_back(
        found_at(step,
                 "this installs a driver into the image: the worker mounts its own, and libraries of another "
                 "version than the kernel's module find no GPU",
                 "the toolkit without the driver: --silent --toolkit of the runfile, cuda-toolkit-X-Y or the "
                 "single libraries of apt"));
  }
  return Answer::findings(std::move(found));
}

Answer stubs_on_path(const Case& subject) {
  if (!is_gpu_worker(subject) || !has_path(subject)) return Answer::not_applicable();
  const std::vector<std::string> path = library_path(subject);
  std::vector<std::string> stubs;
  std::vector<std::string> rest;
  for (const std::string& element : path) {
    bool is_stubs = element.ends_with("/stubs");
    if (const LibraryFolder* folder = folder_of_element(subject, element); folder != nullptr) {
      // Of a built image: a link may hide the name, and what is not there hides nothing.
      is_stubs = folder->exists && folder->path.ends_with("/stubs");
    }
    (is_stubs ? stubs : rest).push_back(element);
  }
  if (stubs.empty()) return Answer::pass();
  if (rest.empty()) rest.emplace_back(driver_folder);
  return Answer::finding(
      fmt::format("{} holds {}: the libcuda.so there is an empty shell for linkers, and every call of "
                  "it fails",
                  variable, escape_for_display(join_words(stubs))),
      fmt::format("ENV {}={}  (stubs belong into LIBRARY_PATH, or -L)", variable, shell_argument(join(rest, ":"))),
      {subject.facts.variable_evidence(variable)});
}

bool is_compat(std::string_view element) { return element.ends_with("/compat"); }

/// Of a built image: the folder is there, by whatever name, and holds a libcuda.
bool holds_compat(const Case& subject, const std::string& element) {
  const LibraryFolder* folder = folder_of_element(subject, element);
  return folder != nullptr && folder->exists && folder->holds_libcuda &&
         (folder->path + "/").find("/compat/") != std::string::npos;
}

bool is_missing(const Case& subject, const std::string& folder) {
  const auto& missing = subject.facts.missing_library_folders();
  return missing.is_known() && std::find(missing->begin(), missing->end(), folder) != missing->end();
}

/// Whether forward-compatibility libraries are there: in NVIDIA's images through 12, or by apt's cuda-compat.
bool has_compat(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return false;
  for (const AptInstall& install : build->apt) {
    for (const PackageRequest& package : install.packages) {
      if (package.name.starts_with("cuda-compat")) return true;
    }
  }
  if (!subject.facts.cuda().is_known()) return false;
  return std::any_of(subject.facts.cuda()->begin(), subject.facts.cuda()->end(), [](const CudaToolkit& toolkit) {
    return toolkit.from == CudaToolkit::From::base && toolkit.flavour != CudaToolkit::Flavour::unknown &&
           toolkit.version && toolkit.version->major() < 13;
  });
}

Answer compat_on_path(const Case& subject) {
  if (!is_gpu_worker(subject) || !has_path(subject)) return Answer::not_applicable();
  const std::vector<std::string> path = library_path(subject);
  const bool built = subject.kind == SubjectKind::image;
  if (built && subject.facts.library_folders().is_unknown())
    return undecided_for("the folders of LD_LIBRARY_PATH", subject.facts.library_folders());
  const auto is_meant = [&](const std::string& one) { return built ? holds_compat(subject, one) : is_compat(one); };
  const auto compat = std::find_if(path.begin(), path.end(), is_meant);
  if (compat == path.end()) return Answer::pass();
  if (std::find(path.begin(), compat, driver_folder) != compat) return Answer::pass();  // the driver's own comes first
  if (is_missing(subject, *compat)) return Answer::pass();  // cuda/ld-path-dangling names it
  if (!built && !has_compat(subject))
    return Answer::undecided(fmt::format("whether {} holds libcuda", escape_for_display(*compat)));
  std::vector<std::string> rest;
  std::copy_if(path.begin(), path.end(), std::back_inserter(rest),
               [&](const std::string& one) { return !is_meant(one); });
  if (rest.empty()) rest.emplace_back(driver_folder);
  return Answer::finding(
      fmt::format("{} comes before the driver's own libcuda: on GPUs and drivers that forward compatibility does not "
                  "support, CUDA stops with error 804",
                  escape_for_display(*compat)),
      fmt::format("ENV {}={}", variable, shell_argument(join(rest, ":"))), {subject.facts.variable_evidence(variable)});
}

/// The elements that the base image's own LD_LIBRARY_PATH has.
std::vector<std::string> inherited(const Case& subject) {
  const ImageUse* base = cuda_base(subject);
  if (base == nullptr || !base->reference) return {};
  const CudaImage* row = subject.knowledge.cuda_image(base->reference->tag());
  if (row == nullptr) return {};
  std::vector<std::string> elements;
  for (const std::string_view element : split(row->library_path, ':')) elements.emplace_back(element);
  return elements;
}

Answer ld_path_dangling(const Case& subject) {
  if (!is_gpu_worker(subject) || !has_path(subject)) return Answer::not_applicable();
  const std::vector<std::string> path = library_path(subject);
  if (path.empty()) return Answer::pass();
  const Evidence place = subject.facts.variable_evidence(variable);
  std::vector<std::string> dangling;
  std::vector<std::string> from_base;
  std::vector<std::string> rest;
  const std::vector<std::string> of_base = inherited(subject);
  bool empty_element = false;
  for (const std::string& element : path) {
    if (element.empty()) {
      empty_element = true;
    } else if (!element.starts_with("/usr/local/nvidia/") && is_missing(subject, element)) {
      const bool inherits = subject.kind == SubjectKind::image
                                ? is_of_base_images(subject, element)
                                : std::find(of_base.begin(), of_base.end(), element) != of_base.end();
      (inherits ? from_base : dangling).push_back(element);
    } else {
      rest.push_back(element);
    }
  }
  const std::string fix = rest.empty() ? fmt::format("drop {}, or name folders that are there", variable)
                                       : fmt::format("ENV {}={}", variable, shell_argument(join(rest, ":")));
  std::vector<Answer::Found> found;
  if (empty_element) {
    found.push_back(
        {std::nullopt,
         fmt::format("{} is \"{}\": the empty element makes the loader search the current directory, whatever "
                     "that is",
                     variable, escape_for_display(*subject.facts.variable(variable))),
         fix,
         {place}});
  }
  if (!dangling.empty()) {
    found.push_back({std::nullopt,
                     fmt::format("{} names {}, which {} not in the image", variable,
                                 escape_for_display(join_words(dangling)), dangling.size() == 1 ? "is" : "are"),
                     fix,
                     {place}});
  }
  if (!from_base.empty()) {
    found.push_back({Level::note,
                     fmt::format("{} has {} from the base, which {} not in the image", variable,
                                 escape_for_display(join_words(from_base)), from_base.size() == 1 ? "is" : "are"),
                     "nothing: the loader passes over it",
                     {place}});
  }
  return Answer::findings(std::move(found));
}

/// Packages that compile kernels, or link against the toolkit, when they run.
bool compiles_at_run_time(std::string_view name) {
  static constexpr std::array<std::string_view, 8> packages = {
      "vllm", "deepspeed", "flashinfer-python", "numba", "numba-cuda", "pycuda", "cupy", "tilelang"};
  return std::find(packages.begin(), packages.end(), name) != packages.end();
}

bool installs(const Case& subject, bool (*is_it)(std::string_view)) {
  const auto& distributions = subject.facts.distributions();
  return distributions.is_known() && std::any_of(distributions->begin(), distributions->end(),
                                                 [&](const Distribution& one) { return is_it(one.name); });
}

/// A step that may compile: sources given to pip, scripts, or another program that is not read.
bool may_compile(const Build& build) {
  if (!build.compiles.empty()) return true;
  for (const PipInstall& install : build.pip) {
    if (!install.at.in_image) continue;
    for (const PackageRequest& request : install.requests) {
      if (!request.requirement || !request.requirement->url().empty()) return true;
    }
  }
  return std::any_of(build.programs.begin(), build.programs.end(), [](const ProgramUse& use) {
    static constexpr std::array<std::string_view, 11> compilers = {"make", "cmake", "ninja", "gcc",   "g++",  "nvcc",
                                                                   "cc",   "c++",   "cargo", "meson", "bazel"};
    if (!use.at.in_image) return false;
    if (use.name.ends_with(".sh") || use.name.starts_with("./")) return true;
    return std::find(compilers.begin(), compilers.end(), use.name) != compilers.end();
  });
}

Answer devel_flavour(const Case& subject) {
  if (!is_gpu_worker(subject)) return Answer::not_applicable();
  const Build* build = build_of(subject);
  const ImageUse* base = cuda_base(subject);
  if (build == nullptr) return Answer::not_applicable();
  if (base == nullptr) {
    // pytorch/pytorch:2.4.0-cuda12.1-cudnn9-devel
    const ImageUse* torch = base_of(*build, build->stage);
    if (torch == nullptr || repository_of(*torch) != "docker.io/pytorch/pytorch") return Answer::not_applicable();
    const std::string& name = torch->reference->tag();
    if (!name.ends_with("-devel") || may_compile(*build) || installs(subject, compiles_at_run_time))
      return Answer::pass();
    return Answer::finding(
        fmt::format("{} is a devel image, with compilers and headers, and nothing here compiles: several gigabytes "
                    "more for every worker to pull",
                    escape_for_display(torch->expanded)),
        fmt::format("FROM pytorch/pytorch:{}runtime", name.substr(0, name.size() - std::string_view("devel").size())),
        {at_step(*torch)});
  }
  if (!base->reference) return Answer::not_applicable();
  const std::string& tag = base->reference->tag();
  const std::size_t at = tag.find("-devel-");
  if (at == std::string::npos) return Answer::pass();
  if (may_compile(*build) || installs(subject, compiles_at_run_time)) return Answer::pass();
  std::string runtime = tag;
  runtime.replace(at, std::string_view("-devel-").size(), "-runtime-");
  return Answer::finding(
      fmt::format(
          "{} is a devel image, with compilers and headers, and nothing here compiles: several gigabytes more for "
          "every worker to pull",
          escape_for_display(base->expanded)),
      from_line(subject, runtime) + "  (where XLA compiles, with cuda-nvcc of the same CUDA from apt)",
      {at_step(*base)});
}

/// vLLM has Triton compile when it starts: that needs a C compiler, and bases are known that have none.
std::optional<Answer> triton_without_compiler(const Case& subject, const Build& build) {
  if (!installs(subject, [](std::string_view name) { return name == "vllm"; }) || !build.conda.empty())
    return std::nullopt;
  const ImageUse* base = base_of(build, build.stage);
  if (base == nullptr || !base->reference || !base->row) return std::nullopt;
  const std::string& tag = base->reference->tag();
  const bool slim = base->row->kind == "python" && tag.find("slim") != std::string::npos;
  const bool bare_cuda = is_cuda_repository(*base) && tag.find("-devel") == std::string::npos;
  if (!slim && !bare_cuda && base->row->kind != "os") return std::nullopt;
  for (const AptInstall& install : build.apt) {
    if (!install.not_known.empty()) return std::nullopt;
    for (const PackageRequest& package : install.packages) {
      const std::string& name = package.name;
      if (name == "build-essential" || name.starts_with("gcc") || name.starts_with("g++") ||
          name.starts_with("clang") || name == "tcc" || name == "cuda" || name == "nvidia-cuda-toolkit")
        return std::nullopt;
    }
  }
  return Answer::finding("vLLM has Triton compile kernels when it starts, and the image has no C compiler",
                         subject.kind == SubjectKind::recipe
                             ? "packages: {apt: [build-essential]}"
                             : "RUN apt-get update && apt-get install -y --no-install-recommends build-essential && rm "
                               "-rf /var/lib/apt/lists/*",
                         {at_step(*base)});
}

Answer compiler_missing(const Case& subject) {
  if (!is_gpu_worker(subject)) return Answer::not_applicable();
  if (subject.kind == SubjectKind::image) return compiler_in_image(subject);
  const Build* build = build_of(subject);
  if (build != nullptr) {
    if (const auto answer = triton_without_compiler(subject, *build)) return *answer;
  }
  const auto& frameworks = subject.facts.frameworks();
  const auto& cuda = subject.facts.cuda();
  if (build == nullptr || !frameworks.is_known() || !cuda.is_known() || cuda->empty()) return Answer::not_applicable();
  // Only of NVIDIA's base and runtime flavours is it known that they have no ptxas.
  const CudaToolkit* bare = nullptr;
  for (const CudaToolkit& toolkit : cuda.value()) {
    if (toolkit.from == CudaToolkit::From::wheels) continue;
    const bool without = toolkit.from == CudaToolkit::From::base && (toolkit.flavour == CudaToolkit::Flavour::base ||
                                                                     toolkit.flavour == CudaToolkit::Flavour::runtime);
    if (!without || cuda_base(subject) == nullptr) return Answer::not_applicable();
    bare = &toolkit;
  }
  if (bare == nullptr) return Answer::not_applicable();
  if (installs(subject, [](std::string_view name) { return name.starts_with("nvidia-cuda-nvcc"); }))
    return Answer::pass();
  for (const AptInstall& install : build->apt) {
    if (!install.not_known.empty()) return Answer::not_applicable();
    for (const PackageRequest& package : install.packages) {
      const std::string& name = package.name;
      if (name.starts_with("cuda-nvcc") || name.starts_with("cuda-toolkit") || name.starts_with("cuda-compiler") ||
          name.starts_with("cuda-minimal-build") || name == "nvidia-cuda-toolkit" || name == "cuda") {
        return Answer::pass();
      }
    }
  }
  if (!build->conda.empty()) return Answer::not_applicable();
  for (const FrameworkFit& fit : framework_fits(subject)) {
    if (!runs_ptxas(fit)) continue;
    const Framework& framework = *fit.framework;
    const std::string package = nvcc_package(fit);
    return Answer::finding(
        fmt::format("{} compiles with XLA, which runs ptxas and reads libdevice, and a {} flavour has neither",
                    framework_name(framework), fit.toolkit->flavour == CudaToolkit::Flavour::base ? "base" : "runtime"),
        subject.kind == SubjectKind::recipe
            ? fmt::format("packages: {{apt: [{}]}}", package)
            : fmt::format("RUN apt-get update && apt-get install -y --no-install-recommends {}", package),
        join_evidence({framework.evidence, bare->evidence}));
  }
  return Answer::pass();
}

Answer image_not_published(const Case& subject) {
  if (!is_gpu_worker(subject)) return Answer::not_applicable();
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  std::string open;
  bool asked = false;
  for (const ImageUse& use : build->images) {
    if (!use.reference || !is_cuda_repository(use) || use.reference->digest())
      continue;  // a digest decides, not the tag
    asked = true;
    const TagVerdict verdict = judge_cuda_tag(subject.knowledge, use.reference->tag());
    if (verdict.there == TagVerdict::There::unknown && open.empty()) {
      open = fmt::format("whether nvidia/cuda:{} exists", escape_for_display(use.reference->tag()));
    }
    if (verdict.there == TagVerdict::There::yes || verdict.there == TagVerdict::There::unknown) continue;
    std::vector<std::string> ways;
    for (const std::string& tag : verdict.instead) ways.push_back(from_line(subject, tag));
    const std::string shown = escape_for_display(use.expanded);
    const bool gone = verdict.there == TagVerdict::There::withdrawn;
    found.push_back(
        {gone ? std::optional(Level::warning) : std::nullopt,
         gone ? fmt::format("{} was published, and NVIDIA has taken such tags away since: {}", shown, verdict.why)
              : fmt::format("{} does not exist: {}", shown, verdict.why),
         ways.empty() ? std::string("a tag of https://hub.docker.com/r/nvidia/cuda/tags") : join(ways, "; or "),
         {at_step(use)}});
  }
  if (!asked) return Answer::not_applicable();
  if (found.empty() && !open.empty()) return Answer::undecided(open);
  return Answer::findings(std::move(found));
}

Answer revoked_apt_key(const Case& subject) {
  if (!is_gpu_worker(subject)) return Answer::not_applicable();
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  bool asked = false;
  for (const AptUpdate& update : build->apt_updates) {
    if (!update.at.in_image) continue;
    const ImageUse* base = base_of(*build, update.at.stage);
    if (base == nullptr) base = cuda_base(subject);
    if (base == nullptr || !base->reference || !is_cuda_repository(*base)) continue;
    const CudaImage* row = subject.knowledge.cuda_image(base->reference->tag());
    if (row == nullptr) continue;
    asked = true;
    if (update.nvidia_key_renewed || update.fails_harmlessly || !before_key_rotation(subject.knowledge, *row)) continue;
    Answer::Found one = found_at(
        update.at,
        fmt::format(
            "{} is of before 2022-04-28 unless it was built anew since: its apt lists are signed with a key that "
            "NVIDIA has revoked, and apt-get update then fails (NO_PUBKEY A4B469963BF863CC)",
            escape_for_display(base->expanded)),
        "RUN rm -f /etc/apt/sources.list.d/cuda.list /etc/apt/sources.list.d/nvidia-ml.list  (before apt-get update)");
    one.level = Level::warning;  // what the date of the build is, only the image itself tells
    found.push_back(std::move(one));
    break;
  }
  if (!asked) return Answer::not_applicable();
  return Answer::findings(std::move(found));
}

constexpr Rule rules[] = {
    {"cuda/driver-path-missing", Level::error, Reach::paths, D | I,
     "no route to /usr/local/nvidia/lib64 for libcuda.so.1",
     "Dataflow mounts the driver at /usr/local/nvidia when the worker starts. Without that folder in LD_LIBRARY_PATH "
     "libcuda.so.1 is not found, and neither is a GPU. A line in ld.so.conf.d alone is a warning: it counts only after "
     "an "
     "ldconfig that nobody runs.",
     "Put /usr/local/nvidia/lib64 into LD_LIBRARY_PATH, and keep it where the base has it.", guide,
     driver_path_missing},
    {"cuda/driver-baked-in", Level::error, Reach::tree, D | I, "a real driver library is in the image",
     "libcuda.so has to be of the very version of the kernel's module, which is the host's. A copy in the image hides "
     "the "
     "one that is mounted.",
     "Install the toolkit, or single libraries, without the driver.", guide, driver_baked_in},
    {"cuda/stubs-on-path", Level::error, Reach::paths, D | I, "the stubs folder is on LD_LIBRARY_PATH",
     "The libcuda.so of the stubs satisfies the linker and fails in every call: CUDA reports no device.",
     "Name the stubs to the linker only.", "https://docs.nvidia.com/cuda/cuda-installation-guide-linux/",
     stubs_on_path},
    {"cuda/compat-on-path", Level::warning, Reach::paths, D | I,
     "forward-compatibility libraries are first on the path",
     "They are for data-centre GPUs under an older driver. Elsewhere CUDA stops with error 804, and under a newer "
     "driver "
     "they hide it.",
     "Leave the compat folder out of LD_LIBRARY_PATH.", "https://docs.nvidia.com/deploy/cuda-compatibility/",
     compat_on_path},
    {"cuda/ld-path-dangling", Level::warning, Reach::paths, D | I,
     "LD_LIBRARY_PATH names folders that do not exist, or has an empty element",
     "A folder of another CUDA was meant, or none. An empty element is the current directory: whatever lies there is "
     "loaded.",
     "Name the folders that are there; a path that extends an unset one starts with \":\".", "ld.so(8)",
     ld_path_dangling},
    {"cuda/devel-flavour", Level::warning, Reach::config, R | D,
     "the final stage is built on a devel image and nothing compiles in it",
     "The devel flavour of nvidia/cuda adds compilers, headers and static libraries that no worker uses.",
     "Take the runtime flavour; compile in an earlier stage.", "https://hub.docker.com/r/nvidia/cuda", devel_flavour},
    {"cuda/compiler-missing", Level::warning, Reach::tree, D | I,
     "the framework compiles when it runs (XLA's ptxas), and the image lacks what it needs",
     "XLA runs ptxas and reads libdevice.10.bc; without them a function with jit_compile fails (\"Can't find libdevice "
     "directory\") or falls back to the driver's slower compiler.",
     "Install cuda-nvcc of the same CUDA, or the wheel nvidia-cuda-nvcc-cu12.",
     "https://github.com/tensorflow/tensorflow/issues/60737", compiler_missing},
    {"cuda/image-not-published", Level::error, Reach::config, R | D, "an nvidia/cuda tag that does not exist",
     "The build stops at FROM. cuDNN is part of the tag up to 12.2.2 (cudnn8) and plain \"cudnn\" (9) from 12.4.1; not "
     "every "
     "CUDA was published for every distribution. Tags that NVIDIA may have taken away are a warning.",
     "Take a tag that is there.", "https://gitlab.com/nvidia/container-images/cuda/-/blob/master/doc/supported-tags.md",
     image_not_published},
    {"cuda/revoked-apt-key", Level::error, Reach::config, D,
     "apt-get update on an nvidia/cuda image older than 2022-04-28 without the new key",
     "Images built before that day trust a key of NVIDIA's repositories that was revoked. In a Dockerfile it is a "
     "warning: "
     "a tag does not tell when its image was built.",
     "Remove NVIDIA's lists, or install cuda-keyring, before apt-get update; or take a newer tag.",
     "https://developer.nvidia.com/blog/updating-the-cuda-linux-gpg-repository-key/", revoked_apt_key},
};

}  // namespace

std::span<const Rule> cuda_environment_rules() { return rules; }

}  // namespace imgforge
