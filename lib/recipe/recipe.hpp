// A recipe, version 1 (apiVersion: imgforge/v1), as a value: what the author wrote, nothing derived.
//
// What is left out or "auto" is an empty optional; the plan (render/plan.hpp) fills it in from the knowledge.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/date.hpp"
#include "base/place.hpp"
#include "base/reference.hpp"
#include "base/requirement.hpp"
#include "base/version.hpp"

namespace imgforge {

enum class Runner { dataflow, dataflow_flex, spark_serverless, portable };
enum class Role { worker, launcher, both };
enum class PythonFrom { base, apt, deadsnakes, conda, uv };
enum class BootFrom { copy, inherit };
enum class CudaFrom { base, wheels, apt, runfile };
enum class CudnnFrom { base, wheels, apt, archive };
enum class Provisioning { standard, flex_start };

std::string to_string(Runner runner);  // "dataflow-flex"
std::string to_string(Role role);
std::string to_string(PythonFrom from);
std::string to_string(BootFrom from);
std::string to_string(CudaFrom from);
std::string to_string(CudnnFrom from);
std::string to_string(Provisioning provisioning);  // "flex-start"
std::optional<Runner> parse_runner(std::string_view text);  // "generic" is an alias of portable

/// The environment that submits the job.
struct LaunchEnvironment {
  std::optional<PythonMinor> python;
  std::optional<Version> beam;
};

/// Of a pipeline option: one text, or a list of them (experiments, dataflow_service_options). Numbers and booleans are the
/// text that was written.
struct OptionValue {
  bool list = false;
  std::vector<std::string> texts;  // exactly one where it is no list
};

struct Target {
  Runner runner = Runner::dataflow;
  Role role = Role::worker;
  LaunchEnvironment launch;

  // Dataflow. Empty where the author does not say.
  std::string machine_type;  // "n1-standard-4"
  std::string region;
  std::string zone;
  std::optional<bool> streaming;
  std::optional<unsigned> disk_size_gb;
  std::optional<unsigned> num_workers;
  std::optional<unsigned> harness_threads;
  std::optional<bool> single_process;
  std::optional<bool> prime;
  std::optional<Provisioning> provisioning;
  std::vector<std::pair<std::string, OptionValue>> options;  // any pipeline option, in the order written

  // Spark serverless.
  std::optional<Version> runtime_version;
  std::vector<std::pair<std::string, std::string>> properties;  // in the order written
};

struct CudaSpec {
  std::optional<Version> version;
  std::optional<CudaFrom> from;
  std::string url;     // of a runfile
  std::string sha256;  // 64 hex digits
};

struct CudnnSpec {
  std::optional<Version> version;
  std::optional<CudnnFrom> from;
  std::string file;  // of an archive in the build context
  std::string url;   // of an archive elsewhere
  std::string sha256;
};

struct GpuSpec {
  std::string type;  // "nvidia-tesla-t4"
  unsigned count = 1;
  CudaSpec cuda;
  CudnnSpec cudnn;
  std::string driver;  // "default", "latest", "5xx", "570", "570.124.06", "none"; empty where it is not said
  std::optional<bool> mps;
};

struct TpuSpec {
  std::string type;      // "tpu-v5-lite-podslice"
  std::string topology;  // "1x1"
};

struct Frameworks {
  std::optional<Version> tensorflow;
  std::optional<Version> torch;
  std::optional<Version> jax;
  bool empty() const { return !tensorflow && !torch && !jax; }
};

struct Packages {
  std::vector<std::string> apt;  // as written, each a Debian package name, perhaps with "=version"
  std::vector<Requirement> pip;
  std::string requirements;  // path in the build context, empty where there is none
  std::string constraints;
  std::vector<std::string> indexes;     // extra index URLs
  std::vector<std::string> find_links;  // URLs of --find-links pages (libtpu)
};

struct FileCopy {
  std::string from;  // path in the build context
  std::string to;    // absolute path in the image
};

/// A Flex Template's launcher. Paths are in the image.
struct Flex {
  std::optional<Reference> launcher_image;
  std::string py_file;
  std::string requirements_file;
  std::string setup_file;
};

/// A rule that the author waives.
struct RecipeIgnore {
  std::string rule;  // as written: the rule book is not known here
  std::string reason;
  std::optional<Date> until;  // the last day on which it counts
};

struct Checks {
  std::vector<RecipeIgnore> ignore;
  std::optional<std::uint64_t> max_size;  // bytes
};

struct Push {
  std::string repository;         // "europe-docker.pkg.dev/project/repository", without tag
  std::vector<std::string> tags;  // "{{beam.version}}" stands for the value of that key
};

/// Paths of the recipe with the values that they take in turn, as --set takes them ("null" takes the key away).
/// matrix.hpp makes cells of it.
struct Matrix {
  using Values = std::vector<std::pair<std::string, std::string>>;
  std::vector<std::pair<std::string, std::vector<std::string>>> axes;  // in the order written
  std::vector<Values> include;
  std::vector<Values> exclude;
  bool empty() const { return axes.empty() && include.empty(); }
};

struct Recipe {
  std::string name;
  Target target;
  std::optional<Reference> base_image;
  std::optional<PythonMinor> python_version;
  std::optional<PythonFrom> python_from;
  std::optional<Version> beam_version;
  std::vector<std::string> beam_extras;
  BootFrom boot = BootFrom::copy;
  std::optional<GpuSpec> gpu;
  std::optional<TpuSpec> tpu;
  Frameworks frameworks;
  Packages packages;
  std::vector<FileCopy> files;
  std::vector<std::pair<std::string, std::string>> env;     // in the order written
  std::vector<std::pair<std::string, std::string>> labels;  // in the order written
  std::string workdir;                                      // absolute, empty where none is asked for
  Flex flex;
  Matrix matrix;
  Checks checks;
  Push push;

  /// Where each key stands, by dotted path ("python.version", "packages.pip[2]"), for messages about its meaning.
  std::map<std::string, Place, std::less<>> places;

  /// The place of `path`, or of its nearest parent that was written.
  Place place_of(std::string_view path) const;
};

}  // namespace imgforge
