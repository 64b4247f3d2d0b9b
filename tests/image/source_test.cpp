// How images are named, and what is said where nothing fits.
#include "image/source.hpp"

#include <catch2/catch.hpp>

#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

TEST_CASE("sources that are not there say how to get to them", "[source]") {
  const Variable host("DOCKER_HOST", "unix:///not/there.sock");
  const Error daemon = error_of_opening("docker-daemon:python:3.11");
  CHECK(daemon.kind() == ErrorKind::image_not_found);
  CHECK(mentions(daemon, "/not/there.sock"));
  CHECK(mentions(daemon, "docker save"));
  const Variable path("PATH", "/not/there");
  const Error storage = error_of_opening("containers-storage:localhost/x");
  CHECK(mentions(storage, "skopeo"));
  CHECK(mentions(storage, "podman save"));
  CHECK(mentions(error_of_opening("dir:/not/there"), "/not/there"));
}

TEST_CASE("a guess that fails lists what was tried", "[source]") {
  const TemporaryFolder folder;
  write_file(folder / "empty/readme", "");
  const Error error = error_of_opening(folder / "empty");
  CHECK(exit_code(error.kind()) == 3);
  CHECK(mentions(error, "neither oci-layout nor index.json"));
  CHECK(mentions(error, "registry"));
  write_tar({{"readme", "x"}}, folder / "other.tar");
  const Error tar = error_of_opening(folder / "other.tar");
  CHECK(mentions(tar, "as oci-archive"));
  CHECK(mentions(tar, "as docker-archive"));
  const Error nothing = error_of_opening(folder / "none");
  CHECK(nothing.kind() == ErrorKind::image_not_found);
  CHECK(mentions(nothing, "does not exist"));
  CHECK(error_of_opening("image-that-is-not-there.tar").kind() == ErrorKind::image_not_found);
  CHECK(mentions(error_of_opening("Not A Name"), "as a registry reference"));
}

TEST_CASE("names that are nothing", "[source]") {
  CHECK(error_of_opening("").kind() == ErrorKind::usage);
  CHECK(error_of_opening(std::string("a\0b", 3)).kind() == ErrorKind::usage);
  CHECK(error_of_opening("docker://UPPER").kind() == ErrorKind::usage);
  CHECK(error_of_opening("oci:/not/there:v1").kind() == ErrorKind::image_not_found);
  CHECK(error_of_opening("docker-archive:/not/there.tar").kind() == ErrorKind::image_not_found);
  const Error error = error_of_opening("/tmp/\x1b[2Jnone");
  CHECK(error.message().find('\x1b') == std::string::npos);
}

TEST_CASE("paths with colons are paths where they exist", "[source]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  write_folder(layout(tiny), folder / "a:b");
  CHECK(open_image("oci:" + (folder / "a:b"), {})->layers().size() == 2);
  CHECK(open_image("oci:" + (folder / "a:b:latest"), {})->layers().size() == 2);
  CHECK(open_image(folder / "a:b:latest", {})->layers().size() == 2);
}

TEST_CASE("oci: and the archives do not take each other's", "[source]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  write_folder(layout(tiny), folder / "i");
  write_tar(layout(tiny), folder / "i.tar");
  CHECK(mentions(error_of_opening("oci:" + (folder / "i.tar")), "oci-archive:"));
  CHECK(mentions(error_of_opening("docker-archive:" + (folder / "i.tar")), "oci-archive:"));
  CHECK(mentions(error_of_opening("oci-archive:" + (folder / "i")), "is a folder"));
}

TEST_CASE("a login in an image's name is refused and not repeated", "[source]") {
  for (const std::string name : {"docker://user:hunter2@registry.example.com/x", "user:hunter2@registry.example.com/x", "docker://https://user:hunter2@localhost:1/x"}) {
    try {
      open_image(name, {});
      FAIL("it was opened");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      CHECK((error.message() + error.hint()).find("hunter2") == std::string::npos);
    }
  }
  // A storage's place has a colon and an @.
  const Variable path("PATH", "/not/there");
  CHECK(error_of_opening("containers-storage:[vfs@/not/there+/not/there:x]localhost/a.b:1").kind() ==
        ErrorKind::image_access);
  // A tag and a digest have both characters, too.
  try {
    open_image("localhost:1/x:tag@sha256:" + std::string(64, 'a'), {});
    FAIL("it was opened");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::image_network);
  }
}
