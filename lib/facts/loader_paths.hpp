// The folders that a loader searches by itself, and the tokens of the lists in files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/image_reader.hpp"
#include "layer/elf_file.hpp"

namespace imgforge {

/// "x86_64" as $PLATFORM and musl have it; empty of a machine that is not known here.
std::string loader_platform(const Elf& elf);

/// glibc's default folders for files like this one, as the image's distribution builds it: Debian's multiarch, else
/// /lib64, else /lib.
std::vector<std::string> glibc_default_folders(ImageReader& reader, const Elf& elf);

/// Of /etc/ld-musl-ARCH.path, else /lib, /usr/local/lib, /usr/lib.
std::vector<std::string> musl_default_folders(ImageReader& reader, const Elf& elf);
/// The image's loader for such files is musl's, and no glibc is there.
bool loads_with_musl(ImageReader& reader, const Elf& elf);

/// Folders of /etc/ld.so.conf and what it includes, absolute.
std::vector<std::string> loader_conf_folders(ImageReader& reader);

/// A list of DT_RPATH, DT_RUNPATH or LD_LIBRARY_PATH (separated by ":", of the variable by ";" too), with $ORIGIN, $LIB
/// and $PLATFORM put in, also as ${ORIGIN}. An empty element is `working_directory`. At most 1,000.
std::vector<std::string> expand_loader_list(std::string_view list, bool of_variable, const std::string& origin,
                                            const std::string& lib, const std::string& platform,
                                            const std::string& working_directory);
/// What $LIB is: "lib/x86_64-linux-gnu" on Debian, "lib64", "lib".
std::string loader_lib(ImageReader& reader, const Elf& elf);

}  // namespace imgforge
