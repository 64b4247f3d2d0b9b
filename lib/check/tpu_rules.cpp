// What a TPU wants of a worker: its variables, an XLA stack for it, and none of what is a GPU's.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/steps.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

constexpr std::string_view documentation = "https://cloud.google.com/dataflow/docs/tpu/use-tpus";
constexpr std::string_view type_variable = "TPU_ACCELERATOR_TYPE";

/// A worker that is to use a TPU of Dataflow: as the target is judged, else by the recipe, by TPU_* variables of the
/// image, or by an installed libtpu.
bool tpu_is_meant(const Case& subject) {
  if (!subject.judged_as.is_beam_worker() || !subject.judged_as.on_dataflow()) return false;
  if (subject.judged_as.accelerator != Accelerator::none) return subject.judged_as.accelerator == Accelerator::tpu;
  if (subject.recipe != nullptr) {
    if (subject.recipe->tpu) return true;
    if (subject.recipe->gpu) return false;
  }
  if (subject.facts.env().is_known()) {
    for (const auto& [name, value] : subject.facts.env().value()) {
      if (name.starts_with("TPU_")) return true;
    }
  }
  const auto installed = subject.facts.worker_distributions();
  return std::any_of(installed.begin(), installed.end(), [](const Distribution* distribution) {
    return distribution->name == "libtpu" || distribution->name == "libtpu-nightly";
  });
}

/// The value of TPU_ACCELERATOR_TYPE that a row asks for.
std::string accelerator_type(const TpuType& row) {
  for (const auto& [name, value] : row.env) {
    if (name == type_variable) return value;
  }
  return {};
}

/// The type that is meant ("tpu-v6e-slice"), where it is said outside of the image's own variables.
std::string asked_type(const Case& subject) {
  if (subject.recipe != nullptr && subject.recipe->tpu) return subject.recipe->tpu->type;
  return subject.judged_as.accelerator == Accelerator::tpu ? subject.judged_as.accelerator_type : std::string();
}

/// The row that the recipe names, else the one of the image's own TPU_ACCELERATOR_TYPE.
const TpuType* meant_type(const Case& subject) {
  if (subject.recipe != nullptr && subject.recipe->tpu) {
    return subject.knowledge.tpu(subject.recipe->tpu->type, subject.recipe->tpu->topology);
  }
  const auto type = subject.facts.variable(type_variable);
  if (!type) return nullptr;
  const std::string asked = asked_type(subject);
  for (const TpuType& row : subject.knowledge.tpus()) {
    if (!asked.empty() && row.type != asked) continue;
    if (accelerator_type(row) == *type) return &row;
  }
  return nullptr;
}

/// What a TPU_ACCELERATOR_TYPE that no row has is.
enum class OddType {
  unset,      // nothing to say of it
  size,       // a family of Dataflow's TPUs in a size that it does not have: "v5litepod-16"
  misspelt,   // no name that libtpu knows, or that of another type than was asked for
  undecided,  // perhaps a TPU that is newer than the tables
};

OddType odd_type(const Case& subject, const std::string& value) {
  if (value.empty()) return OddType::unset;
  const std::string asked = asked_type(subject);
  const std::size_t dash = value.rfind('-');
  if (dash == std::string::npos || !to_number(std::string_view(value).substr(dash + 1))) return OddType::misspelt;
  const std::string family = value.substr(0, dash + 1);
  unsigned newest = 0;
  bool of_family = false;
  bool of_asked = asked.empty();
  for (const TpuType& row : subject.knowledge.tpus()) {
    const std::string known = accelerator_type(row);
    if (known.size() > 1) newest = std::max(newest, static_cast<unsigned>(to_number(known.substr(1, 1)).value_or(0)));
    if (!known.starts_with(family)) continue;
    of_family = true;
    if (row.type == asked) of_asked = true;
  }
  if (of_family) return of_asked ? OddType::size : OddType::misspelt;
  if (family.size() < 3 || family[0] != 'v') return OddType::misspelt;
  const auto generation = to_number(family.substr(1, 1));
  if (!generation) return OddType::misspelt;
  return *generation > newest ? OddType::undecided : OddType::misspelt;
}

/// "v5litepod-1, v5litepod-4 and v5litepod-8": of one type, or of all.
std::string known_values(const Case& subject, const std::string& type) {
  std::vector<std::string> values;
  for (const TpuType& row : subject.knowledge.tpus()) {
    if (type.empty() || row.type == type) values.push_back(accelerator_type(row));
  }
  return join_words(values);
}

/// A "#" behind a value makes the file fail, or becomes part of the value: dockerfile/env-inline-comment names it.
bool comments_in_values(const Case& subject) {
  return subject.facts.build != nullptr && !subject.facts.build->env_comments.empty();
}

