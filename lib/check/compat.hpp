// What goes with what: one question about two or more versions, answered from the tables with the rows that say so.
//
// Every predicate is pure: values and Knowledge in, a Judgement out. "no" is said only where a row (or a table that is
// complete over a range) says so; a version that no row tells of is unknown. The NVIDIA driver is not looked at: the
// runner installs it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/knowledge.hpp"

namespace imgforge {

enum class Fits { yes, no, unknown };
std::string_view to_string(Fits fits) noexcept;  // "yes", "no", "unknown"

/// A row that an answer rests on.
struct UsedRow {
  std::string what;  // "Beam 2.66.0", "GPU nvidia-l4"
  std::string source;
  bool unverified = false;
};

struct Judgement {
  Fits fits = Fits::unknown;
  std::string why;            // one sentence, without a full stop
  std::vector<UsedRow> rows;  // empty only where nothing is known
  bool warning = false;       // it goes together, with a drawback that `why` tells
  bool silent = false;        // unknown, and for all like it: no reason to prefer another
  bool unverified() const;    // any of the rows is
};

/// Where the CUDA libraries of a framework come from.
enum class CudaOrigin { wheels, base };

/// Beam's classifiers name the minor.
Judgement beam_supports_python(const Knowledge& knowledge, const Version& beam, const PythonMinor& python);

/// There is a wheel for the minor (Linux, x86-64), and Requires-Python lets it be installed.
Judgement framework_supports_python(const FrameworkBuild& build, const PythonMinor& python);

/// Some version satisfies both sets of specifiers. Unknown where either does not parse.
Fits intersect(std::string_view one, std::string_view other);

/// What the framework and Beam ask for (numpy, protobuf, ...) can be satisfied at once. A warning where what the SDK
/// image ships lies outside of the framework's range, so that pip replaces it.
Judgement requirements_meet(const Knowledge& knowledge, const FrameworkBuild& build, const BeamRelease& beam,
                            const PythonMinor& python);

/// The same of two frameworks in one environment; `wheels` also of the nvidia-* packages that both bring.
Judgement requirements_meet(const FrameworkBuild& one, const FrameworkBuild& other, bool wheels);

/// The framework has a build whose CUDA libraries `cuda` provides: the same major and, up to 11.0, the same minor; jax
/// needs at least the minor that it was built for.
Judgement framework_supports_cuda(const FrameworkBuild& build, const Version& cuda);

/// The framework's kernels, or its PTX, cover the GPU.
Judgement framework_supports_gpu(const FrameworkBuild& build, const GpuType& gpu);

/// The toolkit still (or already) has code for the GPU. One before the GPU's first is shut out, as the rule has it: of an
/// image's toolkit nothing compiles for the GPU any more. Wheels hold finished kernels, which run on later GPUs of their
/// major: that goes, with a warning.
Judgement cuda_supports_gpu(const Knowledge& knowledge, const Version& cuda, const GpuType& gpu,
                            CudaOrigin origin = CudaOrigin::base);

/// The cuDNN was built for that CUDA's major.
Judgement cudnn_supports_cuda(const Knowledge& knowledge, const Version& cudnn, const Version& cuda);

/// An image of nvidia/cuda serves a build: its CUDA minor (with a warning a newer one that has the same sonames), and a
/// cuDNN of the same major that is not older.
Judgement image_serves(const CudaImage& image, const FrameworkBuild::Cuda& build);

/// The image's distribution has the minor, itself or from deadsnakes.
Judgement distribution_has_python(const Knowledge& knowledge, std::string_view os, const PythonMinor& python);

/// A framework in a set of versions.
struct ChosenFramework {
  const FrameworkBuild* build = nullptr;
  const FrameworkBuild::Cuda* cuda = nullptr;  // null: without a GPU
  CudaOrigin origin = CudaOrigin::wheels;
};

/// Versions that are to go together. What is not set is not asked about.
struct VersionSet {
  const BeamRelease* beam = nullptr;
  std::optional<PythonMinor> python;
  std::vector<ChosenFramework> frameworks;
  const GpuType* gpu = nullptr;
  const TpuType* tpu = nullptr;
  const CudaImage* image = nullptr;  // of nvidia/cuda
};

/// One Judgement per row of known_issues that matches: no at level error (and verified), else a warning.
std::vector<Judgement> known_issues_with(const Knowledge& knowledge, const VersionSet& set);

/// Every predicate above that the set has the parts for.
std::vector<Judgement> judge(const Knowledge& knowledge, const VersionSet& set);

std::string framework_title(std::string_view framework);  // "TensorFlow", "PyTorch", "JAX"

/// Whether `version` is what was asked for: the same, or `wanted` is the start of it ("2.15" of "2.15.1").
bool is_version(const Version& version, const Version& wanted);

}  // namespace imgforge
