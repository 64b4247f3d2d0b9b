// A Dockerfile evaluated step by step: the state of every stage, and what the steps did on the way (Build).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dockerfile/dockerfile.hpp"
#include "dockerfile/expand.hpp"
#include "facts/build.hpp"
#include "facts/build_state.hpp"
#include "facts/commands_apt.hpp"
#include "facts/commands_conda.hpp"
#include "facts/commands_download.hpp"
#include "facts/commands_files.hpp"
#include "facts/commands_pip.hpp"
#include "facts/commands_python.hpp"
#include "facts/from_dockerfile.hpp"
#include "facts/project_files.hpp"
#include "facts/requirements_file.hpp"

namespace imgforge {

class BuildReader {
 public:
  BuildReader(const dockerfile::Dockerfile& dockerfile, const BuildOptions& options, const ContextFile& context,
              const Knowledge& knowledge);

  /// Throws Error(usage) where options.stage names no stage.
  void read();

  std::shared_ptr<Build> build() const { return build_; }
  const BuildState& final_state() const { return states_[target_]; }
  const std::vector<BuildState>& states() const { return states_; }

 private:
  using Instruction = dockerfile::Instruction;
  using Word = dockerfile::Word;

  /// The step that is being applied.
  struct Step {
    const Instruction* instruction = nullptr;
    BuildState* state = nullptr;
    RunStep run;  // of RUN
    std::string line;
  };
  /// A command of a RUN step.
  struct Running {
    const RunCommand* command = nullptr;
    std::size_t position = 0;
    StepPlace at;
    Evidence evidence;
    std::optional<std::string> path;  // PATH as the command sees it
    std::string name;                 // base name of the program
  };
  struct FoundPython {
    StepInterpreter interpreter;
    std::optional<std::size_t> index;  // in BuildState::pythons
  };
  /// What one install command asks for.
  struct Wanted {
    std::vector<PackageRequest> requests;
    std::vector<PackageRequest> constraints;
    std::vector<std::string> indexes;
    std::vector<std::string> find_links;
    std::string not_known;
    bool upgrade = false;
    bool no_deps = false;
    BuildDistribution::By by = BuildDistribution::By::pip;
  };

  static constexpr std::size_t max_uses = 5'000;  // of each list of Build
  static constexpr std::size_t max_distributions = 20'000;

  // Stages and instructions: build_reader.cpp.
  void find_target();
  void find_reachable();
  void stage(std::size_t index);
  void apply(const Instruction& instruction, BuildState& state);
  void entrypoint(const Instruction& instruction, BuildState& state);
  std::optional<std::size_t> stage_named(std::string_view name, std::size_t before) const;
  std::optional<std::string> file_text(const BuildState& state, const std::string& path) const;

  // ARG, ENV and LABEL, and variables: build_variables.cpp.
  void global_arguments();
  void arg(const Instruction& instruction, BuildState& state);
  void env(const Instruction& instruction, BuildState& state);
  void label(const Instruction& instruction, BuildState& state);
  dockerfile::Variable look_up(const BuildState* state, std::string_view name) const;
  /// A word with its variables; what was undeclared is noted.
  dockerfile::Expansion expand(const Word& word, const Instruction& instruction, const BuildState* state);
  std::optional<std::string> predefined(std::string_view name) const;

  // Instructions as reports show them: build_lines.cpp.
  std::string short_line(const Instruction& instruction) const;
  StepPlace step_at(const Place& place, const Instruction& instruction) const;
  void note_secret(const std::string& name, const std::string& value, const Place& place,
                   const Instruction& instruction, const std::string& where);

  // Images that are named: build_images.cpp.
  BuildState from(const Instruction& instruction, std::size_t index);
  /// --mount of RUN. The paths that are there only while the step runs.
  std::vector<std::string> mount(const Instruction& instruction, BuildState& state);
  ImageUse image_use(ImageUse::Role role, const Instruction& instruction, const std::string& written,
                     const Place& place);
  /// Fills in what follows from `expanded`.
  void judge_reference(ImageUse& use) const;
  /// The earlier stage that --from names or numbers.
  std::optional<std::size_t> copied_stage(const std::string& written) const;
  const BuildState& image_state(const std::string& written, const std::string& expanded, const std::string& not_known,
                                const Evidence& evidence);

  // COPY and ADD: build_copy.cpp, build_copy_from.cpp.
  void copy(const Instruction& instruction, BuildState& state);
  void copy_context(const std::string& source, const std::string& destination, bool into_folder, bool executable,
                    BuildState& state, const Evidence& evidence);
  void copy_image(const std::string& written, const BuildState& other, const std::vector<std::string>& sources,
                  const std::string& destination, BuildState& state, const Evidence& evidence);