std::string env_line(const Case& subject, const std::string& name, const std::string& value) {
  if (subject.kind == SubjectKind::recipe) return fmt::format("env: {{{}: \"{}\"}}", name, value);
  return fmt::format("ENV {}={}", name, value);
}

Answer environment(const Case& subject) {
  if (!tpu_is_meant(subject) || comments_in_values(subject)) return Answer::not_applicable();
  if (!subject.facts.env().is_known()) return undecided_for("the environment", subject.facts.env());
  const TpuType* type = meant_type(subject);
  if (subject.recipe != nullptr && subject.recipe->tpu && type == nullptr) {
    return Answer::not_applicable();  // tpu/topology-unknown names it
  }
  const std::string written = subject.facts.variable(type_variable).value_or("");
  const OddType odd = type == nullptr ? odd_type(subject, written) : OddType::unset;
  const TpuType* names_of = type != nullptr                    ? type
                            : subject.knowledge.tpus().empty() ? nullptr
                                                               : &subject.knowledge.tpus().front();
  if (names_of == nullptr) return Answer::undecided("the TPU types of Dataflow");
  std::vector<std::string> faults;
  std::vector<std::string> fixes;
  std::vector<Evidence> evidence;
  std::string open;
  for (const auto& [name, wanted] : names_of->env) {
    const bool same_for_all = name != type_variable && name != "TPU_CHIPS_PER_HOST_BOUNDS";
    const bool decided = type != nullptr || same_for_all;
    if (const auto unknown = subject.facts.env_unknown.find(name); unknown != subject.facts.env_unknown.end()) {
      open = fmt::format("{}: {}", name, unknown->second);
      continue;
    }
    const auto value = subject.facts.variable(name);
    if (!value && !subject.facts.env_open.empty()) {
      open = fmt::format("{}: {}", name, subject.facts.env_open);
      continue;
    }
    if (!value) {
      faults.push_back(name + " is not set");
    } else if (value->empty()) {
      faults.push_back(name + " is empty");
    } else if (decided && *value != wanted) {
      faults.push_back(fmt::format("{} is \"{}\" and has to be \"{}\"", name, escape_for_display(*value), wanted));
    } else if (name == type_variable && odd == OddType::misspelt) {
      faults.push_back(fmt::format("{} is \"{}\", and Dataflow has {}", name, escape_for_display(*value),
                                   known_values(subject, asked_type(subject))));
    } else {
      continue;
    }
    fixes.push_back(env_line(subject, name, decided ? wanted : std::string("(by type and topology)")));
    evidence.push_back(subject.facts.variable_evidence(name));
  }
  if (faults.empty()) {
    if (!open.empty()) return Answer::undecided(open);
    if (odd == OddType::size) return Answer::not_applicable();  // tpu/topology-unknown names it
    if (odd == OddType::undecided) {
      return Answer::undecided("the TPU type " + escape_for_display(written) + ", which the tables do not hold");
    }
    return Answer::pass();
  }
  if (subject.recipe != nullptr && subject.recipe->tpu) {
    evidence.push_back(Evidence::at(subject.recipe->place_of("accelerator.tpu")));
  }
  return Answer::finding(
      type != nullptr && type->unverified ? Level::warning : Level::error,
      fmt::format("for {}: {} (the TPU is not found, or the mesh does not build)",
                  type != nullptr ? type->type + " " + type->topology : std::string("a TPU"), join_words(faults)),
      join(fixes, "; "), evidence);
}

