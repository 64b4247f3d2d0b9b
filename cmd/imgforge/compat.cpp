// imgforge compat: what goes with what, and who says so.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "base/text.hpp"
#include "check/compat_pages.hpp"
#include "check/solve.hpp"
#include "command.hpp"
#include "options.hpp"
#include "report/compat_report.hpp"

namespace imgforge {

namespace {

struct CompatOptions {
  std::vector<std::string> words;
  std::vector<std::string> constraints;  // of solve
  std::string python;
  std::string format = "text";
  std::string knowledge;
};

const std::vector<std::string> subjects{"beam", "python", "tensorflow", "torch", "jax",
                                        "cuda", "cudnn",  "gpu",        "tpu",   "solve"};

std::optional<Version> version_of(const std::vector<std::string>& words) {
  if (words.size() < 2) return std::nullopt;
  auto version = Version::parse(words[1]);
  if (!version) {
    throw Error(ErrorKind::usage, fmt::format("\"{}\" is no version", quoted_input(words[1])),
                fmt::format("imgforge compat {} shows all that the tables hold", words[0]));
  }
  return version;
}

std::optional<PythonMinor> minor_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  auto minor = PythonMinor::parse(text);
  if (!minor)
    throw Error(ErrorKind::usage, fmt::format("\"{}\" is no minor of Python", quoted_input(text)), "3.11, say");
  return minor;
}

CompatPage page_of(const Knowledge& knowledge, const CompatOptions& options) {
  const std::vector<std::string>& words = options.words;
  const std::string& subject = words.front();
  const std::string name = words.size() > 1 ? words[1] : "";
  if (words.size() > (subject == "tpu" ? 3 : 2)) {
    throw Error(ErrorKind::usage, fmt::format("compat {} takes one version or name", subject),
                "imgforge compat solve takes several things at once");
  }
  if (!options.python.empty() && subject != "beam")
    throw Error(ErrorKind::usage, "--python goes with compat beam and compat solve", "");
  if (subject == "beam") return beam_page(knowledge, version_of(words), minor_of(options.python));
  if (subject == "python") return python_page(knowledge, minor_of(name));
  if (subject == "cuda") return cuda_page(knowledge, version_of(words));
  if (subject == "cudnn") return cudnn_page(knowledge, version_of(words));
  if (subject == "gpu") return gpu_page(knowledge, name);
  if (subject == "tpu") return tpu_page(knowledge, name, words.size() > 2 ? words[2] : "");
  return framework_page(knowledge, subject, version_of(words));
}

int compat(const CompatOptions& options) {
  const std::string& subject = options.words.front();
  if (std::find(subjects.begin(), subjects.end(), subject) == subjects.end())
    unknown_name("subject", subject, subjects);
  const Knowledge knowledge = load_knowledge(options.knowledge);
  const Palette palette{color_on_stdout()};
  const bool json = options.format == "json";
  if (subject != "solve") {
    const CompatPage page = page_of(knowledge, options);
    print(json ? compat_json(page, knowledge) : compat_text(page, palette));
    return 0;
  }
  if (options.words.size() > 1) unknown_name("subject", options.words[1], subjects);
  std::vector<std::string> asked = options.constraints;
  if (!options.python.empty()) asked.push_back("python=" + options.python);
  const SolveResult result = solve(knowledge, parse_wish(knowledge, asked));
  print(json ? solve_json(result, asked, knowledge) : solve_text(result, asked, palette));
  return result.solution ? 0 : 1;
}

}  // namespace

namespace {

void add_options(CLI::App& command, CompatOptions& options, const std::string& python) {
  command.add_option("--python", options.python, python)->type_name("X.Y");
  command.add_option("--format", options.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  command.add_option("--knowledge", options.knowledge, "Tables to lay over the built-in ones")->type_name("DIR");
}

}  // namespace

void add_compat(CLI::App& app, Action& action) {
  auto options = std::make_shared<CompatOptions>();
  CLI::App* command = app.add_subcommand(
      "compat", "What goes with what: Beam, Python, frameworks, CUDA, cuDNN, GPUs, TPUs; and who says so");
  command->footer(
      "Examples:\n"
      "  imgforge compat tensorflow 2.15\n"
      "  imgforge compat torch\n"
      "  imgforge compat beam 2.66 --python 3.12\n"
      "  imgforge compat gpu nvidia-l4\n"
      "  imgforge compat tpu tpu-v6e-slice 1x1\n"
      "  imgforge compat solve beam=2.66 tensorflow gpu=nvidia-l4\n"
      "  imgforge compat solve beam torch=2.7 gpu=nvidia-tesla-t4 python=3.11 --format json\n\n"
      "imgforge compat solve --help shows what solve takes.\n"
      "Exit codes: 0 answered, 1 nothing fits (solve), 2 a name or version that the tables do not hold.");
  command
      ->add_option("SUBJECT", options->words,
                   "beam, python, tensorflow, torch, jax, cuda, cudnn, gpu, tpu, with a version or a type; or solve "
                   "with what is wanted")
      ->type_name("");
  add_options(*command, *options, "Of beam and solve: the minor of Python");

  CLI::App* solver =
      command->add_subcommand("solve", "Chooses versions that go together, the newest of what is left open");
  solver->footer(
      "CONSTRAINT is one of these, alone or as NAME=VALUE:\n"
      "  beam, python, tensorflow, torch, jax   alone: the newest that goes with the rest; or =VERSION\n"
      "  gpu=TYPE, tpu=TYPE[:TOPOLOGY]          what the worker gets; needs a framework\n"
      "  cuda=wheels, cuda=base, cuda=VERSION   where CUDA comes from, and which; needs gpu\n"
      "  cudnn=VERSION                          needs gpu\n\n"
      "Examples:\n"
      "  imgforge compat solve beam=2.66 tensorflow gpu=nvidia-l4\n"
      "  imgforge compat solve beam jax tpu=tpu-v6e-slice:1x1\n"
      "  imgforge compat solve torch=2.7 gpu=nvidia-tesla-t4 cuda=base --format json\n\n"
      "Exit codes: 0 solved, 1 nothing fits, 2 a name or version that the tables do not hold.");
  solver->add_option("CONSTRAINT", options->constraints, "What is wanted")->type_name("");
  add_options(*solver, *options, "As python=X.Y");

  command->callback([command, solver, options, &action] {
    if (command->got_subcommand(solver))
      options->words.insert(options->words.begin(), "solve");
    else if (options->words.empty())
      throw CLI::RequiredError("SUBJECT");
    action = [options] { return compat(*options); };
  });
}

}  // namespace imgforge
