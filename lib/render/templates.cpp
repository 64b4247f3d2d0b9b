#include "render/templates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <kainjow/mustache.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "render/block_syntax.hpp"
#include "render/blocks.hpp"

namespace imgforge {

namespace {

namespace mustache = kainjow::mustache;

constexpr std::string_view extension = ".mustache";

mustache::data to_data(const Values& values) {
  mustache::data data(mustache::data::type::object);
  for (const auto& [name, text] : values.texts()) data.set(name, text.text());
  for (const auto& [name, flag] : values.flags()) data.set(name, flag);
  for (const auto& [name, items] : values.lists()) {
    mustache::data list(mustache::data::type::list);
    for (const Values& item : items) list.push_back(to_data(item));
    data.set(name, list);
  }
  return data;
}

/// Lines with one section tag or comment and nothing else vanish, as mustache's specification has it ("standalone
/// tags"); kainjow leaves an empty line where the section is not shown, and an empty line ends a shell command.
std::string without_tag_lines(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = text.find("{{"); at != std::string_view::npos; at = text.find("{{", done)) {
    const std::size_t end = std::min(text.find("}}", at), text.size() - 2) + 2;
    const std::size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    const std::size_t after = std::min(text.find_first_not_of(blanks, end), text.size());
    const bool alone = std::string_view("#^/!").find(text[at + 2]) != std::string_view::npos && line >= done &&
                       text.substr(line, at - line).find_first_not_of(blanks) == std::string_view::npos &&
                       (after == text.size() || text[after] == '\n');
    result += text.substr(done, (alone ? line : at) - done);
    if (!alone || text[at + 2] != '!') result += text.substr(at, end - at);
    done = alone ? std::min(after + 1, text.size()) : end;
  }
  result += text.substr(done);
  return result;
}

template <typename Names, typename Given>
bool same_names(const Names& names, const Given& given) {
  return names.size() == given.size() &&
         std::all_of(names.begin(), names.end(), [&](const auto& name) { return given.count(std::string(name)) == 1; });
}

bool fits(const BlockShape& shape, const Values& values) {
  if (!same_names(shape.texts, values.texts()) || !same_names(shape.flags, values.flags())) return false;
  if (shape.lists.size() != values.lists().size()) return false;
  return std::all_of(shape.lists.begin(), shape.lists.end(), [&](const BlockShape::List& list) {
    const auto found = values.lists().find(std::string(list.name));
    if (found == values.lists().end()) return false;
    return std::all_of(found->second.begin(), found->second.end(), [&](const Values& item) {
      return same_names(list.texts, item.texts()) && item.flags().count("last") == 1 && item.lists().empty();
    });
  });
}

/// All of them as one error: what a folder of templates is at fault in is mended in one go.
[[noreturn]] void refuse(const std::string& directory, const std::vector<Diagnostic>& diagnostics) {
  std::string message = fmt::format("the templates of {} are not usable", directory);
  for (const Diagnostic& diagnostic : diagnostics) {
    std::string text = to_string(diagnostic);
    while (text.ends_with('\n')) text.pop_back();
    message += "\n" + text;
  }
  throw Error(ErrorKind::templates, message,
              "the blocks to start from are installed beside the documentation, in templates/");
}

std::string known_blocks() {
  std::vector<std::string> names;
  for (const BlockShape& shape : block_shapes()) names.emplace_back(shape.name);
  return join_words(names);
}

}  // namespace

Values& Values::set(std::string name, Escaped text) {
  texts_.insert_or_assign(std::move(name), std::move(text));
  return *this;
}

Values& Values::set(std::string name, bool flag) {
  flags_.insert_or_assign(std::move(name), flag);
  return *this;
}

Values& Values::set(std::string name, std::vector<Values> items) {
  for (std::size_t i = 0; i < items.size(); ++i) items[i].set("last", i + 1 == items.size());
  lists_.insert_or_assign(std::move(name), std::move(items));
  return *this;
}

Values& Values::set_list(const std::string& name, const std::string& item, std::vector<Escaped> texts) {
  std::vector<Values> items;
  for (Escaped& text : texts) items.emplace_back().set(item, std::move(text));
  return set(name, std::move(items));
}

Templates Templates::embedded() {
  Templates templates;
  templates.blocks_ = embedded_blocks();
  return templates;
}

Templates Templates::with_directory(const std::string& directory) {
  Templates templates = embedded();
  std::vector<std::string> names;
  try {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) names.push_back(entry.path().filename());
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error(ErrorKind::templates,
                fmt::format("cannot read the templates of {}: {}", directory, error.code().message()),
                "--templates takes a folder of NAME.mustache files");
  }
  std::sort(names.begin(), names.end());
  std::vector<Diagnostic> diagnostics;
  for (const std::string& name : names) {
    // What editors and version control leave behind is none of ours.
    if (!name.ends_with(extension)) continue;
    const std::string path = (std::filesystem::path(directory) / name).string();
    const std::string block = name.substr(0, name.size() - extension.size());
    const BlockShape* shape = find_block_shape(block);
    if (shape == nullptr) {
      std::vector<std::string> known;
      for (const BlockShape& candidate : block_shapes()) known.emplace_back(candidate.name);
      const auto near = block.size() <= 64 ? nearest(block, known) : std::nullopt;
      diagnostics.push_back(
          {{path, 0, 0},
           fmt::format("there is no block {}", escape_for_display(block)),
           near ? fmt::format("did you mean {}.mustache?", *near) : "the blocks are " + known_blocks(),
           {}});
      continue;
    }
    try {
      std::string text = read_file(path, longest_block);
      std::vector<Diagnostic> faults = check_block(text, *shape, path);
      if (faults.empty()) templates.blocks_.insert_or_assign(block, std::move(text));
      diagnostics.insert(diagnostics.end(), faults.begin(), faults.end());
    } catch (const Error& error) {
      diagnostics.push_back({{path, 0, 0}, error.message(), error.hint(), {}});
    }
  }
  if (!diagnostics.empty()) refuse(directory, diagnostics);
  return templates;
}

std::string Templates::render(std::string_view block, const Values& values) const {
  const auto text = blocks_.find(block);
  const BlockShape* shape = find_block_shape(block);
  if (text == blocks_.end() || shape == nullptr || !fits(*shape, values)) {
    throw Error(ErrorKind::templates, fmt::format("the values for the block {} are not those that it takes", block));
  }
  return fill_in(text->second, values);
}

std::string fill_in(std::string_view text, const Values& values) {
  mustache::mustache rendered(without_tag_lines(text));
  rendered.set_custom_escape([](const std::string& value) { return value; });  // Escaped is escaped
  if (!rendered.is_valid()) {
    throw Error(ErrorKind::templates, fmt::format("a block does not parse: {}", rendered.error_message()));
  }
  std::string result = rendered.render(to_data(values));
  const std::size_t start = result.find_first_not_of('\n');
  if (start == std::string::npos) return {};
  result.erase(0, start);
  result.erase(result.find_last_not_of('\n') + 1);
  return result;
}

}  // namespace imgforge
