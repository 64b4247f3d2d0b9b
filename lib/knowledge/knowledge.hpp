// What the world outside is like: releases, images, accelerators. Rows with a source each.
//
// The tables are knowledge/*.yaml in the repository, validated and compiled into read-only data at build time and
// decoded when a table is first asked for; --knowledge DIR replaces or adds tables at run time (a file of the same name
// replaces the table). A row that is `unverified` may cause a warning at most. A table may be `complete` over a range
// of versions: only inside of it does a missing row mean "does not exist".
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/date.hpp"
#include "base/version.hpp"

namespace imgforge {

struct Row {
  std::string source;  // a URL, a file and commit, or a release's notes
  bool unverified = false;
};

/// The closed world of a table: every version from `from` through `through` is in it.
struct Complete {
  Version from;
  Version through;
  bool covers(const Version& version) const { return from <= version && version <= through; }
};

/// One release of the Beam Python SDK. knowledge/beam_releases.yaml
struct BeamRelease : Row {
  Version version;
  Date released;
  std::vector<PythonMinor> pythons;        // classifiers of the release
  std::vector<PythonMinor> without_wheel;  // of these: no wheel for Linux on x86-64, so pip builds the sdist
  std::string requires_python;             // as PyPI has it; a specifier set
  std::string image_base;                  // Debian code name of the SDK image: "bookworm"
  // What the release asks for (numpy, protobuf, dill, ...), as far as it is the same for each of its Pythons.
  std::map<std::string, std::string, std::less<>> requires_dist;
};

/// What boot and the SDK do, from which release on. knowledge/beam_behaviour.yaml; the rows' ids are these:
enum class BeamBehaviour {
  pip_on_path,          // 2.29.0: pip by PATH, before: env "pip" or /usr/local/bin/pip
  pip_as_module,        // 2.44.0: python -m pip; the env "pip" is not read any more
  boot_venv,            // 2.44.0: boot makes a venv of --system-site-packages for every worker
  default_environment,  // 2.48.0: RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT is read
  beam_required,        // 2.50.0: boot refuses to run where apache-beam is not installed
  python_fallback,      // 2.51.0: PYTHON_PATH, else python, else python3
  options_file,         // 2.73.0: pipeline_options.json is written into the working directory
  no_build_isolation,   // 2.75.0: pip installs sdists with what the image has (setuptools, wheel)
  multi_arch_image,     // 2.50.0: amd64 and arm64
};

/// What the SDK image of a release and Python ships. knowledge/beam_image_pins.yaml
struct BeamImagePins : Row {
  Version beam;
  PythonMinor python;
  std::map<std::string, Version, std::less<>> packages;  // by normalised name: numpy, protobuf, dill, ...
};

/// One accelerator of Dataflow. knowledge/tpus.yaml
struct TpuType : Row {
  std::string type;          // "tpu-v5-lite-podslice"
  std::string topology;      // "1x1"
  std::string machine_type;  // "ct5lp-hightpu-1t"
  unsigned chips = 0;
  unsigned vcpus = 0;
  std::vector<std::pair<std::string, std::string>> env;  // every variable that the image must set, with its value
};

/// A minor of CPython. knowledge/python_releases.yaml
struct PythonRelease : Row {
  PythonMinor minor;
  std::optional<Date> released;     // of X.Y.0
  std::optional<Date> end_of_life;  // the first day without security fixes
};

/// A family of base images, by patterns for repository and tag (RE2, each has to match the whole). Of a row that
/// base_image() found, `repository` is the one that was asked for. knowledge/base_images.yaml
struct BaseImage : Row {
  std::string repository;             // with its host: "docker\.io/nvidia/cuda"
  std::string tag;                    // "\d+\.\d+\.\d+-base-ubuntu20\.04"
  std::string os;                     // id of a LinuxRelease: "ubuntu20.04"; empty where it is not known
  std::optional<PythonMinor> python;  // the interpreter it brings; none where it brings none
  std::string python_group;           // name of a group of either pattern that holds X.Y, instead of `python`
  std::string python_path;            // "/usr/local/bin/python", "/opt/conda/bin/python"
  std::string kind;                   // "beam-sdk", "python", "conda", "cuda", "os", "tensorflow", "pytorch", ...
  std::optional<Version> cuda;        // where the row is about one tag
};

/// What images of a family hold beside their interpreter, and their config. Every row whose patterns match counts,
/// later ones over earlier ones. Lists are words with blanks between. knowledge/base_contents.yaml
struct BaseContent : Row {
  std::string repository;  // RE2 patterns, each has to match the whole
  std::string tag;
  std::string programs;                                  // names that PATH finds
  std::string lacks;                                     // names that it does not find
  std::vector<std::pair<std::string, std::string>> env;  // "*": set, to what is not known here
  bool env_open = false;                                 // more variables may be set than these rows tell
  std::string entrypoint;                                // words; "-": none
  std::string cmd;
  std::string user;
  std::string workdir;
  std::string folders;  // absolute paths that are there
  std::vector<std::pair<std::string, std::string>>
      files;  // by absolute path: their text, "*" where it is a program or not text
};

/// A release of a Linux distribution. knowledge/linux_releases.yaml
struct LinuxRelease : Row {
  std::string id;                       // "ubuntu22.04", "debian12", "alpine3"
  std::string code_name;                // "jammy"
  std::optional<PythonMinor> python;    // of apt's python3
  std::vector<PythonMinor> deadsnakes;  // minors that the PPA has for it
  std::vector<PythonMinor> universe;    // minors that its own archive has beside python3
  bool externally_managed = false;      // PEP 668
  bool has_distutils = true;            // python3-distutils can be installed
};

/// How a framework is asked for. knowledge/frameworks.yaml
struct FrameworkRelease : Row {
  std::string framework;        // "tensorflow", "torch", "jax"
  Version version;              // the first release that the row holds for
  std::string gpu_requirement;  // "tensorflow[and-cuda]": what brings CUDA as wheels, empty where nothing does
  std::string gpu_find_links;   // URL, empty where none is needed
  std::string tpu_requirement;  // "jax[tpu]"
  std::string tpu_find_links;   // URL, empty where none is needed
};

/// A file that Dockerfiles download: Miniforge's installer, CUDA's runfile. knowledge/installers.yaml
struct Installer : Row {
  std::string name;  // "miniforge", "cuda"
  Version version;   // "26.1.1-3" is 26.1.1.post3
  std::string url;
  std::string sha256;  // 64 hexadecimal digits
};

/// What a framework's release was built for and runs on. knowledge/framework_builds.yaml (what PyPI's metadata tells is
/// written there by scripts/refresh-knowledge)
struct FrameworkBuild : Row {
  std::string framework;  // "tensorflow", "torch", "jax"
  Version version;
  std::optional<Date> released;
  std::string requires_python;      // specifier set of PyPI
  std::vector<PythonMinor> wheels;  // minors with a wheel for linux x86_64 (of jax: of the jaxlib it goes with)
  std::vector<PythonMinor> wheels_arm64;
  std::optional<Version> glibc;  // that the x86_64 wheels need: of the manylinux tag
  /// One CUDA that the release exists for.
  struct Cuda {
    Version cuda;                  // "12.2"
    std::optional<Version> cudnn;  // that it was compiled against
    std::string local;             // "cu121" of PyTorch's index; empty of PyPI's own wheel
    bool on_pypi = false;          // the plain wheel of PyPI is this build
    bool brings = false;           // CUDA and cuDNN come as wheels with it, unasked (torch)
    bool unverified = false;
  };
  std::vector<Cuda> cuda;  // tested ones, PyPI's first; empty: not known, or no GPU build
  std::string cuda_extra;  // extra that brings CUDA as wheels: "and-cuda", "cuda12"; empty: none
  std::map<std::string, std::string, std::less<>>
      cuda_pins;  // of that extra (or of torch itself): package → specifiers
  std::map<std::string, std::string, std::less<>>
      requires_dist;         // numpy, protobuf, jaxlib, ... → specifiers, as far as they are the same for every wheel
  std::string compute_from;  // lowest compute capability of its kernels: "6.0"; empty where not known
  std::string compute_to;    // highest it has kernels or PTX for; empty: any later
};

/// A tag of nvidia/cuda, with what its config and packages are. knowledge/cuda_images.yaml
struct CudaImage : Row {
  std::string tag;               // "12.2.2-cudnn8-runtime-ubuntu22.04"
  Version cuda;                  // "12.2.2"
  std::string flavour;           // "base", "runtime", "devel"
  std::string os;                // "ubuntu22.04"
  std::optional<Version> cudnn;  // "8.9.6.50"; of tags without the detail, the major
  std::string library_path;      // LD_LIBRARY_PATH; empty: it sets none
  bool withdrawn = false;        // it was there, and is not (or probably not) any more
};

/// A month of NGC's TensorFlow and PyTorch images. knowledge/ngc_images.yaml
struct NgcImage : Row {
  std::string product;  // "tensorflow", "pytorch"
  std::string month;    // "24.03"
  std::string os;
  std::optional<PythonMinor> python;
  std::optional<Version> cuda;
  std::optional<Version> cudnn;
  std::optional<Version> framework;  // of tf2 for a tag without -tf1
};

/// A CUDA toolkit. knowledge/cuda_releases.yaml
struct CudaRelease : Row {
  Version version;             // "12.2.2", and "12.2" for the minor's first
  std::string driver;          // of the toolkit: "535.104.05"
  std::string driver_minimum;  // by minor-version compatibility: "525.60.13"; empty: none (before 11)
  std::string compute_from;    // "5.0"
  std::string compute_to;      // "9.0"
};

/// A cuDNN release. knowledge/cudnn_releases.yaml
struct CudnnRelease : Row {
  Version version;                    // "8.9.6.50"
  std::vector<unsigned> cuda_majors;  // built for
};

/// A GPU of Google Cloud. knowledge/gpus.yaml
struct GpuType : Row {
  std::string type;     // "nvidia-tesla-t4"
  std::string model;    // "T4"
  std::string compute;  // "7.5"
  // First CUDA that compiles for it. An older one can run it all the same: by kernels of the same major (an L4 runs
  // those of 8.0), or by PTX.
  Version cuda_from;
  std::optional<Version> cuda_through;        // last one that does
  std::vector<std::string> machine_families;  // "n1", "g2"
  bool on_dataflow = true;
  bool retired = false;
};

/// A combination that is known to break. knowledge/known_issues.yaml. All conditions of a row have to hold.
struct KnownIssue : Row {
  std::string id;     // "tf-2.16-no-gpu"
  std::string rule;   // that names it: "cuda/known-broken", or a more specific one that has it already
  std::string level;  // "error", "warning"
  std::map<std::string, std::string, std::less<>>
      packages;           // name → specifiers that match ("!" before: must not be installed)
  std::string python;     // specifier set of the minor; empty: any
  std::string beam;       // specifier set
  std::string cuda;       // specifier set of the CUDA that is loaded; of the one cuda_from tells
  std::string cuda_from;  // "wheels", "base", ...; empty: any
  std::string gpu;        // compute capabilities: specifier set; empty: any, or none
  std::string tpu;        // how the TPU's type begins: "tpu-v6e", "tpu-" of any; empty: any target
  std::string shows;      // "build": pip says it, so that an image that is there has got over it; empty: when it runs
  std::string unless_on_path;             // a folder so named on the loader's path mends it: "nvidia/cudnn/lib"
  std::vector<std::string> unless_there;  // and so does one of these files in site-packages
  std::string symptom;
  std::string fix;
};

/// A family of images that Beam publishes. knowledge/published_images.yaml
struct PublishedImages : Row {
  std::string name;                  // RE2 pattern for the last part of apache/NAME; the group "python" holds a minor
  std::string language;              // "python", "java", "other"
  std::optional<Version> from;       // before it there is none
  std::optional<Version> sure;       // from here on there is one; between from and sure nobody knows
  std::optional<Version> through;    // the last one
  std::vector<PythonMinor> without;  // minors that it was never built for
};

/// Whether Beam published an image, as far as the tables know.
struct Publication {
  enum class Answer { yes, no, unknown };
  Answer answer = Answer::unknown;
  std::string why;      // of no: "Beam 2.56.2 was never released"
  std::string instead;  // a name or tag that exists: "apache/beam_python3.12_sdk:2.65.0"; empty where none is near
  std::string source;
  bool unverified = false;  // a warning at most
};

class Knowledge {
 public:
  /// The tables that were compiled in.
  static Knowledge embedded();
  /// The embedded tables with those of a folder laid over them. Throws Error(knowledge) with every fault of the folder.
  static Knowledge with_directory(const std::string& directory);

