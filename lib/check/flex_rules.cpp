// What the launcher of Flex Templates wants of an image.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

constexpr std::string_view documentation =
    "https://cloud.google.com/dataflow/docs/guides/templates/configuring-flex-templates";
constexpr std::string_view prefix = "FLEX_TEMPLATE_";  // FLEX_TEMPLATES_... is another family, the service's own

// Configure Flex Templates, "Environment variables".
constexpr std::array<std::string_view, 9> read_by_launchers = {
    "FLEX_TEMPLATE_PYTHON_PY_FILE",    "FLEX_TEMPLATE_PYTHON_REQUIREMENTS_FILE",
    "FLEX_TEMPLATE_PYTHON_SETUP_FILE", "FLEX_TEMPLATE_PYTHON_EXTRA_PACKAGES",
    "FLEX_TEMPLATE_PYTHON_PY_OPTIONS", "FLEX_TEMPLATE_JAVA_MAIN_CLASS",
    "FLEX_TEMPLATE_JAVA_CLASSPATH",    "FLEX_TEMPLATE_JAVA_OPTIONS",
    "FLEX_TEMPLATE_GO_BINARY",
};
// One of them says what is launched.
constexpr std::array<std::string_view, 3> what_to_launch = {"FLEX_TEMPLATE_PYTHON_PY_FILE",
                                                            "FLEX_TEMPLATE_JAVA_MAIN_CLASS", "FLEX_TEMPLATE_GO_BINARY"};

