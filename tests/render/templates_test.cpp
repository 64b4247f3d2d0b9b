// Blocks from a folder: what is taken, and what is refused before anything is rendered.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "render/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("imgforge-templates-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  Folder& put(const std::string& name, const std::string& text) {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return *this;
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// The error that the folder comes to, message and hint.
std::string refused(const Folder& folder) {
  try {
    Templates::with_directory(folder.path());
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::templates);
    return error.message() + "\n" + error.hint();
  }
  FAIL("the folder was taken");
  return {};
}

const std::string wheels = "dataflow-gpu-wheels";

}  // namespace

TEST_CASE("a folder takes the place of single blocks") {
  Folder folder;
  folder.put("entrypoint.mustache", "# ours\nENTRYPOINT [\"/opt/apache/beam/boot\"]\n");
  folder.put("README.md", "{{no template}}");
  const Plan plan = plan_of(repository_recipe(wheels));
  const std::string own = render_dockerfile(plan, Templates::with_directory(folder.path()));
  const std::string built_in = render_dockerfile(plan, templates());
  CHECK(has(own, "\n# ours\nENTRYPOINT"));
  CHECK(own.substr(0, own.find("\n# ours")) == built_in.substr(0, built_in.find("\nENTRYPOINT")));
}

TEST_CASE("an empty folder changes nothing, an empty block leaves nothing behind") {
  const Folder nothing;
  const Plan plan = plan_of(repository_recipe(wheels));
  CHECK(render_dockerfile(plan, Templates::with_directory(nothing.path())) == render_dockerfile(plan, templates()));
  Folder folder;
  folder.put("labels.mustache", "");
  const std::string text = render_dockerfile(plan, Templates::with_directory(folder.path()));
  CHECK_FALSE(has(text, "LABEL"));
  CHECK_FALSE(has(text, "\n\n\n"));
}

TEST_CASE("the built-in blocks pass their own check") {
  Folder folder;
  for (const BlockShape& shape : block_shapes()) {
    const std::string name = std::string(shape.name) + ".mustache";
    std::filesystem::copy_file(IMGFORGE_SOURCE_DIR "/templates/" + name, folder.path() + "/" + name);
  }
  const Templates copied = Templates::with_directory(folder.path());
  for (const std::string& name : repository_recipes()) {
    const Plan plan = plan_of(repository_recipe(name));
    CHECK(render_dockerfile(plan, copied) == render_dockerfile(plan, templates()));
  }
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(IMGFORGE_SOURCE_DIR "/templates"))
    files += entry.path().extension() == ".mustache";
  CHECK(files == block_shapes().size());  // no block that nothing renders
}

TEST_CASE("the page on rendering lists every block with every name that it takes") {
  const std::string page = read_file(IMGFORGE_SOURCE_DIR "/docs/rendering.md", 1 << 20);
  for (const BlockShape& shape : block_shapes()) {
    INFO(shape.name);
    const std::size_t start = page.find("| `" + std::string(shape.name) + "` |");
    REQUIRE(start != std::string::npos);
    const std::string row = page.substr(start, page.find('\n', start) - start);
    for (const std::string_view text : shape.texts) CHECK(has(row, "`" + std::string(text) + "`"));
    for (const std::string_view flag : shape.flags) CHECK(has(row, "`" + std::string(flag) + "`"));
    if (has(row, "the same")) continue;
    for (const BlockShape::List& list : shape.lists) CHECK(has(row, "`" + std::string(list.name) + "`"));
  }
}

TEST_CASE("a fault is named with file, line and column, and the way out") {
  const auto message_of = [](const std::string& text, const std::string& name = "workdir.mustache") {
    Folder folder;
    folder.put(name, text);
    return refused(folder);
  };
  SECTION("a block that is not there") {
    const std::string message = message_of("x", "entrypont.mustache");
    CHECK(has(message, "entrypont"));
    CHECK(has(message, "did you mean entrypoint"));
  }
  SECTION("an unknown name, which mustache itself would leave empty") {
    const std::string message = message_of("# one\nWORKDIR {{workdri}}\n");
    CHECK(has(message, "workdir.mustache:2:9"));
    CHECK(has(message, "workdri"));
    CHECK(has(message, "did you mean workdir"));
  }
  SECTION("sections that do not close, and closings of nothing") {
    CHECK(has(message_of("{{#toolkit}}\nx\n", "gpu_environment.mustache"), "gpu_environment.mustache:1:1"));
    CHECK(has(message_of("{{/toolkit}}\n", "gpu_environment.mustache"), "closes nothing"));
    CHECK(has(message_of("{{#toolkit}}{{#inherited}}{{/toolkit}}{{/inherited}}", "gpu_environment.mustache"),
              "inherited"));
  }
  SECTION("a text as a section, a section as a text") {
    CHECK(has(message_of("{{#workdir}}x{{/workdir}}"), "workdir"));
    CHECK(has(message_of("{{toolkit}}", "gpu_environment.mustache"), "section"));
  }
  SECTION("a name of a list outside of the list") { CHECK(has(message_of("{{package}}", "apt.mustache"), "package")); }
  SECTION("what mustache can do beyond that") {
    for (const char* text :
         {"{{> /etc/passwd}}", "{{{workdir}}}", "{{&workdir}}", "{{=<% %>=}}", "{{<parent}}", "{{$block}}"}) {
      INFO(text);
      CHECK(has(message_of(text), "workdir.mustache:1:1"));
    }
  }
  SECTION("an open tag") { CHECK(has(message_of("{{workdir"), "workdir.mustache:1:1")); }
  SECTION("what is no text") { CHECK(has(message_of("\xff\xfe"), "UTF-8")); }
  SECTION("what is too large") { CHECK(has(message_of(std::string((64 << 10) + 1, 'x')), "workdir.mustache")); }
  SECTION("sections without end") {
    std::string deep;
    for (int i = 0; i < 10000; ++i) deep += "{{#toolkit}}";
    CHECK(has(message_of(deep.substr(0, 60000), "gpu_environment.mustache"), "gpu_environment.mustache"));
  }
}

TEST_CASE("all faults of all blocks are told at once") {
  Folder folder;
  folder.put("workdir.mustache", "{{one}} {{two}}");
  folder.put("entrypoint.mustache", "{{three}}");
  const std::string message = refused(folder);
  for (const char* part : {"one", "two", "three", "workdir.mustache:1:9", "entrypoint.mustache:1:1"}) {
    INFO(part);
    CHECK(has(message, part));
  }
}

TEST_CASE("a folder that is not there is an error") {
  CHECK_THROWS_AS(Templates::with_directory("/nonexistent/templates"), Error);
}

TEST_CASE("values that a block does not take, or lacks, are an error and never an empty place") {
  CHECK(templates().render("workdir", Values().set("workdir", dockerfile_word("/app"))) == "WORKDIR /app");
  CHECK_THROWS_AS(templates().render("workdir", Values()), Error);
  CHECK_THROWS_AS(templates().render("workdir", Values().set("workdir", dockerfile_word("/a")).set("more", true)),
                  Error);
  CHECK_THROWS_AS(templates().render("nowhere", Values()), Error);
}
