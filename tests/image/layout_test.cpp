// OCI layouts: folders and tars of them.
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

TEST_CASE("an image is read from a layout", "[layout]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  write_folder(layout(tiny), folder / "image");
  for (const std::string& name :
       {"oci:" + folder.path + "/image:latest", "oci:" + folder.path + "/image", folder.path + "/image",
        folder.path + "/image:latest", "oci:" + folder.path + "/image@" + Digest::of(tiny.manifest).to_string()}) {
    INFO(name);
    const auto image = open_image(name, {});
    CHECK(image->digest() == Digest::of(tiny.manifest));
    CHECK(image->config_digest() == Digest::of(tiny.config));
    CHECK(image->config().variable("PATH") == "/bin");
    CHECK(image->bytes_read() == tiny.manifest.size() + tiny.config.size());
    REQUIRE(image->layers().size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(image->layers()[i].index == i);
      CHECK(image->layers()[i].size == tiny.layers[i].size());
      CHECK(image->layers()[i].digest == Digest::of(tiny.layers[i]));
      CHECK(image->layers()[i].diff_id == Digest::of(tiny.layers[i]));
      CHECK(read_layer_bytes(*image, i) == tiny.layers[i]);
    }
  }
  CHECK(open_image(folder.path + "/image:latest", {})->name() == "oci:" + folder.path + "/image:latest");
}

TEST_CASE("a layout in a tar is read without unpacking", "[layout]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  Files dotted;
  for (const auto& [name, content] : layout(tiny)) dotted.emplace_back("./" + name, content);
  write_tar(layout(tiny), folder / "plain.tar");
  write_tar(dotted, folder / "dotted.tar");
  for (const std::string& name : {"oci-archive:" + folder.path + "/plain.tar:latest",
                                  "oci-archive:" + folder.path + "/dotted.tar", folder.path + "/plain.tar"}) {
    INFO(name);
    const auto image = open_image(name, {});
    CHECK(image->digest() == Digest::of(tiny.manifest));
    CHECK(read_layer_bytes(*image, 1) == tiny.layers[1]);
    CHECK(read_layer_bytes(*image, 0) == tiny.layers[0]);
  }
}

TEST_CASE("tags choose among the images of a layout", "[layout]") {
  const TemporaryFolder folder;
  const TinyImage one("amd64");
  const TinyImage two("arm64");
  write_folder(layout(index_of({descriptor(oci_manifest_type, one.manifest, tag("v1")),
                                descriptor(oci_manifest_type, two.manifest, tag("v2"))}),
                      {one.blobs(), two.blobs()}),
               folder / "image");
  CHECK(open_image("oci:" + folder.path + "/image:v2", {})->digest() == Digest::of(two.manifest));
  const Error several = error_of_opening("oci:" + folder.path + "/image");
  CHECK(several.kind() == ErrorKind::image_not_found);
  CHECK(mentions(several, "v1 and v2"));
  const Error none = error_of_opening("oci:" + folder.path + "/image:v3");
  CHECK(none.kind() == ErrorKind::image_not_found);
  CHECK(mentions(none, "\"v3\""));
  CHECK(mentions(none, "v1 and v2"));
}

