#include "facts/secrets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_set>

#include "base/text.hpp"
#include "facts/python_metadata.hpp"
#include "layer/secret_file.hpp"
#include "layer/secret_text.hpp"
#include "recipe/secret.hpp"

namespace imgforge {
namespace {

constexpr std::size_t max_candidates = 300;       // of tables of contents, each a request
constexpr std::uint64_t max_weak_json = 8 << 10;  // of those: a service account's key has 2.4 KB
constexpr std::uint64_t max_record = 4 << 20;
constexpr std::uint64_t max_record_bytes = 64ull << 20;  // of all RECORDs, and of all lists of dpkg
constexpr std::size_t max_found = 20'000;
constexpr std::size_t max_words = 20'000;
constexpr std::string_view word_ends = " \t\r\n\"'`;&|<>(),[]";

struct Found {
  std::size_t layer = 0;
  std::size_t entry = 0;
  SecretKind kind = SecretKind::none;
};

/// "-packages/" folders, as far as their end: "usr/lib/python3/dist-packages"; empty where the path is in none.
std::string_view site_of(std::string_view path) {
  for (const std::string_view name : {"/site-packages/", "/dist-packages/"}) {
    if (const std::size_t at = path.rfind(name); at != std::string_view::npos)
      return path.substr(0, at + name.size() - 1);
  }
  return {};
}

bool is_test_name(std::string_view folder) {
  constexpr std::array<std::string_view, 5> others = {"fixtures", "certdata", "example", "examples", "unittests"};
  return folder.starts_with("test") || std::find(others.begin(), others.end(), folder) != others.end();
}

bool is_tree_of_packages(std::string_view folder) {
  constexpr std::array<std::string_view, 9> names = {
      "site-packages", "dist-packages", "node_modules", "gems", "lib", "lib64", "share", "pkgs", "google-cloud-sdk"};
  return std::find(names.begin(), names.end(), folder) != names.end();
}

/// Below a folder of installed software, and below one of its tests: keys that everybody has.
bool ships_with_package(std::string_view path) {
  if (path.starts_with("usr/share/doc/") || path.find("snakeoil") != std::string_view::npos) return true;
  // Unpacked from an archive, with the tests and the test servers of all that it bundles.
  if (path.find("google-cloud-sdk/platform/") != std::string_view::npos ||
      path.find("google-cloud-sdk/lib/third_party/") != std::string_view::npos)
    return true;
  // NVIDIA's images carry the sources of frameworks, tests included, in /opt and /workspace.
  bool in_tree = path.starts_with("usr/") || path.starts_with("opt/") || path.starts_with("workspace/");
  const std::vector<std::string_view> parts = split(path, '/');
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (in_tree && is_test_name(parts[i])) return true;
    in_tree = in_tree || is_tree_of_packages(parts[i]);
  }
  return false;
}

/// In a folder where software keeps its data: JSON and certificates without end, none of them secret.
bool in_software(std::string_view path) {
  if (path.starts_with("usr/lib/") || path.starts_with("usr/share/")) return true;
  for (const std::string_view part :
       {"-packages/", "/node_modules/", "/conda-meta/", "/pkgs/", "/share/", "/google-cloud-sdk/"}) {
    if (path.find(part) != std::string_view::npos) return true;
  }
  return false;
}

class Search {
 public:
  explicit Search(ImageReader& reader) : reader_(reader), root_(reader.root()) {}

  Fact<std::vector<Secret>> run() {
    root_.read_all();
    const std::size_t layers = root_.cost().layers_total;
    for (std::size_t layer = 0; layer < layers && found_.size() < max_found; ++layer) look_into(layer);
    leave_out_what_is_shipped();
    describe_files();
    look_into_environment();
    look_into_history();
    if (secrets_.empty() && unread_ != 0) {
      return Fact<std::vector<Secret>>::unknown(
          fmt::format("{} files that may hold one are in layers of which only the table of contents was read "
                      "(--assurance full reads them)",
                      unread_));
    }
    std::vector<Evidence> evidence;
    for (const Secret& secret : secrets_) evidence.push_back(secret.evidence);
    return Fact<std::vector<Secret>>::known(std::move(secrets_), std::move(evidence));
  }

 private:
  std::string path_of(const Found& found) const { return root_.layer(found.layer).entries[found.entry].path; }

  Node node_of(std::size_t layer, std::size_t position) const {
    const Entry entry = root_.layer(layer).entries[position];
    Node node;
    node.path = "/" + entry.path;
    node.size = entry.size;
    node.layer = layer;
    node.entry = position;
    return node;
  }

