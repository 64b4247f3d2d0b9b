// python/* rules that judge what is installed: requirements between distributions, as pip check does, and extension
// modules against their interpreter.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>

#include "base/requirement.hpp"
#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/steps.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

constexpr std::size_t most_findings = 200;  // of one rule; how many more there are is said
constexpr std::size_t most_names = 8;       // in one message
constexpr unsigned highest_micro = 40;      // no Python release line came further
constexpr std::size_t longest_shown = 200;  // bytes of a requirement in a message

std::string shown(std::string_view text) {
  return escape_for_display(text.size() <= longest_shown ? std::string(text)
                                                         : std::string(text.substr(0, longest_shown)) + "...");
}

std::string install_line(const Interpreter& interpreter, std::string_view what) {
  return fmt::format("RUN {} -m pip install --no-cache-dir {}", shell_argument(interpreter.path), what);
}

/// The interpreter that is judged; otherwise what the rule answers.
struct Judged {
  const Interpreter* interpreter = nullptr;
  std::optional<Answer> answer;
};

Judged judged_interpreter(const Case& subject) {
  const auto& interpreters = subject.facts.interpreters();
  if (interpreters.is_unknown()) return {nullptr, undecided_for("the interpreters", interpreters)};
  const auto& worker = subject.facts.worker_python();
  if (is_python_worker(subject) && worker.is_unknown())
    return {nullptr, undecided_for("the interpreter that boot picks", worker)};
  const Interpreter* interpreter = interpreter_of(subject);
  // That another Python comes first is python/minor-mismatch, and what follows from it is no fault of its own.
  const bool other = interpreter != nullptr && subject.recipe != nullptr && subject.recipe->python_version &&
                     *subject.recipe->python_version != interpreter->minor;
  if (interpreter == nullptr || other) return {nullptr, Answer::not_applicable()};
  if (!subject.facts.distributions().is_known())
    return {nullptr, undecided_for("the distributions", subject.facts.distributions())};
  return {interpreter, std::nullopt};
}

/// What an interpreter sees, by name: the first folder that has it counts. Several are left of a name where that folder
/// holds it more than once: which of them is imported, nothing tells.
using Installed = std::map<std::string_view, std::vector<const Distribution*>>;

Installed installed_for(const Case& subject, const Interpreter& interpreter) {
  std::map<std::string_view, std::vector<const Distribution*>> by_site;
  for (const Distribution& one : subject.facts.distributions().value()) by_site[one.site].push_back(&one);
  Installed installed;
  for (const std::string& site : interpreter.site_packages) {
    const auto found = by_site.find(site);
    if (found == by_site.end()) continue;
    for (const Distribution* one : found->second) {
      std::vector<const Distribution*>& same = installed[one->name];
      if (same.empty() || same.front()->site == site) same.push_back(one);
    }
  }
  return installed;
}

/// The environments that markers may be evaluated in: one for each micro version, where the exact one is not known.
std::vector<MarkerEnvironment> environments_of(const Case& subject, const Interpreter& interpreter) {
  const Fact<Platform>& platform = subject.facts.platform();
  std::string machine = platform.is_known() ? platform->architecture : std::string();
  if (machine == "amd64") machine = "x86_64";
  if (machine == "arm64") machine = "aarch64";
  std::vector<MarkerEnvironment> environments;
  if (interpreter.version) {
    environments.push_back(linux_markers(*interpreter.version, machine));
  } else {
    for (unsigned micro = 0; micro <= highest_micro; ++micro) {
      const auto version = Version::parse(fmt::format("{}.{}", interpreter.minor.to_string(), micro));
      environments.push_back(linux_markers(*version, machine));
    }
  }
  return environments;
}

class Requirements {
 public:
  Requirements(const Case& subject, const Interpreter& interpreter)
      : subject_(subject),
        interpreter_(interpreter),
        installed_(installed_for(subject, interpreter)),
        environments_(environments_of(subject, interpreter)) {
    for (const auto& [name, same] : installed_) {
      for (const Distribution* one : same) read(*one);
    }
    close_over_roots();
  }

  Answer judge() {
    for (const auto& [name, same] : installed_) {
      for (const Distribution* one : same) judge_one(*one, same.size() > 1);
    }
    if (left_out_ > 0)
      found_.push_back({error_left_out_ ? std::nullopt : std::optional(Level::warning),
                        fmt::format("{} more requirements are not met", left_out_),
                        install_line(interpreter_, "...") + "  (pip check lists them)", interpreter_.evidence});
    if (found_.empty() && !open_.empty()) return Answer::undecided(open_);
    return Answer::findings(std::move(found_));
  }

