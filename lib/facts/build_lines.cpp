// Instructions as reports show them, and the secrets that must not be shown.
#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "recipe/secret.hpp"

namespace imgforge {

namespace {

constexpr std::size_t max_line = 200;
constexpr std::size_t max_secrets = 2'000;

std::string with_secrets_out(std::string_view text) {
  std::string kept;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const std::size_t equals = word.find('=');
    const bool pair = equals != std::string_view::npos && equals > 0;
    if (!word.empty() && looks_secret(pair ? word.substr(0, equals) : "", pair ? word.substr(equals + 1) : word)) {
      kept += pair ? std::string(word.substr(0, equals + 1)) + "..." : "...";
    } else {
      kept += word;
    }
    if (end < text.size()) kept += text[end];
    at = end + 1;
    if (kept.size() > 2 * max_line) break;
  }
  return kept;
}

std::string shortened(std::string text) {
  if (text.size() <= max_line) return text;
  text.resize(max_line);
  while (!text.empty() && !is_utf8(text)) text.pop_back();
  return text;
}

/// hf_transfer and hf_xet are packages; Hugging Face's tokens, which begin alike, are no words.
bool is_package(std::string_view value) {
  const std::string_view name = value.substr(0, value.find_first_of("=<>!~[;"));
  return name.starts_with("hf_") && name.size() <= 20 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_-") == std::string_view::npos;
}

}  // namespace

std::string BuildReader::short_line(const Instruction& instruction) const {
  std::string line(dockerfile::to_string(instruction.kind));
  for (const auto& flag : instruction.flags) {
    line += " --" + flag.name;
    if (flag.value) line += "=" + *flag.value;
  }
  if (instruction.json) {
    std::vector<std::string> words;
    for (const Word& word : instruction.words) words.push_back("\"" + word.text + "\"");
    line += " [" + join(words, ", ") + "]";
  } else if (!instruction.assignments.empty()) {
    for (const auto& one : instruction.assignments) {
      line += " " + one.name.text;
      if (one.value)
        line += "=" + (looks_secret(one.name.text, one.value->text) ? std::string("...") : one.value->text);
      if (line.size() > 2 * max_line) break;
    }
  } else if (!instruction.command.text().empty()) {
    line += " " + instruction.command.text().substr(0, 2 * max_line);
  } else {
    for (const Word& word : instruction.words) {
      line += " " + word.text;
      if (line.size() > 2 * max_line) break;
    }
  }
  return shortened(with_secrets_out(line));
}

StepPlace BuildReader::step_at(const Place& place, const Instruction& instruction) const {
  StepPlace at;
  at.place = place;
  if (at.place.line == 0) at.place = instruction.place;
  const auto& stage = dockerfile_.stages[current_];
  at.stage = stage.name.empty() ? std::to_string(current_) : stage.name;
  at.in_image = in_image_[current_];
  if (line_of_ != &instruction) {
    line_of_ = &instruction;
    line_ = short_line(instruction);
  }
  at.line = line_;
  return at;
}

void BuildReader::note_secret(const std::string& name, const std::string& value, const Place& place,
                              const Instruction& instruction, const std::string& where) {
  if (value.size() < 6 || build_->secrets.size() >= max_secrets) return;
  // A path, a switch or a URL without a login is none, whatever the variable is called.
  const bool by_name = looks_secret(name, "");
  const bool by_value = looks_secret("", value) && !is_package(value);
  if (!by_value) {
    if (!by_name) return;
    // Keys of AWS are base64: a slash inside one makes no path of it.
    const auto has = [&](char low, char high) {
      return std::any_of(value.begin(), value.end(), [&](char c) { return c >= low && c <= high; });
    };
    const bool base64 = value.size() >= 32 && value.front() != '/' && value.find("//") == std::string::npos &&
                        value.find('.') == std::string::npos && has('a', 'z') && has('A', 'Z') && has('0', '9');
    if (value.find_first_of(base64 ? " $<>{}" : "/ $<>{}") != std::string::npos ||
        lower(name).find("public") != std::string::npos)
      return;
    static const std::set<std::string, std::less<>> harmless = {"changeme", "default",  "disabled",
                                                                "enabled",  "required", "optional"};
    if (harmless.contains(lower(value)) || value.find_first_not_of("0123456789.") == std::string::npos) return;
    const std::string lower_name = lower(name);
    for (const char* end : {"_file", "_path", "_dir", "_name", "_url", "_id", "_sha256", "_fingerprint", "gpg_key"}) {
      if (lower_name.ends_with(end)) return;
    }
  }
  SecretUse use;
  use.at = step_at(place, instruction);
  use.at.line.clear();
  use.name = name;
  use.where = where;
  build_->secrets.push_back(std::move(use));
}

}  // namespace imgforge
