#include "facts/fake_image.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "layer/small_elf.hpp"

namespace imgforge::test {

namespace {

class TextReader : public ByteReader {
 public:
  explicit TextReader(const std::string& text) : text_(text) {}
  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t got = std::min(size, text_.size() - at_);
    std::memcpy(buffer, text_.data() + at_, got);
    at_ += got;
    return got;
  }

 private:
  const std::string& text_;
  std::size_t at_ = 0;
};

void check(int status) {
  if (status != ARCHIVE_OK) throw std::runtime_error("libarchive failed in a test");
}

}  // namespace

std::string tar_of(const Files& files, bool gzip) {
  std::string buffer(16 << 20, '\0');
  std::size_t used = 0;
  archive* out = archive_write_new();
  check(archive_write_set_format_pax_restricted(out));
  check(gzip ? archive_write_add_filter_gzip(out) : archive_write_add_filter_none(out));
  check(archive_write_set_bytes_in_last_block(out, 1));
  check(archive_write_open_memory(out, buffer.data(), buffer.size(), &used));
  for (const File& one : files) {
    archive_entry* entry = archive_entry_new();
    const bool is_folder = one.path.ends_with('/');
    archive_entry_set_pathname(entry, one.path.c_str());
    archive_entry_set_perm(entry, static_cast<__LA_MODE_T>(one.mode));
    archive_entry_set_uid(entry, one.uid);
    archive_entry_set_gid(entry, one.gid);
    archive_entry_set_filetype(entry, is_folder ? AE_IFDIR : one.link.empty() ? AE_IFREG : AE_IFLNK);
    archive_entry_set_size(entry, static_cast<la_int64_t>(one.content.size()));
    if (!one.link.empty()) archive_entry_set_symlink(entry, one.link.c_str());
    check(archive_write_header(out, entry));
    if (!one.content.empty()) archive_write_data(out, one.content.data(), one.content.size());
    archive_entry_free(entry);
  }
  check(archive_write_close(out));
  check(archive_write_free(out));
  buffer.resize(used);
  return buffer;
}

FakeImage::FakeImage() : digest_(Digest::of("config")) { image_config.platform = *Platform::parse("linux/amd64"); }

FakeImage& FakeImage::layer(const Files& files) {
  tars_.push_back(tar_of(files));
  LayerBlob blob;
  blob.digest = Digest::of(tars_.back());
  blob.diff_id = blob.digest;
  blob.size = tars_.back().size();
  blob.media_type = "application/vnd.oci.image.layer.v1.tar";
  blob.index = blobs_.size();
  blobs_.push_back(std::move(blob));
  image_config.diff_ids.push_back(*blobs_.back().diff_id);
  return *this;
}

FakeImage& FakeImage::env(const std::string& name, const std::string& value) {
  image_config.env.emplace_back(name, value);
  return *this;
}

std::unique_ptr<ByteReader> FakeImage::open_layer(std::size_t index) const {
  return std::make_unique<TextReader>(tars_.at(index));
}

FactsOf::FactsOf(const FakeImage& image, Depth depth)
    : knowledge(Knowledge::embedded()),
      root(image, {.capture_paths = paths_named_by(image.config())}),
      facts(facts_from_image(image, root, knowledge, depth)) {}

Files operator+(Files a, const Files& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string python_program(const std::string& text, unsigned machine) {
  return small_elf(
      {.machine = machine, .interpreter = "/lib64/ld-linux-x86-64.so.2", .needed = {"libc.so.6"}, .text = text});
}

Files python_files(const std::string& prefix, const std::string& version, bool venv, bool patchlevel) {
  const std::string minor = version.substr(0, version.find('.', 2));
  const std::string name = "python" + minor;
  Files files = {file(prefix + "/bin/" + name, python_program(), 0755), soft_link(prefix + "/bin/python3", name),
                 soft_link(prefix + "/bin/python", "python3"), file(prefix + "/lib/" + name + "/os.py"),
                 folder(prefix + "/lib/" + name + "/site-packages")};
  if (venv) {
    files = files + Files{file(prefix + "/lib/" + name + "/venv/__init__.py"),
                          file(prefix + "/lib/" + name + "/ensurepip/__init__.py"),
                          file(prefix + "/lib/" + name + "/ensurepip/_bundled/pip-24.0-py3-none-any.whl")};
  }
  if (patchlevel)
    files.push_back(
        file(prefix + "/include/" + name + "/patchlevel.h", "#define PY_VERSION              \"" + version + "\"\n"));
  return files;
}

Files distribution_files(const std::string& site, const std::string& name, const std::string& version,
                         const std::string& more) {
  const std::string info = site + "/" + name + "-" + version + ".dist-info";
  return {file(info + "/METADATA",
               "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n" + more + "\ndescription\n"),
          file(info + "/INSTALLER", "pip\n")};
}

Files boot_files(const std::string& version) {
  const std::string inner = "apache_beam-" + version;
  return {
      file("opt/apache/beam/boot", small_elf({}), 0755),
      file("opt/apache/beam/tars/apache-beam.tar.gz",
           tar_of({file(inner + "/setup.py", "x"), file(inner + "/a/PKG-INFO", "Name: other\nVersion: 9\n"),
                   file(inner + "/PKG-INFO", "Metadata-Version: 2.1\nName: apache-beam\nVersion: " + version + "\n\n")},
                  true))};
}

Files debian_files() {
  return {file("usr/lib/os-release", "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n"),
          soft_link("etc/os-release", "../usr/lib/os-release"),
          soft_link("bin", "usr/bin"),
          soft_link("lib", "usr/lib"),
          file("usr/bin/dash", small_elf({}), 0755),
          soft_link("usr/bin/sh", "dash"),
          file("usr/bin/bash", small_elf({}), 0755),
          file("usr/bin/env", small_elf({}), 0755),
          file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nworker:x:1000:1000::/home/worker:/bin/sh\n"),
          file("etc/group", "root:x:0:\nworker:x:1000:\n"),
          file("usr/lib/x86_64-linux-gnu/libc.so.6",
               small_elf(
                   {.soname = "libc.so.6", .defines = {"GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.36", "GLIBC_PRIVATE"}}))};
}

FakeImage healthy_worker(const std::string& beam) {
  FakeImage image;
  image.layer(debian_files()).layer(python_files("usr/local", "3.11.9"));
  image.layer(distribution_files("usr/local/lib/python3.11/site-packages", "pip", "24.0") +
              distribution_files("usr/local/lib/python3.11/site-packages", "apache-beam", beam,
                                 "Requires-Dist: numpy<2.3\nRequires-Python: >=3.9\n"));
  image.layer(boot_files(beam));
  image.image_config.entrypoint = {"/opt/apache/beam/boot"};
  image.env("PATH", "/usr/local/bin:/usr/bin:/bin");
  return image;
}

}  // namespace imgforge::test
