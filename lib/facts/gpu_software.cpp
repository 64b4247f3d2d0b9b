#include "facts/gpu_software.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "facts/commands.hpp"
#include "facts/entrypoint.hpp"
#include "facts/interpreters.hpp"
#include "facts/system.hpp"

namespace imgforge {

const GpuFiles& GpuSoftware::files() {
  if (!files_) files_ = find_gpu_files(reader().root());
  return *files_;
}

const Fact<std::vector<LibraryFolder>>& GpuSoftware::library_folders() {
  if (!folders_) folders_ = read_library_folders(reader());
  return *folders_;
}

const Interpreter* GpuSoftware::interpreter() {
  read_distributions();
  return interpreter_;
}

const std::string& GpuSoftware::open() {
  read_distributions();
  return open_;
}

const std::vector<const Distribution*>& GpuSoftware::distributions() {
  read_distributions();
  return *distributions_;
}

const Distribution* GpuSoftware::distribution(std::string_view name) {
  const auto& all = distributions();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Distribution* one) { return one->name == name; });
  return found == all.end() ? nullptr : *found;
}

void GpuSoftware::read_distributions() {
  if (distributions_) return;
  distributions_.emplace();
  const auto& interpreters = reader().interpreters();
  const auto& worker = reader().worker_python();
  if (interpreters.is_unknown()) {
    open_ = interpreters.reason();
    return;
  }
  if (interpreters.is_absent() || interpreters->empty()) return;
  if (worker.is_unknown()) {
    open_ = worker.reason();
    return;
  }
  std::optional<std::size_t> index;
  if (worker.is_known()) {
    index = worker->interpreter;
  } else if (const std::string named = reader().config().variable("PYSPARK_PYTHON").value_or(""); !named.empty()) {
    const auto command = named.find('/') == std::string::npos
                             ? reader().find(named)
                             : command_at(reader().root(), absolute_path(named, reader().working_directory()));
    if (command) index = interpreter_of(reader(), interpreters.value(), *command);
  }
  if (!index && interpreters->size() == 1) index = 0;
  if (!index || *index >= interpreters->size()) {
    open_ = "which of the image's interpreters runs the work is not known";
    return;
  }
  interpreter_ = &interpreters.value()[*index];
  const auto& all = reader().distributions();
  if (all.is_unknown()) {
    open_ = all.reason();
    return;
  }
  if (all.is_absent()) return;
  std::set<std::string_view> names;
  for (const std::string& site : interpreter_->site_packages) {
    for (const Distribution& one : all.value()) {
      if (one.site == site && names.insert(one.name).second) distributions_->push_back(&one);
    }
  }
}

std::optional<std::size_t> GpuSoftware::position(std::string_view folder) {
  if (!order_) {
    order_.emplace();
    const auto add = [&](const std::string& path) {
      const Lookup found = reader().root().lookup(path);
      if (found && found.node->type == EntryType::directory) order_->push_back(found.node->path);
    };
    const auto& folders = library_folders();
    if (folders.is_known()) {
      for (const LibraryFolder& one : folders.value()) {
        if (one.exists) order_->push_back(one.path);
      }
    }
    for (const std::string& one : loader_cache_folders(reader())) add(one);
    for (const std::string& one : loader_folders(reader().config().platform.architecture)) add(one);
    // conda's programs and modules find its libraries by DT_RPATH.
    if (const Interpreter* python = interpreter(); python != nullptr && python->kind == Interpreter::Kind::conda)
      add(python->prefix + "/lib");
  }
  const auto found = std::find(order_->begin(), order_->end(), folder);
  if (found == order_->end()) return std::nullopt;
  return static_cast<std::size_t>(found - order_->begin());
}

bool GpuSoftware::starts_through_script() {
  if (through_script_) return *through_script_;
  const Fact<Entrypoint> entrypoint = follow_entrypoint(reader().config(), reader().root());
  through_script_ = !entrypoint.is_known() ||
                    std::any_of(entrypoint->chain.begin(), entrypoint->chain.end(), [](const std::string& program) {
                      static constexpr std::array<std::string_view, 7> harmless = {
                          "boot", "tini", "tini-static", "dumb-init", "catatonit", "env", "nvidia_entrypoint.sh"};
                      return std::find(harmless.begin(), harmless.end(), name_of(program)) == harmless.end();
                    });
  return *through_script_;
}

std::vector<std::pair<std::string, const Node*>> GpuSoftware::conda_records(std::string_view prefix) {
  std::vector<std::pair<std::string, const Node*>> records;
  const std::string folder = std::string(prefix == "/" ? "" : prefix) + "/conda-meta";
  for (const Node& node : files().conda) {
    if (folder_of(node.path) != folder) continue;
    std::string_view name = name_of(node.path);
    name.remove_suffix(std::string_view(".json").size());
    records.emplace_back(name, &node);
  }
  return records;
}

void leave_out_gpu_software(Facts& facts, const std::string& reason) {
  facts.cuda = LazyFact<std::vector<CudaToolkit>>(Fact<std::vector<CudaToolkit>>::unknown(reason));
  facts.cudnn = LazyFact<std::vector<Cudnn>>(Fact<std::vector<Cudnn>>::unknown(reason));
  facts.frameworks = LazyFact<std::vector<Framework>>(Fact<std::vector<Framework>>::unknown(reason));
  facts.driver_libraries = LazyFact<std::vector<DriverLibrary>>(Fact<std::vector<DriverLibrary>>::unknown(reason));
  facts.ptxas = LazyFact<bool>(Fact<bool>::unknown(reason));
  facts.libtpu = LazyFact<bool>(Fact<bool>::unknown(reason));
}

Version cuda_release(const Version& version) {
  const auto& parts = version.release();
  if (parts.size() < 2) return version;
  return *Version::parse(std::to_string(parts[0]) + "." + std::to_string(parts[1]));
}

}  // namespace imgforge