  Knowledge(Knowledge&&) noexcept;
  Knowledge& operator=(Knowledge&&) noexcept;
  ~Knowledge();

  /// "2026.11.30" or what the tables say of themselves, with "+custom" where a folder was laid over.
  const std::string& version() const;

  const std::vector<BeamRelease>& beam_releases() const;  // oldest first
  const std::optional<Complete>& beam_complete() const;
  const BeamRelease* beam_release(const Version& version) const;  // by base version: an rc has its release's row
  /// Whether `version` has the behaviour (an rc by its base version).
  bool beam_has(BeamBehaviour behaviour, const Version& version) const;
  const Version& beam_since(BeamBehaviour behaviour) const;
  const std::string& beam_source(BeamBehaviour behaviour) const;
  const BeamImagePins* beam_pins(const Version& beam, const PythonMinor& python) const;

  /// Of an image of docker.io/apache or gcr.io/cloud-dataflow/v1beta3 whose name begins as an SDK image's does; unknown
  /// for every other. A tag that is no version (latest, a digest's empty tag) is unknown.
  Publication beam_publication(std::string_view host_and_repository, std::string_view tag) const;

  const std::vector<TpuType>& tpus() const;
  const TpuType* tpu(std::string_view type, std::string_view topology) const;

  const std::vector<PythonRelease>& python_releases() const;
  const PythonRelease* python_release(const PythonMinor& minor) const;

