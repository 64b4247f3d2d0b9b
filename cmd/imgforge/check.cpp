// imgforge check FILE...: recipes and hand-written Dockerfiles: what will break, where, and what to write instead.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "check/check_text.hpp"
#include "check/compat_pages.hpp"
#include "check/discover.hpp"
#include "command.hpp"
#include "options.hpp"
#include "report/report.hpp"

namespace imgforge {

namespace {

struct CheckCommand {
  std::vector<std::string> files;
  std::string target;
  std::string stage;
  std::vector<std::string> build_arguments;
  std::string launch_python;
  std::string launch_beam;
  std::string accelerator;
  OutputOptions output;
  std::vector<std::string> ignores;
  std::string fail_on = "error";
  std::string today;
  std::string knowledge;
  std::vector<std::string> overrides;
  bool strict = false;
};

constexpr std::uint64_t file_limit = 4 << 20;

TextCheck options_of(const CheckCommand& command) {
  TextCheck options;
  if (!command.target.empty()) options.target = target_of(command.target);
  if (!command.accelerator.empty()) options.accelerator = command.accelerator;
  if (!command.launch_python.empty()) {
    options.launch.python = PythonMinor::parse(command.launch_python);
    if (!options.launch.python) {
      throw Error(ErrorKind::usage,
                  fmt::format("--launch-python {} is no minor of Python", quoted_input(command.launch_python)),
                  "write it as 3.11");
    }
  }
  if (!command.launch_beam.empty()) {
    options.launch.beam = Version::parse(command.launch_beam);
    if (!options.launch.beam) {
      throw Error(ErrorKind::usage, fmt::format("--launch-beam {} is no version", quoted_input(command.launch_beam)),
                  "write it as 2.66.0");
    }
  }
  options.build.stage = command.stage;
  for (const std::string& argument : command.build_arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == 0)
      throw Error(ErrorKind::usage, fmt::format("--build-arg {} has no name", quoted_input(argument)),
                  "write NAME=VALUE");
    // As docker build has it: a bare NAME takes its value from the environment.
    const std::string name = argument.substr(0, equals);
    const char* inherited = equals == std::string::npos ? std::getenv(name.c_str()) : nullptr;
    if (equals != std::string::npos)
      options.build.arguments[name] = argument.substr(equals + 1);
    else if (inherited != nullptr)
      options.build.arguments[name] = inherited;
  }
  options.overrides = command.overrides;
  options.ignores = command.ignores;
  options.fail_on = *parse_level(command.fail_on);
  options.today = date_or_today(command.today);
  return options;
}

/// Of what could not be read, the name alone tells what it would have been.
Subject unread(const std::string& name, const Error& error) {
  Subject subject;
  subject.kind = name.ends_with(".yaml") || name.ends_with(".yml") ? SubjectKind::recipe : SubjectKind::dockerfile;
  subject.name = name;
  subject.error = SubjectError{error.kind(), error.message(), error.hint()};
  return subject;
}

std::vector<Subject> check_file(const std::string& file, const TextCheck& options, const Knowledge& knowledge) {
  const bool standard_input = file == "-";
  const std::string name = standard_input ? "<stdin>" : file;
  std::vector<Subject> subjects;
  try {
    const auto shared = std::make_shared<const std::string>(standard_input ? read_standard_input(file_limit)
                                                                           : read_file(file, file_limit));
    const std::string& text = *shared;
    const std::filesystem::path folder =
        standard_input ? std::filesystem::path() : std::filesystem::path(file).parent_path();
    const ContextFile context = context_in(folder.empty() ? "." : folder.string());
    for (CheckedText& checked : check_text(text, name, context, options, knowledge)) {
      Subject subject;
      subject.name = checked.cell.empty() ? name : fmt::format("{} [{}]", name, checked.cell);
      subject.kind = checked.kind;
      subject.texts.emplace(name, shared);
      subject.judged_as = checked.judged_as;
      for (const Diagnostic& diagnostic : checked.diagnostics) tell(to_string(diagnostic));
      if (!checked.fault.empty())
        subject.error = SubjectError{ErrorKind::recipe, checked.fault, "its faults are shown above"};
      else if (nothing_applied(checked.outcome))
        subject.error =
            SubjectError{ErrorKind::usage, "no rule applies to it", "say what it is for: --target dataflow"};
      subject.outcome = std::move(checked.outcome);
      subjects.push_back(std::move(subject));
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::file) throw;
    subjects.push_back(unread(name, error));
  }
  return subjects;
}

/// --set without a recipe would change nothing, and say nothing.
void refuse_idle_overrides(const CheckCommand& command, const Report& report) {
  const auto unread = [](const Subject& subject) { return subject.kind == SubjectKind::recipe || subject.error; };
  if (command.overrides.empty() || std::any_of(report.subjects.begin(), report.subjects.end(), unread)) return;
  const std::string shown = quoted_input(command.overrides.front());
  throw Error(ErrorKind::usage, fmt::format("--set {} is of a recipe, and there is none among the files", shown),
              fmt::format("for an ARG of a Dockerfile, did you mean --build-arg {}?", shown));
}

int check_all(const CheckCommand& command) {
  const TextCheck options = options_of(command);
  const Knowledge knowledge = load_knowledge(command.knowledge);
  Report report{{}, options.today, knowledge.version(), options.fail_on};
  for (const FileToCheck& file : files_to_check(command.files)) {
    if (file.fault) {
      report.subjects.push_back(unread(file.path, *file.fault));
      continue;
    }
    for (Subject& subject : check_file(file.path, options, knowledge)) report.subjects.push_back(std::move(subject));
  }
  refuse_idle_overrides(command, report);
  write_report(report, command.output);
  return exit_code(report, command.strict);
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto options = std::make_shared<CheckCommand>();
  CLI::App* command =
      app.add_subcommand("check", "What will break in recipes and Dockerfiles, where, and what to write instead");
  command->footer(
      "FILE is a recipe or a Dockerfile, told apart by content, - for standard input, or a folder, which is searched "
      "for\n"
      "Dockerfile, *.Dockerfile, Dockerfile.* and *.imgforge.yaml. Nothing is built, and nothing is fetched.\n\n"
      "Examples:\n"
      "  imgforge check Dockerfile\n"
      "  imgforge check --target dataflow --launch-python 3.11 --launch-beam 2.66.0 docker/\n"
      "  imgforge check --stage worker --build-arg BEAM=2.66.0 Dockerfile\n"
      "  imgforge check --format github .");
  command->add_option("FILE", options->files, "Recipes, Dockerfiles, folders")->required()->type_name("");
  command
      ->add_option("--target", options->target,
                   "dataflow, dataflow-flex, spark-serverless or portable, where no recipe says it")
      ->type_name("TARGET");
  command->add_option("--stage", options->stage, "The stage of a Dockerfile that is built, where it is not the last")
      ->type_name("NAME");
  command
      ->add_option(
          "--build-arg", options->build_arguments,
          "A build argument of a Dockerfile; NAME alone takes its value from the environment, as docker build does")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  command->add_option("--launch-python", options->launch_python, "The Python that submits the job")->type_name("X.Y");
  command->add_option("--launch-beam", options->launch_beam, "The Beam that submits the job")->type_name("VERSION");
  command
      ->add_option("--accelerator", options->accelerator,
                   "The accelerator that the worker gets: nvidia-l4, tpu-v6e-slice")
      ->type_name("TYPE");
  command->add_option("--set", options->overrides, "Override a field of a recipe")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  add_output_options(*command, options->output);
  command
      ->add_option("--ignore", options->ignores, "Leave a rule out of the verdict; checks.ignore and comments can, too")
      ->type_name("RULE[=REASON]")
      ->allow_extra_args(false);
  command->add_option("--fail-on", options->fail_on, "The level of a finding from which on the verdict is fail")
      ->check(CLI::IsMember({"error", "warning", "note"}))
      ->type_name("LEVEL")
      ->capture_default_str();
  command->add_flag("--strict", options->strict, "A verdict of undecided is exit code 1, too");
  command->add_option("--today", options->today, "The date that end-of-life tables are held against")
      ->type_name("YYYY-MM-DD");
  command->add_option("--knowledge", options->knowledge, "Lay the tables of this folder over the built-in ones")
      ->type_name("DIR");
  command->callback([options, &action] { action = [options] { return check_all(*options); }; });
}

}  // namespace imgforge
