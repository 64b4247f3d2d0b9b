#include "report/report.hpp"

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

}  // namespace imgforge
