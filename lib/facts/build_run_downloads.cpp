// What a RUN step fetches, and NVIDIA's installers among it.
#include <fmt/format.h>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"
#include "facts/wrappers.hpp"

namespace imgforge {

namespace {

std::string host_path_of(std::string_view url) { return std::string(url.substr(0, url.find_first_of("?#"))); }

}  // namespace

void BuildReader::download(Step& step, const Running& running, const DownloadCommand& download) {
  BuildState& state = *step.state;
  const std::optional<std::size_t> reader = running.command->piped_into;
  for (const DownloadCommand::Item& item : download.items) {
    const std::string url = item.url.text;
    const std::string plain = host_path_of(url);
    if (!item.file.empty() && item.file.starts_with('/') && !download.data_sent && !item.file.starts_with("/dev/")) {
      BuildFile file;
      file.evidence = running.evidence;
      file.executable = false;
      const std::string path = absolute_path(item.file, "/");
      state.files.put(path, std::move(file));
      state.downloads[path] = url;
    }
    if (plain.ends_with(".py") && build_->scripts.size() < max_uses) {
      ScriptDownload script;
      script.at = running.at;
      script.url = url;
      if (reader && *reader < step.run.commands.size()) {
        if (const auto python = read_python(step.run.commands[*reader])) {
          script.run_by = find_python(state, running_of(step, *reader),
                                      python->python.empty() ? python->program : python->python, python->program)
                              .interpreter;
        }
      }
      build_->scripts.push_back(std::move(script));
    }
  }
}

void BuildReader::gpu_installer(Step& step, const Running& running) {
  BuildState& state = *step.state;
  const RunCommand& command = *running.command;
  std::string file;
  bool driver = false, toolkit = false, silent = false;
  std::string folder;
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const std::string word = text_of(command.words, i);
    if (word.ends_with(".run") && file.empty()) file = word;
    if (word == "--driver" || word.starts_with("--driver=")) driver = true;
    if (word == "--toolkit" || word == "--samples") toolkit = true;
    if (word == "--silent" || word == "-s") silent = true;
    if (word.starts_with("--toolkitpath=") || word.starts_with("--installpath="))
      folder = word.substr(word.find('=') + 1);
  }
  if (file.empty()) return;
  std::string name = file;
  if (command.folder || file.starts_with('/')) {
    const auto origin = state.downloads.find(absolute_path(file, command.folder.value_or("/")));
    if (origin != state.downloads.end()) name = origin->second;
  }
  const std::string last = lower(name.substr(name.rfind('/') + 1));
  const bool nvidia_driver = last.starts_with("nvidia-linux");
  if (!nvidia_driver && last.find("cuda") == std::string::npos) return;
  if (nvidia_driver || driver || (silent && !toolkit)) {
    if (build_->driver_installs.size() < max_uses) build_->driver_installs.push_back(running.at);
  }
  if (nvidia_driver || (driver && !toolkit)) return;
  CudaToolkit cuda;
  cuda.from = CudaToolkit::From::runfile;
  cuda.flavour = CudaToolkit::Flavour::devel;
  // cuda_12.2.2_535.104.05_linux.run
  const std::size_t digits = last.find_first_of("0123456789");
  if (digits != std::string::npos)
    cuda.version =
        Version::parse(std::string_view(last).substr(digits, last.find_first_not_of("0123456789.", digits) - digits));
  cuda.folder = !folder.empty() ? folder : "/usr/local/cuda";
  cuda.evidence = {running.evidence};
  state.files.mark(cuda.folder, BuildFiles::Mark::base, "which files the CUDA toolkit holds", running.evidence);
  state.files.make_folder(cuda.folder + "/lib64", running.evidence);
  if (cuda.version && cuda.version->release().size() >= 2 && folder.empty()) {
    state.files.put(fmt::format("/usr/local/cuda-{}.{}", cuda.version->major(), cuda.version->minor()),
                    link_file("cuda", running.evidence));
  }
  state.programs["nvcc"] = ProgramUse::There::unknown;
  state.cuda.push_back(std::move(cuda));
}

}  // namespace imgforge
