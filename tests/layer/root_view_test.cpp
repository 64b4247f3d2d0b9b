// The merged root, semantics by name: image-spec 1.1 layer.md, and what unpackers do where it is silent.
#include "layer/root_view.hpp"

#include <catch2/catch.hpp>

#include "memory_image.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

/// "content", "folder", "-> target", "absent", "dangling", "loop", "not a folder".
std::string at(RootView& root, const std::string& path, bool follow = true) {
  const Lookup found = follow ? root.lookup(path) : root.lookup_link(path);
  switch (found.status) {
    case Lookup::Status::absent: return "absent";
    case Lookup::Status::dangling: return "dangling";
    case Lookup::Status::loop: return "loop";
    case Lookup::Status::not_a_directory: return "not a folder";
    case Lookup::Status::found: break;
  }
  if (found.node->type == EntryType::directory) return "folder";
  if (found.node->type == EntryType::symlink) return "-> " + found.node->link;
  return root.read(*found.node, 1000).value_or("unreadable");
}

std::string names(const std::vector<Node>& nodes) {
  std::string text;
  for (const Node& node : nodes) text += (text.empty() ? "" : " ") + node.path;
  return text;
}

}  // namespace

TEST_CASE("the newest layer wins", "[root]") {
  MemoryImage image;
  image.tar({folder("a"), file("a/x", "low"), file("a/y", "low")}).tar({file("a/x", "high")});
  RootView root(image, {});
  CHECK(at(root, "/a/x") == "high");
  CHECK(at(root, "/a/y") == "low");
  CHECK(at(root, "/a/z") == "absent");
  CHECK(names(root.list("/a")) == "/a/x /a/y");
}

TEST_CASE("of two entries of one path in a layer the later holds", "[root]") {
  MemoryImage image;
  image.tar({file("a", "first"), file("a", "second"), file("d", "file"), folder("d"), file("d/x", "in"), folder("e"), file("e/x", "in"), file("e", "file")});
  RootView root(image, {});
  CHECK(at(root, "/a") == "second");
  CHECK(at(root, "/d/x") == "in");
  CHECK(at(root, "/e") == "file");
  CHECK(at(root, "/e/x") == "not a folder");
}

TEST_CASE("whiteouts hide lower layers only, whatever their order", "[root]") {
  MemoryImage image;
  image.tar({folder("a"), file("a/x", "low"), file("a/y", "low"), folder("b"), file("b/z", "low")})
      .tar({file("a/x", "same layer"), whiteout("a/x"), whiteout("a/y"), whiteout("b")});
  RootView root(image, {});
  CHECK(at(root, "/a/x") == "same layer");
  CHECK(at(root, "/a/y") == "absent");
  CHECK(at(root, "/b") == "absent");
  CHECK(at(root, "/b/z") == "absent");
  CHECK(names(root.list("/")) == "/a");
}

TEST_CASE("what a whiteout took away, a later layer brings back", "[root]") {
  MemoryImage image;
  image.tar({folder("b"), file("b/z", "low"), file("b/w", "low")}).tar({whiteout("b")}).tar({folder("b"), file("b/z", "again")});
  RootView root(image, {});
  CHECK(at(root, "/b/z") == "again");
  CHECK(at(root, "/b/w") == "absent");
  CHECK(names(root.list("/b")) == "/b/z");
}

TEST_CASE("an opaque folder keeps its own layer's entries, those before the marker, too", "[root]") {
  MemoryImage image;
  image.tar({folder("a"), file("a/old", "low"), folder("a/sub"), file("a/sub/old", "low")}).tar({folder("a"), file("a/before", "high"), opaque("a"), file("a/after", "high")});
  RootView root(image, {});
  CHECK(at(root, "/a/before") == "high");
  CHECK(at(root, "/a/after") == "high");
  CHECK(at(root, "/a/old") == "absent");
  CHECK(at(root, "/a/sub/old") == "absent");
  CHECK(names(root.find("/a/*")) == "/a/after /a/before");
}

TEST_CASE("an opaque root hides everything below", "[root]") {
  MemoryImage image;
  image.tar({file("old", "low")}).tar({member(".wh..wh..opq", '0'), file("new", "high")});
  RootView root(image, {});
  CHECK(at(root, "/old") == "absent");
  CHECK(names(root.list("/")) == "/new");
}

TEST_CASE("a folder over a file, and a file over a folder", "[root]") {
  MemoryImage image;
  image.tar({folder("d"), file("d/x", "low"), file("f", "low")}).tar({file("d", "a file now"), folder("f"), file("f/x", "high")}).tar({folder("d"), file("d/y", "high")});
  RootView root(image, {});
  CHECK(at(root, "/d/y") == "high");
  CHECK(at(root, "/d/x") == "absent");
  CHECK(at(root, "/f/x") == "high");
  CHECK(names(root.list("/d")) == "/d/y");
}

