#include "options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "image/mirror.hpp"

namespace imgforge {

void add_image_options(CLI::App& command, ImageOptions& options) {
  command.add_option("--platform", options.platform, "Which image of an index: OS/ARCHITECTURE[/VARIANT] (default linux/amd64)")->type_name("PLATFORM");
  command.add_flag("--insecure", options.insecure, "Registries may speak plain HTTP, and their certificates are not checked");
  command.add_option("--authfile", options.authfile, "Logins for registries: an auth.json or config.json, instead of the usual places")->type_name("FILE");
  command.add_option("--mirror", options.mirrors, "Ask this registry first: docker.io=localhost:5000[/PREFIX]; may be given several times")->type_name("FROM=TO")->expected(1)->allow_extra_args(false)->take_all();
}

SourceOptions source_options(const ImageOptions& options) {
  SourceOptions source;
  source.insecure = options.insecure;
  source.authfile = options.authfile;
  for (const std::string& mirror : options.mirrors) source.mirrors.push_back(parse_mirror(mirror));
  if (options.platform.empty()) return source;
  const auto platform = Platform::parse(options.platform);
  if (!platform) {
    throw Error(ErrorKind::usage, fmt::format("--platform {} is no platform", escape_for_display(options.platform)), "write it as linux/amd64 or linux/arm64");
  }
  source.platform = *platform;
  source.platform_asked = true;
  return source;
}

Knowledge load_knowledge(const std::string& directory) { return directory.empty() ? Knowledge::embedded() : Knowledge::with_directory(directory); }

Runner target_of(const std::string& text) {
  const std::optional<Runner> target = parse_runner(text);
  if (target) return *target;
  const std::vector<std::string> known = {"dataflow", "dataflow-flex", "spark-serverless", "portable", "generic"};
  const auto near = nearest(text, known);
  throw Error(ErrorKind::usage, "--target " + escape_for_display(text) + " is no target", near ? "did you mean " + *near + "?" : "one of " + join_words(known));
}

Date date_or_today(const std::string& text) {
  if (text.empty()) return Date::today();
  const auto date = Date::parse(text);
  if (!date) throw Error(ErrorKind::usage, fmt::format("--today {} is no date", escape_for_display(text)), "write it as 2026-11-30");
  return *date;
}

bool color_on_stdout() {
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
}

void add_output_options(CLI::App& command, OutputOptions& options) {
  command
      .add_option_function<std::string>(
          "--format", [&options](const std::string& name) { options.format = *parse_report_format(name); },
          "text, json, sarif, junit or github")
      ->check(CLI::IsMember({"text", "json", "sarif", "junit", "github"}))
      ->type_name("FORMAT")
      ->default_str("text");
  command.add_option("--output", options.output, "Write the report to this file instead of stdout")->type_name("FILE");
  command.add_flag("-v,--verbose", options.verbose, "List what passed, too");
}

void write_report(const Report& report, const OutputOptions& options) {
  const bool color = options.output.empty() && color_on_stdout();
  const std::string text = write(report, options.format, {color, options.verbose});
  if (options.output.empty())
    print(text);
  else
    write_file_atomically(options.output, text);
  // Also on stderr where a program takes the report, so that the reason of the exit code is seen.
  const bool seen = options.output.empty() && options.format == ReportFormat::text && ::isatty(STDOUT_FILENO) == 1;
  for (const Subject& subject : report.subjects) {
    if (subject.error && !seen) tell_error(subject.error->message, subject.error->hint);
  }
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw Error(ErrorKind::file, "cannot write to standard output");
}

void tell_error(std::string_view message, std::string_view hint) {
  constexpr std::size_t longest = 4000;
  std::string text;
  for (const std::string_view line : lines(message)) text += (text.empty() ? "imgforge: " : "  ") + display_safe(line) + "\n";
  if (text.empty()) text = "imgforge: failed\n";
  if (text.size() > longest) text = text.substr(0, longest) + " ...\n";
  if (!hint.empty()) text += fmt::format("  = {}\n", display_safe(hint.substr(0, longest)));
  tell(text);
}

void tell(std::string_view text) { static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr)); }

void refuse_empty_values(CLI::App& app) {
  const auto given = [](const std::string& value) { return value.empty() ? std::string("the value is empty") : std::string(); };
  for (CLI::App* command : app.get_subcommands({})) {
    refuse_empty_values(*command);
    for (CLI::Option* option : command->get_options()) {
      if (option->get_items_expected_max() > 0) option->check(CLI::Validator(given, ""));
    }
  }
}

}  // namespace imgforge
