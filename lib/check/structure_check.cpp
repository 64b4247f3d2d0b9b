#include "check/structure_check.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.hpp"
#include "facts/commands.hpp"
#include "facts/secrets.hpp"

namespace imgforge {
namespace {

constexpr std::uint64_t max_content = 64ull << 20;
constexpr std::uint64_t max_license = 4 << 20;
constexpr std::size_t max_id = 80;
constexpr std::size_t max_faults = 50;  // of one test
constexpr std::string_view documents = "/usr/share/doc";
constexpr std::string_view fix = "make the image fit the test, or correct the test";

/// os.Expand of Go: $NAME, ${NAME}; what is not set is empty.
std::string expand(std::string_view text, const ImageConfig& config) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    std::size_t begin = i + 1, end = begin;
    const bool braces = text[begin] == '{';
    if (braces) {
      end = text.find('}', ++begin);
      if (end == std::string_view::npos) return result;  // as Go does: the rest is nothing
    } else {
      while (end < text.size() && ((text[end] >= 'a' && text[end] <= 'z') || (text[end] >= 'A' && text[end] <= 'Z') ||
                                   (text[end] >= '0' && text[end] <= '9') || text[end] == '_'))
        ++end;
      if (end == begin) {
        result += '$';
        continue;
      }
    }
    result += config.variable(text.substr(begin, end - begin)).value_or("");
    i = braces ? end : end - 1;
  }
  return result;
}

std::string path_in_image(std::string_view written, const ImageConfig& config) {
  return absolute_path(expand(written, config), "/");
}

/// As Go's FileMode.String: letters for type and set-id bits, then rwx; and as ls writes it.
std::pair<std::string, std::string> mode_texts(const Node& node) {
  std::string go, unix_type = "-";
  switch (node.type) {
    case EntryType::directory: go = "d", unix_type = "d"; break;
    case EntryType::symlink: go = "L", unix_type = "l"; break;
    case EntryType::block_device: go = "D", unix_type = "b"; break;
    case EntryType::character_device: go = "Dc", unix_type = "c"; break;
    case EntryType::fifo: go = "p", unix_type = "p"; break;
    default: break;
  }
  const auto letters = [&](bool special) {
    std::string text;
    for (int bit = 8; bit >= 0; --bit) text += (node.mode >> bit & 1) != 0 ? "xwr"[bit % 3] : '-';
    if (!special) return text;
    const auto mark = [&](std::uint32_t bit, std::size_t at, char set, char alone) {
      if ((node.mode & bit) != 0) text[at] = text[at] == 'x' ? set : alone;
    };
    mark(04000, 2, 's', 'S');
    mark(02000, 5, 's', 'S');
    mark(01000, 8, 't', 'T');
    return text;
  };
  std::string before_c = go, after_c;
  if (go == "Dc") before_c = "D", after_c = "c";
  if ((node.mode & 04000) != 0) before_c += 'u';
  if ((node.mode & 02000) != 0) before_c += 'g';
  std::string type = before_c + after_c;
  if ((node.mode & 01000) != 0) type += 't';
  if (type.empty()) type = "-";
  return {type + letters(false), unix_type + letters(true)};
}

class Check {
 public:
  Check(const ImageConfig& config, RootView& root, Outcome& outcome)
      : config_(config), root_(root), outcome_(outcome) {}

  void run(const StructureTests& tests) {
    for (const CommandTest& test : tests.commands) {
      outcome_.undecided.push_back(
          {id_of(test.name), Level::error,
           fmt::format("the command test \"{}\" ({}) runs a command in the image, and imgforge runs nothing",
                       escape_for_display(test.name), to_string(test.place))});
    }
    for (const FileExistenceTest& test : tests.file_existence) one(test.name, test.place, [&] { existence(test); });
    for (const FileContentTest& test : tests.file_content) one(test.name, test.place, [&] { content(test); });
    for (const LicenseTest& test : tests.licenses) one("license", test.place, [&] { license(test); });
    for (const MetadataTest& test : tests.metadata) one("metadata", test.place, [&] { metadata(test); });
  }

