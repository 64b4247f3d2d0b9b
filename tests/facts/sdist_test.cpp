// The SDK's source archive beside boot: its PKG-INFO, whatever else somebody put there.
#include <catch2/catch.hpp>

#include "facts/boot.hpp"
#include "facts/fake_image.hpp"

using namespace imgforge;
using namespace imgforge::test;

TEST_CASE("PKG-INFO of the archive's own folder", "[sdist]") {
  CHECK(package_info_of_sdist(tar_of(
            {folder("a-1"), file("a-1/sub/PKG-INFO", "no"), file("a-1/PKG-INFO", "yes"), file("b/PKG-INFO", "late")},
            true)) == "yes");
  CHECK(package_info_of_sdist(tar_of({file("./a-1/PKG-INFO", "yes")}, true)) == "yes");
  CHECK_FALSE(package_info_of_sdist(tar_of({file("PKG-INFO", "no")}, true)));
}

TEST_CASE("archives that are broken or too large hold nothing", "[sdist]") {
  CHECK_FALSE(package_info_of_sdist(""));
  CHECK_FALSE(package_info_of_sdist("no archive at all"));
  const std::string good = tar_of({file("a-1/x", std::string(100'000, 'x')), file("a-1/PKG-INFO", "yes")}, true);
  CHECK(package_info_of_sdist(good) == "yes");
  CHECK_FALSE(package_info_of_sdist(good.substr(0, good.size() / 2)));
  const auto info = package_info_of_sdist(tar_of({file("a-1/PKG-INFO", std::string(1 << 20, 'x'))}, true));
  REQUIRE(info);
  CHECK(info->size() == 256 << 10);  // no more than this of it
}

TEST_CASE("an archive that says nothing leaves the boot's release unknown", "[sdist]") {
  FakeImage image;
  image.layer(
      {file("opt/apache/beam/tars/apache-beam.tar.gz", tar_of({file("a-1/PKG-INFO", "Name: apache-beam\n")}, true))});
  CHECK(FactsOf(image)->boot_version().reason() ==
        "/opt/apache/beam/tars/apache-beam.tar.gz holds no PKG-INFO with a version");
}
