// Any text as pyproject.toml, as lock file, as conda's environment.yml: it is read or it is told why not.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "facts/project_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string why;
  if (!read_pyproject(text, "pyproject.toml", why) && why.empty()) std::abort();
  for (const LockFile::Kind kind : {LockFile::Kind::uv, LockFile::Kind::poetry, LockFile::Kind::pipenv, LockFile::Kind::pylock}) {
    why.clear();
    if (!read_lock_file(kind, text, "lock", why) && why.empty()) std::abort();
  }
  why.clear();
  if (!read_conda_environment(text, "environment.yml", why) && why.empty()) std::abort();
  return 0;
}