TEST_CASE("an image for several platforms, in one index, nested, or straight in index.json", "[layout]") {
  const TemporaryFolder folder;
  const TinyImage amd("amd64");
  const TinyImage arm("arm64");
  const std::string inner = index_of({descriptor(oci_manifest_type, amd.manifest, platform("amd64")),
                                      descriptor(oci_manifest_type, arm.manifest, platform("arm64"))});
  const std::string outer = index_of({descriptor(oci_index_type, inner)});
  const std::vector<Files> blobs = {amd.blobs(), arm.blobs(), {{blob_path(inner), inner}, {blob_path(outer), outer}}};
  write_folder(layout(index_of({descriptor(oci_index_type, inner, tag("x"))}), blobs), folder / "list");
  write_folder(layout(index_of({descriptor(oci_index_type, outer, tag("x"))}), blobs), folder / "nested");
  write_folder(layout(inner, blobs), folder / "flat");
  SourceOptions options;
  for (const char* form : {"list", "nested", "flat"}) {
    INFO(form);
    CHECK(open_image("oci:" + (folder / form), {})->digest() == Digest::of(amd.manifest));
    options.platform = *Platform::parse("linux/arm64");
    CHECK(open_image("oci:" + (folder / form), options)->digest() == Digest::of(arm.manifest));
    options.platform = *Platform::parse("linux/s390x");
    const Error error = error_of_opening("oci:" + (folder / form), options);
    CHECK(error.kind() == ErrorKind::image_not_found);
    CHECK(mentions(error, "linux/arm64"));
  }
  // By digest, below the index.
  CHECK(open_image("oci:" + (folder / "list") + "@" + Digest::of(arm.manifest).to_string(), {})->digest() ==
        Digest::of(arm.manifest));
}

TEST_CASE("a single image of another platform is still the image", "[layout]") {
  const TemporaryFolder folder;
  const TinyImage arm("arm64");
  write_folder(layout(index_of({descriptor(oci_manifest_type, arm.manifest, platform("arm64"))}), {arm.blobs()}),
               folder / "image");
  CHECK(open_image(folder / "image", {})->config().platform.architecture == "arm64");
}

TEST_CASE("hostile: blobs that are missing, cut, changed or of another size", "[layout][hostile]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  Files files = layout(tiny);
  SECTION("a layer is missing") {
    remove(files, blob_path(tiny.layers[1]));
    for (const std::string& name :
         {"oci:" + write_folder(files, folder / "i"), "oci-archive:" + write_tar(files, folder / "i.tar")}) {
      const Error error = error_of_opening(name);
      CHECK(error.kind() == ErrorKind::image_corrupt);
      CHECK(mentions(error, "missing"));
      CHECK(mentions(error, Digest::of(tiny.layers[1]).to_string()));
    }
  }
  SECTION("a layer is of another size") {
    replace(files, blob_path(tiny.layers[1]), tiny.layers[1] + "x");
    for (const std::string& name :
         {"oci:" + write_folder(files, folder / "i"), "oci-archive:" + write_tar(files, folder / "i.tar")}) {
      const Error error = error_of_opening(name);
      CHECK(error.kind() == ErrorKind::image_corrupt);
      CHECK(mentions(error, "size"));
      CHECK(mentions(error, fmt::format("{} bytes", tiny.layers[1].size())));
      CHECK(mentions(error, fmt::format("{}", tiny.layers[1].size() + 1)));
    }
  }
  SECTION("the config is another") {
    std::string other = tiny.config;
    other[7] = 'L';
    replace(files, blob_path(tiny.config), other);
    const Error error = error_of_opening("oci:" + write_folder(files, folder / "i"));
    CHECK(error.kind() == ErrorKind::image_corrupt);
    CHECK(mentions(error, "digest mismatch"));
  }
  SECTION("the manifest is another") {
    std::string other = tiny.manifest;
    other.back() = ' ';
    replace(files, blob_path(tiny.manifest), other);
    CHECK(error_of_opening("oci:" + write_folder(files, folder / "i")).kind() == ErrorKind::image_corrupt);
  }
  SECTION("there is no index.json") {
    remove(files, "index.json");
    CHECK(mentions(error_of_opening("oci:" + write_folder(files, folder / "i")), "index.json"));
    CHECK(mentions(error_of_opening(folder / "i"), "index.json"));
  }
  SECTION("index.json is an image's manifest") {
    replace(files, "index.json", tiny.manifest);
    CHECK(error_of_opening("oci:" + write_folder(files, folder / "i")).kind() == ErrorKind::image_corrupt);
  }
}

