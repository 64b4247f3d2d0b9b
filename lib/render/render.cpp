#include "render/render.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.hpp"
#include "base/text.hpp"
#include "recipe/parse.hpp"

namespace imgforge {

namespace {

// Where requirement files go; they stay, and say later what was asked for.
constexpr std::string_view constraints_file = "/usr/local/share/imgforge/constraints.txt";
constexpr std::string_view requirements_file = "/usr/local/share/imgforge/requirements.txt";

// https://launchpad.net/~deadsnakes/+archive/ubuntu/ppa, "Technical details about this PPA".
constexpr std::string_view deadsnakes_url = "https://ppa.launchpadcontent.net/deadsnakes/ppa/ubuntu";
constexpr std::string_view deadsnakes_key = "F23C5A6CF475977595C89F51BA6932366A755776";
constexpr std::string_view key_server = "https://keyserver.ubuntu.com/pks/lookup?op=get&options=mr&search=0x";

constexpr std::string_view uv_image = "ghcr.io/astral-sh/uv:0.9.7";

std::vector<Escaped> shell_words(const std::vector<std::string>& words) {
  std::vector<Escaped> result;
  for (const std::string& word : words) result.push_back(shell_word(word));
  return result;
}

class Renderer {
 public:
  Renderer(const Plan& plan, const Templates& templates) : plan_(plan), recipe_(plan.recipe), templates_(templates) {}

  std::string run() {
    header();
    if (copies_boot()) block("stage_beam_sdk");
    if (from() == PythonFrom::uv) block("stage_uv");
    if (plan_.cudnn_archive) cudnn_stage(*plan_.cudnn_archive);
    block("from");
    if (!plan_.apt.empty()) block("apt", Values().set_list("packages", "package", shell_words(plan_.apt)));
    python();
    cuda();
    pip();
    if (copies_boot()) block("boot");
    files();
    environment();
    if (!recipe_.workdir.empty()) block("workdir", Values().set("workdir", dockerfile_word(recipe_.workdir)));
    labels();
    block("entrypoint");
    return join(blocks_, "\n\n") + "\n";
  }

 private:
  PythonFrom from() const { return *recipe_.python_from; }
  bool copies_boot() const { return recipe_.boot == BootFrom::copy; }
  Escaped minor() const { return shell_word(recipe_.python_version->to_string()); }

  void block(std::string_view name, const Values& values = {}) {
    std::string text = templates_.render(name, values);
    if (!text.empty()) blocks_.push_back(std::move(text));
  }

  /// A section of the template that is there once or not at all, with one text.
  static std::vector<Values> once(bool there, const std::string& name, std::string_view text) {
    std::vector<Values> items;
    if (there) items.emplace_back().set(name, dockerfile_word(text));
    return items;
  }

  void header() {
    Values values;
    values.set("version", dockerfile_word(IMGFORGE_VERSION));
    values.set("name", dockerfile_word(recipe_.name));
    values.set("recipe_digest", dockerfile_word(Digest::of(to_label_json(plan_.written)).to_string()));
    values.set("knowledge_version", dockerfile_word(plan_.knowledge_version));
    values.set("base_image", dockerfile_word(recipe_.base_image->to_full_string()));
    values.set("sdk_image", once(copies_boot(), "image", plan_.sdk_image->to_full_string()));
    values.set("uv_image", once(from() == PythonFrom::uv, "image", uv_image));
    block("header", values);
  }

  void cudnn_stage(const Download& archive) {
    Values values;
    values.set("in_sdk", copies_boot());
    values.set("sha256", dockerfile_word(archive.sha256));
    values.set("sha256_known", !archive.sha256.empty());
    values.set("url", once(archive.file.empty(), "url_default", archive.url));
    std::vector<Values> file;
    if (!archive.file.empty()) file.emplace_back().set("file_from", json_string(copy_path(archive.file)));
    values.set("file", std::move(file));
    block("stage_cudnn", values);
  }

  void python() {
    switch (from()) {
      case PythonFrom::base: break;
      case PythonFrom::apt: block("python_apt"); break;
      case PythonFrom::deadsnakes: {
        Values values;
        values.set("minor", minor());
        values.set("suite", shell_word(plan_.os ? plan_.os->code_name : std::string()));
        values.set("suite_unknown", !plan_.os);
        values.set("url", dockerfile_word(deadsnakes_url));
        values.set("key_url", dockerfile_word(fmt::format("{}{}", key_server, deadsnakes_key)));
        values.set("key_fingerprint", dockerfile_word(deadsnakes_key));
        values.set_list("packages", "package", shell_words(plan_.deadsnakes));
        block("python_deadsnakes", values);
        break;
      }
      case PythonFrom::conda: block("python_conda", download(*plan_.miniforge).set("minor", minor())); break;
      case PythonFrom::uv: block("python_uv", Values().set("minor", minor())); break;
    }
    block("python_check", Values().set("minor", minor()).set("link", plan_.link_python).set("venv", plan_.needs_venv));
  }

  static Values download(const Download& download) {
    Values values;
    values.set("url", dockerfile_word(download.url));
    values.set("sha256", dockerfile_word(download.sha256));
    values.set("sha256_known", !download.sha256.empty());
    return values;
  }

