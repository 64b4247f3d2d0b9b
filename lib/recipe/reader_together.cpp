// What keys of a recipe say together.
#include <fmt/format.h>

#include <array>

#include "base/text.hpp"
#include "recipe/reader.hpp"

namespace imgforge {

namespace {

bool on_dataflow(Runner runner) { return runner == Runner::dataflow || runner == Runner::dataflow_flex; }

}  // namespace

void RecipeReader::check_push_tags() {
  for (std::size_t i = 0; i < recipe_.push.tags.size(); ++i) {
    for (const std::string_view path : placeholders(recipe_.push.tags[i])) {
      const Field* field = find_recipe_field(path);
      if (path == "digest12" || (field != nullptr && is_leaf(field->kind) && field->get != nullptr)) continue;
      report(recipe_.place_of(fmt::format("push.tags[{}]", i)),
             fmt::format("push.tags[{}]: {{{{{}}}}} is neither digest12 nor a key of the recipe with one value", i,
                         escape_for_display(path)),
             "as {{beam.version}} or {{digest12}}");
    }
  }
}

/// Keys that the runner does not read are no fault of the recipe's form, but they will do nothing.
void RecipeReader::check_runner_keys() {
  const Runner runner = recipe_.target.runner;
  constexpr std::array<std::string_view, 2> of_spark = {"target.runtime_version", "target.properties"};
  constexpr std::array<std::string_view, 8> of_dataflow = {
      "target.machine_type",    "target.streaming", "target.disk_size_gb", "target.num_workers",
      "target.harness_threads", "target.prime",     "target.provisioning", "target.single_process"};
  const auto warn = [&](std::string_view path, std::string_view wanted) {
    const auto place = recipe_.places.find(path);
    if (place == recipe_.places.end() || full()) return;
    report(place->second, fmt::format("{} is not read with runner: {}", path, to_string(runner)),
           fmt::format("it is for {}", wanted));
    result_.diagnostics.back().level = Diagnostic::Level::warning;
  };
  if (runner != Runner::spark_serverless) {
    for (const std::string_view path : of_spark) warn(path, "spark-serverless");
  }
  if (!on_dataflow(runner)) {
    for (const std::string_view path : of_dataflow) warn(path, "dataflow and dataflow-flex");
  }
}

void RecipeReader::check_together() {
  if (recipe_.gpu && recipe_.tpu) {
    report(recipe_.place_of("accelerator.tpu"), "accelerator: gpu and tpu are both there, a worker has one kind",
           "remove gpu or tpu");
  }
  check_runner_keys();
  if (unknown_ == UnknownKeys::refused) {  // a label's do not count
    check_push_tags();
    check_matrix();
  }
  check_gpu_sources();
}

void RecipeReader::check_gpu_sources() {
  if (!recipe_.gpu) return;
  const CudaSpec& cuda = recipe_.gpu->cuda;
  const CudnnSpec& cudnn = recipe_.gpu->cudnn;
  const auto only_with = [&](bool there, bool fits, std::string_view parent, std::string_view key,
                             std::string_view from) {
    if (!there || fits) return;
    const std::string path = fmt::format("accelerator.gpu.{}.{}", parent, key);
    report(recipe_.place_of(path), fmt::format("{} is only read with from: {}", path, from),
           fmt::format("write from: {}, or remove {}", from, key));
  };
  const bool runfile = cuda.from == CudaFrom::runfile;
  only_with(!cuda.url.empty(), runfile, "cuda", "url", "runfile");
  only_with(!cuda.sha256.empty(), runfile, "cuda", "sha256", "runfile");
  const bool archive = cudnn.from == CudnnFrom::archive;
  only_with(!cudnn.file.empty(), archive, "cudnn", "file", "archive");
  only_with(!cudnn.url.empty(), archive, "cudnn", "url", "archive");
  only_with(!cudnn.sha256.empty(), archive, "cudnn", "sha256", "archive");
  if (!cudnn.file.empty() && !cudnn.url.empty()) {
    report(recipe_.place_of("accelerator.gpu.cudnn.url"),
           "accelerator.gpu.cudnn: file and url are both there, the archive is one of them", "remove file or url");
  }
}

}  // namespace imgforge
