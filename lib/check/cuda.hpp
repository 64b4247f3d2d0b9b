// Questions about a GPU worker that several rules ask: which CUDA a framework loads, whether that can work, and which
// image has what it needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/rule.hpp"
#include "facts/build.hpp"

namespace imgforge {

/// A worker, Beam's or Spark's, that is to use a GPU. cuda/* speaks of no other.
bool is_gpu_worker(const Case& subject);

/// "12.2" of "12.2.2"; "12" where no more is known.
std::string cuda_minor(const Version& version);

/// Whether what was built for CUDA `built` finds its libraries in CUDA `found`, by their sonames: up to 10 every minor
/// has its own, 11.1 to 11.8 share theirs (libcusolver.so.11, where 11.0 has .so.10), and from 12 on the major alone
/// counts. Nothing where `found` does not say enough.
std::optional<bool> loads_cuda(const Version& built, const Version& found);

/// Whether a framework compiled against cuDNN `compiled` runs with `found`: the same major, and at least that minor.
/// Nothing where `found` does not say enough.
std::optional<bool> fits_cudnn(const Version& compiled, const Cudnn& found);

/// A framework against the CUDA and the cuDNN that the image has for it.
struct FrameworkFit {
  enum class Cuda {
    undecided,  // `needs` says why
    none,       // there is no CUDA in the image
    cannot,     // none of those found can be loaded: `toolkit` is the first of them
    untested,   // `toolkit` loads, and is none that the release was tested with
    tested,     // `toolkit` loads, as tested
  };
  enum class Library {
    not_needed,
    undecided,  // `needs_cudnn` says why
    missing,    // no cuDNN at all
    wrong,      // `cudnn` is of another major, or too old
    fits,
  };

  const Framework* framework = nullptr;
  const FrameworkBuild* row = nullptr;
  const FrameworkBuild::Cuda* build = nullptr;  // that the verdict is about
  bool unverified = false;                      // the row, or the build: a warning at most
  Cuda cuda = Cuda::undecided;
  std::string needs;
  const CudaToolkit* toolkit = nullptr;
  Library library = Library::undecided;
  std::string needs_cudnn;
  const Cudnn* cudnn = nullptr;
};

/// Every framework that takes CUDA and cuDNN from the image and that upstream's tables can judge, or that is not
/// decided. RULES, "Not to cry wolf (cuda)": what brings its CUDA as wheels is not judged against the image's; what a
/// base image brings together with its CUDA is its maker's matter.
std::vector<FrameworkFit> framework_fits(const Case& subject);

/// Whether it loads its CUDA and cuDNN and compiles with XLA, which runs ptxas. TensorFlow asks for it since 2.11.
bool runs_ptxas(const FrameworkFit& fit);

/// "cuda-nvcc-12-4": the package of NVIDIA's repository that brings ptxas for it.
std::string nvcc_package(const FrameworkFit& fit);

/// "TensorFlow 2.15.1".
std::string framework_name(const Framework& framework);

/// What an nvidia/cuda image has to hold.
struct CudaWish {
  std::optional<Version> built;     // for which CUDA the framework was built
  std::optional<Version> compiled;  // against which cuDNN; nothing where any cuDNN will do
  const GpuType* gpu = nullptr;     // that has to be supported
  bool needs_cudnn = true;
  std::string os;      // LinuxRelease id that it should be; empty: any
  bool exact = false;  // the very minor of `built`
};

/// The best tag of nvidia/cuda's runtime images for it: the wished os before others, the tested minor before others,
/// then the newest. Null where none is known.
const CudaImage* image_for(const Knowledge& knowledge, const CudaWish& wish);

/// "FROM nvidia/cuda:TAG", or the recipe's line for it; with the registry that the subject takes such images from.
std::string from_line(const Case& subject, std::string_view tag);

/// The pip line (or recipe line) that installs a framework: "RUN pip install ...".
std::string pip_line(const Case& subject, std::string_view requirement);

/// "tensorflow[and-cuda]==2.15.1"; empty where the release has no such extra.
std::string with_cuda_wheels(const FrameworkFit& fit);

/// The id of the image's distribution as the tables name it ("ubuntu22.04"); empty where it is not known.
std::string os_id(const Case& subject);

/// The row of the GPU that is meant; null where only the kind is known, or the tables do not hold it.
const GpuType* gpu_of(const Case& subject);

/// The elements of LD_LIBRARY_PATH, trailing "/" taken off; empty where it is not set or empty.
std::vector<std::string> library_path(const Case& subject);

}  // namespace imgforge
