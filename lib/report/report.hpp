// What was found, as a value, and its two spellings: text for people, JSON for programs (schema imgforge.report/v1,
// docs/report.schema.json).
//
// Names, labels and paths come from images and are hostile: every spelling escapes them, and the JSON is ASCII.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/date.hpp"
#include "base/error.hpp"
#include "check/checker.hpp"
#include "facts/facts.hpp"
#include "image/source.hpp"
#include "layer/root_view.hpp"

namespace imgforge {

/// The recipe that the image was held against.
struct RecipeUsed {
  std::string source;  // a file's name, or "label"
  std::string digest;  // of its compact JSON
  std::vector<std::string> not_understood;
  std::string problem; // why it could not be read; empty otherwise
};

struct SubjectError {
  ErrorKind kind;
  std::string message;
  std::string hint;
};

/// The texts that places of findings are in, by the name that the places call them, so that the line can be shown.
using SourceTexts = std::map<std::string, std::shared_ptr<const std::string>, std::less<>>;

/// One image, recipe or Dockerfile and all that is to be said of it.
struct Subject {
  SubjectKind kind = SubjectKind::image;
  std::string name;                         // as the user wrote it
  SourceTexts texts;                        // of a recipe or a Dockerfile, and of files beside it
  std::string digest;                       // of the manifest, else of the config; empty where there was none
  std::string platform;
  std::optional<JudgedAs> judged_as;
  std::optional<SubjectError> error;        // then there is no verdict
  Outcome outcome;
  std::optional<RecipeUsed> recipe;
  std::shared_ptr<const nlohmann::json> facts;           // facts_to_json; may be null
  std::shared_ptr<const nlohmann::json> facts_evidence;
  Depth depth = Depth::full;
  std::optional<Proof> proof;               // the weakest that the verdict rests on; of an image alone
  ReadCost cost;
};

/// "toc", "digest" or "full", as reports and --assurance say it.
std::string_view to_string(Proof proof) noexcept;

struct Report {
  std::vector<Subject> subjects;
  Date today;
  std::string knowledge_version;
  Level fail_on = Level::error;  // --fail-on
};

/// The exit code of a report: the largest of its subjects' (DESIGN: 0 clean, 1 findings, 3 unreadable). With `strict`,
/// undecided counts as 1.
int exit_code(const Report& report, bool strict);

std::string to_json(const Report& report);

struct TextStyle {
  bool color = false;
  bool verbose = false;  // also what passed
};
std::string to_text(const Report& report, const TextStyle& style);

/// The page of a rule: "https://.../rules.md#beamboot-missing".
std::string rule_url(std::string_view rule);

/// The same for the same fault of the same subject, whatever lies around it: layers, lines and wording do not enter.
std::string fingerprint(const Finding& finding);

/// SARIF 2.1.0 (OASIS), one run. Columns are Unicode code points; fingerprints are partialFingerprints["imgforge/v1"].
std::string to_sarif(const Report& report);

/// JUnit's XML as CI systems read it: a suite a subject, a case a rule that was asked. A finding at or above fail_on is a
/// failure, what is undecided or ignored is skipped, a subject without verdict is an error.
std::string to_junit(const Report& report);

/// Workflow commands of GitHub Actions: "::error file=...,line=...,col=...,title=...::message", one a line.
std::string to_github(const Report& report);

enum class ReportFormat { text, json, sarif, junit, github };
std::string_view to_string(ReportFormat format) noexcept;
std::optional<ReportFormat> parse_report_format(std::string_view text) noexcept;

/// In that format; `style` is for text.
std::string write(const Report& report, ReportFormat format, const TextStyle& style = {});

/// The JSON Schema (draft 2020-12) of to_json's documents.
std::string_view report_json_schema();

}  // namespace imgforge
