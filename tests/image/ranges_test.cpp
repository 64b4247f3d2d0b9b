// Parts of layers, and where layers lie on this machine.
#include <catch2/catch.hpp>

#include "image/file_tree.hpp"
#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

std::string all_of(ByteReader& reader) {
  std::string bytes;
  char buffer[333];
  while (const std::size_t count = reader.read(buffer, sizeof buffer)) bytes.append(buffer, count);
  return bytes;
}

Files docker_archive(const TinyImage& tiny) {
  return {{Digest::of(tiny.config).hex() + ".json", tiny.config},
          {"aa/layer.tar", tiny.layers[0]},
          {"bb/layer.tar", tiny.layers[1]},
          {"cc/layer.tar", "-> ../bb/layer.tar"},
          {"manifest.json", fmt::format(R"([{{"Config":"{}.json","Layers":["aa/layer.tar","cc/layer.tar"]}}])",
                                        Digest::of(tiny.config).hex())}};
}

/// A tar of pax members whose names and sizes stand in extended headers.
std::string pax_tar(const std::string& name, const std::string& content) {
  std::string bytes(content.size() + (64 << 10), '\0');
  std::size_t used = 0;
  archive* writer = archive_write_new();
  archive_write_set_format_pax(writer);
  archive_write_set_bytes_per_block(writer, 512);
  archive_write_open_memory(writer, bytes.data(), bytes.size(), &used);
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, name.c_str());
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_mtime(entry, 1, 500);
  archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
  REQUIRE(archive_write_header(writer, entry) == ARCHIVE_OK);
  archive_write_data(writer, content.data(), content.size());
  archive_entry_free(entry);
  archive_write_close(writer);
  archive_write_free(writer);
  bytes.resize(used);
  return bytes;
}

}  // namespace

TEST_CASE("parts of layers are read from files", "[ranges]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  for (const std::string& name :
       {"oci:" + write_folder(layout(tiny), folder / "i"), "oci-archive:" + write_tar(layout(tiny), folder / "i.tar"),
        "docker-archive:" + write_tar(docker_archive(tiny), folder / "d.tar")}) {
    INFO(name);
    const auto image = open_image(name, {});
    const std::string& layer = tiny.layers[1];
    CHECK(all_of(*image->open_layer_range(1, 0, layer.size())) == layer);
    CHECK(all_of(*image->open_layer_range(1, 700, 600)) == layer.substr(700, 600));
    CHECK(all_of(*image->open_layer_range(1, layer.size() - 5, 5)) == layer.substr(layer.size() - 5));
    CHECK(all_of(*image->open_layer_range(1, layer.size() - 5, 500)) == layer.substr(layer.size() - 5));
    CHECK(all_of(*image->open_layer_range(1, ~0ull, ~0ull)).empty());
    CHECK(read_layer_bytes(*image, 1) == layer);
    CHECK_FALSE(image->streams_once());
  }
}

TEST_CASE("a layer's stamp names its file and its place in it", "[ranges]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  const auto in_folder = open_image(write_folder(layout(tiny), folder / "i"), {});
  const FileStamp before = *in_folder->layer_stamp(1);
  CHECK(before.size == tiny.layers[1].size());
  CHECK(before.modified_ns > 0);
  CHECK(in_folder->layer_stamp(1) == before);
  CHECK(in_folder->layer_stamp(0)->inode != before.inode);
  write_file(folder / "i/" + blob_path(tiny.layers[1]), tiny.layers[1]);  // the same bytes, written again
  CHECK(in_folder->layer_stamp(1) != before);

  const std::string path = write_tar(docker_archive(tiny), folder / "d.tar");
  const auto in_tar = open_image(path, {});
  CHECK(in_tar->layer_stamp(0)->inode == in_tar->layer_stamp(1)->inode);
  CHECK(in_tar->layer_stamp(0)->offset != in_tar->layer_stamp(1)->offset);
  CHECK(in_tar->layer_stamp(0)->size == std::filesystem::file_size(path));
}

TEST_CASE("members of a tar behind extended headers are found", "[ranges][tar]") {
  const TemporaryFolder folder;
  const std::string name = "a/" + std::string(300, 'n');
  const std::string content = "0123456789" + std::string(2000, 'c');
  write_file(folder / "p.tar", pax_tar(name, content));
  const auto tar = open_tar(std::make_shared<RandomFile>(folder / "p.tar"));
  CHECK(tar->size_of(name) == content.size());
  CHECK(all_of(*tar->open(name)) == content);
  CHECK(all_of(*tar->open_range(name, 5, 7)) == "56789cc");
  CHECK(tar->open_range("none", 0, 1) == nullptr);
  CHECK_FALSE(tar->stamp_of("none"));
}

TEST_CASE("layers keep the annotations of their descriptors", "[layout]") {
  const TemporaryFolder folder;
  TinyImage tiny;
  const std::string upper = descriptor("application/vnd.oci.image.layer.v1.tar", tiny.layers[1]);
  const std::string with = descriptor("application/vnd.oci.image.layer.v1.tar", tiny.layers[1],
                                      R"(,"annotations":{"containerd.io/snapshot/stargz/toc.digest":"sha256:1"})");
  tiny.manifest.replace(tiny.manifest.find(upper), upper.size(), with);
  const auto image = open_image(write_folder(layout(tiny), folder / "i"), {});
  CHECK(image->layers()[0].annotations.empty());
  CHECK(image->layers()[1].annotations.at("containerd.io/snapshot/stargz/toc.digest") == "sha256:1");
}