  bool empty() const { return installed_.empty(); }

 private:
  struct Wish {
    Requirement requirement;
    std::string name;             // normalised
    std::optional<bool> applies;  // nothing: its marker asks what is not known
  };

  std::optional<bool> applies(const Requirement& requirement) const {
    if (!requirement.has_marker()) return true;
    // The kernel is that of the machine where the image will run.
    const std::string text = requirement.to_string();
    if (text.find("platform_release") != std::string::npos || text.find("platform_version") != std::string::npos)
      return std::nullopt;
    const bool first = requirement.applies(environments_.front());
    for (const MarkerEnvironment& environment : environments_) {
      if (requirement.applies(environment) != first) return std::nullopt;
    }
    return first;
  }

  void read(const Distribution& distribution) {
    std::vector<Wish>& wishes = wishes_[&distribution];
    for (const std::string& text : distribution.requires_dist) {
      std::optional<Requirement> requirement = Requirement::parse(text);
      if (!requirement) {
        unreadable_.emplace(&distribution, text);
        continue;
      }
      std::string name = requirement->normalised();
      const std::optional<bool> holds = applies(*requirement);
      if (holds != false) wishes.push_back({std::move(*requirement), std::move(name), holds});
    }
  }

  /// What the worker cannot do without: apache-beam, the frameworks, what the recipe asks for, and all that they
  /// require.
  void close_over_roots() {
    static constexpr std::array<std::string_view, 10> roots = {
        "apache-beam", "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tf-nightly", "torch",
        "torch-xla",   "jax",        "jaxlib",         "pyspark"};
    std::deque<std::string> open;
    const auto add = [&](std::string name) {
      if (close_.insert(name).second) open.push_back(std::move(name));
    };
    for (const std::string_view name : roots) {
      if (installed_.contains(name)) add(std::string(name));
    }
    if (subject_.recipe != nullptr) {
      for (const Requirement& package : subject_.recipe->packages.pip) add(package.normalised());
    }
    while (!open.empty()) {
      const auto found = installed_.find(open.front());
      open.pop_front();
      if (found == installed_.end()) continue;
      for (const Distribution* one : found->second) {
        for (const Wish& wish : wishes_.at(one)) {
          if (wish.applies == true) add(wish.name);
        }
      }
    }
  }

  std::optional<Level> level(const Distribution& distribution, const std::string& other) const {
    return close_.contains(distribution.name) || close_.contains(other) ? std::nullopt : std::optional(Level::warning);
  }

  /// What is beyond the bound is counted and not made, which may take a look at all requirements; an error among it
  /// stays one.
  template <class Make>
  void add(std::optional<Level> level, Make make) {
    if (found_.size() < most_findings) {
      Answer::Found found = make();
      found.level = level;
      found_.push_back(std::move(found));
    } else {
      ++left_out_;
      error_left_out_ = error_left_out_ || !level;
    }
  }

  void judge_one(const Distribution& distribution, bool one_of_several) {
    const std::string who =
        fmt::format("{} {}", escape_for_display(distribution.name), escape_for_display(distribution.version_text));
    if (const auto broken = unreadable_.find(&distribution); broken != unreadable_.end()) {
      add(Level::warning, [&] {
        return Answer::Found{{},
                             fmt::format("{} has a requirement that is none (PEP 508): {}; pip check stops there", who,
                                         shown(broken->second)),
                             install_line(interpreter_, fmt::format("--upgrade {}", shell_argument(distribution.name))),
                             {distribution.evidence}};
      });
    }
    std::set<std::string> seen;
    for (const Wish& wish : wishes_.at(&distribution)) {
      const std::string text = wish.requirement.to_string();
      if (!seen.insert(text).second) continue;
      const auto found = installed_.find(wish.name);
      if (found == installed_.end()) {
        if (!wish.applies || one_of_several) {
          open_ = fmt::format("whether {} requires {}", who, shown(text));
          continue;
        }
        add(level(distribution, wish.name), [&] {
          return Answer::Found{{},
                               fmt::format("{} requires {}, which is not installed", who, shown(text)),
                               install_line(interpreter_, shell_argument(without_marker(wish.requirement))),
                               {distribution.evidence}};
        });
        continue;
      }
      judge_version(distribution, who, wish, found->second, one_of_several);
    }
  }

