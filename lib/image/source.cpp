#include "image/source.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <variant>

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

/// What a path holds, told by its content.
enum class Content { nothing, layout_folder, blob_folder, layout_archive, docker_archive };

struct Recognised {
  Content content = Content::nothing;
  std::string why;  // why it is nothing
};

Recognised recognise(const std::string& path) {
  if (is_folder(path)) {
    const std::unique_ptr<FileTree> folder = open_folder(path);
    if (folder->size_of("oci-layout") || folder->size_of("index.json")) return {Content::layout_folder, ""};
    if (const std::unique_ptr<ByteReader> manifest = folder->open("manifest.json")) {
      // skopeo's is a manifest, docker save's a list of images.
      const std::string text = read_all(*manifest, max_document_bytes, "manifest.json");
      if (!trim(text).starts_with('[')) return {Content::blob_folder, ""};
      return {Content::nothing,
              "as docker-archive: it is an unpacked one, which is read as a tar only (tar -C DIR -cf FILE .)"};
    }
    return {Content::nothing,
            "as oci: the folder has neither oci-layout nor index.json; as dir: it has no manifest.json"};
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

/// A source with manifests, or an image without any.
using Opened = std::variant<OpenedSource, std::unique_ptr<Image>>;

Opened open_recognised(Content content, const std::string& name, const PathAndSelector& where) {
  switch (content) {
    case Content::layout_folder: return open_layout_folder(where.path, where.selector);
    case Content::blob_folder:
      if (where.path == name) return open_blob_folder(where.path);
      throw Error(ErrorKind::image_not_found,
                  fmt::format("{} is a folder of skopeo's dir:, which holds one image without a tag",
                              escape_for_display(where.path)),
                  "name the folder alone");
    case Content::layout_archive: return open_layout_archive(where.path, where.selector);
    case Content::docker_archive: return open_docker_archive(where.path, where.selector);
    case Content::nothing: break;
  }
  throw Error(ErrorKind::image_unsupported, "it is no image");
}

bool looks_like_path(std::string_view name) {
  constexpr std::array endings = {".tar", ".tgz", ".tar.gz", ".tar.zst", ".tar.xz"};
  return name.starts_with('/') || name.starts_with('.') || name.starts_with('~') || name.ends_with('/') ||
         std::any_of(endings.begin(), endings.end(), [&](const char* ending) { return name.ends_with(ending); });
}

constexpr std::string_view forms =
    "REFERENCE, oci:DIR[:TAG], oci-archive:FILE[:TAG], docker-archive:FILE[:NAME:TAG|:@INDEX] (- is standard input), "
    "dir:DIR, docker-daemon:NAME or containers-storage:NAME";

/// Stores of this machine are not guessed: that would ask a service, or start a program, for every name that is spelled
/// wrong, and an image that happens to lie there may be older than the registry's.
std::string local_hint(const std::string& name) {
  const std::string shown = escape_for_display(name);
  return fmt::format("images on this machine are asked for by name: docker-daemon:{} or containers-storage:{}", shown,
                     shown);
}

std::string join_hints(const std::string& one, const std::string& other) {
  return one.empty() || other.empty() ? one + other : one + "; " + other;
}

/// A bare name: a path where something is there, else a registry reference.
Opened open_bare(const std::string& name, const SourceOptions& options) {
  const PathAndSelector where = split_path(name);
  std::string tried;
  if (exists(where.path)) {
    const Recognised found = recognise(where.path);
    if (found.content != Content::nothing) return open_recognised(found.content, name, where);
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
      return open_registry_source(name, options);
    } catch (const Error& error) {
      // With a registry's host in the name it was no guess; but podman calls what it built localhost/NAME.
      if (!exists(where.path) && reference->has_explicit_host() && reference->host() != "localhost") throw;
      throw Error(error.kind(),
                  fmt::format("no image was found; tried {}; as a registry reference: {}", tried, error.message()),
                  join_hints(error.hint(), local_hint(name)));
    }
  }
  const bool is_there = exists(where.path);
  throw Error(is_there ? ErrorKind::image_unsupported : ErrorKind::image_not_found,
              "no image was found; tried " + tried,
              join_hints(fmt::format("images are named {}", forms), reference ? local_hint(name) : ""));
}

Opened open_named(const std::string& name, const SourceOptions& options) {
  const auto rest_after = [&](std::string_view prefix) { return name.substr(prefix.size()); };
  if (name.starts_with("docker://")) return open_registry_source(rest_after("docker://"), options);
  if (name.starts_with("oci:")) {
    const PathAndSelector where = split_path(rest_after("oci:"));
    if (exists(where.path) && !is_folder(where.path)) {
      throw Error(ErrorKind::image_unsupported, escape_for_display(where.path) + " is a file, oci: reads a folder",
                  "for a tar of a layout: oci-archive:FILE");
    }
    return open_layout_folder(where.path, where.selector);
  }
  if (name.starts_with("oci-archive:")) {
    const PathAndSelector where = split_path(rest_after("oci-archive:"));
    return open_layout_archive(where.path, where.selector);
  }
  if (name.starts_with("docker-archive:")) {
    const std::string rest = rest_after("docker-archive:");
    if (rest == "-" || rest.starts_with("-:")) return open_docker_pipe(rest.size() > 2 ? rest.substr(2) : "");
    const PathAndSelector where = split_path(rest);
    return open_docker_archive(where.path, where.selector);
  }
  if (name.starts_with("dir:")) return open_blob_folder(rest_after("dir:"));
  if (name.starts_with("docker-daemon:")) return open_daemon_image(rest_after("docker-daemon:"));
  if (name.starts_with("containers-storage:")) return open_storage_image(rest_after("containers-storage:"));
  return open_bare(name, options);
}

/// "user:password@host/..." where no path of that name is there. In a reference, what follows an @ is a digest.
bool holds_login(const std::string& name) {
  // Only what may go to a registry: a storage's place is written with an @, too.
  for (const std::string_view local :
       {"containers-storage:", "docker-daemon:", "docker-archive:", "oci:", "oci-archive:", "dir:"}) {
    if (name.starts_with(local)) return false;
  }
  const std::size_t scheme = name.find("://");
  const std::string_view rest = std::string_view(name).substr(scheme == std::string::npos ? 0 : scheme + 3);
  const std::size_t at = rest.find('@');
  if (at == std::string_view::npos || exists(split_path(name).path)) return false;
  const std::string_view behind = rest.substr(at + 1);
  return !behind.starts_with("sha256:") && !behind.starts_with("sha512:") &&
         rest.substr(0, at).find(':') != std::string_view::npos &&
         behind.find_first_of("./:") != std::string_view::npos;
}

}  // namespace

