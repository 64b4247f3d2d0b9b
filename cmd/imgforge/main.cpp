// imgforge: parses arguments, runs the subcommand, and turns what it throws into one message and an exit code.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "options.hpp"

namespace imgforge {

namespace {

/// A closed standard stream's number would go to the next file that is opened, and messages into an image or a
/// Dockerfile. The wrong way round, so that writing to it, or reading standard input, still fails as
/// it does with a closed stream.
void keep_standard_streams_apart() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) == -1)
      static_cast<void>(::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

/// The words that a user may have meant: options of the subcommand that was chosen, or the subcommands.
std::vector<std::string> known_words(const CLI::App& app) {
  std::vector<std::string> words;
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    for (const CLI::App* command : app.get_subcommands({})) words.push_back(command->get_name());
    words.emplace_back("--version");
    words.emplace_back("--help");
    return words;
  }
  for (const CLI::Option* option : chosen.front()->get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  return words;
}

int usage_error(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  const auto chosen = app.get_subcommands();
  std::string message = error.what();
  if (chosen.empty() && !words.empty() && !words.front().starts_with('-')) message = "there is no command " + (words.front().empty() ? "\"\"" : words.front());
  std::string hint;
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (!chosen.empty() && !name.starts_with("--")) continue;  // an image or a file is no misspelt option
    if (const auto meant = nearest(name, known_words(app)); meant && *meant != name) hint = fmt::format("did you mean {}?", *meant);
  }
  if (hint.empty()) hint = fmt::format("imgforge {}--help shows what it takes", chosen.empty() ? "" : chosen.front()->get_name() + " ");
  tell_error(message, hint);
  return exit_code(ErrorKind::usage);
}

}  // namespace

int run(int argc, char* argv[]) {
  CLI::App app{"Container images for Beam and Spark on accelerators: rendered from recipes, verified without running or unpacking them.", "imgforge"};
  app.set_version_flag("--version", "imgforge " IMGFORGE_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  app.footer(
      "Examples:\n"
      "  imgforge render recipes/dataflow-gpu-wheels.yaml -o Dockerfile\n"
      "  imgforge check Dockerfile\n"
      "  imgforge verify europe-docker.pkg.dev/PROJECT/REPO/IMAGE:TAG\n"
      "  imgforge verify --format json oci:build/image\n"
      "  imgforge inspect docker-archive:image.tar\n\n"
      "Exit codes: 0 clean, 1 findings, 2 usage or recipe at fault, 3 an image could not be read.");
  Action action;
  add_render(app, action);
  add_check(app, action);
  add_schema(app, action);
  add_verify(app, action);
  add_inspect(app, action);
  add_explain(app, action);
  add_compat(app, action);
  add_cache(app, action);
  refuse_empty_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    const int code = app.exit(asked);
    std::cout.flush();
    if (!std::cout) throw Error(ErrorKind::file, "cannot write to standard output");
    return code;
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error, std::vector<std::string>(argv + 1, argv + argc));
  }
  const int code = action();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw Error(ErrorKind::file, "cannot write to standard output");
  return code;
}

}  // namespace imgforge

int main(int argc, char* argv[]) {
  imgforge::keep_standard_streams_apart();
  // libarchive reads pax names only under a UTF-8 LC_CTYPE; nothing else of the locale is wanted.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  // A peer that closes its connection is an error to report, not a reason to die.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return imgforge::run(argc, argv);
  } catch (const imgforge::Error& error) {
    imgforge::tell_error(error.message(), error.hint());
    return imgforge::exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    imgforge::tell_error("out of memory", "");
    return 3;
  } catch (const std::exception& error) {
    imgforge::tell_error(fmt::format("unexpected: {}", error.what()), "this is a fault of imgforge: please report it with the command line");
    return 2;
  }
}
