// What computes on a GPU or a TPU in a built image: CUDA, cuDNN, frameworks, libtpu, and the driver's libraries. All of
// it from files, never from what variables of the image claim.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "facts/gpu_files.hpp"
#include "facts/image_reader.hpp"
#include "facts/library_folders.hpp"

namespace imgforge {

/// What the facts of this room share, each part read when it is first asked for.
class GpuSoftware {
 public:
  explicit GpuSoftware(std::shared_ptr<ImageReader> reader) : reader_(std::move(reader)) {}

  ImageReader& reader() const { return *reader_; }

  const GpuFiles& files();
  const Fact<std::vector<LibraryFolder>>& library_folders();

  /// The interpreter that boot starts; without one that PYSPARK_PYTHON names, else the image's only one. Null: `open`
  /// says why.
  const Interpreter* interpreter();
  const std::string& open();

  /// What that interpreter sees, nearest first, one of each name.
  const std::vector<const Distribution*>& distributions();
  const Distribution* distribution(std::string_view name);

  /// Where a canonical folder comes in the loader's order (LD_LIBRARY_PATH, ld.so.cache and ld.so.conf, its own
  /// folders, and lib of a conda interpreter); nothing where it does not look.
  std::optional<std::size_t> position(std::string_view folder);
  /// A script of the image's starts the worker, and may set the loader's path.
  bool starts_through_script();

  /// Names of conda's records (without ".json") for packages that matter here, below one prefix:
  /// "cudnn-8.9.2.26-cuda11_0".
  std::vector<std::pair<std::string, const Node*>> conda_records(std::string_view prefix);

 private:
  void read_distributions();

  std::shared_ptr<ImageReader> reader_;
  std::optional<GpuFiles> files_;
  std::optional<Fact<std::vector<LibraryFolder>>> folders_;
  std::optional<std::vector<std::string>> order_;
  std::optional<std::vector<const Distribution*>> distributions_;
  std::optional<bool> through_script_;
  const Interpreter* interpreter_ = nullptr;
  std::string open_;
};

/// Those that a loader finds come first, in its order; others are kept only where none of its kind is found, or where a
/// start script may set the path.
Fact<std::vector<CudaToolkit>> read_cuda(GpuSoftware& software);
Fact<std::vector<Cudnn>> read_cudnn(GpuSoftware& software);

Fact<std::vector<Framework>> read_frameworks(GpuSoftware& software);

Fact<std::vector<DriverLibrary>> read_driver_libraries(GpuSoftware& software);

/// A ptxas and the libdevice.10.bc beside it in a CUDA toolkit, as a wheel of the worker's interpreter, or a ptxas on
/// PATH.
Fact<bool> read_ptxas(GpuSoftware& software);

Fact<bool> read_tpu_library(ImageReader& reader);
Fact<bool> read_libtpu(GpuSoftware& software);

/// What only a look through every layer tells is unknown at --depth contract.
void leave_out_gpu_software(Facts& facts, const std::string& reason);

/// "11.8" of "11.8.89"; of what has no minor, itself.
Version cuda_release(const Version& version);

}  // namespace imgforge