TEST_CASE("links are followed inside of the root", "[root]") {
  MemoryImage image;
  image.tar({folder("usr"), folder("usr/bin"), soft_link("bin", "usr/bin"), file("usr/bin/sh", "shell"), soft_link("abs", "/usr/bin/sh"), soft_link("up", "../../../../usr/bin/sh"),
             soft_link("usr/here", "."), soft_link("dangling", "/no/where"), soft_link("usr/bin/..sh", "sh")});
  RootView root(image, {});
  CHECK(at(root, "/bin/sh") == "shell");
  CHECK(root.lookup("/bin/sh").node->path == "/usr/bin/sh");
  CHECK(at(root, "/abs") == "shell");
  CHECK(at(root, "/up") == "shell");
  CHECK(at(root, "/usr/here/bin/../bin/sh") == "shell");
  CHECK(at(root, "/bin/../here") == "folder");  // ".." counts from where the link leads
  CHECK(at(root, "/bin/../abs") == "absent");
  CHECK(at(root, "/dangling") == "dangling");
  CHECK(root.lookup("/dangling").missing == "/no");
  CHECK(at(root, "/dangling", false) == "-> /no/where");
  CHECK(at(root, "/usr/bin/sh/x") == "not a folder");
  CHECK(at(root, "/../../usr/bin/sh") == "shell");
  CHECK(at(root, "/") == "folder");
}

TEST_CASE("forty links are followed, and no more", "[root]") {
  std::vector<std::string> members = {file("l0", "end")};
  for (int i = 1; i <= 41; ++i) members.push_back(soft_link("l" + std::to_string(i), "l" + std::to_string(i - 1)));
  members.push_back(soft_link("circle", "circle2"));
  members.push_back(soft_link("circle2", "circle"));
  MemoryImage image;
  image.tar(members);
  RootView root(image, {});
  CHECK(at(root, "/l30") == "end");
  CHECK(at(root, "/l40") == "end");
  CHECK(at(root, "/l41") == "loop");
  CHECK(at(root, "/circle") == "loop");
  CHECK(at(root, "/circle/x") == "loop");
}

TEST_CASE("an entry below a lower link lands through it", "[root]") {
  MemoryImage image;
  image.tar({folder("usr"), folder("usr/lib"), file("usr/lib/a", "low"), soft_link("lib", "usr/lib")}).tar({file("lib/b", "high"), whiteout("lib/a")});
  RootView root(image, {});
  CHECK(at(root, "/usr/lib/b") == "high");
  CHECK(at(root, "/lib/b") == "high");
  CHECK(at(root, "/lib/a") == "absent");
  CHECK(at(root, "/lib", false) == "-> usr/lib");
  CHECK(names(root.find("/**/b")) == "/usr/lib/b");
}

TEST_CASE("a folder entry over a lower link replaces it", "[root]") {
  MemoryImage image;
  image.tar({folder("usr"), folder("usr/lib"), file("usr/lib/a", "low"), soft_link("lib", "usr/lib")}).tar({folder("lib"), file("lib/b", "high")});
  RootView root(image, {});
  CHECK(at(root, "/lib", false) == "folder");
  CHECK(at(root, "/lib/b") == "high");
  CHECK(at(root, "/lib/a") == "absent");
  CHECK(at(root, "/usr/lib/b") == "absent");
}

TEST_CASE("an entry below a link of the same layer lands through it, too", "[root]") {
  MemoryImage image;
  image.tar({folder("real"), soft_link("alias", "real"), file("alias/x", "through")});
  RootView root(image, {});
  CHECK(at(root, "/real/x") == "through");
}

TEST_CASE("hard links are what they named when their layer was applied", "[root]") {
  MemoryImage image;
  image.tar({folder("bin"), file("bin/real", "first")})
      .tar({hard_link("bin/link", "bin/real"), file("same", "same"), hard_link("same2", "/same")})
      .tar({file("bin/real", "replaced"), whiteout("same")});
  RootView root(image, {});
  CHECK(at(root, "/bin/link") == "first");
  CHECK(at(root, "/bin/real") == "replaced");
  CHECK(at(root, "/same2") == "same");
  CHECK(at(root, "/same") == "absent");
  CHECK(root.lookup("/bin/link").node->layer == 0);
}

TEST_CASE("a hard link to nothing, or to itself, is nothing", "[root]") {
  MemoryImage image;
  image.tar({file("x", "low")}).tar({hard_link("broken", "no/where"), hard_link("self", "self"), whiteout("x"), hard_link("gone", "x")});
  RootView root(image, {});
  CHECK(at(root, "/broken") == "absent");
  CHECK(at(root, "/self") == "absent");
  CHECK(at(root, "/gone") == "absent");
  CHECK(names(root.list("/")).empty());
}

TEST_CASE("hard links through links, and to links", "[root]") {
  MemoryImage image;
  image.tar({folder("usr"), folder("usr/bin"), soft_link("bin", "usr/bin"), file("usr/bin/a", "content"), soft_link("usr/bin/s", "a")}).tar({hard_link("b", "bin/a"), hard_link("t", "usr/bin/s")});
  RootView root(image, {});
  CHECK(at(root, "/b") == "content");
  CHECK(at(root, "/t", false) == "-> a");
}