  // RUN: build_run.cpp; the files build_run_*.cpp hold what their names say.
  void run(const Instruction& instruction, BuildState& state);
  void run_text(Step& step, int depth);
  void command(Step& step, Running& running, int depth);
  void note_program(Step& step, const Running& running);
  void note_constructs(Step& step);
  bool run_script(Step& step, const Running& running, int depth);
  void unknown_code(BuildState& state, const std::string& reason, bool everything);
  void file_command(Step& step, const Running& running, const FileCommand& files);
  void account_command(Step& step, const Running& running);
  bool alternatives_command(Step& step, const Running& running);
  void download(Step& step, const Running& running, const DownloadCommand& download);
  void gpu_installer(Step& step, const Running& running);
  void minor_check(Step& step, const Running& running);
  Place place_in(const Step& step, std::size_t offset) const;
  Running running_of(const Step& step, std::size_t position) const;

  // Interpreters: build_python.cpp.
  FoundPython find_python(const BuildState& state, const Running& running, const std::string& word,
                          const std::string& program) const;
  FoundPython describe(const BuildState& state, std::size_t index, const std::string& program) const;
  std::size_t make_environment(BuildState& state, const std::string& folder, const std::optional<std::size_t>& base,
                               const PythonMinor* minor, const Evidence& evidence);
  void python_command(Step& step, const Running& running, const PythonCommand& python);
  void note_get_pip(const BuildState& state, const Running& running, const PythonCommand& python,
                    const FoundPython& found);

  // Packages of Python: build_pip.cpp, build_requests.cpp.
  void pip_command(Step& step, const Running& running, const PipCommand& pip);
  /// Whether pip refuses to install into that Python of state.pythons (PEP 668).
  bool still_managed(const BuildState& state, const Running& running, std::size_t python) const;
  void project_install(Step& step, const Running& running, const ProjectInstall& project);
  void add_requirements_file(const BuildState& state, const Running& running, const std::string& path, bool constraints,
                             Wanted& wanted) const;
  void add_project(const BuildState& state, const std::string& folder, const std::vector<std::string>& extras,
                   Wanted& wanted) const;
  void add_argument(const BuildState& state, const Running& running, const std::string& text, const Place& place,
                    Wanted& wanted) const;
  void drop_by_marker(const FoundPython& python, Wanted& wanted) const;
  void install(BuildState& state, std::size_t python, const Wanted& wanted, const Running& running);

  // Packages of the distribution: build_apt.cpp; conda's: build_conda.cpp.
  void apt_command(Step& step, const Running& running, const SystemPackageCommand& packages);
  void apt_package(BuildState& state, const SystemPackage& package, const Running& running);
  /// Whether it was a package of Python's.
  bool apt_python(BuildState& state, const SystemPackage& package, const Running& running);
  void apt_cuda(BuildState& state, const SystemPackage& package, const Running& running);
  std::string conda_prefix(const BuildState& state, const Running& running) const;
  void conda_command(Step& step, const Running& running, const CondaCommand& conda);
  void conda_installer(Step& step, const Running& running, const CondaInstaller& installer);
  void conda_packages(BuildState& state, const std::string& prefix, const std::vector<CondaSpec>& packages,
                      bool complete, const Running& running);

  const dockerfile::Dockerfile& dockerfile_;
  const BuildOptions& options_;
  ContextFile context_;
  const Knowledge& knowledge_;
  std::shared_ptr<Build> build_;
  std::map<std::string, BuildVariable, std::less<>> globals_;
  std::vector<BuildState> states_;
  std::vector<std::optional<std::size_t>> base_stage_;  // of a stage: the stage that it is built upon
  std::vector<bool> in_image_;
  std::map<std::string, BuildState, std::less<>> images_;  // of COPY --from, by reference
  std::size_t target_ = 0;
  std::size_t current_ = 0;                       // stage that is being read
  std::size_t commands_ = 0;                      // that were followed in all steps
  mutable std::uint64_t expanded_bytes_ = 0;      // of values that took a variable's place
  mutable const Instruction* line_of_ = nullptr;  // whose short_line() is `line_`
  mutable std::string line_;
};

/// Facts of what was read; `reader` stays alive with them.
Facts facts_of_build(const std::shared_ptr<BuildReader>& reader, const BuildOptions& options,
                     const Knowledge& knowledge);

}  // namespace imgforge