Answer topology_unknown(const Case& subject) {
  if (!tpu_is_meant(subject)) return Answer::not_applicable();
  std::vector<std::string> types;
  for (const TpuType& row : subject.knowledge.tpus()) {
    if (std::find(types.begin(), types.end(), row.type) == types.end()) types.push_back(row.type);
  }
  if (types.empty()) return Answer::undecided("the TPU types of Dataflow");
  const std::string type = asked_type(subject);
  std::vector<Evidence> evidence;
  const bool in_recipe = subject.recipe != nullptr && subject.recipe->tpu;
  if (in_recipe) evidence.push_back(Evidence::at(subject.recipe->place_of("accelerator.tpu")));
  if (!type.empty() && std::find(types.begin(), types.end(), type) == types.end()) {
    const auto near = nearest(type, types);
    return Answer::finding(
        fmt::format("Dataflow has no TPU type {}: it has {}", escape_for_display(type), join_words(types)),
        near ? fmt::format("type: {}", *near) : fmt::format("one of {}", join_words(types, "or")), evidence);
  }
  if (in_recipe) {
    const std::string& topology = subject.recipe->tpu->topology;
    if (subject.knowledge.tpu(type, topology) != nullptr) return Answer::pass();
    std::vector<std::string> topologies;
    for (const TpuType& row : subject.knowledge.tpus()) {
      if (row.type == type) topologies.push_back(row.topology);
    }
    return Answer::finding(fmt::format("Dataflow has no topology {} of {}: single hosts only, {}",
                                       escape_for_display(topology), type, join_words(topologies)),
                           fmt::format("accelerator: {{tpu: {{type: {}, topology: \"{}\"}}}}", type, topologies.back()),
                           evidence);
  }
  const auto written = subject.facts.variable(type_variable);
  if (!written || comments_in_values(subject)) return Answer::not_applicable();
  if (meant_type(subject) != nullptr) return Answer::pass();
  switch (odd_type(subject, *written)) {
    case OddType::unset:
    case OddType::misspelt: return Answer::not_applicable();  // tpu/environment names it
    case OddType::undecided:
      return Answer::undecided("the TPU type " + escape_for_display(*written) + ", which the tables do not hold");
    case OddType::size: break;
  }
  std::vector<std::string> sizes;
  const std::string family = written->substr(0, written->rfind('-') + 1);
  for (const TpuType& row : subject.knowledge.tpus()) {
    if (accelerator_type(row).starts_with(family)) sizes.push_back(accelerator_type(row));
  }
  return Answer::finding(
      fmt::format("Dataflow has no {}: single hosts only, {}", escape_for_display(*written), join_words(sizes)),
      env_line(subject, std::string(type_variable), sizes.back()), {subject.facts.variable_evidence(type_variable)});
}

/// "jax[tpu]==0.7.1", with the page that has libtpu where one is needed.
std::string tpu_requirement(const Case& subject, const Framework& framework) {
  std::string requirement = framework.name == "torch" ? "torch_xla[tpu]" : "jax[tpu]";
  std::string find_links;
  if (framework.version) {
    const FrameworkRelease* row = subject.knowledge.framework(framework.name, *framework.version);
    if (row != nullptr && !row->tpu_requirement.empty()) {
      requirement = row->tpu_requirement;
      find_links = row->tpu_find_links;
    }
    if (framework.name != "tensorflow" && requirement.find_first_of("=<>~") == std::string::npos) {
      requirement += (framework.name == "torch" ? "~=" : "==") + framework.version->to_string();
    }
  }
  if (subject.kind == SubjectKind::recipe) {
    return find_links.empty()
               ? fmt::format("packages: {{pip: [\"{}\"]}}", requirement)
               : fmt::format("packages: {{pip: [\"{}\"], find_links: [\"{}\"]}}", requirement, find_links);
  }
  return fmt::format("RUN pip install --no-cache-dir \"{}\"{}", requirement,
                     find_links.empty() ? std::string() : " -f " + find_links);
}

Answer libtpu_missing(const Case& subject) {
  if (!tpu_is_meant(subject)) return Answer::not_applicable();
  const Fact<bool>& libtpu = subject.facts.libtpu();
  if (libtpu.is_unknown()) return undecided_for("what the image has for the TPU", libtpu);
  if (libtpu.is_known() && libtpu.value()) return Answer::pass();
  const Framework* plain = nullptr;
  if (subject.facts.frameworks().is_known()) {
    for (const Framework& framework : subject.facts.frameworks().value()) {
      if (plain == nullptr || framework.name == "jax") plain = &framework;
    }
  }
  Framework jax;
  jax.name = "jax";
  const Framework& meant = plain != nullptr ? *plain : jax;
  std::vector<Evidence> evidence = plain != nullptr ? plain->evidence : libtpu.evidence();
  if (evidence.empty() && subject.recipe != nullptr && subject.recipe->tpu) {
    evidence.push_back(Evidence::at(subject.recipe->place_of("accelerator.tpu")));
  }
  return Answer::finding(
      plain != nullptr ? fmt::format("plain {} computes on the CPU: nothing installs libtpu",
                                     plain->package.empty() ? plain->name : plain->package)
                       : std::string("nothing installs an XLA stack for the TPU (jax[tpu], torch_xla[tpu] or libtpu)"),
      tpu_requirement(subject, meant), evidence);
}

