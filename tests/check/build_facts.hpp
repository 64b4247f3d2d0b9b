// A Dockerfile that does nothing wrong as facts, for tests that add one step to it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "facts/build.hpp"
#include "worker_facts.hpp"

namespace imgforge::test {

inline StepPlace step(std::size_t line, std::string text, std::string stage = "0", bool in_image = true) {
  return {{"Dockerfile", line, 1}, std::move(stage), in_image, std::move(text)};
}

/// An image that a build names, with what the tables hold of it.
inline ImageUse image_use(ImageUse::Role role, const std::string& written, std::string stage = "0", std::size_t line = 1) {
  ImageUse use;
  use.role = role;
  use.at = step(line, (role == ImageUse::Role::base ? "FROM " : "COPY --from=") + written, std::move(stage));
  use.written = use.expanded = written;
  use.reference = Reference::parse(written, &use.wrong);
  if (use.reference) use.row = knowledge().base_image(use.reference->host() + "/" + use.reference->repository(), use.reference->tag());
  return use;
}

inline StepInterpreter step_python(const std::string& minor) {
  StepInterpreter python;
  python.program = "pip";
  python.minor = PythonMinor::parse(minor);
  return python;
}

inline PackageRequest pip_request(const std::string& written, std::size_t line = 2) {
  PackageRequest request;
  request.written = written;
  request.requirement = Requirement::parse(written);
  if (request.requirement) request.name = request.requirement->normalised();
  request.place = {"Dockerfile", line, 1};
  return request;
}

inline PipInstall pip_install(const std::vector<std::string>& requests, const std::string& minor = "3.11") {
  PipInstall install;
  std::string line = "RUN pip install";
  for (const std::string& request : requests) {
    install.requests.push_back(pip_request(request));
    line += " " + request;
  }
  install.at = step(2, line);
  install.interpreter = step_python(minor);
  return install;
}

inline AptInstall apt_install(const std::string& os, const std::vector<std::string>& packages) {
  AptInstall install;
  install.at = step(2, "RUN apt-get install -y");
  install.program = "apt-get";
  install.os = os;
  for (const std::string& name : packages) install.packages.push_back({name, name, {}, std::nullopt, {"Dockerfile", 2, 20}});
  return install;
}

/// A worker on python:3.11-slim-bookworm with boot of the SDK image.
struct Made {
  Worker worker;
  Build build;
  std::optional<Runner> target;
  std::optional<std::string> accelerator;

  Made() {
    build.file = "Dockerfile";
    build.stage = "0";
    build.images.push_back(image_use(ImageUse::Role::base, "python:3.11-slim-bookworm"));
    ImageUse boot = image_use(ImageUse::Role::copy, "apache/beam_python3.11_sdk:2.66.0", "0", 3);
    boot.copied = {"/opt/apache/beam"};
    build.images.push_back(std::move(boot));
    build.pip.push_back(pip_install({"apache-beam[gcp]==2.66.0"}));
    StageContract stage;
    stage.stage = "0";
    stage.last = true;
    stage.has_boot = Fact<bool>::known(true);
    stage.entrypoint = Fact<Entrypoint>::known(worker.entrypoint);
    build.stages.push_back(std::move(stage));
  }

  Facts facts() const {
    Facts facts = worker.facts();
    facts.build = std::make_shared<Build>(build);
    return facts;
  }

  Outcome outcome(const Facts& facts) const {
    Case subject{facts, knowledge(), nullptr, false, {}, judge_target(facts, nullptr, target, RecipeFrom::user, SubjectKind::dockerfile, accelerator),
                 {}, *Date::parse("2026-11-30"), SubjectKind::dockerfile, {}};
    return check(subject);
  }
  Outcome outcome() const { return outcome(facts()); }
};

inline bool has_passed(const Outcome& outcome, std::string_view rule) {
  return std::find(outcome.passed.begin(), outcome.passed.end(), rule) != outcome.passed.end();
}

}  // namespace imgforge::test
