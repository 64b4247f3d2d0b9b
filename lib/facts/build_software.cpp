#include "facts/build_software.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "facts/build_requests.hpp"
#include "facts/commands.hpp"

namespace imgforge {

namespace {

using Seen = BuildFiles::Seen;

template <class T>
Fact<std::vector<T>> known_list(std::vector<T> all) {
  std::vector<Evidence> evidence;
  for (const T& one : all) evidence.insert(evidence.end(), one.evidence.begin(), one.evidence.end());
  return Fact<std::vector<T>>::known(std::move(all), std::move(evidence));
}

}  // namespace

StateSoftware::StateSoftware(const BuildState& state, const StateInterpreters& interpreters, const Knowledge& knowledge)
    : state_(state), interpreters_(interpreters), knowledge_(knowledge) {
  collect();
}

Fact<std::vector<CudaToolkit>> StateSoftware::cuda() const {
  std::vector<CudaToolkit> all = state_.cuda;
  all.insert(all.end(), software_.cuda.begin(), software_.cuda.end());
  if (all.empty() && !state_.cuda_open.empty()) return Fact<std::vector<CudaToolkit>>::unknown(state_.cuda_open);
  return known_list(std::move(all));
}

Fact<std::vector<Cudnn>> StateSoftware::cudnn() const {
  std::vector<Cudnn> all = state_.cudnn;
  all.insert(all.end(), software_.cudnn.begin(), software_.cudnn.end());
  if (all.empty() && !state_.cuda_open.empty()) return Fact<std::vector<Cudnn>>::unknown(state_.cuda_open);
  return known_list(std::move(all));
}

Fact<std::vector<Framework>> StateSoftware::frameworks() const {
  if (software_.frameworks.empty() && !software_open_.empty())
    return Fact<std::vector<Framework>>::unknown(software_open_);
  return known_list(software_.frameworks);
}

Fact<bool> StateSoftware::libtpu() const {
  if (software_.libtpu) return Fact<bool>::known(true);
  if (!software_open_.empty()) return Fact<bool>::unknown(software_open_);
  return Fact<bool>::known(false);
}

Fact<std::vector<std::string>> StateSoftware::missing_library_folders() const {
  const BuildVariable* variable = state_.variable("LD_LIBRARY_PATH");
  if (variable == nullptr) return Fact<std::vector<std::string>>::known({});
  if (!variable->value) return Fact<std::vector<std::string>>::unknown(variable->not_known);
  std::vector<std::string> missing;
  for (const std::string_view part : split(*variable->value, ':')) {
    if (!part.starts_with('/') || missing.size() > 200) continue;
    const std::string path = absolute_path(part, "/");
    if (path.starts_with("/usr/local/nvidia")) continue;
    if (state_.files.look(path).seen == Seen::no) missing.emplace_back(part);
  }
  return Fact<std::vector<std::string>>::known(std::move(missing), {variable->evidence});
}

Fact<bool> StateSoftware::tpu_library() const {
  const BuildVariable* variable = state_.variable("TPU_LIBRARY_PATH");
  if (variable == nullptr || !variable->value || !variable->value->starts_with('/'))
    return Fact<bool>::unknown("TPU_LIBRARY_PATH");
  const BuildFiles::Look look = state_.files.look(absolute_path(*variable->value, "/"));
  if (look.seen == Seen::unknown) return Fact<bool>::unknown(look.reason);
  return Fact<bool>::known(look.seen == Seen::yes, {variable->evidence});
}

void StateSoftware::collect() {
  const std::optional<std::size_t> index = interpreters_.counting();
  if (!index) {
    software_open_ = !state_.pythons_open.empty()                 ? state_.pythons_open
                     : interpreters_.worker_python().is_unknown() ? interpreters_.worker_python().reason()
                                                                  : "";
    return;
  }
  std::vector<const BuildPython*> all = {&state_.pythons[*index]};
  if (all.front()->system_site_packages) {
    if (const auto base = python_at(state_, all.front()->base_path)) all.push_back(&state_.pythons[*base]);
  }
  for (const BuildPython* python : all) {
    if (software_open_.empty()) software_open_ = python->open;
    for (const BuildDistribution& one : python->distributions) {
      const Distribution& distribution = one.distribution;
      if (one.by == BuildDistribution::By::base) {
        for (const Framework& framework : state_.frameworks) {
          if (framework.package == distribution.name || framework.name == distribution.name)
            software_.frameworks.push_back(framework);
        }
        continue;
      }
      if (one.by == BuildDistribution::By::conda) {
        if (distribution.name != "torch" && distribution.name != "tensorflow" && distribution.name != "jax") continue;
        Framework framework;
        framework.name = framework.package = distribution.name;
        framework.version = distribution.version;
        framework.build = Framework::Build::conda;
        framework.evidence = {distribution.evidence};
        software_.frameworks.push_back(std::move(framework));
        continue;
      }
      std::string text = distribution.name;
      if (!distribution.extras.empty()) text += "[" + join(distribution.extras, ",") + "]";
      if (distribution.version) {
        text += "==" + distribution.version->to_string();
      } else {
        text += distribution.version_text;
      }
      auto requirement = Requirement::parse(text);
      if (!requirement) requirement = Requirement::parse(distribution.name);
      if (!requirement) continue;
      PackageRequest request;
      request.written = text;
      request.name = distribution.name;
      request.requirement = std::move(requirement);
      request.place = distribution.evidence.place;
      std::vector<std::string> indexes = one.indexes;
      indexes.insert(indexes.end(), one.find_links.begin(), one.find_links.end());
      add_wheel(software_, request, indexes, knowledge_);
    }
  }
}

}  // namespace imgforge
