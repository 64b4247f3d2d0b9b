// Any text as the shell text of a RUN step: it is read within bounds, and every place lies in the text.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "facts/commands_apt.hpp"
#include "facts/commands_conda.hpp"
#include "facts/commands_download.hpp"
#include "facts/commands_pip.hpp"
#include "facts/commands_python.hpp"
#include "facts/run_step.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ShellContext context;
  context.folder = "/srv";
  context.variables["V"] = CommandLine{CommandWord::of("a b")};
  const RunShell shell{size % 2 == 0 ? RunShell::Kind::posix : RunShell::Kind::bash, size % 3 == 0};
  const RunStep step = read_run_step(text, shell, context);
  if (step.commands.size() > 2'000) std::abort();
  for (const RunCommand& command : step.commands) {
    if (command.offset > size || command.words.size() != command.offsets.size()) std::abort();
    if (command.piped_into && *command.piped_into >= step.commands.size()) std::abort();
    read_pip(command);
    read_project_install(command);
    read_conda(command);
    read_conda_installer(command);
    read_download(command);
    read_python(command);
  }
  return 0;
}