  void judge_version(const Distribution& distribution, const std::string& who, const Wish& wish,
                     const std::vector<const Distribution*>& candidates, bool one_of_several) {
    if (wish.requirement.specifiers().empty()) return;
    std::size_t misfits = 0;
    for (const Distribution* other : candidates) {
      if (!other->version || !wish.requirement.specifiers().contains(*other->version)) ++misfits;
    }
    if (misfits == 0) return;
    const Distribution& other = *candidates.front();
    const std::string text = shown(wish.requirement.to_string());
    if (!other.version) {
      add(Level::warning, [&] {
        return Answer::Found{{},
                             fmt::format("{} requires {}, and the version of {} is none (PEP 440): {}", who, text,
                                         wish.name, shown(other.version_text)),
                             install_line(interpreter_, fmt::format("--upgrade {}", shell_argument(wish.name))),
                             {distribution.evidence, other.evidence}};
      });
      return;
    }
    if (!wish.applies || one_of_several || misfits != candidates.size()) {
      open_ = fmt::format("whether {} goes with the {} that is there ({})", who, wish.name, text);
      return;
    }
    add(level(distribution, wish.name), [&] {
      return Answer::Found{
          {},
          fmt::format("{} requires {}, and {} {} is installed", who, text, wish.name,
                      escape_for_display(other.version_text)),
          fmt::format("{}, or a release of {} that goes with {} {}",
                      install_line(interpreter_, shell_argument(all_asked_of(wish))),
                      escape_for_display(distribution.name), wish.name, escape_for_display(other.version_text)),
          {distribution.evidence, other.evidence}};
    });
  }

  static std::string without_marker(const Requirement& requirement) {
    const std::string text = requirement.to_string();
    if (!requirement.has_marker()) return text;
    return std::string(trim(std::string_view(text).substr(0, text.find(requirement.url().empty() ? ";" : " ;"))));
  }

  /// "numpy<2,>=1.21.0" with what the others ask of it, where that is one short line.
  std::string all_asked_of(const Wish& wish) const {
    std::string specifiers;
    for (const auto& [distribution, wishes] : wishes_) {
      for (const Wish& other : wishes) {
        if (other.name != wish.name || other.applies != true || other.requirement.specifiers().empty()) continue;
        specifiers += (specifiers.empty() ? "" : ",") + other.requirement.specifiers().to_string();
        if (specifiers.size() > longest_shown) return without_marker(wish.requirement);
      }
    }
    const auto set = SpecifierSet::parse(specifiers);  // each once
    return set ? wish.name + set->to_string() : without_marker(wish.requirement);
  }

  const Case& subject_;
  const Interpreter& interpreter_;
  Installed installed_;
  std::vector<MarkerEnvironment> environments_;
  std::map<const Distribution*, std::vector<Wish>> wishes_;  // those whose marker holds or is open
  std::multimap<const Distribution*, std::string> unreadable_;
  std::set<std::string, std::less<>> close_;  // names
  std::vector<Answer::Found> found_;
  std::size_t left_out_ = 0;
  bool error_left_out_ = false;
  std::string open_;
};

Answer broken_requirements(const Case& subject) {
  const Judged judged = judged_interpreter(subject);
  if (judged.interpreter == nullptr) return *judged.answer;
  Requirements requirements(subject, *judged.interpreter);
  return requirements.empty() ? Answer::not_applicable() : requirements.judge();
}

