#include "facts/from_image.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include "base/text.hpp"
#include "facts/boot.hpp"
#include "facts/commands.hpp"
#include "facts/contract.hpp"
#include "facts/entrypoint.hpp"
#include "facts/foreign_modules.hpp"
#include "facts/gpu_software.hpp"
#include "facts/image_reader.hpp"
#include "facts/image_waste.hpp"
#include "facts/secrets.hpp"
#include "facts/spark_needs.hpp"
#include "facts/system.hpp"
#include "facts/system_packages.hpp"
#include "facts/worker.hpp"

namespace imgforge {
namespace {

constexpr std::size_t max_named_paths = 1'024;

Fact<std::vector<std::pair<std::string, std::string>>> read_env(const ImageConfig& config) {
  std::vector<std::pair<std::string, std::string>> env;
  std::map<std::string_view, std::size_t> position;
  for (const auto& pair : config.env) {
    const auto [known, fresh] = position.try_emplace(pair.first, env.size());
    if (fresh) {
      env.push_back(pair);
    } else {
      env[known->second].second = pair.second;
    }
  }
  return Fact<std::vector<std::pair<std::string, std::string>>>::known(std::move(env), {Evidence::in_config("Env")});
}

Fact<std::map<std::string, Command>> read_commands(const ImageReader& reader) {
  std::map<std::string, Command> commands;
  std::vector<Evidence> evidence = {Evidence::in_config("Env.PATH")};
  for (const char* name : {"python", "python3", "pip"}) {
    // Each name that is nowhere is looked for in every layer: by paths alone, the first that works is enough.
    const bool enough = !commands.empty() && commands.begin()->second.executable;
    if (reader.depth() == Depth::contract && enough) break;
    const auto command = reader.find(name);
    if (!command) continue;
    const Lookup link = reader.root().lookup_link(command->found_at);
    if (link) evidence.push_back(reader.evidence(*link.node));
    commands.emplace(name, *command);
  }
  return Fact<std::map<std::string, Command>>::known(std::move(commands), std::move(evidence));
}

Fact<Command> read_usr_local_pip(const ImageReader& reader) {
  const std::string path = "/usr/local/bin/pip";
  const auto command = command_at(reader.root(), path);
  if (!command) return Fact<Command>::absent();
  const Lookup link = reader.root().lookup_link(path);
  return Fact<Command>::known(*command, {reader.evidence(*link.node)});
}

/// The parts of a command line's word that look like absolute paths: a script's name inside of a `sh -c` text, too.
void add_paths(std::string_view word, const std::string& folder, std::set<std::string>& paths) {
  std::size_t start = 0;
  while (start < word.size() && paths.size() < max_named_paths) {
    const std::size_t end = std::min(word.find_first_of(" \t\r\n\"'`;&|<>(){}$=", start), word.size());
    const std::string_view part = word.substr(start, end - start);
    if (part.find('/') != std::string_view::npos && part.size() <= 4096) paths.insert(absolute_path(part, folder));
    start = end + 1;
  }
}

}  // namespace

std::vector<std::string> paths_named_by(const ImageConfig& config) {
  const std::string folder = absolute_path(config.workdir, "/");
  std::set<std::string> paths = {std::string(boot_path), "/opt/apache/beam/tars/apache-beam.tar.gz"};
  const std::string search = config.variable("PATH").value_or(std::string(default_path));
  for (const auto* words : {&config.entrypoint, &config.cmd}) {
    for (const std::string& word : *words) {
      add_paths(word, folder, paths);
      // A bare name may be a script on PATH.
      if (word.find_first_of("/ \t\n") != std::string::npos || word.empty() || word.starts_with('-') ||
          word.size() > 255)
        continue;
      for (const std::string& one : path_folders(search, folder)) {
        if (paths.size() < max_named_paths) paths.insert(absolute_path(word, one));
      }
    }
  }
  return {paths.begin(), paths.end()};
}

Facts facts_from_image(const Image& image, RootView& root, const Knowledge& knowledge, Depth depth) {
  const auto reader = std::make_shared<ImageReader>(image, root, knowledge, depth);
  Facts facts;
  facts.platform =
      LazyFact<Platform>(Fact<Platform>::known(image.config().platform, {Evidence::in_config("architecture")}));
  facts.env = LazyFact<std::vector<std::pair<std::string, std::string>>>(read_env(image.config()));
  std::vector<Evidence> labelled;
  for (const auto& [name, value] : image.config().labels) labelled.push_back(Evidence::in_label(name));
  facts.labels = LazyFact<std::map<std::string, std::string>>(
      Fact<std::map<std::string, std::string>>::known(image.config().labels, std::move(labelled)));

  facts.os_release = LazyFact<OsRelease>([reader] { return reader->os_release(); });
  facts.libc = LazyFact<Libc>([reader] { return read_libc(*reader); });
  facts.user = LazyFact<User>([reader] { return reader->user(); });
  facts.workdir = LazyFact<WorkingDirectory>([reader] { return read_workdir(*reader); });
  facts.venv_folder_writable = LazyFact<bool>([reader] { return read_venv_folder_writable(*reader); });
  facts.entrypoint = LazyFact<Entrypoint>([reader] { return follow_entrypoint(reader->config(), reader->root()); });
  facts.boot = LazyFact<Boot>([reader] { return read_boot(*reader); });
  facts.boot_version = LazyFact<Version>([reader] { return reader->boot_version(); });
  facts.interpreters = LazyFact<std::vector<Interpreter>>([reader] { return reader->interpreters(); });
  facts.distributions = LazyFact<std::vector<Distribution>>([reader] { return reader->distributions(); });
  facts.foreign_modules = LazyFact<std::vector<ForeignModules>>([reader] { return read_foreign_modules(*reader); });
  facts.commands = LazyFact<std::map<std::string, Command>>([reader] { return read_commands(*reader); });
  facts.usr_local_pip = LazyFact<Command>([reader] { return read_usr_local_pip(*reader); });
  facts.python_path = LazyFact<Command>([reader] {
    const std::string value = reader->config().variable("PYTHON_PATH").value_or("");
    const auto command = value.empty() ? std::nullopt
                         : value.find('/') == std::string::npos
                             ? reader->find(value)
                             : command_at(reader->root(), absolute_path(value, reader->working_directory()));
    const std::vector<Evidence> evidence = {Evidence::in_config("Env.PYTHON_PATH")};
    return command ? Fact<Command>::known(*command, evidence) : Fact<Command>::absent(evidence);
  });
  facts.worker_python = LazyFact<WorkerPython>([reader] { return reader->worker_python(); });
  facts.beam = LazyFact<Distribution>([reader] { return reader->beam(); });
  facts.beam_version = LazyFact<Version>([reader] { return read_beam_version(*reader); });
  facts.spark = LazyFact<SparkNeeds>([reader] { return read_spark_needs(*reader); });
  facts.flex_launcher = LazyFact<FlexLauncher>([reader] { return read_flex_launcher(*reader); });
  facts.secrets = LazyFact<std::vector<Secret>>([reader] { return read_secrets(*reader); });
  facts.image_size = LazyFact<ImageSize>([&image, &root] { return read_image_size(image, root); });
  facts.waste = LazyFact<Waste>([&root] { return read_waste(root); });
  facts.has_path = [reader](const std::string& path) { return Fact<bool>::known(reader->exists(path)); };
  facts.system_packages =
      LazyFact<std::map<std::string, std::string>>([reader] { return read_system_packages(*reader); });
  facts.site_machines = LazyFact<SiteMachines>([reader] {
    const SiteMachines& machines = reader->survey().machines;
    std::vector<Evidence> evidence;
    for (const auto& [machine, example] : machines.example) evidence.push_back(example.second);
    return Fact<SiteMachines>::known(machines, std::move(evidence));
  });
  const auto gpu = std::make_shared<GpuSoftware>(reader);
  facts.library_folders = LazyFact<std::vector<LibraryFolder>>([gpu] { return gpu->library_folders(); });
  facts.missing_library_folders =
      LazyFact<std::vector<std::string>>([gpu] { return read_missing_library_folders(gpu->library_folders()); });
  facts.tpu_library = LazyFact<bool>([reader] { return read_tpu_library(*reader); });
  facts.cuda = LazyFact<std::vector<CudaToolkit>>([gpu] { return read_cuda(*gpu); });
  facts.cudnn = LazyFact<std::vector<Cudnn>>([gpu] { return read_cudnn(*gpu); });
  facts.frameworks = LazyFact<std::vector<Framework>>([gpu] { return read_frameworks(*gpu); });
  facts.driver_libraries = LazyFact<std::vector<DriverLibrary>>([gpu] { return read_driver_libraries(*gpu); });
  facts.ptxas = LazyFact<bool>([gpu] { return read_ptxas(*gpu); });
  facts.libtpu = LazyFact<bool>([gpu] { return read_libtpu(*gpu); });
  if (depth == Depth::contract) {
    leave_out_gpu_software(facts, reader->distributions().reason());
    facts.libc = LazyFact<Libc>([reader] { return read_libc_of_interpreter(*reader); });
    facts.beam_version = LazyFact<Version>([reader] { return read_named_beam_version(*reader); });
    facts.site_machines = LazyFact<SiteMachines>(Fact<SiteMachines>::unknown(reader->distributions().reason()));
  }
  return facts;
}

}  // namespace imgforge
