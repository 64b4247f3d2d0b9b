// How a plan is made, step by step. Internal to the room: plan.hpp is what others see.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "render/plan.hpp"

namespace imgforge {

class Planner {
 public:
  Planner(const Recipe& recipe, const Knowledge& knowledge);
  PlanResult run();

 private:
  // plan.cpp: who runs it, on what, with which interpreter
  void target();
  void base_and_versions();
  void default_beam();
  void default_python();
  void look_up_base();
  void python_source();
  void check_python_source();
  void check_beam();
  void check_launch();
  void boot();

  // plan_accelerator.cpp: what the accelerator and the frameworks need
  void gpu();
  void cuda_source(GpuSpec& gpu);
  void cudnn_source(GpuSpec& gpu);
  void runfile(GpuSpec& gpu);
  void archive(GpuSpec& gpu);
  void apt_cuda(GpuSpec& gpu);
  void library_path();
  void tpu();
  void framework(const std::string& name, const std::optional<Version>& version);
  std::string gpu_requirement(const FrameworkRelease* row, const std::string& name);

  // plan_packages.cpp: what is installed, and what is set
  void interpreter_packages();
  void miniforge();
  void beam_requirements();
  void environment();
  void add_apt(const std::string& package);

  bool base_is(std::string_view kind) const { return plan_.base && plan_.base->kind == kind; }
  /// Whether the interpreter that runs the pipeline is the base image's own, with what is installed for it.
  bool base_interpreter() const { return recipe_.python_from == PythonFrom::base; }
  bool base_brings_cuda() const;
  /// Whether the base's interpreter came without Debian's splitting: venv and pip are whole.
  bool whole_interpreter() const;
  std::string base_text() const { return recipe_.base_image ? recipe_.base_image->to_string() : std::string(); }
  const PythonMinor& python() const { return *recipe_.python_version; }

  void derive(std::string path, std::string value, std::string because, std::string source = {});
  void error(std::string_view path, std::string message, std::string hint = {});
  void warning(std::string_view path, std::string message, std::string hint = {});
  /// An error where the row was looked up; a row from memory is enough for a warning only.
  void by_row(const Row& row, std::string_view path, std::string message, std::string hint = {});

  const Knowledge& knowledge_;
  Plan plan_;
  Recipe& recipe_;  // of the plan: it fills up
  std::vector<Diagnostic> diagnostics_;
};

/// What a downloaded file without a known sum is told about.
std::string checksum_command(const Download& download);

}  // namespace imgforge
