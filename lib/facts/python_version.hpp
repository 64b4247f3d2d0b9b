// Which exact version an interpreter is, proved by a file beside it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "facts/facts.hpp"
#include "facts/image_reader.hpp"

namespace imgforge {

struct ProvenVersion {
  Version version;
  Evidence evidence;
};

/// In this order: patchlevel.h, conda-meta, dpkg or apk, the folder name of a standalone build, PYTHON_VERSION of the
/// official images, the text inside of the interpreter or its library. Whatever names another minor does not count.
std::optional<ProvenVersion> prove_version(ImageReader& reader, const std::string& prefix, const PythonMinor& minor,
                                           const Node& program);

/// PY_VERSION of a patchlevel.h.
std::optional<Version> version_of_patchlevel(std::string_view header);
/// "python-3.11.9-h955ad1f_0_cpython.json" → 3.11.9.
std::optional<Version> version_of_conda_record(std::string_view file_name);
/// "cpython-3.11.9-linux-x86_64-gnu" → 3.11.9.
std::optional<Version> version_of_standalone_folder(std::string_view name);
/// The one version X.Y.* that stands as a text of its own in a program's bytes; nothing where there are several.
std::optional<Version> version_in_program(std::string_view bytes, const PythonMinor& minor);
/// "python3.11" → 3.11, also as the beginning or end of a longer name ("libpython3.11.so.1.0", "platform-python3.6").
std::optional<PythonMinor> minor_in_name(std::string_view name);

}  // namespace imgforge