  void look_into(std::size_t layer) {
    const LayerIndex& index = root_.layer(layer);
    for (const auto& [position, kind] : index.secrets) found_.push_back({layer, position, kind});
    if (index.proof != Proof::toc) return;
    for (const SecretCandidate wanted : {SecretCandidate::by_name, SecretCandidate::by_ending}) {
      for (std::size_t position = 0; position < index.entries.size(); ++position) {
        if (index.entries.type(position) != EntryType::file) continue;
        // The size is not looked at yet: it would cost a copy of every entry.
        const std::string_view folder = index.entries.folder_path(index.entries.folder(position));
        if (secret_candidate(folder, index.entries.name(position), 1 << 10) != wanted) continue;
        const Entry entry = index.entries[position];
        if (secret_candidate(entry.path, entry.size) != wanted) continue;
        if (wanted == SecretCandidate::by_ending &&
            (in_software(entry.path) || (entry.path.ends_with(".json") && entry.size > max_weak_json)))
          continue;
        if (candidates_++ >= max_candidates) {
          ++unread_;
          continue;
        }
        const auto content = root_.read(node_of(layer, position), most_secret_bytes);
        if (!content) continue;
        if (const SecretKind kind = secret_in(entry.path, *content); kind != SecretKind::none)
          found_.push_back({layer, position, kind});
      }
    }
  }

  void leave_out_what_is_shipped() {
    std::erase_if(found_, [&](const Found& one) { return ships_with_package(path_of(one)); });
    if (found_.empty()) return;
    std::unordered_set<std::string> listed;
    read_records(listed);
    if (!found_.empty()) read_lists(listed);
    std::erase_if(found_, [&](const Found& one) { return listed.contains(path_of(one)); });
  }

  /// Paths of `found_` that a RECORD beside them lists, of the wheel's own layer or another.
  void read_records(std::unordered_set<std::string>& listed) {
    std::map<std::string, std::set<std::string>, std::less<>> wanted;  // by site folder, paths below it
    for (const Found& one : found_) {
      const std::string path = path_of(one);
      const std::string_view site = site_of(path);
      if (!site.empty()) wanted[std::string(site)].insert(path.substr(site.size() + 1));
    }
    if (wanted.empty()) return;
    std::uint64_t bytes = 0;
    const std::size_t layers = root_.cost().layers_total;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const EntryList& entries = root_.layer(layer).entries;
      for (std::size_t position = 0; position < entries.size(); ++position) {
        if (entries.name(position) != "RECORD" || entries.type(position) != EntryType::file) continue;
        const std::string_view folder = entries.folder_path(entries.folder(position));
        const std::size_t slash = folder.rfind('/');
        if (slash == std::string_view::npos || !folder.ends_with(".dist-info")) continue;
        const auto site = wanted.find(folder.substr(0, slash));
        if (site == wanted.end()) continue;
        const auto record = root_.read(node_of(layer, position), max_record);
        if (!record || (bytes += record->size()) > max_record_bytes) continue;
        for_each_recorded(*record, [&](std::string_view path) {
          if (site->second.contains(std::string(path))) listed.insert(site->first + "/" + std::string(path));
        });
      }
    }
  }

  /// Paths of `found_` that dpkg lists: /var/lib/dpkg/info/PACKAGE.list, and the md5sums of distroless images.
  void read_lists(std::unordered_set<std::string>& listed) {
    std::unordered_set<std::string> wanted;
    for (const Found& one : found_) wanted.insert(path_of(one));
    std::uint64_t bytes = 0;
    const auto take = [&](std::string_view path) {
      const std::string relative(path.starts_with('/') ? path.substr(1) : path);
      // Packages from before the merge of /usr name /lib and /bin.
      for (const std::string& one : {relative, "usr/" + relative}) {
        if (wanted.contains(one)) listed.insert(one);
      }
    };
    for (const char* folder : {"/var/lib/dpkg/info", "/var/lib/dpkg/status.d"}) {
      for (const Node& node : root_.list(folder)) {
        const bool list = node.path.ends_with(".list"), sums = node.path.ends_with(".md5sums");
        if (!(std::string_view(folder).ends_with("info") ? list : sums) || bytes > max_record_bytes) continue;
        const auto text = root_.read(node, 8 << 20);
        if (!text) continue;
        bytes += text->size();
        for (const std::string_view line : lines(*text)) {
          if (list) {
            take(line);
          } else if (const std::size_t gap = line.find("  "); gap != std::string_view::npos) {
            take(line.substr(gap + 2));
          }
        }
      }
    }
  }

  void describe_files() {
    std::map<std::string, std::size_t> known;  // by path, its position in secrets_
    for (const Found& one : found_) {
      const std::string path = "/" + path_of(one);
      const Lookup now = root_.lookup_link(path);
      const bool removed = !now || now.node->layer != one.layer || now.node->entry != one.entry;
      const auto [before, fresh] = known.try_emplace(path, secrets_.size());
      if (!fresh && (removed || !secrets_[before->second].removed_later)) continue;
      Secret secret{std::string(name_of(one.kind)), path, removed,
                    Evidence::in_layer(root_.layer_name(one.layer), path)};
      if (!fresh) {
        secrets_[before->second] = std::move(secret);
      } else if (secrets_.size() < max_secrets) {
        secrets_.push_back(std::move(secret));
      } else {
        known.erase(before);
      }
    }
  }

