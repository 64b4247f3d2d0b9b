#include "report/inspect_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "facts/secrets.hpp"
#include "report/facts_json.hpp"
#include "report/log_commands.hpp"
#include "report/style.hpp"

namespace imgforge {

using nlohmann::json;

namespace {

/// The command of the history row that made each layer; empty where history does not say.
std::vector<std::string> commands_of(const ImageConfig& config, std::size_t layers) {
  std::vector<std::string> commands;
  for (const HistoryRow& row : config.history) {
    if (!row.empty_layer) commands.push_back(without_secrets(row.created_by));
  }
  if (commands.size() != layers) commands.assign(layers, "");  // they do not line up, so they say nothing
  return commands;
}

std::string cut(const std::string& text, std::size_t width) {
  // Docker's own prefix says nothing.
  std::string_view view = text;
  for (const std::string_view prefix : {"/bin/sh -c #(nop) ", "/bin/sh -c ", "|0 "}) {
    if (view.starts_with(prefix)) view.remove_prefix(prefix.size());
  }
  view = trim(view);
  const std::string safe = escape_for_display(view.substr(0, width * 4));
  if (safe.size() <= width && view.size() <= width * 4) return safe;
  std::size_t end = std::min(width, safe.size());
  while (end > 0 && (static_cast<unsigned char>(safe[end]) & 0xC0) == 0x80) --end;
  return safe.substr(0, end) + "...";
}

class Page {
 public:
  explicit Page(const Palette& palette) : palette_(palette) {}
  void heading(std::string_view title) { text_ += fmt::format("\n{}\n", palette_.bold(title)); }
  void row(std::string_view name, const std::string& value) { text_ += fmt::format("  {:<14} {}\n", name, value); }
  void line(const std::string& line) { text_ += "  " + line + "\n"; }
  std::string take() { return std::move(text_); }

  template <class T, class Show>
  void fact(std::string_view name, const Fact<T>& fact, Show show) {
    if (fact.is_known()) row(name, show(fact.value()));
    else row(name, palette_.faint(fact.is_absent() ? "none" : "not known: " + display_safe(fact.reason())));
  }