namespace {

/// What `use` makes of the source that the name means; errors say which one it was.
template <class Use>
auto with_source(const std::string& name, const SourceOptions& options, Use use) {
  if (name.empty()) throw Error(ErrorKind::usage, "the image's name is empty");
  // No path and no reference has a NUL byte in it, and C would cut the name there.
  if (name.find('\0') != std::string::npos) throw Error(ErrorKind::usage, "the image's name has a NUL byte in it");
  if (holds_login(name)) {
    throw Error(ErrorKind::usage, "the image's name has a user or a password in it; it is not shown here",
                "log in instead (docker login HOST), and name the image without it");
  }
  try {
    return use(open_named(name, options));
  } catch (const Error& error) {
    const std::string shown = escape_for_display(name);
    if (error.message().starts_with(shown)) throw;
    throw error.within(shown);
  }
}

}  // namespace

std::unique_ptr<Image> open_image(const std::string& name, const SourceOptions& options) {
  return with_source(name, options, [&](Opened opened) {
    if (auto* image = std::get_if<std::unique_ptr<Image>>(&opened)) return std::move(*image);
    return assemble_image(std::get<OpenedSource>(std::move(opened)), options);
  });
}

std::vector<Platform> platforms_of(const std::string& name, const SourceOptions& options) {
  return with_source(name, options, [&](Opened opened) {
    const auto* image = std::get_if<std::unique_ptr<Image>>(&opened);
    if (image == nullptr) return list_platforms(std::get<OpenedSource>(opened));
    return std::vector<Platform>{(*image)->config_comes_last() ? options.platform : (*image)->config().platform};
  });
}

}  // namespace imgforge