  const std::vector<LinuxRelease>& linux_releases() const;
  const LinuxRelease* linux_release(std::string_view id) const;

  /// The first row that matches host/repository and tag, with python_group filled in from the tag.
  std::optional<BaseImage> base_image(std::string_view host_and_repository, std::string_view tag) const;

  /// The rows about an image, in the order of the table.
  std::vector<const BaseContent*> base_contents(std::string_view host_and_repository, std::string_view tag) const;

  /// The newest row of a framework at or below `version`.
  const FrameworkRelease* framework(std::string_view framework, const Version& version) const;

  const std::vector<Installer>& installers() const;  // oldest first
  /// The installer of a version; the newest where none is named.
  const Installer* installer(std::string_view name, const std::optional<Version>& version = std::nullopt) const;

  const std::vector<FrameworkBuild>& framework_builds() const;  // by framework, oldest first
  const FrameworkBuild* framework_build(std::string_view framework, const Version& version) const;  // by base version
  const std::optional<Complete>& framework_complete(std::string_view framework) const;
  const std::vector<CudaImage>& cuda_images() const;
  const CudaImage* cuda_image(std::string_view tag) const;
  /// The closed world of nvidia/cuda's tags, by CUDA version.
  const std::optional<Complete>& cuda_images_complete() const;
  const NgcImage* ngc_image(std::string_view product, std::string_view month) const;
  const std::vector<CudaRelease>& cuda_releases() const;          // oldest first
  const CudaRelease* cuda_release(const Version& version) const;  // exact, else of its minor
  const std::vector<CudnnRelease>& cudnn_releases() const;
  const std::vector<GpuType>& gpus() const;
  const GpuType* gpu(std::string_view type) const;
  const std::vector<KnownIssue>& known_issues() const;

  struct Tables;

 private:
  explicit Knowledge(std::unique_ptr<Tables> tables);
  std::unique_ptr<Tables> tables_;
};

}  // namespace imgforge
