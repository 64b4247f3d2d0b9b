#include "facts/from_recipe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "facts/base_software.hpp"
#include "facts/requirements_file.hpp"
#include "facts/wheel_software.hpp"
#include "recipe/secret.hpp"
#include "render/plan.hpp"

namespace imgforge {

namespace {

constexpr std::string_view site = "site-packages of the recipe's interpreter";

class RecipeReader {
 public:
  RecipeReader(const Recipe& recipe, const ContextFile& context, const Knowledge& knowledge)
      : written_(recipe), plan_(make_plan(recipe, knowledge).sketch), context_(context), knowledge_(knowledge) {}

  Facts read() {
    system();
    environment();
    interpreter();
    images();
    packages();
    gpu_software();
    other_targets();
    worker();
    facts_.build = std::make_shared<Build>(std::move(build_));
    return std::move(facts_);
  }

 private:
  const Recipe& recipe() const { return plan_.recipe; }
  Place place(std::string_view path) const { return written_.place_of(path); }
  Evidence at(std::string_view path) const { return Evidence::at(place(path)); }
  StepPlace step(std::string_view path, std::string line) const { return {place(path), {}, true, std::move(line)}; }
  bool is_spark() const { return recipe().target.runner == Runner::spark_serverless; }
  bool is_launcher_only() const { return recipe().target.role == Role::launcher; }

  void system();
  void environment();
  void interpreter();
  void images();
  void packages();
  void add_requirements(PipInstall& install, const std::string& file, std::string_view path, bool as_constraints);
  void add_distribution(const PackageRequest& request);
  void gpu_software();
  void other_targets();
  std::optional<BaseImage> launcher_image_row() const;
  void worker();
  LazyFact<Distribution> inherited_beam(const Version& version);

