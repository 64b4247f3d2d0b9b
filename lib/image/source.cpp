#include "image/source.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/reference.hpp"
#include "base/text.hpp"
#include "image/file_tree.hpp"
#include "image/store.hpp"

namespace imgforge {

namespace {

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// "PATH", "PATH:TAG" or "PATH@DIGEST". Paths and tags may both contain colons, so what is there decides: the whole
/// text, else the shortest part before a colon. `selector` is "", "TAG" or "@DIGEST".
struct PathAndSelector {
  std::string path;
  std::string selector;
};

PathAndSelector split_path(const std::string& text) {
  if (exists(text)) return {text, ""};
  for (const std::string_view algorithm : {"@sha256:", "@sha512:"}) {
    const std::size_t at = text.rfind(algorithm);
    if (at != std::string::npos && exists(text.substr(0, at))) return {text.substr(0, at), text.substr(at)};
  }
  for (std::size_t colon = text.find(':'); colon != std::string::npos; colon = text.find(':', colon + 1)) {
    if (colon != 0 && exists(text.substr(0, colon))) return {text.substr(0, colon), text.substr(colon + 1)};
  }
  return {text.substr(0, text.find(':')), text.find(':') == std::string::npos ? "" : text.substr(text.find(':') + 1)};
}

[[noreturn]] void throw_unread(std::string_view transport, const std::string& name) {
  throw Error(ErrorKind::image_unsupported, fmt::format("images of {} are not read yet", transport),
              fmt::format("copy it first: skopeo copy {} oci:/tmp/image:latest, then verify oci:/tmp/image:latest",
                          escape_for_display(name)));
}

/// What a path holds, told by its content.
enum class Content { nothing, layout_folder, layout_archive, docker_archive };

struct Recognised {
  Content content = Content::nothing;
  std::string why;  // why it is nothing
};

Recognised recognise(const std::string& path) {
  if (is_folder(path)) {
    const std::unique_ptr<FileTree> folder = open_folder(path);
    if (folder->size_of("oci-layout") || folder->size_of("index.json")) return {Content::layout_folder, ""};
    if (folder->size_of("manifest.json")) {
      return {Content::nothing,
              "the folder has a manifest.json, as skopeo's dir: and unpacked archives have; neither is read yet"};
    }
    return {Content::nothing, "as oci: the folder has neither oci-layout nor index.json"};
  }
  std::unique_ptr<FileTree> tar;
  try {
    tar = open_tar(std::make_shared<RandomFile>(path));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::image_unsupported || !error.hint().empty())
      throw;  // a tar beyond doubt, or nearly one
    return {Content::nothing, "as oci-archive or docker-archive: " + error.message()};
  }
  // Docker 25 and newer write both; the layout names everything by digest, its manifest too, so it proves more.
  if (tar->size_of("index.json")) return {Content::layout_archive, ""};
  if (tar->size_of("manifest.json")) return {Content::docker_archive, ""};
  return {Content::nothing,
          "as oci-archive: the tar has no index.json; as docker-archive: the tar has no manifest.json"};
}

std::unique_ptr<Image> open_recognised(Content content, const PathAndSelector& where, const SourceOptions& options) {
  switch (content) {
    case Content::layout_folder: return open_layout_folder(where.path, where.selector, options);
    case Content::layout_archive: return open_layout_archive(where.path, where.selector, options);
    case Content::docker_archive: return open_docker_archive(where.path, where.selector, options);
    case Content::nothing: break;
  }
  return nullptr;
}

bool looks_like_path(std::string_view name) {
  constexpr std::array endings = {".tar", ".tgz", ".tar.gz", ".tar.zst", ".tar.xz"};
  return name.starts_with('/') || name.starts_with('.') || name.starts_with('~') || name.ends_with('/') ||
         std::any_of(endings.begin(), endings.end(), [&](const char* ending) { return name.ends_with(ending); });
}

/// A bare name: a path where something is there, else a registry reference.
std::unique_ptr<Image> open_bare(const std::string& name, const SourceOptions& options) {
  const PathAndSelector where = split_path(name);
  std::string tried;
  if (exists(where.path)) {
    const Recognised found = recognise(where.path);
    if (found.content != Content::nothing) return open_recognised(found.content, where, options);
    tried = found.why;
  } else {
    tried = fmt::format("as a path: {} does not exist", escape_for_display(where.path));
  }
  // A name that is a path to the letter was meant as one; "python:3.11" is no path because a folder "python" is here.
  std::string why;
  std::optional<Reference> reference;
  if (exists(name)) {
    tried += fmt::format("; as a registry reference: not asked, because the path exists (docker://{} would ask)",
                         escape_for_display(name));
  } else if (looks_like_path(name)) {
    tried += "; as a registry reference: not asked, because the name looks like a path";
  } else if (reference = Reference::parse(name, &why); !reference) {
    tried += "; as a registry reference: " + why;
  } else {
    try {
      return open_registry_image(name, options);
    } catch (const Error& error) {
      // With a registry's host in the name it was no guess.
      if (!exists(where.path) && reference->has_explicit_host()) throw;
      throw Error(error.kind(),
                  fmt::format("no image was found; tried {}; as a registry reference: {}", tried, error.message()),
                  error.hint());
    }
  }
  throw Error(exists(where.path) ? ErrorKind::image_unsupported : ErrorKind::image_not_found,
              "no image was found; tried " + tried,
              "images are named REFERENCE, oci:DIR[:TAG], oci-archive:FILE[:TAG] or docker-archive:FILE[:NAME:TAG]");
}

std::unique_ptr<Image> open_named(const std::string& name, const SourceOptions& options) {
  const auto rest_after = [&](std::string_view prefix) { return name.substr(prefix.size()); };
  if (name.starts_with("docker://")) return open_registry_image(rest_after("docker://"), options);
  if (name.starts_with("oci:")) {
    const PathAndSelector where = split_path(rest_after("oci:"));
    if (exists(where.path) && !is_folder(where.path)) {
      throw Error(ErrorKind::image_unsupported, escape_for_display(where.path) + " is a file, oci: reads a folder",
                  "for a tar of a layout: oci-archive:FILE");
    }
    return open_layout_folder(where.path, where.selector, options);
  }
  if (name.starts_with("oci-archive:")) {
    const PathAndSelector where = split_path(rest_after("oci-archive:"));
    return open_layout_archive(where.path, where.selector, options);
  }
  if (name.starts_with("docker-archive:")) {
    const PathAndSelector where = split_path(rest_after("docker-archive:"));
    return open_docker_archive(where.path, where.selector, options);
  }
  if (name.starts_with("docker-daemon:")) throw_unread("a Docker daemon", name);
  if (name.starts_with("containers-storage:")) throw_unread("containers-storage", name);
  if (name.starts_with("dir:")) throw_unread("dir: folders", name);
  return open_bare(name, options);
}

/// "user:password@host/..." where no path of that name is there. In a reference, what follows an @ is a digest.
bool holds_login(const std::string& name) {
  const std::size_t scheme = name.find("://");
  const std::string_view rest = std::string_view(name).substr(scheme == std::string::npos ? 0 : scheme + 3);
  const std::size_t at = rest.find('@');
  if (at == std::string_view::npos || exists(split_path(name).path)) return false;
  const std::string_view behind = rest.substr(at + 1);
  return !behind.starts_with("sha256:") && !behind.starts_with("sha512:") && rest.substr(0, at).find(':') != std::string_view::npos &&
         behind.find_first_of("./:") != std::string_view::npos;
}

}  // namespace

std::unique_ptr<Image> open_image(const std::string& name, const SourceOptions& options) {
  if (name.empty()) throw Error(ErrorKind::usage, "the image's name is empty");
  // No path and no reference has a NUL byte in it, and C would cut the name there.
  if (name.find('\0') != std::string::npos) throw Error(ErrorKind::usage, "the image's name has a NUL byte in it");
  if (holds_login(name)) {
    throw Error(ErrorKind::usage, "the image's name has a user or a password in it; it is not shown here",
                "log in instead (docker login HOST), and name the image without it");
  }
  try {
    return open_named(name, options);
  } catch (const Error& error) {
    const std::string shown = escape_for_display(name);
    if (error.message().starts_with(shown)) throw;
    throw error.within(shown);
  }
}

}  // namespace imgforge
