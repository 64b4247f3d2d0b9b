// What computes in a stage, as facts: CUDA, cuDNN, frameworks, libtpu and the folders that libraries are looked for in.
#pragma once

#include <string>
#include <vector>

#include "facts/build_interpreters.hpp"
#include "facts/wheel_software.hpp"

namespace imgforge {

class StateSoftware {
 public:
  /// All must outlive it.
  StateSoftware(const BuildState& state, const StateInterpreters& interpreters, const Knowledge& knowledge);

  Fact<std::vector<CudaToolkit>> cuda() const;
  Fact<std::vector<Cudnn>> cudnn() const;
  Fact<std::vector<Framework>> frameworks() const;
  Fact<bool> libtpu() const;
  Fact<std::vector<std::string>> missing_library_folders() const;
  Fact<bool> tpu_library() const;

 private:
  void collect();

  const BuildState& state_;
  const StateInterpreters& interpreters_;
  const Knowledge& knowledge_;
  WheelSoftware software_;
  std::string software_open_;  // why more may be there
};

}  // namespace imgforge
