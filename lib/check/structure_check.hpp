// An image against container-structure-test files. Nothing is run and nothing is unpacked: paths and links are those of
// the image's merged root.
#pragma once

#include <string>
#include <vector>

#include "check/checker.hpp"
#include "check/structure_test.hpp"
#include "image/manifest.hpp"
#include "layer/root_view.hpp"

namespace imgforge {

/// What these tests ask of: absolute paths and globs whose contents a RootView should keep in passing
/// (RootOptions::capture_paths). `config` expands the variables in paths.
std::vector<std::string> paths_wanted_by(const std::vector<StructureTests>& tests, const ImageConfig& config);

/// Whether the contents asked for are more than the cache may answer: then an image is better read without it.
bool wants_many_contents(const std::vector<StructureTests>& tests);

/// Adds to `outcome` a finding of level error for each fault of a test, an undecided for each that cannot be decided (a
/// command has to run; a file is too large), and the ids of those that passed. An id is "structure-test/" and the
/// test's name in lower case with "-" for whatever is no letter or digit; of several that come out the same, the later
/// ones get a number. The verdict is not touched. Values of variables that look secret and contents of files are in no
/// message.
void check_structure(const std::vector<StructureTests>& tests, const ImageConfig& config, RootView& root,
                     Outcome& outcome);

}  // namespace imgforge
