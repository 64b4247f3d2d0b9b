#include "render/support.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.hpp"
#include "base/text.hpp"

namespace imgforge::test {

const Knowledge& knowledge() {
  static const Knowledge tables = Knowledge::embedded();
  return tables;
}

const Templates& templates() {
  static const Templates blocks = Templates::embedded();
  return blocks;
}

Recipe recipe_of(const std::string& text, const std::vector<std::string>& overrides) {
  RecipeParse parse = parse_recipe(text, "recipe.yaml", overrides);
  std::string said;
  for (const Diagnostic& diagnostic : parse.diagnostics) said += to_string(diagnostic);
  INFO(text);
  INFO(said);
  REQUIRE(parse.recipe);
  return std::move(*parse.recipe);
}

Plan plan_of(const std::string& recipe, const std::vector<std::string>& overrides) {
  PlanResult result = make_plan(recipe_of(recipe, overrides), knowledge());
  std::string said;
  for (const Diagnostic& diagnostic : result.diagnostics) said += to_string(diagnostic);
  INFO(recipe);
  INFO(said);
  REQUIRE(result.plan);
  return std::move(*result.plan);
}

std::string dockerfile_of(const std::string& recipe, const std::vector<std::string>& overrides) {
  return render_dockerfile(plan_of(recipe, overrides), templates());
}

std::string said_of(const std::string& recipe, const std::vector<std::string>& overrides) {
  const PlanResult result = make_plan(recipe_of(recipe, overrides), knowledge());
  std::string said;
  for (const Diagnostic& diagnostic : result.diagnostics) said += to_string(diagnostic);
  CHECK(result.plan.has_value() != has_errors(result.diagnostics));
  return said;
}

std::string repository_recipe(const std::string& name) {
  return read_file(IMGFORGE_SOURCE_DIR "/recipes/" + name + ".yaml", 1 << 20);
}

const std::vector<std::string>& repository_recipes() {
  static const std::vector<std::string> names = {
      "dataflow-gpu-beam-image",       "dataflow-gpu-conda",  "dataflow-gpu-deadsnakes", "dataflow-gpu-ngc-tensorflow",
      "dataflow-gpu-tensorflow-image", "dataflow-gpu-wheels", "dataflow-tpu-jax",        "dataflow-tpu-torch"};
  return names;
}

std::vector<Instruction> instructions(const std::string& dockerfile) {
  std::vector<Instruction> result;
  bool goes_on = false;
  for (const std::string_view line : lines(dockerfile)) {
    const std::string_view text = trim(line);
    if (text.starts_with('#')) continue;
    if (text.empty()) {
      // Builders warn of it, and say that they will refuse it.
      INFO(dockerfile);
      CHECK_FALSE(goes_on);
      continue;
    }
    const bool continued = line.ends_with('\\');
    const std::string_view part = continued ? line.substr(0, line.size() - 1) : line;
    if (goes_on) {
      result.back().arguments += part;
    } else {
      const std::size_t space = part.find(' ');
      REQUIRE(space != std::string_view::npos);
      result.push_back({std::string(part.substr(0, space)), std::string(part.substr(space + 1))});
    }
    goes_on = continued;
  }
  CHECK_FALSE(goes_on);
  return result;
}

std::vector<std::string> all(const std::string& dockerfile, std::string_view keyword) {
  std::vector<std::string> result;
  for (Instruction& instruction : instructions(dockerfile)) {
    if (instruction.keyword == keyword) result.push_back(std::move(instruction.arguments));
  }
  return result;
}

std::string unquoted(const std::string& word, bool expansions) {
  std::string result;
  char quote = 0;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    if (quote == '\'') {
      if (c == '\'')
        quote = 0;
      else
        result += c;
    } else if (c == '\\') {
      REQUIRE(i + 1 < word.size());
      const char next = word[++i];
      // Within double quotes a backslash escapes these alone, and stays before others.
      if (quote == '"' && next != '"' && next != '$' && next != '\\') result += c;
      result += next;
    } else if (c == '"') {
      quote = quote == 0 ? '"' : static_cast<char>(0);
    } else if (c == '\'' && quote == 0) {
      quote = '\'';
    } else {
      INFO(word);
      if (!expansions) CHECK(c != '$');
      result += c;
    }
  }
  INFO(word);
  CHECK(quote == 0);
  return result;
}

std::vector<std::pair<std::string, std::string>> pairs(const std::string& arguments, bool expansions) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const char c = arguments[i];
    if (quote == 0 && (c == ' ' || c == '\t')) {
      if (!words.back().empty()) words.emplace_back();
      continue;
    }
    words.back() += c;
    if (c == '\\' && quote != '\'' && i + 1 < arguments.size())
      words.back() += arguments[++i];
    else if (quote == 0 && (c == '"' || c == '\''))
      quote = c;
    else if (c == quote)
      quote = 0;
  }
  if (words.back().empty()) words.pop_back();
  std::vector<std::pair<std::string, std::string>> result;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    INFO(arguments);
    REQUIRE(equals != std::string::npos);  // "can't find = in ...": what a comment behind the value comes to
    result.emplace_back(unquoted(word.substr(0, equals)), unquoted(word.substr(equals + 1), expansions));
  }
  return result;
}

std::vector<std::string> words_given(const std::string& command, const std::string& program,
                                     const std::vector<std::string>& silent) {
  const std::string script = std::filesystem::temp_directory_path() / ("imgforge-words-" + std::to_string(getpid()));
  {
    std::ofstream file(script);
    file << "PATH=/nonexistent\n" << program << "() { printf '%s\\n' \"$@\"; }\n";
    for (const std::string& name : silent) file << name << "() { :; }\n";
    file << command << "\n";
  }
  FILE* shell = popen(("/bin/sh " + script).c_str(), "r");
  REQUIRE(shell != nullptr);
  std::string output;
  char buffer[4096];
  for (std::size_t size = 0; (size = std::fread(buffer, 1, sizeof buffer, shell)) > 0;) output.append(buffer, size);
  INFO(command);
  CHECK(pclose(shell) == 0);
  std::filesystem::remove(script);
  std::vector<std::string> words;
  for (const std::string_view line : lines(output)) words.emplace_back(line);
  return words;
}

}  // namespace imgforge::test
