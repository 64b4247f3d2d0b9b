// A worker with an accelerator as facts of a Dockerfile, for tests that change one of them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "facts/build.hpp"
#include "worker_facts.hpp"

namespace imgforge::test {

inline Version version(const std::string& text) { return *Version::parse(text); }

inline Evidence line(std::size_t number) { return Evidence::at({"Dockerfile", number, 1}); }

inline StepPlace step(std::size_t number, std::string text = {}) {
  StepPlace place;
  place.place = {"Dockerfile", number, 1};
  place.stage = "0";
  place.line = std::move(text);
  return place;
}

inline CudaToolkit cuda_of(const std::string& text, CudaToolkit::From from = CudaToolkit::From::base,
                           CudaToolkit::Flavour flavour = CudaToolkit::Flavour::runtime) {
  CudaToolkit toolkit;
  toolkit.from = from;
  if (!text.empty()) toolkit.version = version(text);
  toolkit.flavour = flavour;
  toolkit.evidence = {line(1)};
  return toolkit;
}

inline Cudnn cudnn_of(const std::string& text, CudaToolkit::From from = CudaToolkit::From::base,
                      std::string folder = "/usr/lib/x86_64-linux-gnu") {
  Cudnn library;
  library.from = from;
  const Version parsed = version(text);
  library.major = static_cast<unsigned>(parsed.major());
  if (parsed.release().size() > 1) library.version = parsed;
  library.folder = std::move(folder);
  library.evidence = {line(1)};
  return library;
}

inline Framework framework_of(const std::string& name, const std::string& text) {
  Framework framework;
  framework.name = framework.package = name;
  if (!text.empty()) framework.version = version(text);
  framework.brings_cuda = name == "torch";
  framework.evidence = {line(4)};
  return framework;
}

/// FROM of an image, as the reader of Dockerfiles tells it.
inline ImageUse base_use(const std::string& image) {
  ImageUse use;
  use.at = step(1, "FROM " + image);
  use.written = use.expanded = image;
  use.reference = Reference::parse(image);
  if (use.reference) {
    use.row = knowledge().base_image(use.reference->host() + "/" + use.reference->repository(), use.reference->tag());
  }
  return use;
}

/// TensorFlow 2.15 on the CUDA 12.2 and the cuDNN 8.9 that it was tested with: nothing is wrong with it but that a
/// runtime flavour has no ptxas, so nvcc is there, too.
struct GpuWorker {
  std::string image = "nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04";
  std::vector<CudaToolkit> cuda = {cuda_of("12.2.2")};
  std::vector<Cudnn> cudnn = {cudnn_of("8.9.6.50")};
  std::vector<Framework> frameworks = {framework_of("tensorflow", "2.15.1")};
  std::string library_path = "/usr/local/nvidia/lib:/usr/local/nvidia/lib64";
  std::vector<std::string> missing_folders;
  std::vector<std::pair<std::string, std::string>> packages = {{"tensorflow", "2.15.1"},
                                                               {"nvidia-cuda-nvcc-cu12", "12.2.140"}};
  OsRelease os{"ubuntu", "22.04", "jammy", "Ubuntu 22.04"};
  Worker worker{};
  Build build{};

  Facts facts() const {
    Worker changed = worker;
    for (auto& [name, version] : changed.packages) {
      if (name == "numpy" && version == Worker{}.packages.at(2).second) version = "1.26.4";  // TensorFlow before 2.18 breaks with numpy 2
    }
    changed.packages.insert(changed.packages.end(), packages.begin(), packages.end());
    if (!library_path.empty()) changed.env.emplace_back("LD_LIBRARY_PATH", library_path);
    Facts facts = changed.facts();
    facts.os_release = known(os);
    facts.cuda = known(cuda);
    facts.cudnn = known(cudnn);
    facts.frameworks = known(frameworks);
    facts.libtpu = known(false);
    facts.missing_library_folders = known(missing_folders);
    facts.flex_launcher = absent<FlexLauncher>();
    auto steps = std::make_shared<Build>(build);
    steps->file = "Dockerfile";
    steps->stage = "0";
    StageContract stage;
    stage.stage = "0";
    stage.place = {"Dockerfile", 1, 1};
    stage.last = true;
    steps->stages = {stage};
    if (!image.empty()) steps->images.insert(steps->images.begin(), base_use(image));
    facts.build = steps;
    return facts;
  }
};

struct Meant {
  Accelerator accelerator = Accelerator::gpu;
  std::string type{};
  Runner runner = Runner::dataflow;
  Role role = Role::worker;
  bool without_sign = false;
  const Recipe* recipe = nullptr;
  SubjectKind kind = SubjectKind::dockerfile;
};

inline Case case_of(const Facts& facts, const Meant& meant = {}) {
  JudgedAs judged;
  judged.runner = meant.runner;
  judged.role = meant.role;
  judged.because = "a test says so";
  judged.accelerator = meant.accelerator;
  judged.accelerator_type = meant.type;
  judged.without_sign = meant.without_sign;
  return Case{facts,      knowledge(), meant.recipe, false, "", judged, std::nullopt, *Date::parse("2026-11-30"),
              meant.kind, {}};
}

/// What one rule says.
inline Answer ask(std::string_view rule, const Facts& facts, const Meant& meant = {}) {
  const Rule* found = find_rule(rule);
  REQUIRE(found != nullptr);
  return found->judge(case_of(facts, meant));
}

/// "not applicable", "pass", "undecided", or the level of the first finding.
inline std::string said(std::string_view rule, const Facts& facts, const Meant& meant = {}) {
  const Answer answer = ask(rule, facts, meant);
  if (answer.is_not_applicable()) return "not applicable";
  if (answer.is_pass()) return "pass";
  if (answer.is_undecided()) return "undecided";
  return std::string(to_string(answer.level().value_or(find_rule(rule)->level)));
}

inline std::string fix_of(std::string_view rule, const Facts& facts, const Meant& meant = {}) {
  const Answer answer = ask(rule, facts, meant);
  return answer.is_finding() ? answer.fix() : std::string();
}

/// Ids of all findings whose group is `group`, with the level of each: "cuda/cudnn-missing:error"; one fault is one.
inline std::string all_of(std::string_view group, const Facts& facts, const Meant& meant = {}) {
  std::string text;
  for (const Rule& rule : all_rules()) {
    if (!rule.id.starts_with(std::string(group) + "/")) continue;
    if ((rule.inputs & static_cast<unsigned>(meant.kind)) == 0) continue;
    const Answer answer = rule.judge(case_of(facts, meant));
    if (!answer.is_finding()) continue;
    for (const Answer::Found& found : answer.found()) {
      if (!text.empty()) text += ' ';
      text += std::string(rule.id) + ":" + std::string(to_string(found.level.value_or(rule.level)));
    }
  }
  return text;
}

}  // namespace imgforge::test
