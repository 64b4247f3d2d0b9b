// Where the image's dynamic loader would find the libraries that an ELF file of the image needs, without running
// anything: ld.so(8); glibc elf/dl-load.c, elf/dl-cache.c; musl ldso/dynlinker.c.
//
// The order of glibc, for a name without "/": what is loaded already under that name; DT_RPATH of the file that needs
// it, of that one's loader, and so on (none of it where the file has DT_RUNPATH; of a loader with DT_RUNPATH, its
// DT_RPATH is passed over); LD_LIBRARY_PATH; DT_RUNPATH of the file; /etc/ld.so.cache; the default folders. A file of
// another class, machine or byte order is passed over. musl: LD_LIBRARY_PATH, DT_RUNPATH or DT_RPATH of the file and
// its loaders, then /etc/ld-musl-ARCH.path or its default folders.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "facts/image_reader.hpp"
#include "facts/loader_cache.hpp"
#include "layer/elf_parts.hpp"

namespace imgforge {

/// A file that is loaded into a process.
struct LoadedFile {
  std::string path;  // as the loader opens it: what $ORIGIN is taken from
  Node node;         // what that is, links followed
  const Elf* elf = nullptr;
  std::size_t loader = 0;  // index of the file that needs it; its own for the first ones
  std::string by;          // "LD_LIBRARY_PATH", "DT_RPATH of /usr/bin/x", "ld.so.cache", "the default folders", ...
};

/// A NEEDED library and where it is found.
struct LoaderStep {
  std::size_t needed_by = 0;  // index into `files`
  std::string library;
  std::optional<std::size_t> file;  // nothing where it is not found
};

/// A version of a symbol set that a file needs and the library that it finds does not define.
struct MissingVersion {
  std::size_t needed_by = 0;
  std::string library;  // "libstdc++.so.6"
  std::string version;  // "GLIBCXX_3.4.30"
  std::size_t file = 0;
};

struct LoadedSet {
  std::vector<LoadedFile> files;  // in the order of loading, breadth first
  std::vector<LoaderStep> steps;
  std::vector<MissingVersion> versions;
  /// Why something about the answer is not known: a file that could not be read, more files than are followed.
  std::string open;
};

class Loader {
 public:
  explicit Loader(ImageReader& reader);

  /// What is loaded with `roots` (absolute paths), the first ones in the order given, as one process would.
  /// Libraries of `from_outside` (sonames) are neither looked for nor missing.
  LoadedSet load(const std::vector<std::string>& roots, const std::set<std::string, std::less<>>& from_outside = {});

  ElfFiles& elfs() { return elfs_; }

 private:
  struct Candidate {
    std::string path;
    std::string by;
  };
  struct Process;
  bool add(Process& process, const std::string& path, std::size_t loader, std::string by, std::string_view name);
  std::optional<std::size_t> search(Process& process, std::size_t needed_by, const std::string& name);
  bool try_folders(Process& process, std::string_view list, std::size_t origin, std::size_t needed_by,
                   const std::string& name, const std::string& by);
  void read_configuration();

  ImageReader& reader_;
  ElfFiles& elfs_;
  bool configured_ = false;
  std::string library_path_;
  std::vector<LoaderCacheEntry> cache_;
  std::multimap<std::string_view, const LoaderCacheEntry*> cached_;
  bool has_cache_ = false;
  std::vector<std::string> conf_folders_;
  std::map<std::string, std::optional<Node>> looked_up_;
};

}  // namespace imgforge
