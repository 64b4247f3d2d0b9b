// Where the dynamic loader looks because the image says so: LD_LIBRARY_PATH, and ld.so.conf with what it includes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"
#include "facts/image_reader.hpp"

namespace imgforge {

/// LD_LIBRARY_PATH of the config in its order, then the folders of /etc/ld.so.conf in theirs. An element that is
/// relative or has a token of ld.so(8) ("$ORIGIN") has an empty `path`: which folder that is, only a process tells. At
/// --depth contract only the files of ld.so.conf.d that NVIDIA's images have are looked at.
Fact<std::vector<LibraryFolder>> read_library_folders(ImageReader& reader);

/// Elements of LD_LIBRARY_PATH, without trailing "/", that name no folder of the image; those that the runtime mounts
/// (/usr/local/nvidia) are none of them.
Fact<std::vector<std::string>> read_missing_library_folders(const Fact<std::vector<LibraryFolder>>& folders);

/// What one file of ldconfig(8)'s says, in order.
struct LoaderLine {
  bool include = false;
  std::string text;  // a folder, or the pattern to include
};
std::vector<LoaderLine> parse_loader_conf(std::string_view text);

/// The folders of the files that /etc/ld.so.cache lists, as they are written, each once, at most 1,000; empty where there
/// is none.
std::vector<std::string> loader_cache_folders(ImageReader& reader);
std::vector<std::string> parse_loader_cache_folders(std::string_view content);

}  // namespace imgforge