  void look_into_environment() {
    for (const auto& [name, value] : reader_.config().env) {
      if (secrets_.size() >= max_secrets) return;
      if (!is_secret_setting(name, value)) continue;
      const SecretKind kind = secret_in_text(value);
      settings_.insert(name);
      secrets_.push_back({std::string(kind == SecretKind::none ? "a secret" : name_of(kind)), "Env." + name, false,
                          Evidence::in_config("Env." + name)});
    }
  }

  /// "ENV TOKEN=...", "ARG TOKEN=...", "|1 TOKEN=... /bin/sh -c ...": what a builder writes down of each step.
  void look_into_history() {
    const auto& history = reader_.config().history;
    std::size_t words = 0;
    for (std::size_t row = 0; row < history.size(); ++row) {
      const std::string_view text = history[row].created_by;
      std::string name;
      SecretKind kind = SecretKind::none;
      bool found = false;
      std::size_t at = 0;
      while (!found && words < max_words && (at = text.find_first_not_of(word_ends, at)) != std::string_view::npos) {
        const std::size_t end = std::min(text.find_first_of(word_ends, at), text.size());
        const std::string_view word = text.substr(at, end - at);
        at = end;
        ++words;
        const std::size_t equals = word.find('=');
        const bool setting =
            equals != std::string_view::npos && equals != 0 && is_variable_name(word.substr(0, equals));
        if (setting && settings_.contains(std::string(word.substr(0, equals)))) continue;
        kind = secret_in_text(word);
        found =
            kind != SecretKind::none || (setting && is_secret_setting(word.substr(0, equals), word.substr(equals + 1)));
        if (found && setting) name = word.substr(0, equals);
      }
      if (!found || secrets_.size() >= max_secrets) continue;
      if (!name.empty() && !settings_.insert(name).second) continue;
      const std::string place =
          name.empty() ? fmt::format("history {}", row + 1) : fmt::format("{} in history {}", name, row + 1);
      secrets_.push_back({std::string(kind == SecretKind::none ? "a secret" : name_of(kind)), place, false,
                          Evidence::in_config(fmt::format("history.{}", row))});
    }
  }

  static bool is_variable_name(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
  }

  ImageReader& reader_;
  RootView& root_;
  std::vector<Found> found_;
  std::vector<Secret> secrets_;
  std::set<std::string> settings_;  // names that were told of
  std::size_t candidates_ = 0;
  std::size_t unread_ = 0;
};

}  // namespace

bool is_secret_setting(std::string_view name, std::string_view value) {
  if (value.size() < 6) return false;
  if (secret_in_text(value) != SecretKind::none) return true;
  if (!looks_secret(name, {}) || value.find("://") != std::string_view::npos) return false;
  const auto has = [&](char low, char high) {
    return std::any_of(value.begin(), value.end(), [&](char c) { return c >= low && c <= high; });
  };
  // Keys of AWS are base64: a slash inside one makes no path of it.
  const bool base64 = value.size() >= 32 && value.front() != '/' && value.find("//") == std::string_view::npos &&
                      value.find('.') == std::string_view::npos && has('a', 'z') && has('A', 'Z') && has('0', '9');
  if (value.find_first_of(base64 ? " $<>{}" : "/ $<>{}") != std::string_view::npos) return false;
  const std::string lowered = lower(value), lower_name = lower(name);
  constexpr std::array<std::string_view, 8> harmless = {"changeme", "default",  "disabled", "enabled",
                                                        "required", "optional", "password", "secret"};
  if (std::find(harmless.begin(), harmless.end(), lowered) != harmless.end()) return false;
  if (value.find_first_not_of("0123456789.") == std::string_view::npos) return false;
  if (lower_name.find("public") != std::string::npos) return false;
  for (const std::string_view end : {"_file", "_path", "_dir", "_name", "_url", "_uri", "_id", "_sha256",
                                     "_fingerprint", "_type", "_length", "_provider", "_version", "gpg_key"}) {
    if (lower_name.ends_with(end)) return false;
  }
  return true;
}

std::string shown_setting(std::string_view name, std::string_view value) {
  return is_secret_setting(name, value) ? "***" : std::string(value);
}

std::string without_secrets(std::string_view text) {
  if (text.find("PRIVATE KEY") != std::string_view::npos) return "***";  // a key is of many words
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = std::min(text.find_first_not_of(word_ends, at), text.size());
    const std::size_t end = std::min(text.find_first_of(word_ends, begin), text.size());
    result += text.substr(at, begin - at);
    const std::string_view word = text.substr(begin, end - begin);
    const std::size_t equals = word.find('=');
    const bool setting = equals != std::string_view::npos && equals != 0;
    if (setting && is_secret_setting(word.substr(0, equals), word.substr(equals + 1))) {
      result += std::string(word.substr(0, equals + 1)) + "***";
    } else {
      result += secret_in_text(word) != SecretKind::none ? "***" : std::string(word);
    }
    at = end;
  }
  return result;
}

Fact<std::vector<Secret>> read_secrets(ImageReader& reader) { return Search(reader).run(); }

}  // namespace imgforge
