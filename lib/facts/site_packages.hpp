// Where an interpreter imports packages from: PEP 370, PEP 405, Python's site module, and Debian's changes to it.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.hpp"
#include "facts/image_reader.hpp"

namespace imgforge {

struct VenvConfig {
  std::string home;
  std::string version;       // as written
  bool system_site = false;  // include-system-site-packages
};

/// pyvenv.cfg: "key = value" lines, keys in any case.
VenvConfig parse_venv_config(std::string_view text);

/// Folders of a base interpreter (no venv), in the order of sys.path, those that exist, canonical, each once:
/// PYTHONPATH, the user's site-packages, the prefix's own, and what *.pth files of these add.
std::vector<std::string> base_site_packages(ImageReader& reader, const std::string& prefix, const PythonMinor& minor);

/// Of a venv: its own, then those of `base` where it includes them.
std::vector<std::string> venv_site_packages(ImageReader& reader, const std::string& prefix, const PythonMinor& minor,
                                            const VenvConfig& config, const Interpreter* base);

}  // namespace imgforge
