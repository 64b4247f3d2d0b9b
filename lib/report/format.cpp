#include "report/report.hpp"

extern "C" const char imgforge_report_schema_begin[];
extern "C" const char imgforge_report_schema_end[];

namespace imgforge {

std::string_view to_string(ReportFormat format) noexcept {
  switch (format) {
    case ReportFormat::text: return "text";
    case ReportFormat::json: return "json";
    case ReportFormat::sarif: return "sarif";
    case ReportFormat::junit: return "junit";
    case ReportFormat::github: return "github";
  }
  return "text";
}

std::optional<ReportFormat> parse_report_format(std::string_view text) noexcept {
  for (const ReportFormat format : {ReportFormat::text, ReportFormat::json, ReportFormat::sarif, ReportFormat::junit, ReportFormat::github}) {
    if (text == to_string(format)) return format;
  }
  return std::nullopt;
}

std::string write(const Report& report, ReportFormat format, const TextStyle& style) {
  switch (format) {
    case ReportFormat::text: return to_text(report, style);
    case ReportFormat::json: return to_json(report);
    case ReportFormat::sarif: return to_sarif(report);
    case ReportFormat::junit: return to_junit(report);
    case ReportFormat::github: return to_github(report);
  }
  return {};
}

std::string_view report_json_schema() { return {imgforge_report_schema_begin, imgforge_report_schema_end}; }

std::string rule_url(std::string_view rule) {
  if (rule.starts_with("structure-test/")) return "https://imgforge.dev/docs/structure-tests.md";
  // The anchor that GitHub and GitLab make of the heading.
  std::string url = "https://imgforge.dev/docs/rules.md#";
  for (const char c : rule) {
    if (c != '/') url += c;
  }
  return url;
}

}  // namespace imgforge