 private:
  std::string id_of(std::string_view name) {
    std::string slug;
    for (const char c : lower(name)) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      if (plain) {
        slug += c;
      } else if (!slug.empty() && slug.back() != '-') {
        slug += '-';
      }
      if (slug.size() == max_id) break;
    }
    while (slug.ends_with('-')) slug.pop_back();
    if (slug.empty()) slug = "unnamed";
    std::string id = "structure-test/" + slug;
    for (std::size_t& number = used_[slug]; !ids_.insert(id).second;)
      id = fmt::format("structure-test/{}-{}", slug, ++number + 1);
    return id;
  }

  template <class Test>
  void one(std::string_view name, const Place& place, Test test) {
    id_ = id_of(name);
    place_ = place;
    faults_ = 0;
    open_.clear();
    test();
    if (faults_ != 0) return;
    if (open_.empty()) {
      outcome_.passed.push_back(id_);
    } else {
      outcome_.undecided.push_back({id_, Level::error, open_});
    }
  }

  void fault(std::string message, const Place& place, std::vector<Evidence> more = {}) {
    if (++faults_ > max_faults) return;
    std::vector<Evidence> evidence = {Evidence::at(place.line == 0 ? place_ : place)};
    evidence.insert(evidence.end(), more.begin(), more.end());
    outcome_.findings.push_back({id_, Level::error, std::move(message), std::string(fix), std::move(evidence)});
  }

  Evidence evidence(const Node& node) const { return Evidence::in_layer(root_.layer_name(node.layer), node.path); }

  void existence(const FileExistenceTest& test) {
    const std::string path = path_in_image(test.path, config_);
    const std::string shown = escape_for_display(path);
    const Lookup itself = root_.lookup_link(path);
    if (!test.should_exist) {
      if (itself) fault(fmt::format("{} is there, and should not be", shown), test.place, {evidence(*itself.node)});
      return;
    }
    // A link is what it leads to, unless the link itself is described.
    const bool link_meant = test.permissions.starts_with('L') || test.permissions.starts_with('l');
    const Lookup found = link_meant ? itself : root_.lookup(path);
    if (!found) {
      const bool dangling = itself && itself.node->type == EntryType::symlink;
      fault(dangling
                ? fmt::format("{} is a link to {}, which is not there", shown, escape_for_display(itself.node->link))
                : fmt::format("{} is not there", shown),
            test.place, dangling ? std::vector<Evidence>{evidence(*itself.node)} : std::vector<Evidence>{});
      return;
    }
    const Node& node = *found.node;
    const auto [go, unix_mode] = mode_texts(node);
    if (!test.permissions.empty() && test.permissions != go && test.permissions != unix_mode) {
      fault(fmt::format("{} has the permissions {} and not {}", shown, go, escape_for_display(test.permissions)),
            test.place, {evidence(node)});
    }
    if (test.uid && *test.uid != node.uid)
      fault(fmt::format("{} belongs to the user {} and not {}", shown, node.uid, *test.uid), test.place,
            {evidence(node)});
    if (test.gid && *test.gid != node.gid)
      fault(fmt::format("{} belongs to the group {} and not {}", shown, node.gid, *test.gid), test.place,
            {evidence(node)});
    if (!test.executable_by.empty()) {
      const std::uint32_t bits = test.executable_by == "owner"   ? 0100
                                 : test.executable_by == "group" ? 0010
                                 : test.executable_by == "other" ? 0001
                                                                 : 0111;
      if ((node.mode & bits) == 0) {
        fault(fmt::format("{} is not executable by {} ({})", shown,
                          test.executable_by == "any" ? "anyone" : test.executable_by, go),
              test.place, {evidence(node)});
      }
    }
  }

  /// A file's content; nothing, and a fault or what is open, where there is none to be had.
  std::optional<std::string> text_of(const std::string& path, std::uint64_t limit, const Place& place) {
    const std::string shown = escape_for_display(path);
    const Lookup found = root_.lookup(path);
    if (!found) {
      fault(fmt::format("{} is not there", shown), place);
      return std::nullopt;
    }
    if (found.node->type != EntryType::file) {
      fault(fmt::format("{} is {}, and no file", shown,
                        found.node->type == EntryType::directory ? "a folder" : "a device or a pipe"),
            place, {evidence(*found.node)});
      return std::nullopt;
    }
    std::optional<std::string> content = root_.read(*found.node, limit);
    if (!content && open_.empty()) {
      open_ = fmt::format("the content of {}: it has {}, more than is read for a test", shown,
                          human_size(found.node->size));
    }
    node_ = *found.node;
    return content;
  }

  static bool matches(const std::string& pattern, const std::string& content) {
    // Go reads bytes that are no UTF-8 one by one; RE2 would not see them.
    const bool bytes =
        !is_utf8(content) && std::all_of(pattern.begin(), pattern.end(), [](char c) { return (c & 0x80) == 0; });
    RE2::Options options(RE2::Quiet);
    if (bytes) options.set_encoding(RE2::Options::EncodingLatin1);
    const RE2 compiled(pattern, options);
    return compiled.ok() && RE2::PartialMatch(content, compiled);
  }

  void content(const FileContentTest& test) {
    const std::string path = path_in_image(test.path, config_);
    const auto text = text_of(path, max_content, test.place);
    if (!text) return;
    for (const PlacedText& one : test.expected) {
      if (!matches(one.text, *text)) {
        fault(fmt::format("{} has nothing that matches {}", escape_for_display(path), escape_for_display(one.text)),
              one.place, {evidence(node_)});
      }
    }
    for (const PlacedText& one : test.excluded) {
      if (matches(one.text, *text)) {
        fault(fmt::format("{} has something that matches {}", escape_for_display(path), escape_for_display(one.text)),
              one.place, {evidence(node_)});
      }
    }
  }

  void check_license(const std::string& path, const Place& place) {
    auto text = text_of(path, max_license, place);
    if (!text) return;
    std::transform(text->begin(), text->end(), text->begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    for (const char* word : {"AGPL", "WTFPL"}) {
      if (text->find(word) == std::string::npos) continue;
      fault(fmt::format("{} names the license {}", escape_for_display(path), word), place, {evidence(node_)});
      return;
    }
  }

  void license(const LicenseTest& test) {
    if (test.debian) {
      const Lookup folder = root_.lookup(documents);
      if (!folder || folder.node->type != EntryType::directory) {
        fault(fmt::format("{} is not there", documents), test.place);
      } else {
        for (const Node& node : root_.list(documents)) {
          // libgnutls30 is let through by the tool itself.
          if (node.type != EntryType::directory || node.path.ends_with("/libgnutls30")) continue;
          check_license(node.path + "/copyright", test.place);
        }
      }
    }
    for (const PlacedText& one : test.files) check_license(path_in_image(one.text, config_), one.place);
  }

  void metadata(const MetadataTest& test) {
    for (const ExpectedPair& one : test.env) {
      const auto actual = config_.variable(one.key);
      compare("the variable", one, actual, Evidence::in_config("Env." + one.key),
              actual && is_secret_setting(one.key, *actual));
    }
    for (const ExpectedPair& one : test.unbound_env) {
      if (config_.variable(one.key))
        fault(fmt::format("the variable {} is set, and should not be", escape_for_display(one.key)), one.place,
              {Evidence::in_config("Env." + one.key)});
    }
    for (const ExpectedPair& one : test.labels) {
      const auto found = config_.labels.find(one.key);
      compare("the label", one, found == config_.labels.end() ? std::nullopt : std::optional(found->second),
              Evidence::in_label(one.key), found != config_.labels.end() && is_secret_setting(one.key, found->second));
    }
    command("ENTRYPOINT", "Entrypoint", test.entrypoint, config_.entrypoint, test.place);
    command("CMD", "Cmd", test.cmd, config_.cmd, test.place);
    const auto exposed = [&](const std::string& port) {
      return std::any_of(config_.exposed_ports.begin(), config_.exposed_ports.end(),
                         [&](std::string_view one) { return one == port || one.substr(0, one.find('/')) == port; });
    };
    const auto mounted = [&](const std::string& volume) {
      return std::find(config_.volumes.begin(), config_.volumes.end(), volume) != config_.volumes.end();
    };
    presence("the port", "exposed", "ExposedPorts", test.exposed_ports, test.unexposed_ports, exposed);
    presence("the volume", "declared", "Volumes", test.volumes, test.unmounted_volumes, mounted);
    if (!test.workdir.empty() && test.workdir != config_.workdir &&
        absolute_path(test.workdir, "/") != absolute_path(config_.workdir, "/")) {
      fault(fmt::format("WORKDIR is \"{}\" and not \"{}\"", escape_for_display(config_.workdir),
                        escape_for_display(test.workdir)),
            test.place, {Evidence::in_config("WorkingDir")});
    }
    if (!test.user.empty() && test.user != config_.user) {
      fault(
          fmt::format("USER is \"{}\" and not \"{}\"", escape_for_display(config_.user), escape_for_display(test.user)),
          test.place, {Evidence::in_config("User")});
    }
  }

  void compare(std::string_view what, const ExpectedPair& wanted, const std::optional<std::string>& actual, Evidence at,
               bool secret) {
    const std::string name = escape_for_display(wanted.key);
    if (!actual) {
      fault(fmt::format("{} {} is not set", what, name), wanted.place);
      return;
    }
    if (wanted.is_pattern ? matches(wanted.value, *actual) : wanted.value == *actual) return;
    fault(secret || is_secret_setting(wanted.key, wanted.value)
              ? fmt::format("{} {} has another value (which may be a secret, and is not shown)", what, name)
              : fmt::format("{} {} is \"{}\" and {} \"{}\"", what, name, escape_for_display(*actual),
                            wanted.is_pattern ? "does not match" : "not", escape_for_display(wanted.value)),
          wanted.place, {std::move(at)});
  }

  void command(std::string_view what, std::string_view key, const std::optional<std::vector<std::string>>& wanted,
               const std::vector<std::string>& actual, const Place& place) {
    if (!wanted || *wanted == actual) return;
    const auto shown = [](const std::vector<std::string>& words) {
      std::vector<std::string> quoted;
      for (const std::string& word : words) quoted.push_back("\"" + escape_for_display(word) + "\"");
      return "[" + join(quoted, ", ") + "]";
    };
    fault(fmt::format("{} is {} and not {}", what, shown(actual), shown(*wanted)), place,
          {Evidence::in_config(std::string(key))});
  }

  template <class Is>
  void presence(std::string_view what, std::string_view word, std::string_view key,
                const std::vector<PlacedText>& wanted, const std::vector<PlacedText>& unwanted, Is is) {
    for (const PlacedText& one : wanted) {
      if (!is(one.text)) fault(fmt::format("{} {} is not {}", what, escape_for_display(one.text), word), one.place);
    }
    for (const PlacedText& one : unwanted) {
      if (is(one.text))
        fault(fmt::format("{} {} is {}, and should not be", what, escape_for_display(one.text), word), one.place,
              {Evidence::in_config(std::string(key))});
    }
  }

  const ImageConfig& config_;
  RootView& root_;
  Outcome& outcome_;
  std::set<std::string> ids_;
  std::map<std::string, std::size_t> used_;
  // Of the test that is asked.
  std::string id_;
  Place place_;
  std::size_t faults_ = 0;
  std::string open_;
  Node node_;
};

}  // namespace

std::vector<std::string> paths_wanted_by(const std::vector<StructureTests>& tests, const ImageConfig& config) {
  std::vector<std::string> paths;
  for (const StructureTests& file : tests) {
    for (const FileContentTest& test : file.file_content) paths.push_back(path_in_image(test.path, config));
    for (const LicenseTest& test : file.licenses) {
      for (const PlacedText& one : test.files) paths.push_back(path_in_image(one.text, config));
      if (test.debian) paths.push_back(std::string(documents) + "/*/copyright");
    }
  }
  return paths;
}

bool wants_many_contents(const std::vector<StructureTests>& tests) {
  return std::any_of(tests.begin(), tests.end(), [](const StructureTests& file) {
    return std::any_of(file.licenses.begin(), file.licenses.end(), [](const LicenseTest& test) { return test.debian; });
  });
}

void check_structure(const std::vector<StructureTests>& tests, const ImageConfig& config, RootView& root,
                     Outcome& outcome) {
  Check check(config, root, outcome);
  for (const StructureTests& file : tests) check.run(file);
}

}  // namespace imgforge