  void cuda() {
    if (plan_.cuda_runfile) {
      const auto& version = recipe_.gpu->cuda.version;
      Values values = download(*plan_.cuda_runfile);
      values.set("cuda_version", once(version.has_value(), "version", version ? version->to_string() : std::string()));
      block("cuda_runfile", values);
    }
    if (plan_.cudnn_archive) block("cudnn");
    if (plan_.library_path.empty()) return;
    Values values;
    values.set("library_path", dockerfile_word(join(plan_.library_path, ":")));
    values.set("inherited", plan_.library_path_inherited);
    values.set("toolkit", plan_.cuda_runfile.has_value());
    block("gpu_environment", values);
  }

  Values copy(std::string_view source, std::string_view destination) const {
    Values values;
    values.set("from", json_string(copy_path(source)));
    values.set("to", json_string(copy_path(destination)));
    return values;
  }

  void copy_pip_file(std::string_view source, std::string_view destination) {
    block("pip_files", Values().set("files", std::vector<Values>{copy(source, destination)}));
  }

  void pip() {
    const Packages& packages = recipe_.packages;
    if (!packages.constraints.empty()) copy_pip_file(packages.constraints, constraints_file);

    std::vector<Escaped> options;
    const auto option = [&](std::string_view flag, std::string_view value) {
      options.push_back(shell_word(flag));
      options.push_back(shell_word(value));
    };
    for (const std::string& index : packages.indexes) option("--extra-index-url", index);
    std::vector<std::string> links = packages.find_links;
    for (const std::string& link : plan_.find_links) {
      if (std::find(links.begin(), links.end(), link) == links.end()) links.push_back(link);
    }
    for (const std::string& link : links) option("--find-links", link);
    if (!packages.constraints.empty()) option("--constraint", constraints_file);

    // What is there already is named again in every later step: pip then keeps it, or fails where it cannot.
    std::vector<std::string> kept = plan_.kept;
    std::vector<std::string> beam = plan_.beam;
    if (plan_.base_is_sdk) {
      beam.insert(beam.end(), plan_.frameworks.begin(), plan_.frameworks.end());
    } else if (!plan_.frameworks.empty()) {
      block("frameworks", pip_step(options, plan_.frameworks));
      kept.insert(kept.end(), plan_.frameworks.begin(), plan_.frameworks.end());
    }
    std::vector<std::string> requirements = beam;
    requirements.insert(requirements.end(), kept.begin(), kept.end());
    block("beam", pip_step(options, requirements)
                      .set("kept", !kept.empty())
                      .set("sdk", plan_.base_is_sdk)
                      .set("check", plan_.pip_check));
    if (plan_.pip_location) block("pip_location");

    if (packages.pip.empty() && packages.requirements.empty()) return;
    kept.insert(kept.begin(), beam.begin(), beam.end());
    requirements.clear();
    for (const Requirement& requirement : packages.pip) requirements.push_back(requirement.to_string());
    std::sort(requirements.begin(), requirements.end());
    if (!packages.requirements.empty()) copy_pip_file(packages.requirements, requirements_file);
    if (!packages.requirements.empty()) option("--requirement", requirements_file);
    requirements.insert(requirements.end(), kept.begin(), kept.end());
    block("packages", pip_step(options, requirements).set("check", plan_.pip_check));
  }

  /// `options` are pairs of words: a flag and its value.
  Values pip_step(const std::vector<Escaped>& options, const std::vector<std::string>& requirements) const {
    std::vector<Values> pairs;
    for (std::size_t i = 0; i + 1 < options.size(); i += 2) {
      pairs.emplace_back().set("flag", options[i]).set("value", options[i + 1]);
    }
    Values values;
    values.set("options", std::move(pairs));
    values.set_list("requirements", "requirement", shell_words(requirements));
    values.set("externally_managed", plan_.externally_managed);
    return values;
  }

  void files() {
    if (recipe_.files.empty()) return;
    std::vector<Values> copies;
    for (const FileCopy& file : recipe_.files) copies.push_back(copy(file.from, file.to));
    block("files", Values().set("files", std::move(copies)));
  }

  void environment() {
    if (plan_.environment.empty()) return;
    std::vector<Values> variables;
    for (const auto& [name, value] : plan_.environment) {
      variables.emplace_back().set("name", dockerfile_word(name)).set("value", dockerfile_word(value));
    }
    block("environment", Values().set("tpu", recipe_.tpu.has_value()).set("variables", std::move(variables)));
  }

  void labels() {
    constexpr const char* title = "org.opencontainers.image.title";
    constexpr const char* base = "org.opencontainers.image.base.name";
    const auto written = [&](std::string_view key) {
      return std::any_of(recipe_.labels.begin(), recipe_.labels.end(),
                         [&](const auto& label) { return label.first == key; });
    };
    auto labels = recipe_.labels;
    if (!written(title)) labels.emplace_back(title, recipe_.name);
    labels.emplace_back("dev.imgforge.recipe", to_label_json(plan_.written));
    std::sort(labels.begin(), labels.end());
    std::vector<Values> values;
    for (const auto& [key, value] : labels)
      values.emplace_back().set("key", dockerfile_word(key)).set("value", dockerfile_word(value));
    block("labels", Values().set("base_name", !written(base)).set("labels", std::move(values)));
  }

  const Plan& plan_;
  const Recipe& recipe_;
  const Templates& templates_;
  std::vector<std::string> blocks_;
};

}  // namespace

std::string render_dockerfile(const Plan& plan, const Templates& templates) { return Renderer(plan, templates).run(); }

}  // namespace imgforge