template <class List>
bool holds(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// Every FLEX_TEMPLATE_* that is set, also to something that is not known.
std::vector<std::string> variables_of(const Facts& facts) {
  std::vector<std::string> names;
  if (facts.env().is_known()) {
    for (const auto& [name, value] : facts.env().value()) {
      if (name.starts_with(prefix)) names.push_back(name);
    }
  }
  for (const auto& [name, reason] : facts.env_unknown) {
    if (name.starts_with(prefix) && !holds(names, name)) names.push_back(name);
  }
  return names;
}

std::vector<Evidence> places_of(const Facts& facts, const std::vector<std::string>& names) {
  std::vector<Evidence> places;
  for (const std::string& name : names) places.push_back(facts.variable_evidence(name));
  return places;
}

bool concerned(const Case& subject) { return !subject.judged_as.without_sign && subject.judged_as.on_dataflow(); }

/// "python312": as the repositories of launcher images write a minor.
std::string launcher_image(const std::optional<PythonMinor>& minor) {
  return fmt::format("gcr.io/dataflow-templates-base/python{}{}-template-launcher-base", minor ? minor->major : 3,
                     minor ? std::to_string(minor->minor) : std::string());
}

std::optional<PythonMinor> worker_minor(const Case& subject) {
  const Interpreter* interpreter = subject.facts.worker_interpreter();
  if (interpreter == nullptr) return std::nullopt;
  return interpreter->minor;
}

Answer launcher_missing(const Case& subject) {
  if (!concerned(subject)) return Answer::not_applicable();
  const std::vector<std::string> names = variables_of(subject.facts);
  if (names.empty()) return Answer::not_applicable();
  const Fact<FlexLauncher>& launcher = subject.facts.flex_launcher();
  if (launcher.is_known()) return Answer::pass();
  if (launcher.is_unknown()) return undecided_for("the Flex Template launcher", launcher);
  // A recipe that says "worker" of a template's worker image means it; what says nothing is the image of the template.
  const bool worker_only = subject.recipe != nullptr && subject.judged_as.role == Role::worker &&
                           subject.recipe->places.contains("target.role");
  const bool is_template = subject.judged_as.runner == Runner::dataflow_flex && !worker_only;
  const bool java = std::any_of(names.begin(), names.end(),
                                [](const std::string& name) { return name.starts_with("FLEX_TEMPLATE_JAVA_"); });
  const bool go = std::any_of(names.begin(), names.end(),
                              [](const std::string& name) { return name.starts_with("FLEX_TEMPLATE_GO_"); });
  const std::string file = fmt::format("/opt/google/dataflow/{}_template_launcher", java ? "java"
                                                                                    : go ? "go"
                                                                                         : "python");
  const std::string image = java ? "gcr.io/dataflow-templates-base/java17-template-launcher-base"
                            : go ? "gcr.io/dataflow-templates-base/go-template-launcher-base"
                                 : launcher_image(worker_minor(subject));
  const std::string message =
      is_template
          ? fmt::format("{} is set, and {} is not in the image: the template cannot launch", names.front(), file)
          : fmt::format(
                "{} is set, and {} is not in the image: harmless for a worker, but as the image of a Flex "
                "Template it cannot launch",
                names.front(), file);
  const std::string fix =
      subject.kind == SubjectKind::recipe
          ? std::string("target: {runner: dataflow-flex, role: both}, or drop the variable from env")
          : fmt::format("COPY --from={}:TAG {} {}  (or drop the variable)", image, file, file);
  return Answer::finding(is_template ? Level::error : Level::warning, message, fix, places_of(subject.facts, names));
}

Answer launcher_python_differs(const Case& subject) {
  if (!concerned(subject)) return Answer::not_applicable();
  const Fact<FlexLauncher>& launcher = subject.facts.flex_launcher();
  if (!launcher.is_known() || !launcher->python) return Answer::not_applicable();
  const std::optional<PythonMinor> minor = worker_minor(subject);
  if (!minor) return Answer::not_applicable();
  if (*minor == *launcher->python) return Answer::pass();
  return Answer::finding(
      fmt::format("the launcher comes from an image of Python {}, and the image itself has Python {}",
                  launcher->python->to_string(), minor->to_string()),
      fmt::format("COPY --from={}:TAG {} {}", launcher_image(minor), launcher->path, launcher->path),
      join_evidence({launcher->evidence, launcher.evidence()}));
}

Answer unknown_variable(const Case& subject) {
  if (!concerned(subject)) return Answer::not_applicable();
  const std::vector<std::string> names = variables_of(subject.facts);
  if (names.empty()) return Answer::not_applicable();
  const bool launches = std::any_of(what_to_launch.begin(), what_to_launch.end(),
                                    [&](std::string_view name) { return holds(names, name); });
  // A base that is not known may have set it.
  const bool missing = !launches && subject.facts.env().is_known() && subject.facts.env_open.empty();
  const std::vector<std::string> known(read_by_launchers.begin(), read_by_launchers.end());
  std::vector<Answer::Found> found;
  for (const std::string& name : names) {
    if (holds(read_by_launchers, name)) continue;
    // Without the one that it cannot do without, that one is what was meant.
    const std::string meant = missing ? std::string("FLEX_TEMPLATE_PYTHON_PY_FILE") : nearest(name, known).value_or("");
    const std::string shown = escape_for_display(name);
    const std::string message =
        missing ? fmt::format(
                      "the launcher does not read {}, and FLEX_TEMPLATE_PYTHON_PY_FILE is not set: it does not know "
                      "what to launch",
                      shown)
                : fmt::format("the launcher does not read {}: it has no effect", shown);
    const std::optional<std::string> value = subject.facts.variable(name);
    const std::string fix = meant.empty()
                                ? fmt::format("drop {}; the launcher reads {}", shown, join_words(known, "and"))
                                : fmt::format("ENV {}={}", meant, value ? shell_argument(*value) : std::string("..."));
    found.push_back({missing ? Level::error : Level::warning, message, fix, {subject.facts.variable_evidence(name)}});
  }
  return Answer::findings(std::move(found));
}

constexpr Rule rules[] = {
    {"flex/launcher-missing", Level::error, Reach::paths, R | D | I,
     "FLEX_TEMPLATE_* is set and the launcher binary is not there",
     "A Flex Template starts its image with the launcher below /opt/google/dataflow, which reads the FLEX_TEMPLATE_* "
     "variables. Without it the job never launches. A worker image may carry the variables harmlessly: then it is a "
     "warning.",
     "Copy the launcher from Google's launcher image of the same language and Python.", documentation,
     launcher_missing},
    {"flex/launcher-python-differs", Level::warning, Reach::paths, R | D, "the launcher image has another Python minor",
     "The launcher starts the image's own Python, so it works; but image and launcher were chosen for different "
     "Pythons, and one of them is not what was meant.",
     "Take the launcher image of the Python that the image has.", documentation, launcher_python_differs},
    {"flex/unknown-variable", Level::warning, Reach::config, D | I,
     "a FLEX_TEMPLATE_* variable that the launcher does not read",
     "A misspelt variable is ignored in silence. It is an error where FLEX_TEMPLATE_PYTHON_PY_FILE itself is then "
     "missing: the launcher stops, for it does not know what to launch.",
     "Write the name as the documentation has it.", documentation, unknown_variable},
};

}  // namespace

std::span<const Rule> flex_rules() { return rules; }

}  // namespace imgforge
