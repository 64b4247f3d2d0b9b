#include "dockerfile/parsed.hpp"

#include <catch2/catch.hpp>

namespace imgforge::dockerfile {

Dockerfile parsed(std::string_view text) {
  DockerfileParse parse = parse_dockerfile(text, "Dockerfile");
  INFO(text);
  for (const Diagnostic& diagnostic : parse.diagnostics) FAIL_CHECK(to_string(diagnostic));
  REQUIRE(parse.dockerfile);
  return std::move(*parse.dockerfile);
}

std::vector<std::string> faults(std::string_view text) {
  std::vector<std::string> result;
  const DockerfileParse parse = parse_dockerfile(text, "Dockerfile");
  for (const Diagnostic& diagnostic : parse.diagnostics) {
    const bool warning = diagnostic.level == Diagnostic::Level::warning;
    result.push_back((warning ? "warning " : "") + at(diagnostic.place) + " " + diagnostic.message);
  }
  return result;
}

std::string at(const Place& place) { return std::to_string(place.line) + ":" + std::to_string(place.column); }

std::vector<std::string> texts(const std::vector<Word>& words) {
  std::vector<std::string> result;
  for (const Word& word : words) result.push_back(word.text);
  return result;
}

std::vector<std::string> pairs(const std::vector<Assignment>& assignments) {
  std::vector<std::string> result;
  for (const Assignment& assignment : assignments) {
    result.push_back(assignment.name.text + (assignment.value ? "=" + assignment.value->text : ""));
  }
  return result;
}

}  // namespace imgforge::dockerfile