  const Recipe& written_;
  const Plan plan_;
  const ContextFile& context_;
  const Knowledge& knowledge_;
  Facts facts_;
  Build build_;
  Interpreter interpreter_;
  std::vector<Distribution> distributions_;
  std::string distributions_open_;  // why there may be more than these
  WheelSoftware wheels_;
};

template <class T>
LazyFact<T> fact(T value, std::vector<Evidence> evidence = {}) {
  return LazyFact<T>(Fact<T>::known(std::move(value), std::move(evidence)));
}

void RecipeReader::system() {
  Platform platform;
  platform.os = "linux";
  platform.architecture = "amd64";
  facts_.platform = fact(std::move(platform));
  if (!plan_.os) {
    const std::string reason =
        recipe().base_image ? fmt::format("what {} stands on", escape_for_display(recipe().base_image->to_string()))
                            : "the base image";
    facts_.os_release = LazyFact<OsRelease>(Fact<OsRelease>::unknown(reason));
    facts_.libc = LazyFact<Libc>(Fact<Libc>::unknown(reason));
    return;
  }
  const std::size_t number = std::min(plan_.os->id.find_first_of("0123456789"), plan_.os->id.size());
  OsRelease os;
  os.id = plan_.os->id.substr(0, number);
  os.version_id = plan_.os->id.substr(number);
  os.code_name = plan_.os->code_name;
  os.pretty_name = plan_.os->id;
  Libc libc;
  libc.family = os.id == "alpine" ? Libc::Family::musl : Libc::Family::glibc;
  facts_.os_release = fact(std::move(os), {at("base.image")});
  facts_.libc = fact(std::move(libc), {at("base.image")});
}

void RecipeReader::environment() {
  std::vector<std::pair<std::string, std::string>> env = plan_.environment.empty() ? recipe().env : plan_.environment;
  for (const auto& [name, value] : env) {
    const bool own = std::any_of(written_.env.begin(), written_.env.end(),
                                 [&, &wanted = name](const auto& pair) { return pair.first == wanted; });
    facts_.env_places[name] = at(own ? "env." + name : "accelerator");
  }
  if (!plan_.library_path.empty()) {
    const bool set =
        std::any_of(env.begin(), env.end(), [](const auto& pair) { return pair.first == "LD_LIBRARY_PATH"; });
    if (!set) env.emplace_back("LD_LIBRARY_PATH", join(plan_.library_path, ":"));
  }
  if (!plan_.base)
    facts_.env_open =
        fmt::format("{} may set variables", recipe().base_image ? escape_for_display(recipe().base_image->to_string())
                                                                : std::string("the base image"));
  facts_.env = fact(std::move(env));
  std::map<std::string, std::string> labels(recipe().labels.begin(), recipe().labels.end());
  facts_.labels = fact(std::move(labels));
}

void RecipeReader::interpreter() {
  const bool from_base = recipe().python_from == PythonFrom::base;
  const std::optional<PythonMinor> minor =
      from_base && plan_.base && plan_.base->python ? plan_.base->python : recipe().python_version;
  if (!minor) {
    const std::string reason = "which Python the image will have";
    facts_.interpreters = LazyFact<std::vector<Interpreter>>(Fact<std::vector<Interpreter>>::unknown(reason));
    facts_.worker_python = LazyFact<WorkerPython>(Fact<WorkerPython>::unknown(reason));
    return;
  }
  interpreter_.minor = *minor;
  // A tag such as 3.15.0rc1-slim says which version exactly.
  if (from_base && plan_.base && plan_.base->kind == "python") {
    const std::string& tag = recipe().base_image->tag();
    const std::optional<Version> exact = Version::parse(tag.substr(0, tag.find('-')));
    if (exact && exact->release().size() > 2)
      interpreter_.version = exact;
    else if (exact && exact->is_prerelease())
      interpreter_.version = exact;
  }
  interpreter_.kind = recipe().python_from == PythonFrom::conda ? Interpreter::Kind::conda
                      : recipe().python_from == PythonFrom::uv  ? Interpreter::Kind::standalone
                                                                : Interpreter::Kind::system;
  interpreter_.path = from_base && plan_.base && !plan_.base->python_path.empty() ? plan_.base->python_path
                                                                                  : "python" + minor->to_string();
  interpreter_.on_path_as = {"python", "python3"};
  interpreter_.site_packages = {std::string(site)};
  interpreter_.has_venv = interpreter_.has_ensurepip = true;  // what is rendered sees to it
  interpreter_.externally_managed = plan_.externally_managed;
  const bool written = written_.places.contains("python.version") && !(from_base && plan_.base && plan_.base->python);
  interpreter_.evidence = {at(written ? "python.version" : written_.base_image ? "base.image" : "python.version")};
  facts_.interpreters = fact(std::vector<Interpreter>{interpreter_}, interpreter_.evidence);
  facts_.worker_python = fact(WorkerPython{0, "python"}, interpreter_.evidence);
}

void RecipeReader::images() {
  build_.file = place("name").file;
  if (recipe().base_image) {
    ImageUse use;
    use.role = ImageUse::Role::base;
    use.at = step(written_.base_image ? "base.image" : "beam.version", recipe().base_image->to_string());
    use.written = use.expanded = recipe().base_image->to_string();
    use.reference = recipe().base_image;
    use.row = plan_.base;
    use.runs_steps = true;
    build_.images.push_back(std::move(use));
  }
  const bool boot_copied = !is_spark() && !is_launcher_only() && recipe().boot == BootFrom::copy && !plan_.base_is_sdk;
  if (boot_copied && plan_.sdk_image) {
    ImageUse use;
    use.role = ImageUse::Role::copy;
    use.at = step(written_.beam_version ? "beam.version" : "beam", plan_.sdk_image->to_string());
    use.written = use.expanded = plan_.sdk_image->to_string();
    use.reference = plan_.sdk_image;
    use.row =
        knowledge_.base_image(plan_.sdk_image->host() + "/" + plan_.sdk_image->repository(), plan_.sdk_image->tag());
    use.copied = {"/opt/apache/beam"};
    build_.images.push_back(std::move(use));
  }
}

void RecipeReader::add_distribution(const PackageRequest& request) {
  if (!request.requirement) return;
  Distribution distribution;
  distribution.name = request.name;
  distribution.version = request.requirement->specifiers().pinned();
  distribution.version_text =
      distribution.version ? distribution.version->to_string() : request.requirement->specifiers().to_string();
  distribution.extras = request.requirement->extras();
  distribution.site = site;
  distribution.evidence = Evidence::at(request.place);
  // A later step of the build wins.
  std::erase_if(distributions_, [&](const Distribution& other) { return other.name == distribution.name; });
  distributions_.push_back(std::move(distribution));
}

void RecipeReader::add_requirements(PipInstall& install, const std::string& file, std::string_view path,
                                    bool as_constraints) {
  const RequirementsFile read = read_requirements_file(
      file, [&](const std::string& name) { return context_(name); },
      [](std::string_view) { return std::optional<std::string>(); }, as_constraints);
  for (const auto& [lines, into] :
       {std::pair{&read.requirements, &install.requests}, std::pair{&read.constraints, &install.constraints}}) {
    for (const RequirementLine& line : *lines) {
      into->push_back({line.written,
                       line.requirement ? line.requirement->normalised() : std::string(),
                       {},
                       line.requirement,
                       line.place});
    }
  }
  install.indexes.insert(install.indexes.end(), read.index_urls.begin(), read.index_urls.end());
  install.find_links.insert(install.find_links.end(), read.find_links.begin(), read.find_links.end());
  if (!read.not_known.empty() && install.not_known.empty())
    install.not_known = fmt::format("{} ({})", read.not_known.front(), path);
}

void RecipeReader::packages() {
  PipInstall install;
  install.at = step("packages.pip", "packages");
  install.interpreter.program = "pip";
  install.interpreter.minor = interpreter_.path.empty() ? std::nullopt : std::optional(interpreter_.minor);
  install.interpreter.version = interpreter_.version;
  install.interpreter.kind = interpreter_.kind;
  install.interpreter.path = interpreter_.path;
  install.interpreter.externally_managed = interpreter_.externally_managed;
  install.break_system_packages = true;  // what is rendered says it where it has to
  install.indexes = recipe().packages.indexes;
  install.find_links = recipe().packages.find_links;
  const auto request = [&](Requirement requirement, std::string_view path) {
    std::string text = requirement.to_string();
    std::string name = requirement.normalised();
    install.requests.push_back({std::move(text), std::move(name), {}, std::move(requirement), place(path)});
  };
  const auto parsed = [&](const std::string& text, std::string_view path) {
    if (auto requirement = Requirement::parse(text)) request(std::move(*requirement), path);
  };
  // In the order in which the build installs them.
  for (const std::string& text : plan_.kept) parsed(text, "frameworks");
  for (const std::string& text : plan_.frameworks) {
    const auto requirement = Requirement::parse(text);
    if (requirement) request(*requirement, "frameworks." + requirement->normalised());
  }
  if (plan_.frameworks.empty() && plan_.kept.empty()) {
    for (const auto& [name, version] :
         {std::pair{"tensorflow", recipe().frameworks.tensorflow}, std::pair{"torch", recipe().frameworks.torch},
          std::pair{"jax", recipe().frameworks.jax}}) {
      if (version && !(plan_.base && plan_.base->kind.starts_with("ngc-")))
        parsed(fmt::format("{}=={}", name, version->to_string()), fmt::format("frameworks.{}", name));
    }
  }
  if (!is_spark() && recipe().beam_version && !(recipe().boot == BootFrom::inherit && !written_.beam_version)) {
    const std::vector<std::string>& extras = recipe().beam_extras;
    parsed(fmt::format("apache-beam{}=={}", extras.empty() ? std::string() : "[" + join(extras, ",") + "]",
                       recipe().beam_version->to_string()),
           written_.beam_version ? "beam.version" : "base.image");
  }
  for (std::size_t i = 0; i < recipe().packages.pip.size(); ++i)
    request(recipe().packages.pip[i], fmt::format("packages.pip[{}]", i));
  if (!recipe().packages.requirements.empty())
    add_requirements(install, recipe().packages.requirements, "packages.requirements", false);
  if (!recipe().packages.constraints.empty())
    add_requirements(install, recipe().packages.constraints, "packages.constraints", true);
  const MarkerEnvironment markers = linux_markers(
      interpreter_.version ? *interpreter_.version : *Version::parse(interpreter_.minor.to_string()), "x86_64");
  std::erase_if(install.requests,
                [&](const PackageRequest& one) { return one.requirement && !one.requirement->applies(markers); });
  for (const PackageRequest& one : install.requests) {
    add_distribution(one);
    add_wheel(wheels_, one, install.indexes, knowledge_);
  }
  distributions_open_ = install.not_known;
  build_.pip.push_back(std::move(install));

  AptInstall apt;
  apt.at = step("packages.apt", "packages.apt");
  apt.program = "apt-get";
  apt.os = plan_.os ? plan_.os->id : std::string();
  const auto package = [&](const std::string& text, std::string_view path) {
    const std::size_t equals = text.find('=');
    apt.packages.push_back({text, text.substr(0, equals),
                            equals == std::string::npos ? std::string() : text.substr(equals + 1), std::nullopt,
                            place(path)});
  };
  for (std::size_t i = 0; i < recipe().packages.apt.size(); ++i)
    package(recipe().packages.apt[i], fmt::format("packages.apt[{}]", i));
  const PythonFrom from = recipe().python_from.value_or(PythonFrom::base);
  if (recipe().python_version && (from == PythonFrom::apt || from == PythonFrom::deadsnakes)) {
    package("python" + recipe().python_version->to_string(), "python.version");
    if (from == PythonFrom::deadsnakes) apt.repositories.push_back("deadsnakes");
  }
  if (!apt.packages.empty()) build_.apt.push_back(std::move(apt));

  for (const auto* pairs : {&written_.env, &written_.labels}) {
    for (const auto& [name, value] : *pairs) {
      const bool env = pairs == &written_.env;
      if (looks_secret(name, value)) {
        const std::string path = (env ? "env." : "labels.") + name;
        build_.secrets.push_back({step(path, name), name, env ? "env" : "labels"});
      }
    }
  }
}

void RecipeReader::gpu_software() {
  BaseSoftware base;
  if (recipe().base_image)
    base = base_software(*recipe().base_image, plan_.base ? &*plan_.base : nullptr, knowledge_, at("base.image"));
  const bool base_interpreter = recipe().python_from == PythonFrom::base;
  std::vector<CudaToolkit> cuda = std::move(base.cuda);
  std::vector<Cudnn> cudnn = std::move(base.cudnn);
  // What lies in the base's interpreter is not there for another one.
  if (!base_interpreter) {
    base.frameworks.clear();
    std::erase_if(cuda, [](const CudaToolkit& one) { return one.from == CudaToolkit::From::wheels; });
  }
  std::vector<Framework> frameworks = std::move(base.frameworks);
  for (Framework& framework : wheels_.frameworks) {
    std::erase_if(frameworks, [&](const Framework& other) { return other.name == framework.name; });
    frameworks.push_back(std::move(framework));
  }
  if (recipe().gpu) {
    const GpuSpec& gpu = *recipe().gpu;
    const auto own = [&](CudaToolkit::From from) {
      std::erase_if(cuda, [](const CudaToolkit& one) { return one.from == CudaToolkit::From::base; });
      CudaToolkit toolkit;
      toolkit.from = from;
      toolkit.version = gpu.cuda.version;
      toolkit.flavour = CudaToolkit::Flavour::runtime;
      toolkit.folder = "/usr/local/cuda";
      toolkit.evidence = {at("accelerator.gpu.cuda")};
      cuda.push_back(std::move(toolkit));
    };
    if (gpu.cuda.from == CudaFrom::runfile) own(CudaToolkit::From::runfile);
    if (gpu.cuda.from == CudaFrom::apt) own(CudaToolkit::From::apt);
    if (gpu.cudnn.from == CudnnFrom::archive || gpu.cudnn.from == CudnnFrom::apt) {
      std::erase_if(cudnn, [](const Cudnn& one) { return one.from == CudaToolkit::From::base; });
      Cudnn library;
      library.from = gpu.cudnn.from == CudnnFrom::apt ? CudaToolkit::From::apt : CudaToolkit::From::files;
      library.version = gpu.cudnn.version;
      library.major = gpu.cudnn.version ? static_cast<unsigned>(gpu.cudnn.version->major()) : 0;
      library.folder = gpu.cudnn.from == CudnnFrom::apt ? "/usr/lib/x86_64-linux-gnu" : "/usr/local/cudnn/lib64";
      library.evidence = {at("accelerator.gpu.cudnn")};
      cudnn.push_back(std::move(library));
    }
  }
  cuda.insert(cuda.end(), wheels_.cuda.begin(), wheels_.cuda.end());
  cudnn.insert(cudnn.end(), wheels_.cudnn.begin(), wheels_.cudnn.end());
  const std::string open = !base.not_known.empty() ? base.not_known : std::string();
  if (!open.empty() && cuda.empty()) {
    facts_.cuda = LazyFact<std::vector<CudaToolkit>>(Fact<std::vector<CudaToolkit>>::unknown(open));
  } else {
    facts_.cuda = fact(std::move(cuda));
  }
  if (!open.empty() && cudnn.empty()) {
    facts_.cudnn = LazyFact<std::vector<Cudnn>>(Fact<std::vector<Cudnn>>::unknown(open));
  } else {
    facts_.cudnn = fact(std::move(cudnn));
  }
  facts_.frameworks = !distributions_open_.empty() && frameworks.empty()
                          ? LazyFact<std::vector<Framework>>(Fact<std::vector<Framework>>::unknown(distributions_open_))
                          : fact(std::move(frameworks));
  facts_.libtpu = wheels_.libtpu || distributions_open_.empty()
                      ? fact(wheels_.libtpu)
                      : LazyFact<bool>(Fact<bool>::unknown(distributions_open_));
}

/// The Flex launcher and Spark's needs: what is rendered brings them where the recipe is for them.
void RecipeReader::other_targets() {
  const Runner runner = recipe().target.runner;
  const bool launches = runner == Runner::dataflow_flex || recipe().target.role != Role::worker;
  if (launches) {
    FlexLauncher launcher;
    launcher.path = "/opt/google/dataflow/python_template_launcher";
    launcher.evidence = {at("target")};
    if (const std::optional<BaseImage> row = launcher_image_row()) launcher.python = row->python;
    facts_.flex_launcher = fact(launcher, launcher.evidence);
  } else if (plan_.base && plan_.base->kind == "launcher") {
    FlexLauncher launcher;
    launcher.path = "/opt/google/dataflow/python_template_launcher";
    launcher.python = plan_.base->python;
    launcher.evidence = {at("base.image")};
    facts_.flex_launcher = fact(launcher, launcher.evidence);
  } else if (plan_.base) {
    facts_.flex_launcher = LazyFact<FlexLauncher>(Fact<FlexLauncher>::absent());
  } else {
    facts_.flex_launcher = LazyFact<FlexLauncher>(Fact<FlexLauncher>::unknown(facts_.env_open));
  }

  SparkNeeds needs;
  std::vector<Evidence> spark;
  for (const Distribution& distribution : distributions_) {
    if (distribution.name == "pyspark") spark.push_back(distribution.evidence);
  }
  std::vector<Evidence> java;
  for (std::size_t i = 0; i < recipe().packages.apt.size(); ++i) {
    const std::string& package = recipe().packages.apt[i];
    if (package.starts_with("openjdk-") || package.starts_with("default-jre") || package.starts_with("default-jdk"))
      java.push_back(at(fmt::format("packages.apt[{}]", i)));
  }
  needs.spark = !spark.empty()                ? Fact<bool>::known(true, std::move(spark))
                : distributions_open_.empty() ? Fact<bool>::known(false)
                                              : Fact<bool>::unknown(distributions_open_);
  needs.java = Fact<bool>::known(!java.empty(), std::move(java));
  if (runner == Runner::spark_serverless) {
    needs.procps = Fact<bool>::known(true);
    needs.tini = Fact<bool>::known(true);
    User user;
    user.written = "spark";
    user.uid = user.gid = 1099;
    user.home = "/home/spark";
    needs.user_spark = Fact<User>::known(user);
  }
  facts_.spark = fact(std::move(needs));
}

/// What is known of flex.launcher_image.
std::optional<BaseImage> RecipeReader::launcher_image_row() const {
  const std::optional<Reference>& image = written_.flex.launcher_image;
  if (!image) return std::nullopt;
  return knowledge_.base_image(image->host() + "/" + image->repository(),
                               image->tag().empty() ? "latest" : image->tag());
}

void RecipeReader::worker() {
  const auto no_boot = [&] { return is_spark() || is_launcher_only(); };
  // boot comes from the SDK image of the recipe's versions, or is the base's own.
  std::optional<Version> boot;
  std::string from = written_.beam_version ? "beam.version" : "base.image";
  if (recipe().boot == BootFrom::inherit && plan_.base && plan_.base->kind == "beam-sdk") {
    boot = Version::parse(recipe().base_image->tag());
    from = "base.image";
  } else if (recipe().boot == BootFrom::copy) {
    boot = recipe().beam_version;
  }
  if (no_boot()) {
    facts_.boot = LazyFact<Boot>(Fact<Boot>::absent());
    facts_.boot_version = LazyFact<Version>(Fact<Version>::absent());
  } else {
    Boot program;
    program.path = "/opt/apache/beam/boot";
    program.regular = program.executable = program.elf = true;
    facts_.boot = fact(std::move(program), {at("beam")});
    facts_.boot_version =
        boot ? fact(*boot, {at(from)}) : LazyFact<Version>(Fact<Version>::unknown("the release that boot is of"));
  }
  Entrypoint entrypoint;
  entrypoint.entrypoint = {is_launcher_only() ? "/opt/google/dataflow/python_template_launcher"
                                              : "/opt/apache/beam/boot"};
  entrypoint.ends_in = is_spark() ? Program::other : is_launcher_only() ? Program::launcher : Program::boot;
  facts_.entrypoint = fact(std::move(entrypoint));

  const auto beam = std::find_if(distributions_.begin(), distributions_.end(),
                                 [](const Distribution& one) { return one.name == "apache-beam"; });
  if (beam != distributions_.end()) {
    facts_.beam = fact(*beam, {beam->evidence});
    facts_.beam_version =
        beam->version ? fact(*beam->version, {beam->evidence}) : LazyFact<Version>(facts_.boot_version());
  } else {
    facts_.beam = boot && recipe().boot == BootFrom::inherit ? inherited_beam(*boot)
                  : distributions_open_.empty()
                      ? LazyFact<Distribution>(Fact<Distribution>::absent())
                      : LazyFact<Distribution>(Fact<Distribution>::unknown(distributions_open_));
    facts_.beam_version = LazyFact<Version>(facts_.boot_version());
  }
  facts_.distributions = fact(std::move(distributions_));
}

LazyFact<Distribution> RecipeReader::inherited_beam(const Version& version) {
  Distribution beam;
  beam.name = "apache-beam";
  beam.version = version;
  beam.version_text = version.to_string();
  beam.site = site;
  beam.evidence = at("base.image");
  distributions_.push_back(beam);
  return fact(beam, {beam.evidence});
}

}  // namespace

Facts facts_from_recipe(const Recipe& recipe, const ContextFile& context, const Knowledge& knowledge) {
  return RecipeReader(recipe, context, knowledge).read();
}

}  // namespace imgforge