Answer gpu_software(const Case& subject) {
  if (!tpu_is_meant(subject)) return Answer::not_applicable();
  const auto& cuda = subject.facts.cuda();
  if (!cuda.is_known()) return cuda.is_absent() ? Answer::pass() : undecided_for("CUDA in the image", cuda);
  for (const CudaToolkit& toolkit : cuda.value()) {
    if (toolkit.from == CudaToolkit::From::wheels) continue;  // torch of PyPI brings them wherever it goes
    const Interpreter* interpreter = subject.facts.worker_interpreter();
    const std::string image =
        fmt::format("python:{}-slim", interpreter != nullptr ? interpreter->minor.to_string() : std::string("3.X"));
    return Answer::finding(
        fmt::format("the image is for a TPU, and has CUDA{}: gigabytes that every worker pulls and none uses",
                    toolkit.version ? " " + toolkit.version->to_string() : std::string()),
        subject.kind == SubjectKind::recipe ? fmt::format("base: {{image: \"{}\"}}", image) : "FROM " + image,
        toolkit.evidence);
  }
  return Answer::pass();
}

/// The minor in ".../python3.11/..."; nothing where the path names none.
std::optional<PythonMinor> minor_in(std::string_view path) {
  const std::size_t at = path.find("/python");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = path.substr(at + std::string_view("/python").size());
  return PythonMinor::parse(rest.substr(0, rest.find('/')));
}

Answer libtpu_path(const Case& subject) {
  if (!tpu_is_meant(subject)) return Answer::not_applicable();
  constexpr std::string_view name = "TPU_LIBRARY_PATH";
  const auto value = subject.facts.variable(name);
  if (!value || value->empty()) return Answer::not_applicable();
  const auto& interpreters = subject.facts.interpreters();
  const Interpreter* interpreter = subject.facts.worker_interpreter();
  if (interpreter != nullptr && subject.kind != SubjectKind::image) {
    const bool installed = subject.facts.libtpu().is_known() && subject.facts.libtpu().value();
    for (const std::string& site : interpreter->site_packages) {
      if (*value == site + "/libtpu/libtpu.so" && installed) return Answer::pass();
    }
  }
  const Fact<bool>& there = subject.facts.tpu_library();
  if (there.is_known() && there.value()) return Answer::pass();
  if (there.is_known()) {
    return Answer::finding(
        fmt::format("TPU_LIBRARY_PATH is {}, and there is no such file", escape_for_display(*value)),
        "take the variable out: libtpu of pip is found without it", {subject.facts.variable_evidence(name)});
  }
  const auto minor = minor_in(*value);
  const bool other_python = minor && interpreters.is_known() && interpreter != nullptr &&
                            std::none_of(interpreters->begin(), interpreters->end(),
                                         [&](const Interpreter& one) { return one.minor == *minor; });
  if (!other_python) return Answer::undecided(fmt::format("whether {} is there", escape_for_display(*value)));
  std::string mended = *value;
  const std::string old_folder = "/python" + minor->to_string();
  mended.replace(mended.find(old_folder), old_folder.size(), "/python" + interpreter->minor.to_string());
  return Answer::finding(
      fmt::format("TPU_LIBRARY_PATH is {}, and the image's Python is {}: the file is not there",
                  escape_for_display(*value), interpreter->minor.to_string()),
      fmt::format("ENV TPU_LIBRARY_PATH={}  (or drop it: libtpu of pip is found without)", shell_argument(mended)),
      {subject.facts.variable_evidence(name)});
}

constexpr Rule rules[] = {
    {"tpu/environment", Level::error, Reach::config, R | D | I,
     "a required TPU_* variable is missing, empty or wrong for the type and topology",
     "libtpu looks for a metadata server and other hosts, or builds a mesh of the wrong shape, and finds no TPU.",
     "Set every variable of the table.", documentation, environment},
    {"tpu/topology-unknown", Level::error, Reach::config, R | D, "no such type and topology on Dataflow",
     "Dataflow attaches TPU slices of one host only; any other is refused when the job starts, or its mesh never "
     "builds.",
     "Take a type and topology of the documentation's table.", documentation, topology_unknown},
    {"tpu/libtpu-missing", Level::error, Reach::tree, R | D | I,
     "nothing installs an XLA stack for the TPU (jax[tpu], torch_xla[tpu], libtpu)",
     "Without libtpu the framework falls back to the CPU in silence, on a machine that is paid for its TPU.",
     "Install the framework with its tpu extra.", documentation, libtpu_missing},
    {"tpu/gpu-software", Level::warning, Reach::tree, R | D | I, "a CUDA base for a TPU target",
     "A TPU uses nothing of CUDA; every worker pulls it before it starts.", "Build on a plain Python or SDK image.",
     documentation, gpu_software},
    {"tpu/libtpu-path", Level::error, Reach::paths, D | I, "TPU_LIBRARY_PATH dangles",
     "The framework loads libtpu from exactly that file, and does not search where pip put it.",
     "Name the file that is there, or drop the variable.", documentation, libtpu_path},
};

}  // namespace

std::span<const Rule> tpu_rules() { return rules; }

}  // namespace imgforge
