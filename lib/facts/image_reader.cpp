#include "facts/image_reader.hpp"

#include <fmt/format.h>

#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "facts/boot.hpp"
#include "facts/commands.hpp"
#include "facts/contract.hpp"
#include "facts/distributions.hpp"
#include "facts/interpreters.hpp"
#include "facts/package_databases.hpp"
#include "facts/pyenv.hpp"
#include "facts/system.hpp"
#include "facts/worker.hpp"

namespace imgforge {
namespace {

constexpr std::uint64_t max_database = 32 << 20;  // an error beyond: packages must not be hidden by it

}  // namespace

ImageReader::ImageReader(const Image& image, RootView& root, const Knowledge& knowledge, Depth depth)
    : image_(image), root_(root), knowledge_(knowledge), depth_(depth) {
  os_release = LazyFact<OsRelease>([this] { return read_os_release(*this); });
  user = LazyFact<User>([this] { return read_user(*this); });
  boot_version = LazyFact<Version>([this] { return read_boot_version(*this); });
  interpreters = LazyFact<std::vector<Interpreter>>([this] { return read_interpreters(*this); });
  distributions = LazyFact<std::vector<Distribution>>([this] { return read_distributions(*this); });
  worker_python = LazyFact<WorkerPython>([this] { return read_worker_python(*this); });
  beam = LazyFact<Distribution>([this] { return read_beam(*this); });
  if (depth == Depth::full) return;
  const std::string reason = "it takes a look at every layer, and --depth contract reads named paths only";
  interpreters = LazyFact<std::vector<Interpreter>>([this] { return read_named_interpreters(*this); });
  distributions = LazyFact<std::vector<Distribution>>(Fact<std::vector<Distribution>>::unknown(reason));
  beam = LazyFact<Distribution>(Fact<Distribution>::unknown(reason));
}

std::string ImageReader::working_directory() const { return absolute_path(config().workdir, "/"); }

std::string ImageReader::search_path() const {
  auto path = config().variable("PATH");
  return path ? *path : std::string(default_path);
}

std::optional<Command> ImageReader::find(std::string_view name) const {
  auto command = find_command(root_, name, search_path(), working_directory());
  if (command) command = through_pyenv(root_, config(), *command, name, search_path(), working_directory());
  return command;
}

bool ImageReader::is_file(const std::string& path) const {
  const Lookup found = root_.lookup(path);
  return found && found.node->type == EntryType::file;
}

bool ImageReader::is_folder(const std::string& path) const {
  const Lookup found = root_.lookup(path);
  return found && found.node->type == EntryType::directory;
}

const Survey& ImageReader::survey() {
  if (!survey_) {
    std::set<std::string> folders;
    for (const std::string& folder : path_folders(search_path(), working_directory())) {
      const Lookup found = root_.lookup(folder);
      if (found && found.node->type == EntryType::directory) folders.insert(found.node->path);
    }
    survey_ = take_survey(root_, folders);
  }
  return *survey_;
}

const std::map<std::string, std::string>& ImageReader::packages() {
  if (packages_) return *packages_;
  packages_.emplace();
  const auto take = [&](const Node& node, auto parse) {
    if (node.type != EntryType::file) return;
    if (node.size > max_database) {
      throw Error(ErrorKind::image_limit,
                  fmt::format("{} has more than {}", escape_for_display(node.path), human_size(max_database)));
    }
    const auto text = root_.read(node, max_database);
    if (!text) return;
    packages_->merge(parse(*text));
    if (package_evidence_.path.empty()) package_evidence_ = evidence(node);
  };
  if (const Lookup found = root_.lookup("/var/lib/dpkg/status")) take(*found.node, parse_dpkg_status);
  if (packages_->empty()) {
    // Distroless images keep a file a package.
    std::size_t count = 0;
    for (const Node& node : root_.list("/var/lib/dpkg/status.d")) {
      if (!node.path.ends_with(".md5sums") && ++count <= 2'000) take(node, parse_dpkg_status);
    }
  }
  if (const Lookup found = root_.lookup("/lib/apk/db/installed"); found && packages_->empty())
    take(*found.node, parse_apk_installed);
  return *packages_;
}

}  // namespace imgforge