 private:
  const Palette& palette_;
  std::string text_;
};

std::string words(const std::vector<std::string>& list) {
  std::vector<std::string> escaped;
  for (const std::string& word : list) escaped.push_back(escape_for_display(word));
  return join(escaped, " ");
}

void add_interpreters(Page& page, const Facts& facts) {
  page.heading("Python");
  const auto& interpreters = facts.interpreters();
  if (!interpreters.is_known() || interpreters->empty()) {
    page.line(interpreters.is_unknown() ? "not known: " + display_safe(interpreters.reason()) : "none");
    return;
  }
  const Interpreter* worker = facts.worker_interpreter();
  for (const Interpreter& interpreter : interpreters.value()) {
    std::string line = fmt::format("{:<8} {}  {}", interpreter.version ? interpreter.version->to_string() : interpreter.minor.to_string(),
                                   escape_for_display(interpreter.path), to_string(interpreter.kind));
    if (!interpreter.on_path_as.empty()) line += ", on PATH as " + words(interpreter.on_path_as);
    line += interpreter.pip ? ", pip " + interpreter.pip->to_string() : ", no pip";
    if (!interpreter.has_venv || !interpreter.has_ensurepip) line += ", cannot make a venv";
    if (worker == &interpreter) line += fmt::format("  <- boot starts it (by {})", escape_for_display(facts.worker_python()->by));
    page.line(line);
  }
}

}  // namespace

std::string inspect_text(const Image& image, const Facts& facts, RootView& root, const TextStyle& style) {
  const Palette palette{style.color};
  const ImageConfig& config = image.config();
  Page page(palette);
  page.line(palette.bold(escape_for_display(image.name())));
  page.row("digest", (image.digest() ? *image.digest() : image.config_digest()).to_string());
  page.row("platform", escape_for_display(config.platform.to_string()));
  page.fact("system", facts.os_release(), [](const OsRelease& os) { return escape_for_display(os.pretty_name.empty() ? os.id + " " + os.version_id : os.pretty_name); });
  page.fact("libc", facts.libc(), [](const Libc& libc) { return std::string(libc.family == Libc::Family::musl ? "musl " : "glibc ") + escape_for_display(libc.version); });
  page.row("user", config.user.empty() ? "root" : escape_for_display(config.user));
  page.fact("workdir", facts.workdir(), [](const WorkingDirectory& workdir) { return escape_for_display(workdir.path) + (workdir.exists ? "" : " (in no layer)"); });

  page.heading("Beam");
  page.fact("entrypoint", facts.entrypoint(), [](const Entrypoint& entrypoint) {
    return fmt::format("{}{}", words(entrypoint.entrypoint.empty() ? entrypoint.cmd : entrypoint.entrypoint),
                       entrypoint.ends_in == Program::boot ? (entrypoint.arguments_dropped ? "  (boot, without its arguments)" : "  (boot)") : "");
  });
  page.fact("boot", facts.boot(), [](const Boot& boot) {
    if (!boot.broken_link.empty()) return "a link that leads nowhere: " + escape_for_display(boot.broken_link);
    return fmt::format("{}, {}{}", escape_for_display(boot.path), boot.elf ? elf_machine_name(boot.machine) : "no ELF", boot.executable ? "" : ", not executable");
  });
  page.fact("boot of Beam", facts.boot_version(), [](const Version& version) { return version.to_string(); });
  page.fact("apache-beam", facts.beam(), [](const Distribution& beam) { return fmt::format("{} in {}", escape_for_display(beam.version_text), escape_for_display(beam.site)); });

  add_interpreters(page, facts);

  page.heading("Packages");
  const auto& distributions = facts.distributions();
  if (distributions.is_known()) {
    std::map<std::string, std::size_t> sites;
    for (const Distribution& distribution : distributions.value()) ++sites[distribution.site];
    for (const auto& [site, count] : sites) page.row(fmt::format("{}", count), escape_for_display(site));
    for (const std::string_view name : {"tensorflow", "torch", "jax", "libtpu", "numpy", "protobuf"}) {
      for (const Distribution& distribution : distributions.value()) {
        if (distribution.name == name) page.row(name, escape_for_display(distribution.version_text));
      }
    }
  } else {
    page.line(distributions.is_unknown() ? "not known: " + display_safe(distributions.reason()) : "none");
  }

  page.heading("Environment");
  for (const auto& [name, value] : config.env) page.line(fmt::format("{}={}", escape_for_display(name), cut(shown_setting(name, value), 160)));

  page.heading("Layers");
  const std::vector<std::string> commands = commands_of(config, image.layers().size());
  for (std::size_t i = 0; i < image.layers().size(); ++i) {
    const LayerIndex& layer = root.layer(i);
    page.line(fmt::format("{:>3}  {:>8} ({:>8} unpacked, {} entries)  {}", i + 1, human_size(image.layers()[i].size), human_size(layer.tar_size), layer.entries.size(),
                          cut(commands[i], 72)));
  }
  const ReadCost cost = root.cost();
  page.line(palette.faint(fmt::format("read {} of {}, {} of {} layers", human_size(cost.bytes_read), human_size(cost.bytes_total), cost.layers_read, cost.layers_total)));
  return page.take();
}

std::string inspect_json(const Image& image, const Facts& facts, RootView& root) {
  const ImageConfig& config = image.config();
  json document = {{"schema", "imgforge.inspect/v1"}, {"tool", {{"name", "imgforge"}, {"version", IMGFORGE_VERSION}}}};
  document["name"] = to_utf8(image.name());
  document["digest"] = (image.digest() ? *image.digest() : image.config_digest()).to_string();
  document["config_digest"] = image.config_digest().to_string();
  document["platform"] = to_utf8(config.platform.to_string());
  document["created"] = to_utf8(config.created);
  facts_to_json(facts, document["facts"], document["facts_evidence"]);
  document["layers"] = json::array();
  const std::vector<std::string> commands = commands_of(config, image.layers().size());
  for (std::size_t i = 0; i < image.layers().size(); ++i) {
    const LayerIndex& layer = root.layer(i);
    json item = {{"size", image.layers()[i].size}, {"unpacked_size", layer.tar_size}, {"entries", layer.entries.size()},
                 {"media_type", to_utf8(image.layers()[i].media_type)}, {"created_by", to_utf8(commands[i])}};
    if (image.layers()[i].digest) item["digest"] = image.layers()[i].digest->to_string();
    if (image.layers()[i].diff_id) item["diff_id"] = image.layers()[i].diff_id->to_string();
    document["layers"].push_back(std::move(item));
  }
  const ReadCost cost = root.cost();
  document["cost"] = {{"bytes_read", cost.bytes_read}, {"bytes_total", cost.bytes_total}, {"layers_read", cost.layers_read}, {"layers_total", cost.layers_total}};
  return without_log_commands(document.dump(2, ' ', true)) + "\n";
}

}  // namespace imgforge
