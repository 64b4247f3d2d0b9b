// Questions about a GPU worker that only its built image answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/rule.hpp"

namespace imgforge {

/// A variable of the image that says another release than every file does: what the loader finds counts, and people
/// read the variable.
struct FalseClaim {
  std::string text;  // "CUDA_VERSION says 12.4.1, and the files are of 12.2"
  std::vector<Evidence> evidence;
};
std::optional<FalseClaim> false_claim_of_cuda(const Case& subject);
std::optional<FalseClaim> false_claim_of_cudnn(const Case& subject);

/// ld.so.conf, or a file that it includes, names the folder.
bool loader_conf_names(const Case& subject, std::string_view folder);

/// The folder of an element of LD_LIBRARY_PATH as library_path() gives it; null where that is not known.
const LibraryFolder* folder_of_element(const Case& subject, std::string_view element);

/// Elements of LD_LIBRARY_PATH that images of NVIDIA, of TensorFlow and of NGC set whether or not the folder is there.
bool is_of_base_images(const Case& subject, std::string_view element);

/// A C compiler that Triton would find: $CC, or gcc, cc or clang on PATH. Nothing where that is not known.
std::optional<bool> has_c_compiler(const Case& subject);

/// Another installed package asks for it without any extra: nobody chose this build of it.
bool comes_with_another(const Case& subject, const Framework& framework);

/// cuda/driver-baked-in: the driver's libcuda. Its kin alone (libnvidia-ml comes with monitoring tools) hides nothing
/// that CUDA needs.
Answer driver_in_image(const Case& subject);

/// cuda/compiler-missing: XLA without ptxas, and vLLM's Triton without a C compiler.
Answer compiler_in_image(const Case& subject);

}  // namespace imgforge