TEST_CASE("hostile: a layer more than diff ids", "[layout][hostile]") {
  const TemporaryFolder folder;
  TinyImage tiny;
  tiny.config = R"({"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":[]}})";
  tiny.write_manifest();
  const Error error = error_of_opening("oci:" + write_folder(layout(tiny), folder / "i"));
  CHECK(error.kind() == ErrorKind::image_corrupt);
  CHECK(mentions(error, "diff ids"));
}

TEST_CASE("hostile: a blob that is a link to a file outside (ggcr #2306)", "[layout][hostile]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  Files files = layout(tiny);
  write_file(folder / "outside", tiny.layers[1]);  // even the right bytes
  remove(files, blob_path(tiny.layers[1]));
  write_folder(files, folder / "i");
  std::filesystem::create_symlink(folder / "outside", folder / "i/" + blob_path(tiny.layers[1]));
  const Error error = error_of_opening("oci:" + (folder / "i"));
  CHECK(error.kind() == ErrorKind::image_corrupt);
  CHECK(mentions(error, "symbolic link"));
}

TEST_CASE("hostile: a blob that is a pipe does not hang", "[layout][hostile]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  Files files = layout(tiny);
  remove(files, blob_path(tiny.config));
  write_folder(files, folder / "i");
  REQUIRE(::mkfifo((folder / "i/" + blob_path(tiny.config)).c_str(), 0600) == 0);
  CHECK(error_of_opening("oci:" + (folder / "i")).kind() == ErrorKind::image_corrupt);
}

TEST_CASE("hostile: an index that names itself", "[layout][hostile]") {
  const TemporaryFolder folder;
  // A digest cannot name itself honestly, so it fails as a mismatch; an index that leads back to index.json cannot.
  const std::string fake = "sha256:" + std::string(64, 'c');
  const std::string self =
      index_of({fmt::format(R"({{"mediaType":"{}","digest":"{}","size":300}})", oci_index_type, fake)});
  Files files = layout(
      index_of({fmt::format(R"({{"mediaType":"{}","digest":"{}","size":{}}})", oci_index_type, fake, self.size())}),
      {});
  files.emplace_back("blobs/sha256/" + std::string(64, 'c'), self);
  CHECK(error_of_opening("oci:" + write_folder(files, folder / "i")).kind() == ErrorKind::image_corrupt);
}

TEST_CASE("hostile: indexes nested without end", "[layout][hostile]") {
  const TemporaryFolder folder;
  Files files;
  std::string bytes = index_of({});
  for (int depth = 0; depth < 30; ++depth) {
    files.emplace_back(blob_path(bytes), bytes);
    bytes = index_of({descriptor(oci_index_type, bytes)});
  }
  CHECK(error_of_opening("oci:" + write_folder(layout(bytes, {files}), folder / "i")).kind() == ErrorKind::image_limit);
}

TEST_CASE("hostile: an index of very many indexes", "[layout][hostile]") {
  const TemporaryFolder folder;
  Files files;
  std::vector<std::string> entries;
  for (int i = 0; i < 200; ++i) {
    const std::string empty = fmt::format(R"({{"schemaVersion":2,"manifests":[],"annotations":{{"n":"{}"}}}})", i);
    files.emplace_back(blob_path(empty), empty);
    entries.push_back(descriptor(oci_index_type, empty));
  }
  CHECK(error_of_opening("oci:" + write_folder(layout(index_of(entries), {files}), folder / "i")).kind() ==
        ErrorKind::image_limit);
}

TEST_CASE("hostile: documents larger than any manifest", "[layout][hostile]") {
  const TemporaryFolder folder;
  TinyImage tiny;
  tiny.manifest.insert(1, std::string(5 << 20, ' '));
  CHECK(error_of_opening("oci:" + write_folder(layout(tiny), folder / "i")).kind() == ErrorKind::image_limit);
  Files files = layout(TinyImage());
  replace(files, "index.json", std::string(5 << 20, ' '));
  CHECK(error_of_opening("oci:" + write_folder(files, folder / "j")).kind() == ErrorKind::image_limit);
}
