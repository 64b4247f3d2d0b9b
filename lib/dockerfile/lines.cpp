#include "dockerfile/lines.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace imgforge::dockerfile {
namespace {

constexpr std::size_t longest_line = 65'535;  // what BuildKit's scanner takes

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_comment(std::string_view line) { return trim_left_space(line).starts_with('#'); }

std::size_t column_of(std::string_view line, std::string_view part) {
  return static_cast<std::size_t>(part.data() - line.data()) + 1;
}

}  // namespace

std::optional<DirectiveReader::Directive> DirectiveReader::read(std::string_view line, std::string& error) {
  if (done_) return std::nullopt;
  done_ = true;
  if (!line.starts_with(sign_)) return std::nullopt;
  line = trim_left_space(line.substr(sign_.size()));
  std::size_t end = 0;
  while (end < line.size() && (is_letter(line[end]) || (end != 0 && is_digit(line[end])))) ++end;
  Directive directive{lower(line.substr(0, end)), {}};
  line = trim(line.substr(end));
  if (!line.starts_with('=')) return std::nullopt;
  directive.value = std::string(trim(line.substr(1)));
  if (directive.value.empty()) return std::nullopt;
  if (directive.name != "syntax" && directive.name != "escape" && directive.name != "check") return std::nullopt;
  done_ = false;
  if (!seen_.insert(directive.name).second) {
    error = "only one " + directive.name + " parser directive can be used";
    return std::nullopt;
  }
  return directive;
}

std::string find_syntax(const TextFile& file) {
  const std::size_t first = file.line(1).starts_with("#!") ? 2 : 1;
  for (const std::string_view sign : {"#", "//"}) {
    DirectiveReader reader(sign);
    for (std::size_t number = first; number <= file.line_count(); ++number) {
      std::string error;
      const auto directive = reader.read(file.line(number), error);
      if (!directive) break;
      if (directive->name == "syntax") return directive->value.substr(0, directive->value.find(' '));
    }
  }
  return {};
}

bool LineReader::take_line(std::string_view& line) {
  if (line_number_ >= file_.line_count()) return false;
  if (file_.line(line_number_ + 1).size() > longest_line) {
    file_.report(file_.place(line_number_ + 1, 1),
                 "dockerfile line greater than max allowed size of " + std::to_string(longest_line));
    line_number_ = file_.line_count();
    return false;
  }
  line = file_.line(++line_number_);
  return true;
}

void LineReader::take_directive(std::string_view line) {
  std::string error;
  const auto directive = directives_.read(line, error);
  const Place place = file_.place(line_number_, column_of(file_.line(line_number_), line));
  if (!error.empty()) file_.report(place, error);
  if (!directive || directive->name != "escape") return;
  if (directive->value == "`" || directive->value == "\\") {
    escape_ = directive->value.front();
  } else {
    file_.report(place, "invalid escape token '" + to_utf8(directive->value) + "' does not match ` or \\");
  }
}

// "# imgforge: ignore=..." and the like.
void LineReader::take_comment(std::string_view line) {
  constexpr std::string_view sign = "imgforge:";
  const std::string_view comment = trim_left_space(line);
  const std::string_view text = trim(comment.substr(1));
  if (lower(text.substr(0, sign.size())) != sign) return;
  pragmas.push_back({std::string(trim(text.substr(sign.size()))),
                     file_.place(line_number_, column_of(file_.line(line_number_), comment)), 0});
}

// Whether a line ends in the escape character, which is then taken away. One that is escaped itself does not count.
bool LineReader::continues(std::string_view& line) const {
  std::size_t end = line.size();
  while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == '\t')) --end;
  if (end == 0 || line[end - 1] != escape_ || (end > 1 && line[end - 2] == escape_)) return false;
  line = line.substr(0, end - 1);
  return true;
}

// Pragmas that wait for the line that they speak of: it is this one.
void LineReader::settle_pragmas() {
  for (; settled_pragmas_ < pragmas.size(); ++settled_pragmas_) pragmas[settled_pragmas_].next_line = line_number_;
}

std::optional<JoinedLine> LineReader::next() {
  std::string_view line;
  while (take_line(line)) {
    const std::string_view raw = line;
    line = trim_left_space(line);
    take_directive(line);
    if (line.starts_with('#')) {
      take_comment(line);
      continue;
    }
    bool more = continues(line);
    if (line.empty() && !more) continue;
    settle_pragmas();
    JoinedLine joined;
    joined.first_line = joined.last_line = line_number_;
    joined.text.append(line, file_.place(line_number_, column_of(raw, line)));
    while (more && take_line(line)) {
      joined.last_line = line_number_;
      if (is_comment(line)) {
        take_comment(line);
        continue;
      }
      if (trim_left_space(line).empty()) continue;
      settle_pragmas();
      more = continues(line);
      joined.text.append(line, file_.place(line_number_, 1));
    }
    return joined;
  }
  return std::nullopt;
}

HeredocLines LineReader::heredoc(std::string_view name, bool tabs_before_name) {
  HeredocLines lines;
  lines.first = lines.end = line_number_ + 1;
  std::string_view line;
  while (take_line(line)) {
    if (tabs_before_name) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
    if (line == name) {
      lines.terminated = true;
      return lines;
    }
    lines.end = line_number_ + 1;
  }
  return lines;
}

}  // namespace imgforge::dockerfile
