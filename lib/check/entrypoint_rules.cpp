// The worker's ENTRYPOINT has to end in boot, with the runner's arguments.
#include <fmt/format.h>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/steps.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

constexpr std::string_view build_page = "https://cloud.google.com/dataflow/docs/guides/build-container-image#custom-entrypoint";
constexpr std::string_view entrypoint_line = "ENTRYPOINT [\"/opt/apache/beam/boot\"]";

std::string shown(const std::vector<std::string>& words) {
  std::vector<std::string> escaped;
  for (const std::string& word : words) escaped.push_back("\"" + escape_for_display(word) + "\"");
  return "[" + join(escaped, ", ") + "]";
}

Answer entrypoint(const Case& subject) {
  if (!subject.judged_as.is_beam_worker()) return Answer::not_applicable();
  const Fact<Entrypoint>& fact = subject.facts.entrypoint();
  if (fact.is_unknown()) return undecided_for("where the entrypoint ends", fact);
  if (fact.is_absent()) return Answer::not_applicable();
  const std::string fix = fmt::format("end the Dockerfile with: {}", entrypoint_line);
  if (fact->ends_in == Program::boot && !fact->boot_in_cmd_only) return Answer::pass();
  if (fact->ends_in == Program::launcher) return Answer::not_applicable();  // beam/entrypoint-is-launcher names it
  if (better_stage(subject) != nullptr) return Answer::not_applicable();    // beam/wrong-final-stage names it
  if (fact->boot_in_cmd_only) {
    return Answer::finding("boot stands in CMD only: the runner's arguments replace CMD, so boot is not what is started", fix, fact.evidence());
  }
  if (fact->entrypoint.empty() && fact->cmd.empty()) {
    return Answer::finding("the image has neither ENTRYPOINT nor CMD: nothing starts the worker", fix, fact.evidence());
  }
  if (fact->entrypoint.empty()) {
    return Answer::finding(fmt::format("the image sets no ENTRYPOINT, only CMD {}: the runner's arguments replace it and boot is never started", shown(fact->cmd)),
                           fix, fact.evidence());
  }
  const std::string last = escape_for_display(fact->last);
  const std::string message =
      fact->ends_in == Program::missing
          ? fmt::format("ENTRYPOINT {} comes to {}, which is not in the image", shown(fact->entrypoint), last)
      : !fact->why.empty()
          ? fmt::format("ENTRYPOINT {} comes to {}, which {}", shown(fact->entrypoint), last, fact->why)
          : fmt::format("ENTRYPOINT {} does not start /opt/apache/beam/boot but {}: no worker registers and the container is restarted for ever",
                        shown(fact->entrypoint), last);
  return Answer::finding(message, fix + ", or let your start script end with: exec /opt/apache/beam/boot \"$@\"", fact.evidence());
}

Answer entrypoint_drops_arguments(const Case& subject) {
  if (!subject.judged_as.is_beam_worker()) return Answer::not_applicable();
  const Fact<Entrypoint>& fact = subject.facts.entrypoint();
  if (fact.is_unknown()) return undecided_for("where the entrypoint ends", fact);
  if (fact.is_absent() || fact->ends_in != Program::boot || fact->boot_in_cmd_only) return Answer::not_applicable();
  if (!fact->arguments_dropped) return Answer::pass();
  return Answer::finding(fmt::format("ENTRYPOINT {} starts boot without the arguments that the runner passes (--id, --provision_endpoint, ...): boot refuses to run",
                                     shown(fact->entrypoint)),
                         "end the script with: exec /opt/apache/beam/boot \"$@\" (and write ENTRYPOINT in the JSON form, with no shell around it)",
                         fact.evidence());
}

Answer entrypoint_is_launcher(const Case& subject) {
  if (!subject.judged_as.is_beam_worker()) return Answer::not_applicable();
  const Fact<Entrypoint>& fact = subject.facts.entrypoint();
  if (fact.is_unknown()) return undecided_for("where the entrypoint ends", fact);
  if (fact.is_absent() || fact->ends_in != Program::launcher) return Answer::pass();
  return Answer::finding(
      "the worker's ENTRYPOINT is the Flex Template launcher: it is started with boot's flags and dies of \"flag provided but not defined: -logging_endpoint\"",
      fmt::format("for workers, end the Dockerfile with: {} (one image can serve as both: the service starts the launcher itself)", entrypoint_line),
      fact.evidence());
}

constexpr Rule rules[] = {
    {"beam/entrypoint", Level::error, Reach::paths, D | I, "a worker's ENTRYPOINT is not boot, nor a script that ends by running it",
     "The runner starts the image's entrypoint and waits for the worker to register; anything but boot never does.",
     "ENTRYPOINT [\"/opt/apache/beam/boot\"], or a script that ends with exec /opt/apache/beam/boot \"$@\".", build_page, entrypoint},
    {"beam/entrypoint-drops-arguments", Level::error, Reach::paths, D | I, "the entrypoint is a script that runs boot without \"$@\"",
     "boot needs --id and --provision_endpoint, which the runner passes as arguments.", "Pass \"$@\" on.", build_page, entrypoint_drops_arguments},
    {"beam/entrypoint-is-launcher", Level::error, Reach::paths, D | I, "a worker's ENTRYPOINT is the Flex Template launcher",
     "The launcher does not know boot's flags and exits; the worker is restarted for ever.", "Keep boot as the entrypoint of the worker image.",
     "https://cloud.google.com/dataflow/docs/guides/templates/configuring-flex-templates", entrypoint_is_launcher},
};

}  // namespace

std::span<const Rule> entrypoint_rules() { return rules; }

}  // namespace imgforge
