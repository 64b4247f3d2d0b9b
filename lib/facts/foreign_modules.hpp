// Extension modules that the interpreter of their site folder cannot import.
#pragma once

#include <string_view>

#include "facts/image_reader.hpp"
#include "facts/python_version.hpp"

namespace imgforge {

/// By distribution, one for each other CPython that its modules are for. A module fits by its tag (PEP 3149), with abi3
/// (PEP 384), and without any tag; a distribution with one module that fits has none that is foreign: some wheels bring
/// modules for several Pythons. Which distribution a module is of, RECORD says; where none does, what lies in one
/// folder of the site folder counts as one.
///
/// A distribution whose modules carry no tag, and whose WHEEL names other CPythons only, is told with the tag "cp310":
/// such modules may be made for any Python all the same.
///
/// Left out is what apt brought: Debian's and Ubuntu's /usr/lib/python3/dist-packages belongs to the system's Python,
/// and others that see it (deadsnakes) are known not to find all of it.
Fact<std::vector<ForeignModules>> read_foreign_modules(ImageReader& reader);

/// Whether a module with this tag (survey.hpp module_tag) is for this CPython. `free_threaded` is PEP 703's build.
bool module_fits(std::string_view tag, const PythonMinor& minor, bool free_threaded);

}  // namespace imgforge
