// imgforge inspect IMAGE: what is in it.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "facts/from_image.hpp"
#include "facts/image_reader.hpp"
#include "facts/loader.hpp"
#include "options.hpp"
#include "reading.hpp"
#include "report/inspect_page.hpp"
#include "report/libraries_page.hpp"
#include "report/tree_page.hpp"

namespace imgforge {

namespace {

struct InspectOptions {
  std::string image;
  ImageOptions source;
  ReadingOptions reading;
  std::string format = "text";
  std::string knowledge;
  std::vector<std::string> libraries;
  bool tree = false;
};

std::string libraries_of(const InspectOptions& options, const Image& image, RootView& root, const Knowledge& knowledge) {
  ImageReader reader(image, root, knowledge, Depth::full);
  Loader loader(reader);
  std::string page;
  for (const std::string& path : options.libraries) {
    const Lookup found = root.lookup(path);
    if (!found) throw Error(ErrorKind::usage, options.image + ": " + escape_for_display(path) + " is not there");
    if (loader.elfs().find(*found.node) == nullptr)
      throw Error(ErrorKind::usage, options.image + ": " + escape_for_display(path) + " is no ELF file that could be read");
    const LoadedSet set = loader.load({path});
    page += options.format == "json" ? libraries_json(set, path) : libraries_text(set, path);
  }
  return page;
}

int inspect(const InspectOptions& options) {
  const Knowledge knowledge = load_knowledge(options.knowledge);
  const std::unique_ptr<Image> image = open_image(options.image, source_options(options.source));
  std::string page;
  {
    const std::unique_ptr<LayerCache> cache = open_cache(options.reading);
    Progress progress(options.image, progress_mode(options.reading.progress));
    RootView root(*image, root_options(options.reading, *image, cache.get(), progress));
    if (!options.libraries.empty()) {
      page = libraries_of(options, *image, root, knowledge);
      print(page);
      return 0;
    }
    if (options.tree) {
      (options.format == "json" ? tree_json : tree_text)(root, print);
      return 0;
    }
    const Facts facts = facts_from_image(*image, root, knowledge);
    page = options.format == "json" ? inspect_json(*image, facts, root) : inspect_text(*image, facts, root, {color_on_stdout(), false});
  }
  print(page);
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand("inspect", "What is in an image: interpreters, packages, Beam, layers");
  command->footer("Examples:\n  imgforge inspect oci:build/worker\n  imgforge inspect --format json docker-archive:worker.tar | jq .facts.interpreters\n  imgforge inspect --tree oci:build/worker | grep libcudnn");
  command->add_option("IMAGE", options->image, "The image, named as for verify")->required()->type_name("");
  add_image_options(*command, options->source);
  add_reading_options(*command, options->reading);
  command->add_option("--format", options->format, "text or json")->check(CLI::IsMember({"text", "json"}))->type_name("FORMAT")->capture_default_str();
  command->add_option("--libraries", options->libraries, "What this ELF file of the image loads, and from where, as ldd would tell; may be repeated")->type_name("PATH");
  command->add_flag("--tree", options->tree, "Every file of the merged root: mode, owner, size, layer, path")->excludes("--libraries");
  command->add_option("--knowledge", options->knowledge, "Lay the tables of this folder over the built-in ones")->type_name("DIR");
  command->callback([options, &action] { action = [options] { return inspect(*options); }; });
}

}  // namespace imgforge
