#include "facts/loader_paths.hpp"

#include <elf.h>

#include "base/text.hpp"
#include "facts/commands.hpp"
#include "facts/library_folders.hpp"

namespace imgforge {
namespace {

constexpr std::size_t max_folders = 1'000;
constexpr std::size_t max_folder = 4'096;

/// Debian's name of the architecture (multiarch), empty where it has none here.
std::string multiarch(const Elf& elf) {
  switch (elf.machine) {
    case EM_X86_64: return elf.bits == 64 ? "x86_64-linux-gnu" : "x86_64-linux-gnux32";
    case EM_AARCH64: return "aarch64-linux-gnu";
    case EM_386: return "i386-linux-gnu";
    case EM_ARM: return "arm-linux-gnueabihf";
    case EM_PPC64: return elf.big_endian ? "powerpc64-linux-gnu" : "powerpc64le-linux-gnu";
    case EM_S390: return "s390x-linux-gnu";
    case EM_RISCV: return "riscv64-linux-gnu";
    default: return {};
  }
}

bool has_multiarch(ImageReader& reader, const Elf& elf) {
  const std::string triplet = multiarch(elf);
  return !triplet.empty() && (reader.is_folder("/lib/" + triplet) || reader.is_folder("/usr/lib/" + triplet));
}

bool has_lib64(ImageReader& reader, const Elf& elf) {
  return elf.bits == 64 && elf.machine != EM_ALPHA && (reader.is_folder("/lib64") || reader.is_folder("/usr/lib64"));
}

}  // namespace

std::string loader_platform(const Elf& elf) {
  switch (elf.machine) {
    case EM_X86_64: return "x86_64";
    case EM_AARCH64: return "aarch64";
    case EM_386: return "i686";
    case EM_PPC64: return elf.big_endian ? "ppc64" : "ppc64le";
    case EM_S390: return "s390x";
    case EM_RISCV: return "riscv64";
    default: return {};
  }
}

std::string loader_lib(ImageReader& reader, const Elf& elf) {
  if (has_multiarch(reader, elf)) return "lib/" + multiarch(elf);
  return has_lib64(reader, elf) ? "lib64" : "lib";
}

std::vector<std::string> glibc_default_folders(ImageReader& reader, const Elf& elf) {
  if (has_multiarch(reader, elf)) return {"/lib/" + multiarch(elf), "/usr/lib/" + multiarch(elf), "/lib", "/usr/lib"};
  if (has_lib64(reader, elf)) return {"/lib64", "/usr/lib64"};
  return {"/lib", "/usr/lib"};
}

bool loads_with_musl(ImageReader& reader, const Elf& elf) {
  const std::string platform = loader_platform(elf);
  if (elf.interpreter.find("ld-musl-") != std::string::npos) return true;
  if (!elf.interpreter.empty() || platform.empty()) return false;
  const bool musl = reader.exists("/lib/ld-musl-" + (platform == "i686" ? "i386" : platform) + ".so.1");
  if (!musl) return false;
  for (const std::string& folder : glibc_default_folders(reader, elf)) {
    if (reader.exists(folder + "/libc.so.6")) return false;
  }
  return true;
}

std::vector<std::string> musl_default_folders(ImageReader& reader, const Elf& elf) {
  const std::string platform = loader_platform(elf);
  const std::string conf = "/etc/ld-musl-" + (platform == "i686" ? "i386" : platform) + ".path";
  const auto text = reader.root().read(conf, 64 << 10);
  if (!text) return {"/lib", "/usr/local/lib", "/usr/lib"};
  std::vector<std::string> folders;
  std::size_t start = 0;
  while (start < text->size() && folders.size() < max_folders) {
    const std::size_t end = std::min(text->find_first_of(":\n", start), text->size());
    const std::string_view folder = std::string_view(*text).substr(start, end - start);
    if (folder.starts_with('/') && folder.size() <= max_folder) folders.emplace_back(folder);
    start = end + 1;
  }
  return folders;
}

std::vector<std::string> loader_conf_folders(ImageReader& reader) {
  std::vector<std::string> found;
  const auto folders = read_library_folders(reader);
  if (!folders.is_known()) return found;
  for (const LibraryFolder& folder : folders.value()) {
    if (folder.by == LibraryFolder::By::ld_so_conf && !folder.path.empty()) found.push_back(folder.path);
  }
  return found;
}

std::vector<std::string> expand_loader_list(std::string_view list, bool of_variable, const std::string& origin,
                                            const std::string& lib, const std::string& platform,
                                            const std::string& working_directory) {
  std::vector<std::string> folders;
  std::size_t start = 0;
  while (start <= list.size() && folders.size() < max_folders) {
    const std::size_t end = std::min(list.find_first_of(of_variable ? ":;" : ":", start), list.size());
    std::string_view element = list.substr(start, end - start);
    start = end + 1;
    std::string folder;
    while (!element.empty() && folder.size() <= max_folder) {
      const std::size_t dollar = std::min(element.find('$'), element.size());
      folder += element.substr(0, dollar);
      element.remove_prefix(dollar);
      if (element.empty()) break;
      bool known = false;
      for (const auto& [name, value] : {std::pair<std::string_view, const std::string*>{"ORIGIN", &origin},
                                        {"PLATFORM", &platform},
                                        {"LIB", &lib}}) {
        const std::string braced = "${" + std::string(name) + "}";
        const bool in_braces = element.starts_with(braced);
        if (!in_braces && !(element.substr(1).starts_with(name))) continue;
        folder += *value;
        element.remove_prefix(in_braces ? braced.size() : name.size() + 1);
        known = true;
        break;
      }
      if (known) continue;
      folder += '$';
      element.remove_prefix(1);
    }
    if (folder.size() > max_folder) continue;
    if (folder.empty()) {
      folders.push_back(working_directory);
    } else {
      // ".." is left to the file system: in front of it may be a link.
      folders.push_back(folder.starts_with('/') ? folder : working_directory + "/" + folder);
    }
  }
  return folders;
}

}  // namespace imgforge
