#include "facts/requirements_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace imgforge {
namespace {

constexpr std::size_t max_file = 1 << 20;
constexpr std::size_t max_files = 64;
constexpr std::size_t max_depth = 16;
constexpr std::size_t max_requirements = 20'000;
constexpr std::size_t max_not_known = 100;

struct LogicalLine {
  std::string text;
  std::size_t number = 0;
};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// A comment begins at the start or behind a blank.
std::string_view without_comment(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || is_blank(line[i - 1]))) return line.substr(0, i);
  }
  return line;
}

/// Lines joined where they end in a backslash, as pip does: a comment line between ends nothing.
std::vector<LogicalLine> logical_lines(std::string_view text) {
  std::vector<LogicalLine> result;
  std::string joined;
  std::size_t first = 0, number = 0;
  for (const std::string_view line : lines(text)) {
    ++number;
    const bool comment = trim(line).starts_with("#");
    if (!line.ends_with("\\") || comment) {
      if (comment && first > 0) {
        // pip keeps the comment away from what it was joined to.
        joined += ' ';
        joined += line;
      } else {
        joined += line;
      }
      result.push_back({std::move(joined), first > 0 ? first : number});
      joined.clear();
      first = 0;
      continue;
    }
    if (first == 0) first = number;
    joined += line.substr(0, line.size() - 1);
  }
  if (first > 0) result.push_back({std::move(joined), first});
  return result;
}

bool is_url(std::string_view text) { return text.find("://") != std::string_view::npos; }

bool is_location(std::string_view text) {
  return is_url(text) || text.starts_with(".") || text.starts_with("/") || text.starts_with("git+") ||
         text.find('/') != std::string_view::npos || text.ends_with(".whl") || text.ends_with(".tar.gz") ||
         text.ends_with(".zip");
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  char quote = '\0';
  bool open = false;
  for (const char c : text) {
    if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (is_blank(c)) {
      if (open || !word.empty()) words.push_back(std::exchange(word, {}));
      open = false;
    } else {
      word += c;
    }
  }
  if (open || !word.empty()) words.push_back(std::move(word));
  return words;
}

class Reader {
 public:
  Reader(const IncludedFile& file, const RequirementVariable& variable) : file_(file), variable_(variable) {}

  void read(const std::string& path, bool constraints) {
    if (is_url(path)) {
      not_known(fmt::format("{} is not read: it is a URL", escape_for_display(path)));
      return;
    }
    if (std::find(open_.begin(), open_.end(), path) != open_.end()) return;  // it includes itself
    if (open_.size() >= max_depth || ++files_ > max_files) {
      not_known(fmt::format("{} is not read: too many files include each other", escape_for_display(path)));
      return;
    }
    const std::optional<std::string> text = file_ ? file_(path) : std::nullopt;
    if (!text) {
      not_known(fmt::format("{} is not there", escape_for_display(path)));
      return;
    }
    if (text->size() > max_file || text->find('\0') != std::string::npos) {
      not_known(fmt::format("{} is no requirements file: {}", escape_for_display(path),
                            text->size() > max_file ? "it is too large" : "it is no text"));
      return;
    }
    std::string_view content = *text;
    if (content.starts_with("\xEF\xBB\xBF")) content.remove_prefix(3);
    open_.push_back(path);
    for (const LogicalLine& line : logical_lines(content)) {
      if (result_.requirements.size() + result_.constraints.size() >= max_requirements) {
        not_known(fmt::format("{} holds more than {} requirements", escape_for_display(path), max_requirements));
        break;
      }
      read_line(path, line, constraints);
    }
    open_.pop_back();
  }

  RequirementsFile take() { return std::move(result_); }

 private:
  void not_known(std::string why) {
    if (result_.not_known.size() < max_not_known) result_.not_known.push_back(std::move(why));
  }