TEST_CASE("folders that no layer names are there all the same", "[root]") {
  MemoryImage image;
  image.tar({member("a/", '5', "", "", 0700, 7)}).tar({file("a/b/c", "x")});
  RootView root(image, {});
  CHECK(at(root, "/a/b") == "folder");
  CHECK(root.lookup("/a/b").node->mode == 0755);
  // An implied folder has the attributes of the lower entry.
  CHECK(root.lookup("/a").node->mode == 0700);
  CHECK(root.lookup("/a").node->uid == 7);
}

TEST_CASE("a root that is a link is no root", "[root]") {
  MemoryImage image;
  image.tar({file("x", "low")}).tar({soft_link(".", "/tmp"), soft_link("/", "/tmp"), folder(".", 0700)});
  RootView root(image, {});
  CHECK(at(root, "/x") == "low");
  CHECK(at(root, "/") == "folder");
}

TEST_CASE("a question reads no more layers than it needs", "[root]") {
  MemoryImage image;
  image.tar({folder("etc"), file("etc/passwd", "low")}).tar({folder("opt"), file("opt/boot", "boot")}).tar({folder("etc"), whiteout("etc/shadow"), file("etc/x", "high")});
  RootView root(image, {});
  CHECK(root.lookup("/etc/x"));
  CHECK(image.opened == std::vector<int>{0, 0, 1});
  CHECK(at(root, "/etc/shadow") == "absent");
  CHECK(image.opened == std::vector<int>{0, 0, 1});
  CHECK(root.lookup("/opt/boot"));
  CHECK(image.opened == std::vector<int>{0, 1, 1});
  CHECK(root.cost().layers_read == 2);
  CHECK(at(root, "/nowhere") == "absent");
  CHECK(image.opened == std::vector<int>{1, 1, 1});
  CHECK(root.cost().bytes_read == root.cost().bytes_total);
}

TEST_CASE("contents that were not kept are read by passing the layer again", "[root]") {
  MemoryImage image;
  image.tar({folder("etc"), file("etc/passwd", "root:x:0:0"), file("big", std::string(5000, 'b'))});
  RootView root(image, {});
  CHECK(root.read("/etc/passwd", 100) == "root:x:0:0");
  CHECK(image.opened.front() == 1);
  CHECK_FALSE(root.read("/big", 100));
  CHECK(root.read_prefix(*root.lookup("/big").node, 3) == "bbb");
  CHECK(image.opened.front() == 2);
  CHECK(root.read("/big", 5000)->size() == 5000);
  CHECK(root.read("/big", 5000)->size() == 5000);
  CHECK(image.opened.front() == 2);  // a small file is kept whole once it was asked for
  MemoryImage named;
  named.tar({file("start.sh", "#!/bin/sh")});
  RootView with_path(named, {.capture_paths = {"/start.sh"}});
  CHECK(with_path.read("/start.sh", 100) == "#!/bin/sh");
  CHECK(named.opened.front() == 1);
}

TEST_CASE("globs find canonical paths", "[root]") {
  MemoryImage image;
  image.tar({folder("usr"), folder("usr/lib"), file("usr/lib/a.so", "x"), folder("usr/lib/sub"), file("usr/lib/sub/b.so", "x"), soft_link("lib", "usr/lib"), file("c.so", "x")});
  RootView root(image, {});
  CHECK(names(root.find("/usr/**/*.so")) == "/usr/lib/a.so /usr/lib/sub/b.so");
  CHECK(names(root.find("/**/*.so")) == "/c.so /usr/lib/a.so /usr/lib/sub/b.so");
  CHECK(names(root.find("/usr/lib/*.so")) == "/usr/lib/a.so");
  CHECK(names(root.find("/usr/lib/a.so")) == "/usr/lib/a.so");
  CHECK(root.find("/opt/**").empty());
}

TEST_CASE("a damaged layer fails every question that needs it", "[root]") {
  MemoryImage image;
  image.add("garbage that is no tar" + std::string(2000, '?')).tar({file("a", "fine")});
  RootView root(image, {});
  CHECK(root.lookup("/a"));
  CHECK_THROWS_AS(root.lookup("/b"), Error);
  CHECK_THROWS_AS(root.list("/"), Error);
}

TEST_CASE("sixty thousand files in one folder", "[root]") {
  std::string tar;
  for (int i = 0; i < 60'000; ++i) tar += file("many/file" + std::to_string(i), "");
  MemoryImage image;
  image.add(tar + end_of_tar()).tar({whiteout("many/file7")});
  RootView root(image, {});
  CHECK(root.list("/many").size() == 59'999);
  CHECK(at(root, "/many/file7") == "absent");
  CHECK(at(root, "/many/file59999").empty());
}

TEST_CASE("hostile: an image without layers has a root, in none of them", "[root][hostile]") {
  MemoryImage image;
  RootView root(image, {});
  const Lookup found = root.lookup("/");
  REQUIRE(found.status == Lookup::Status::found);
  CHECK(found.node->type == EntryType::directory);
  CHECK(root.layer_name(found.node->layer).empty());
  CHECK(at(root, "/etc") == "absent");
  CHECK(root.list("/").empty());
  CHECK_FALSE(root.proof());
}
