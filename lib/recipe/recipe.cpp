#include "recipe/recipe.hpp"

namespace imgforge {

std::string to_string(Runner runner) {
  switch (runner) {
    case Runner::dataflow: return "dataflow";
    case Runner::dataflow_flex: return "dataflow-flex";
    case Runner::spark_serverless: return "spark-serverless";
    case Runner::portable: return "portable";
  }
  return {};
}

std::string to_string(Role role) {
  switch (role) {
    case Role::worker: return "worker";
    case Role::launcher: return "launcher";
    case Role::both: return "both";
  }
  return {};
}

std::string to_string(PythonFrom from) {
  switch (from) {
    case PythonFrom::base: return "base";
    case PythonFrom::apt: return "apt";
    case PythonFrom::deadsnakes: return "deadsnakes";
    case PythonFrom::conda: return "conda";
    case PythonFrom::uv: return "uv";
  }
  return {};
}

std::string to_string(BootFrom from) { return from == BootFrom::copy ? "copy" : "inherit"; }

std::string to_string(CudaFrom from) {
  switch (from) {
    case CudaFrom::base: return "base";
    case CudaFrom::wheels: return "wheels";
    case CudaFrom::apt: return "apt";
    case CudaFrom::runfile: return "runfile";
  }
  return {};
}

std::string to_string(CudnnFrom from) {
  switch (from) {
    case CudnnFrom::base: return "base";
    case CudnnFrom::wheels: return "wheels";
    case CudnnFrom::apt: return "apt";
    case CudnnFrom::archive: return "archive";
  }
  return {};
}

std::string to_string(Provisioning provisioning) {
  return provisioning == Provisioning::standard ? "standard" : "flex-start";
}

std::optional<Runner> parse_runner(std::string_view text) {
  if (text == "generic") return Runner::portable;
  for (const Runner runner : {Runner::dataflow, Runner::dataflow_flex, Runner::spark_serverless, Runner::portable}) {
    if (text == to_string(runner)) return runner;
  }
  return std::nullopt;
}

Place Recipe::place_of(std::string_view path) const {
  for (;;) {
    if (const auto found = places.find(path); found != places.end()) return found->second;
    if (path.empty()) return {};
    const std::size_t end = path.find_last_of(".[");
    path = path.substr(0, end == std::string_view::npos ? 0 : end);
  }
}

}  // namespace imgforge