  /// ${NAME} in capitals alone; false where one has no value.
  bool replace_variables(std::string& text) const {
    bool known = true;
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t end = text.compare(i, 2, "${") == 0 ? text.find('}', i) : std::string::npos;
      const std::string_view name =
          end == std::string::npos ? std::string_view() : std::string_view(text).substr(i + 2, end - i - 2);
      const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      });
      if (!plain) {
        result += text[i++];
        continue;
      }
      const auto value = variable_ ? variable_(name) : std::nullopt;
      if (value && result.size() + value->size() < max_file) {
        result += *value;
      } else {
        known = false;
        result.append(text, i, end + 1 - i);
      }
      i = end + 1;
    }
    text = std::move(result);
    return known;
  }

  void read_line(const std::string& path, const LogicalLine& line, bool constraints) {
    std::string text(trim(without_comment(line.text)));
    if (text.empty()) return;
    const bool known = replace_variables(text);
    const Place place{path, line.number, 1};
    if (text.starts_with("-")) {
      option_line(path, text, place, known);
      return;
    }
    // Options follow the requirement: pip cuts at the first word that starts with '-'.
    std::size_t end = text.size();
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (text[i] == '-' && is_blank(text[i - 1])) {
        end = i;
        break;
      }
    }
    RequirementLine made;
    made.hashed = text.find("--hash", end) != std::string::npos;
    made.written = std::string(trim(std::string_view(text).substr(0, end)));
    made.place = place;
    add(std::move(made), known, constraints);
  }

  void add(RequirementLine line, bool known, bool constraints) {
    if (!known) {
      not_known(fmt::format("{}: a variable of \"{}\" has no value", to_string(line.place),
                            escape_for_display(line.written)));
    } else if (!line.editable) {
      line.requirement = Requirement::parse(line.written);
    }
    if (known && !line.requirement) {
      if ((line.editable && !line.written.empty()) || is_location(line.written)) {
        line.location = line.written;
      } else {
        not_known(fmt::format("{}: cannot read \"{}\"", to_string(line.place),
                              escape_for_display(std::string_view(line.written).substr(0, 200))));
      }
    }
    (constraints ? result_.constraints : result_.requirements).push_back(std::move(line));
  }

  static std::string beside(const std::string& path, const std::string& name) {
    const std::size_t slash = path.rfind('/');
    if (name.starts_with("/") || is_url(name) || slash == std::string::npos) return name;
    return path.substr(0, slash + 1) + name;
  }

  void option_line(const std::string& path, const std::string& text, const Place& place, bool known) {
    const std::vector<std::string> words = words_of(text);
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string name = words[i];
      std::string value;
      bool attached = false;
      if (name.starts_with("--")) {
        if (const std::size_t equals = name.find('='); equals != std::string::npos) {
          value = name.substr(equals + 1);
          name.resize(equals);
          attached = true;
        }
      } else if (name.size() > 2) {
        value = name.substr(2);
        if (value.starts_with("=")) value.erase(0, 1);
        name.resize(2);
        attached = true;
      }
      static constexpr std::string_view flags[] = {"--no-index", "--pre", "--prefer-binary", "--require-hashes"};
      if (std::find(std::begin(flags), std::end(flags), name) == std::end(flags) && !attached && i + 1 < words.size())
        value = words[++i];
      option(path, name, value, place, known);
    }
  }

  void option(const std::string& path, const std::string& name, const std::string& value, const Place& place,
              bool known) {
    const bool file = name == "-r" || name == "--requirement" || name == "-c" || name == "--constraint";
    const bool editable = name == "-e" || name == "--editable";
    if ((file || editable) && value.empty()) {
      not_known(fmt::format("{}: nothing follows {}", to_string(place), name));
      return;
    }
    if (file) {
      if (!known) {
        not_known(fmt::format("{}: a variable of \"{}\" has no value", to_string(place), escape_for_display(value)));
      } else {
        read(beside(path, value), name == "-c" || name == "--constraint");
      }
    } else if (editable) {
      RequirementLine line;
      line.editable = true;
      line.written = value;
      line.place = place;
      add(std::move(line), known, false);
    } else if (name == "-i" || name == "--index-url" || name == "--pypi-url") {
      result_.index_urls.push_back(value);
      result_.replaces_index = true;
    } else if (name == "--extra-index-url") {
      result_.index_urls.push_back(value);
    } else if (name == "-f" || name == "--find-links") {
      result_.find_links.push_back(value);
    } else if (name == "--no-index") {
      result_.no_index = result_.replaces_index = true;
    } else if (name == "--pre") {
      result_.pre = true;
    } else if (name == "--no-binary") {
      result_.no_binary = value != ":none:";
    } else if (name == "--require-hashes") {
      result_.require_hashes = true;
    }
  }

  const IncludedFile& file_;
  const RequirementVariable& variable_;
  RequirementsFile result_;
  std::vector<std::string> open_;
  std::size_t files_ = 0;
};

}  // namespace

RequirementsFile read_requirements_file(const std::string& path, const IncludedFile& file,
                                        const RequirementVariable& variable, bool as_constraints) {
  Reader reader(file, variable);
  reader.read(path, as_constraints);
  return reader.take();
}

}  // namespace imgforge