Answer abi_mismatch(const Case& subject) {
  const Judged judged = judged_interpreter(subject);
  if (judged.interpreter == nullptr) return *judged.answer;
  const auto& foreign = subject.facts.foreign_modules();
  if (foreign.is_unknown()) return undecided_for("the extension modules", foreign);
  if (foreign.is_absent()) return Answer::pass();
  // A folder that was copied as a whole is one fault.
  std::map<std::pair<std::string, std::string>, std::vector<const ForeignModules*>> by_folder;
  for (const ForeignModules& one : foreign.value()) by_folder[{one.site, one.tag}].push_back(&one);
  const auto& sites = judged.interpreter->site_packages;
  std::vector<Answer::Found> found;
  for (const auto& [folder, all] : by_folder) {
    const auto& [site, tag] = folder;
    const bool seen = std::find(sites.begin(), sites.end(), site) != sites.end();
    const bool certain = tag.starts_with("cpython-");  // else WHEEL alone says so
    std::vector<std::string> names;
    std::string words;
    std::vector<Evidence> evidence;
    for (const ForeignModules* one : all) {
      if (names.size() == most_names) break;
      names.push_back(escape_for_display(one->distribution.empty() ? one->example : one->distribution));
      if (!one->distribution.empty()) words += (words.empty() ? "" : " ") + shell_argument(one->distribution);
      evidence.push_back(one->evidence);
    }
    if (all.size() > names.size()) names.push_back(fmt::format("{} more", all.size() - names.size()));
    const std::string who = seen ? fmt::format("{} is Python {}", escape_for_display(judged.interpreter->path),
                                               judged.interpreter->minor.to_string())
                                 : std::string("the interpreter of that folder is another");
    found.push_back(
        {seen && certain ? std::nullopt : std::optional(Level::warning),
         fmt::format("{} in {}: extension modules are built for {} ({}), and {}: it cannot import them",
                     join(names, ", "), escape_for_display(site), escape_for_display(tag),
                     escape_for_display(all.front()->example), who),
         seen ? install_line(*judged.interpreter,
                             fmt::format("--force-reinstall {}", words.empty() ? std::string("...") : words))
              : fmt::format("install {} with the interpreter of that folder, or remove the folder", join(names, ", ")),
         std::move(evidence)});
  }
  return Answer::findings(std::move(found));
}

Answer multiple_interpreters(const Case& subject) {
  const auto& interpreters = subject.facts.interpreters();
  if (!interpreters.is_known()) return Answer::not_applicable();
  std::vector<const Interpreter*> several;
  for (const Interpreter& one : interpreters.value()) {
    if (one.kind != Interpreter::Kind::venv) several.push_back(&one);
  }
  if (several.empty()) return Answer::not_applicable();
  if (several.size() == 1) return Answer::pass();
  const auto name_of = [](const Interpreter& one) {
    return fmt::format("{} ({})", escape_for_display(one.path),
                       one.version ? one.version->to_string() : one.minor.to_string());
  };
  std::vector<std::string> names;
  std::vector<Evidence> evidence;
  for (const Interpreter* one : several) {
    if (names.size() == most_names) break;
    names.push_back(name_of(*one));
    if (!one->evidence.empty()) evidence.push_back(one->evidence.front());
  }
  if (several.size() > names.size()) names.push_back(fmt::format("{} more", several.size() - names.size()));
  const Interpreter* first = interpreter_of(subject);
  const std::string picked = first == nullptr ? std::string("PATH finds none of them as python or python3")
                                              : fmt::format("the one that starts is {}", name_of(*first));
  return Answer::finding(
      fmt::format("the image has {} Python interpreters, {}; {}", several.size(), join(names, ", "), picked),
      "install packages with the one that starts (/path/to/python -m pip install ...), and leave out the others where "
      "they can be",
      std::move(evidence));
}

constexpr Rule rules[] = {
    {"python/broken-requirements", Level::error, Reach::tree, I,
     "an installed package requires what is not there, or another version of it",
     "What pip check would say: imports fail, or fail later with an AttributeError, where the package uses what it "
     "asked for. An error where apache-beam, a framework or "
     "a package of the recipe is at one end, or what they require; else a warning. Extras are no requirements.",
     "Install all packages in one pip install with the SDK image's constraints, and run pip check as the last step.",
     "https://pip.pypa.io/en/stable/cli/pip_check/", broken_requirements},
    {"python/abi-mismatch", Level::error, Reach::tree, I,
     "extension modules built for another CPython in this site-packages",
     "The interpreter does not even look at modules of another ABI tag: ModuleNotFoundError for a package that is "
     "there.",
     "Install with the interpreter that will run; never copy site-packages from an image of another Python.",
     "https://peps.python.org/pep-3149/", abi_mismatch},
    {"python/multiple-interpreters", Level::note, Reach::tree, I, "there are several Python interpreters",
     "pip of the one installs packages that the other does not see.", "Keep one, or call it by its path in every step.",
     "https://cloud.google.com/dataflow/docs/guides/using-custom-containers", multiple_interpreters},
};

}  // namespace

std::span<const Rule> python_requirements_rules() { return rules; }

}  // namespace imgforge
