// Every block with its shape, and the text that the program carries.
#include "render/blocks.hpp"

// The blocks of templates/, in the order in which they stand in a Dockerfile.
#define IMGFORGE_BLOCKS(X)                                                                                       \
  X(header)                                                                                                      \
  X(stage_beam_sdk)                                                                                              \
  X(stage_uv) X(stage_cudnn) X(from) X(apt) X(python_apt) X(python_deadsnakes) X(python_conda) X(python_uv)      \
      X(python_check) X(cuda_runfile) X(cudnn) X(gpu_environment) X(pip_files) X(frameworks) X(beam) X(packages) \
          X(pip_location) X(boot) X(files) X(environment) X(workdir) X(labels) X(entrypoint)

extern "C" {
#define IMGFORGE_DECLARE(name)                       \
  extern const char imgforge_block_##name##_begin[]; \
  extern const char imgforge_block_##name##_end[];
IMGFORGE_BLOCKS(IMGFORGE_DECLARE)
#undef IMGFORGE_DECLARE
}

namespace imgforge {

const std::vector<BlockShape>& block_shapes() {
  static const BlockShape::List requirements{"requirements", {"requirement"}};
  static const BlockShape::List options{"options", {"flag", "value"}};
  static const BlockShape::List apt_packages{"packages", {"package"}};
  static const BlockShape::List copies{"files", {"from", "to"}};
  static const BlockShape::List file{"file", {"file_from"}};
  static const BlockShape::List url{"url", {"url_default"}};
  static const std::vector<BlockShape> shapes = {
      {"header",
       {"version", "name", "recipe_digest", "knowledge_version", "base_image"},
       {},
       {{"sdk_image", {"image"}}, {"uv_image", {"image"}}}},
      {"stage_beam_sdk", {}, {}, {}},
      {"stage_uv", {}, {}, {}},
      {"stage_cudnn", {"sha256"}, {"in_sdk", "sha256_known"}, {file, url}},
      {"from", {}, {}, {}},
      {"apt", {}, {}, {apt_packages}},
      {"python_apt", {}, {}, {}},
      {"python_deadsnakes", {"minor", "suite", "url", "key_url", "key_fingerprint"}, {"suite_unknown"}, {apt_packages}},
      {"python_conda", {"minor", "url", "sha256"}, {"sha256_known"}, {}},
      {"python_uv", {"minor"}, {}, {}},
      {"python_check", {"minor"}, {"link", "venv"}, {}},
      {"cuda_runfile", {"url", "sha256"}, {"sha256_known"}, {{"cuda_version", {"version"}}}},
      {"cudnn", {}, {}, {}},
      {"gpu_environment", {"library_path"}, {"inherited", "toolkit"}, {}},
      {"pip_files", {}, {}, {copies}},
      {"frameworks", {}, {"externally_managed"}, {options, requirements}},
      {"beam", {}, {"externally_managed", "kept", "sdk", "check"}, {options, requirements}},
      {"packages", {}, {"externally_managed", "check"}, {options, requirements}},
      {"pip_location", {}, {}, {}},
      {"boot", {}, {}, {}},
      {"files", {}, {}, {copies}},
      {"environment", {}, {"tpu"}, {{"variables", {"name", "value"}}}},
      {"workdir", {"workdir"}, {}, {}},
      {"labels", {}, {"base_name"}, {{"labels", {"key", "value"}}}},
      {"entrypoint", {}, {}, {}},
  };
  return shapes;
}

const BlockShape* find_block_shape(std::string_view name) {
  for (const BlockShape& shape : block_shapes()) {
    if (shape.name == name) return &shape;
  }
  return nullptr;
}

std::map<std::string, std::string, std::less<>> embedded_blocks() {
  return {
#define IMGFORGE_ENTRY(name)                         \
  {#name, std::string(imgforge_block_##name##_begin, \
                      static_cast<std::size_t>(imgforge_block_##name##_end - imgforge_block_##name##_begin))},
      IMGFORGE_BLOCKS(IMGFORGE_ENTRY)
#undef IMGFORGE_ENTRY
  };
}

}  // namespace imgforge
