// Tiny images for tests: their documents and blobs by path, to be written as a folder, into a tar, or served over HTTP.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "image/source.hpp"

namespace imgforge::test {

inline constexpr const char* oci_index_type = "application/vnd.oci.image.index.v1+json";
inline constexpr const char* oci_manifest_type = "application/vnd.oci.image.manifest.v1+json";
inline constexpr const char* oci_config_type = "application/vnd.oci.image.config.v1+json";

struct TemporaryFolder {
  std::string path;
  TemporaryFolder() {
    char name[] = "/tmp/imgforge-test-XXXXXX";
    path = ::mkdtemp(name);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
};

/// An environment variable, set for as long as this lives.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (before_)
      ::setenv(name_.c_str(), before_->c_str(), 1);
    else
      ::unsetenv(name_.c_str());
  }

 private:
  std::string name_;
  std::optional<std::string> before_;
};

/// Contents by relative path, in the order in which a tar gets them.
using Files = std::vector<std::pair<std::string, std::string>>;

inline void write_file(const std::string& path, const std::string& content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string write_folder(const Files& files, const std::string& path) {
  for (const auto& [name, content] : files) write_file(path + "/" + name, content);
  return path;
}

/// "name" → content; a content that starts with "-> " makes a symbolic link, with "=> " a hard link.
inline std::string tar_of(const Files& files) {
  std::string bytes(64 << 10, '\0');
  for (const auto& file : files) bytes.resize(bytes.size() + file.second.size() + 4096);
  std::size_t used = 0;
  archive* writer = archive_write_new();
  archive_write_set_format_ustar(writer);
  archive_write_set_bytes_per_block(writer, 512);
  archive_write_open_memory(writer, bytes.data(), bytes.size(), &used);
  for (const auto& [name, content] : files) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_filetype(entry, AE_IFREG);
    if (content.starts_with("-> ")) {
      archive_entry_set_filetype(entry, AE_IFLNK);
      archive_entry_set_symlink(entry, content.c_str() + 3);
    } else if (content.starts_with("=> ")) {
      archive_entry_set_hardlink(entry, content.c_str() + 3);
      archive_entry_set_size(entry, 0);
    } else if (name.ends_with('/')) {
      archive_entry_set_filetype(entry, AE_IFDIR);
    } else {
      archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    }
    if (archive_write_header(writer, entry) != ARCHIVE_OK) throw std::runtime_error(archive_error_string(writer));
    if (archive_entry_size(entry) > 0) archive_write_data(writer, content.data(), content.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  bytes.resize(used);
  return bytes;
}

inline std::string write_tar(const Files& files, const std::string& path) {
  write_file(path, tar_of(files));
  return path;
}

inline std::string descriptor(const std::string& media_type, const std::string& bytes, const std::string& more = "") {
  return fmt::format(R"({{"mediaType":"{}","digest":"{}","size":{}{}}})", media_type, Digest::of(bytes).to_string(),
                     bytes.size(), more);
}
inline std::string platform(const std::string& architecture) {
  return fmt::format(R"(,"platform":{{"os":"linux","architecture":"{}"}})", architecture);
}
inline std::string tag(const std::string& name) {
  return fmt::format(R"(,"annotations":{{"org.opencontainers.image.ref.name":"{}"}})", name);
}
inline std::string blob_path(const std::string& bytes) { return "blobs/sha256/" + Digest::of(bytes).hex(); }

/// An image of two layers, which are tars of one file each.
struct TinyImage {
  std::vector<std::string> layers;
  std::string config;
  std::string manifest;

  explicit TinyImage(const std::string& architecture = "amd64") {
    layers = {tar_of({{"lower", "one of " + architecture}}), tar_of({{"upper", std::string(3000, 'x')}})};
    config = fmt::format(
        R"({{"os":"linux","architecture":"{}","config":{{"Env":["PATH=/bin"]}},"rootfs":{{"type":"layers","diff_ids":["{}","{}"]}}}})",
        architecture, Digest::of(layers[0]).to_string(), Digest::of(layers[1]).to_string());
    write_manifest();
  }

  void write_manifest() {
    manifest = fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","config":{},"layers":[{},{}]}})", oci_manifest_type,
                           descriptor(oci_config_type, config),
                           descriptor("application/vnd.oci.image.layer.v1.tar", layers[0]),
                           descriptor("application/vnd.oci.image.layer.v1.tar", layers[1]));
  }

  Files blobs() const {
    Files files = {{blob_path(manifest), manifest}, {blob_path(config), config}};
    for (const std::string& layer : layers) files.emplace_back(blob_path(layer), layer);
    return files;
  }
};

inline std::string index_of(const std::vector<std::string>& entries) {
  std::string list;
  for (const std::string& entry : entries) list += (list.empty() ? "" : ",") + entry;
  return fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","manifests":[{}]}})", oci_index_type, list);
}

inline void append(Files& files, const Files& more) { files.insert(files.end(), more.begin(), more.end()); }

inline Files layout(const std::string& index, const std::vector<Files>& blobs) {
  Files files = {{"oci-layout", R"({"imageLayoutVersion":"1.0.0"})"}, {"index.json", index}};
  for (const Files& some : blobs) append(files, some);
  return files;
}

/// The layout of one image with a tag.
inline Files layout(const TinyImage& image) {
  return layout(index_of({descriptor(oci_manifest_type, image.manifest, tag("latest"))}), {image.blobs()});
}

inline void replace(Files& files, const std::string& path, const std::string& content) {
  for (auto& file : files) {
    if (file.first == path) file.second = content;
  }
}
inline void remove(Files& files, const std::string& path) {
  std::erase_if(files, [&](const auto& file) { return file.first == path; });
}

inline std::string read_layer_bytes(const Image& image, std::size_t index) {
  std::string bytes;
  const std::unique_ptr<ByteReader> reader = image.open_layer(index);
  char buffer[777];
  while (const std::size_t count = reader->read(buffer, sizeof buffer)) bytes.append(buffer, count);
  return bytes;
}

/// The error that an action ends with; the test fails where it ends well.
inline Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    INFO(error.message());
    CHECK(error.message().find('\n') == std::string::npos);
    return error;
  }
  FAIL("no error was thrown");
  return Error(ErrorKind::usage, "");
}

inline bool mentions(const Error& error, const std::string& text) {
  UNSCOPED_INFO(error.message() << " / " << error.hint());
  return error.message().find(text) != std::string::npos || error.hint().find(text) != std::string::npos;
}

/// Retries at once: tests have no time to wait.
inline SourceOptions impatient() {
  SourceOptions options;
  options.retry.first_pause = std::chrono::milliseconds(2);
  return options;
}

inline Error error_of_opening(const std::string& name, const SourceOptions& options = impatient()) {
  return error_of([&] { open_image(name, options); });
}

}  // namespace imgforge::test
