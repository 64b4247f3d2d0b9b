// Options that several subcommands take, and what they come to.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/date.hpp"
#include "image/platform.hpp"
#include "image/source.hpp"
#include "knowledge/knowledge.hpp"
#include "recipe/recipe.hpp"
#include "report/report.hpp"

namespace CLI {
class App;
}

namespace imgforge {

struct ImageOptions {
  std::string platform;  // as written; empty where it was not asked for
  bool insecure = false;
  std::string authfile;
  std::vector<std::string> mirrors;  // FROM=TO, as written
};

void add_image_options(CLI::App& command, ImageOptions& options);

/// Throws Error(usage) where the platform is none.
SourceOptions source_options(const ImageOptions& options);

/// The embedded tables, or those with `directory` laid over them where it is not empty.
Knowledge load_knowledge(const std::string& directory);

/// The runner of --target. Throws Error(usage).
Runner target_of(const std::string& text);

/// The date of --today, or today's. Throws Error(usage).
Date date_or_today(const std::string& text);

/// Whether to colour what goes to stdout: a terminal, and NO_COLOR (no-color.org) is not set.
bool color_on_stdout();

/// The whole text to stdout. Throws Error(file).
void print(std::string_view text);

/// --format and --output of the subcommands that judge.
struct OutputOptions {
  ReportFormat format = ReportFormat::text;
  std::string output;    // a file; stdout where it is empty
  bool verbose = false;  // text: also what passed
};

/// --format text|json|sarif|junit|github, --output FILE and -v.
void add_output_options(CLI::App& command, OutputOptions& options);

/// The report, whole, to stdout or, atomically, to the file of --output. Why a subject has no verdict goes to stderr too,
/// where nobody reads the report on a terminal. Throws Error(file).
void write_report(const Report& report, const OutputOptions& options);

/// Text for people, on stderr. Never throws: where nobody can be told, the exit code still says it.
void tell(std::string_view text);

/// "imgforge: MESSAGE" and "  = HINT" on stderr, safe for a terminal, and bounded: a message may hold what a server sent.
void tell_error(std::string_view message, std::string_view hint);

/// An option that is given says something: `--recipe "$RECIPE"` with RECIPE unset must not mean "no recipe", nor pass.
/// For options and positionals of every subcommand.
void refuse_empty_values(CLI::App& app);

}  // namespace imgforge
