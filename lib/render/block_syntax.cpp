#include "render/block_syntax.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace imgforge {

namespace {

enum class NameKind { text, flag, list };

class BlockCheck {
 public:
  BlockCheck(std::string_view text, const BlockShape& shape, const std::string& file)
      : text_(text), shape_(shape), file_(file) {}

  std::vector<Diagnostic> run() {
    if (text_.size() > longest_block) {
      report(0,
             fmt::format("the block has {}, at most {} are read", human_size(text_.size()), human_size(longest_block)));
      return std::move(diagnostics_);
    }
    if (!is_utf8(text_)) {
      report(0, "the block is not UTF-8");
      return std::move(diagnostics_);
    }
    for (std::size_t at = text_.find("{{"); at != std::string_view::npos; at = text_.find("{{", at)) {
      const std::size_t end = text_.find("}}", at);
      if (end == std::string_view::npos) {
        report(at, "{{ without }}", "close the tag");
        return std::move(diagnostics_);
      }
      tag(at, text_.substr(at + 2, end - at - 2));
      at = end + 2;
    }
    for (const Section& section : open_) {
      report(section.at, fmt::format("the section {} is not closed", section.name),
             fmt::format("write {{{{/{}}}}} where it ends", section.name));
    }
    return std::move(diagnostics_);
  }

 private:
  struct Section {
    std::string name;
    std::size_t at;
    const BlockShape::List* list;  // whose items it goes through
  };

  void tag(std::size_t at, std::string_view inside) {
    const char kind = inside.empty() ? ' ' : inside.front();
    if (kind == '!') return;
    if (std::string_view("{&>=<$").find(kind) != std::string_view::npos && kind != ' ') {
      report(at, fmt::format("{{{{{} is not supported in a block", kind),
             "a block may use {{name}}, {{#name}}, {{^name}}, {{/name}} and {{! a comment}}");
      return;
    }
    const bool opens = kind == '#' || kind == '^';
    const bool closes = kind == '/';
    const std::string name(trim(opens || closes ? inside.substr(1) : inside));
    if (closes) {
      close(at, name);
      return;
    }
    const std::optional<NameKind> known = kind_of(name);
    if (!known) {
      unknown(at, name);
    } else if (opens && *known == NameKind::text) {
      report(at, fmt::format("{} is a text, not a section", name), fmt::format("write {{{{{}}}}}", name));
    } else if (!opens && *known != NameKind::text) {
      report(at, fmt::format("{} is a section, not a text", name),
             fmt::format("write {{{{#{0}}}}} ... {{{{/{0}}}}}", name));
    }
    if (!opens) return;
    if (open_.size() >= deepest_sections)
      report(at, fmt::format("sections are nested deeper than {}", deepest_sections));
    const BlockShape::List* list = nullptr;
    if (kind == '#') {
      for (const BlockShape::List& candidate : shape_.lists) {
        if (candidate.name == name) list = &candidate;
      }
    }
    open_.push_back({name, at, list});
  }

  void close(std::size_t at, const std::string& name) {
    if (!open_.empty() && open_.back().name == name) {
      open_.pop_back();
      return;
    }
    report(at, fmt::format("{{{{/{}}}}} closes nothing", escape_for_display(name)),
           open_.empty() ? std::string() : fmt::format("{{{{/{}}}}} has to come first", open_.back().name));
  }

  std::optional<NameKind> kind_of(const std::string& name) const {
    for (const Section& section : open_) {
      if (section.list == nullptr) continue;
      if (name == "last") return NameKind::flag;
      if (contains(section.list->texts, name)) return NameKind::text;
    }
    if (contains(shape_.texts, name)) return NameKind::text;
    if (contains(shape_.flags, name)) return NameKind::flag;
    const bool is_list = std::any_of(shape_.lists.begin(), shape_.lists.end(),
                                     [&](const BlockShape::List& list) { return list.name == name; });
    return is_list ? std::optional(NameKind::list) : std::nullopt;
  }

  static bool contains(const std::vector<std::string_view>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  void unknown(std::size_t at, const std::string& name) {
    std::vector<std::string> known(shape_.texts.begin(), shape_.texts.end());
    known.insert(known.end(), shape_.flags.begin(), shape_.flags.end());
    for (const BlockShape::List& list : shape_.lists) known.emplace_back(list.name);
    for (const Section& section : open_) {
      if (section.list != nullptr) known.insert(known.end(), section.list->texts.begin(), section.list->texts.end());
    }
    const auto near = name.size() <= 64 ? nearest(name, known) : std::nullopt;
    std::string hint = near            ? fmt::format("did you mean {}?", *near)
                       : known.empty() ? fmt::format("the block {} has no values", shape_.name)
                                       : fmt::format("known here: {}", join_words(known));
    report(at, fmt::format("unknown name \"{}\"", escape_for_display(std::string_view(name).substr(0, 80))),
           std::move(hint));
  }

  void report(std::size_t at, std::string message, std::string hint = {}) {
    Diagnostic diagnostic;
    diagnostic.place.file = file_;
    diagnostic.place.line =
        1 + static_cast<std::size_t>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    const std::size_t start = at == 0 ? std::string_view::npos : text_.rfind('\n', at - 1);
    diagnostic.place.column = at - (start == std::string_view::npos ? 0 : start + 1) + 1;
    diagnostic.message = std::move(message);
    diagnostic.hint = std::move(hint);
    if (diagnostics_.size() < 100) diagnostics_.push_back(std::move(diagnostic));
  }

  std::string_view text_;
  const BlockShape& shape_;
  const std::string& file_;
  std::vector<Section> open_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace

std::vector<Diagnostic> check_block(std::string_view text, const BlockShape& shape, const std::string& file) {
  return BlockCheck(text, shape, file).run();
}

}  // namespace imgforge
