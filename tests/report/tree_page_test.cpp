#include "report/tree_page.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "../layer/memory_image.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

std::string text_of(RootView& root) {
  std::string all;
  tree_text(root, [&](std::string_view part) { all += part; });
  return all;
}

nlohmann::json json_of(RootView& root) {
  std::string all;
  tree_json(root, [&](std::string_view part) { all += part; });
  return nlohmann::json::parse(all);
}

}  // namespace

TEST_CASE("the tree of an image, as text and as JSON", "[tree]") {
  MemoryImage image;
  image.add(tar_of({folder("opt"), file("opt/a", "first"), file("opt/gone", "x")}));
  image.add(tar_of({whiteout("opt/gone"), soft_link("opt/l", "../\x1b[31m\xff"), file("bin/su", "su", 04755)}));
  RootView root(image, {});
  const std::string text = text_of(root);
  CHECK(text.find("-rwsr-xr-x     0:0                2   2 /bin/su\n") != std::string::npos);
  CHECK(text.find("-rw-r--r--     0:0                5   1 /opt/a\n") != std::string::npos);
  CHECK(text.find("gone") == std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  const nlohmann::json tree = json_of(root);
  REQUIRE(tree.size() == 6);  // the root, bin, its file, opt, and two in it
  CHECK(tree[0]["path"] == "/");
  CHECK(tree[2]["mode"] == 04755);
  CHECK(tree[4] == nlohmann::json{{"path", "/opt/a"}, {"type", "file"}, {"size", 5}, {"mode", 0644}, {"uid", 0}, {"gid", 0}, {"layer", 0}});
  CHECK(tree[5]["type"] == "symlink");
  CHECK(tree[5].contains("link_base64"));
}

TEST_CASE("the tree of an image without layers is its root", "[tree]") {
  const MemoryImage image;
  RootView root(image, {});
  CHECK(text_of(root) == "drwxr-xr-x     0:0                0   - /\n");
  CHECK(json_of(root).size() == 1);
}
