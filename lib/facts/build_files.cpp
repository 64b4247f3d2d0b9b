#include "facts/build_files.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "facts/commands.hpp"

namespace imgforge {
namespace {

constexpr int max_links = 40;
constexpr std::size_t max_parts = 256;
constexpr std::size_t max_copied = 500'000;
constexpr std::string_view too_many = "the build makes too many files to follow";

std::string parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : std::string(path.substr(0, slash));
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string below(const std::string& folder, std::string_view rest) {
  if (rest.empty()) return folder;
  return (folder == "/" ? "" : folder) + "/" + std::string(rest);
}

}  // namespace

bool is_python_program(std::string_view name) {
  for (const std::string_view start : {"python", "pip"}) {
    if (!name.starts_with(start)) continue;
    const std::string_view rest = name.substr(start.size());
    return rest.find_first_not_of("0123456789.") == std::string_view::npos;
  }
  return false;
}

BuildFile program_file(const Evidence& evidence) {
  BuildFile file;
  file.kind = BuildFile::Kind::program;
  file.evidence = evidence;
  return file;
}

BuildFile link_file(std::string target, const Evidence& evidence) {
  BuildFile file;
  file.kind = BuildFile::Kind::link;
  file.link = std::move(target);
  file.evidence = evidence;
  return file;
}

BuildFiles::BuildFiles() {
  Entry root;
  root.file = BuildFile{};
  root.file->kind = BuildFile::Kind::folder;
  root.mark = Mark::closed;
  entries_.emplace("/", std::move(root));
}

BuildFiles::Entry& BuildFiles::entry(const std::string& path) {
  const auto found = entries_.find(path);
  if (found != entries_.end()) return found->second;
  if (entries_.size() >= max_entries ||
      std::count(path.begin(), path.end(), '/') > static_cast<std::ptrdiff_t>(max_parts)) {
    // From here on nothing is certain: whatever is asked for may be among what was not kept.
    Entry& root = entries_.at("/");
    if (root.mark != Mark::open || root.reason != too_many) lose("/", std::string(too_many));
    overflow_ = Entry{};
    return overflow_;
  }
  // The folders above; one that was removed is there again, and empty.
  if (path != "/") {
    // A new folder in one whose content is not known may have been there, with whatever is in it.
    const std::string parent = parent_of(path);
    bool may_be_there = false;
    for (std::string one = parent; one != "/" && !entries_.contains(parent);) {
      one = parent_of(one);
      const auto marked = entries_.find(one);
      if (marked == entries_.end() || marked->second.mark == Mark::none) continue;
      may_be_there = marked->second.mark == Mark::open;
      break;
    }
    Entry& above = entry(parent);
    if (!above.file) {
      if (!may_be_there) above.mark = Mark::closed;
      above.removed_by = {};
    }
    if (!above.file || (above.file->kind != BuildFile::Kind::folder && above.file->kind != BuildFile::Kind::any)) {
      above.file = BuildFile{};
      above.file->kind = BuildFile::Kind::folder;
    }
  }
  return entries_[path];
}

std::string BuildFiles::real_folder(const std::string& path) const {
  if (path == "/") return path;
  const Look folder = walk(parent_of(path), true, 0);
  return below(folder.canonical.empty() ? parent_of(path) : folder.canonical, name_of(path));
}

void BuildFiles::put(const std::string& path, BuildFile file) {
  const std::string at = real_folder(path);
  if (at == "/") return;
  Entry& made = entry(at);
  const bool was_folder = made.file && made.file->kind == BuildFile::Kind::folder;
  if (!was_folder || file.kind != BuildFile::Kind::folder) {
    made.mark = file.kind == BuildFile::Kind::folder ? Mark::closed : Mark::none;
    made.reason.clear();
  }
  made.file = std::move(file);
  made.removed_by = {};
}

void BuildFiles::make_folder(const std::string& path, const Evidence& evidence) {
  const Look found = look(path);
  if (found.seen == Seen::yes) return;
  const std::string at = real_folder(path);
  Entry& made = entry(at);
  made.file = BuildFile{};
  made.file->kind = BuildFile::Kind::folder;
  made.file->evidence = evidence;
  made.removed_by = {};
  // One that may have been there is as little known as the folder that it is in.
  if (found.seen == Seen::no) made.mark = Mark::closed;
}

void BuildFiles::remove(const std::string& path, const Evidence& evidence) {
  const std::string at = real_folder(path);
  if (at == "/") return;
  const std::string start = at + "/";
  for (auto one = entries_.lower_bound(start); one != entries_.end() && one->first.starts_with(start);)
    one = entries_.erase(one);
  // The folder above stays as it was.
  const Look above = look(parent_of(at));
  if (above.seen == Seen::no) return;
  Entry& gone = entry(at);
  gone.file.reset();
  gone.mark = Mark::closed;
  gone.reason.clear();
  gone.removed_by = evidence;
}

void BuildFiles::mark(const std::string& path, Mark mark, const std::string& reason, const Evidence& evidence) {
  const Look found = look(path);
  const std::string at = found.seen == Seen::yes ? found.canonical : real_folder(path);
  Entry& made = entry(at);
  if (!made.file || made.file->kind == BuildFile::Kind::file) {
    made.file = BuildFile{};
    made.file->kind = mark == Mark::open ? BuildFile::Kind::any : BuildFile::Kind::folder;
    made.file->evidence = evidence;
  }
  made.removed_by = {};
  // Two contexts in one folder: no file of either can be told from the other's.
  made.mark = made.mark == Mark::context && mark == Mark::context && made.reason != reason ? Mark::open : mark;
  made.reason = reason;
}

void BuildFiles::lose(const std::string& path, const std::string& reason) {
  const std::string start = path == "/" ? "/" : path + "/";
  for (auto one = entries_.lower_bound(path); one != entries_.end();) {
    if (one->first != path && !one->first.starts_with(start)) {
      if (one->first > start && !one->first.starts_with(path)) break;
      ++one;
      continue;
    }
    if (!one->second.file) {
      one = entries_.erase(one);
      continue;
    }
    if (one->second.mark == Mark::closed || one->second.mark == Mark::base) {
      one->second.mark = Mark::open;
      one->second.reason = reason;
    }
    ++one;
  }
  if (entries_.size() < max_entries) {
    Entry& top = entry(path);
    if (!top.file) top.file = BuildFile{BuildFile::Kind::any, {}, {}, true, {}, {}, {}, false, {}};
    top.mark = Mark::open;
    top.reason = reason;
  } else if (const auto root = entries_.find(path); root != entries_.end()) {
    root->second.mark = Mark::open;
    root->second.reason = reason;
  }
}

BuildFiles::Look BuildFiles::look(const std::string& path, bool follow_last) const {
  return walk(path, follow_last, 0);
}

BuildFiles::Look BuildFiles::walk(const std::string& path, bool follow_last, int depth) const {
  Look look;
  std::vector<std::string> parts;
  for (const std::string_view part : split(path, '/')) {
    if (!part.empty()) parts.emplace_back(part);
  }
  if (parts.size() > max_parts) {
    look.reason = "the path is too long";
    return look;
  }
  const Entry* at = &entries_.at("/");
  Mark mark = at->mark;
  std::string reason = at->reason;
  std::string prefix = "/";
  std::string marked = "/";  // the folder that the mark stands at
  for (std::size_t i = 0; i < parts.size(); ++i) {
    prefix = below(prefix, parts[i]);
    const auto found = entries_.find(prefix);
    if (found == entries_.end()) {
      std::string rest;
      for (std::size_t k = i + 1; k < parts.size(); ++k) rest += "/" + parts[k];
      look.canonical = prefix + rest;
      if (mark == Mark::closed) {
        look.seen = Seen::no;
      } else if (const auto known = maybe_.find(look.canonical); known != maybe_.end()) {
        look.reason = known->second;
      } else if (mark == Mark::base) {
        const std::string& name = parts.back();
        const bool lacking = is_python_program(name) || lacks_.contains(name);
        look.seen = lacking ? Seen::no : Seen::unknown;
        look.reason = reason;
      } else if (mark == Mark::context) {
        const std::string inner = look.canonical.substr(marked == "/" ? 1 : marked.size() + 1);
        const std::string in_context = reason.empty() ? inner : reason + "/" + inner;
        if (const auto text = context_ ? context_(in_context) : std::nullopt) {
          look.seen = Seen::yes;
          look.file = BuildFile{};
          look.file->text = *text;
          look.file->evidence = Evidence::at(Place{in_context, 0, 0});
        } else {
          look.reason = "whether the build context holds " + escape_for_display(in_context);
        }
      } else {
        look.reason = reason;
      }
      return look;
    }
    at = &found->second;
    if (!at->file) {
      look.seen = Seen::no;
      look.removed_by = at->removed_by;
      std::string rest;
      for (std::size_t k = i + 1; k < parts.size(); ++k) rest += "/" + parts[k];
      look.canonical = prefix + rest;
      return look;
    }
    const bool last = i + 1 == parts.size();
    if (at->file->kind == BuildFile::Kind::link && (!last || follow_last)) {
      if (depth >= max_links) {
        look.seen = Seen::no;
        look.canonical = prefix;
        return look;
      }
      std::string target = absolute_path(at->file->link, parent_of(prefix));
      for (std::size_t k = i + 1; k < parts.size(); ++k) target = below(target, parts[k]);
      Look further = walk(target, follow_last, depth + 1);
      further.links.insert(further.links.begin(), prefix);
      return further;
    }
    if (!last && (at->file->kind == BuildFile::Kind::file || at->file->kind == BuildFile::Kind::program)) {
      look.seen = Seen::no;
      look.canonical = path;
      return look;
    }
    if (at->mark != Mark::none) {
      mark = at->mark;
      reason = at->reason;
      marked = prefix;
    }
  }
  look.seen = Seen::yes;
  look.canonical = prefix;
  look.file = at->file;
  return look;
}

void BuildFiles::copy_from(const BuildFiles& other, const std::string& source, const std::string& destination,
                           const Evidence& evidence) {
  const Look from = other.look(source);
  if (from.seen == Seen::no) return;
  if (from.seen == Seen::unknown) {
    mark(destination, Mark::open, from.reason, evidence);
    return;
  }
  const std::string origin = from.canonical;
  if (copied_ > max_copied) {
    mark(destination, Mark::open, std::string(too_many), evidence);
    return;
  }
  // Copied first: `other` may be this one, and what is put must not be copied again.
  std::vector<std::pair<std::string, Entry>> entries;
  const std::string start = origin == "/" ? "/" : origin + "/";
  for (auto one = other.entries_.lower_bound(start); one != other.entries_.end() && one->first.starts_with(start);
       ++one) {
    if (one->first != origin) entries.emplace_back(one->first.substr(start.size()), one->second);
  }
  copied_ += entries.size();
  const bool folder = from.file->kind == BuildFile::Kind::folder;
  if (!folder) {
    BuildFile file = *from.file;
    file.evidence = evidence;
    if (file.kind == BuildFile::Kind::any) {
      mark(destination, Mark::open, "what was copied there is not known", evidence);
      if (file.sdk) {
        Entry& made = entry(real_folder(destination));
        if (made.file) made.file->sdk = file.sdk;
      }
    } else {
      put(destination, std::move(file));
    }
    return;
  }
  make_folder(destination, evidence);
  const std::string at = look(destination).canonical;
  // What the source's mark leaves open is open here, too.
  std::string source_reason;
  Mark source_mark = Mark::none;
  std::string context_folder;
  {
    std::string prefix = origin;
    for (;;) {
      const auto found = other.entries_.find(prefix);
      if (found != other.entries_.end() && found->second.mark != Mark::none) {
        source_mark = found->second.mark;
        source_reason = found->second.reason;
        if (source_mark == Mark::context && prefix != origin) {
          source_reason = below(source_reason.empty() ? "" : source_reason, origin.substr(prefix.size() + 1));
          if (source_reason.starts_with('/')) source_reason.erase(0, 1);
        }
        break;
      }
      if (prefix == "/") break;
      prefix = parent_of(prefix);
    }
  }
  if (source_mark == Mark::base) source_mark = Mark::open;
  if (source_mark == Mark::open || source_mark == Mark::context) {
    Entry& made = entry(at);
    made.mark = made.mark == Mark::context ? Mark::open : source_mark;
    made.reason = source_reason;
  }
  for (auto& [rest, one] : entries) {
    Entry& made = entry(below(at, rest));
    if (!one.file) {
      if (!made.file) made = one;
      continue;
    }
    const bool merged =
        made.file && made.file->kind == BuildFile::Kind::folder && one.file->kind == BuildFile::Kind::folder;
    const Mark kept = made.mark;
    made = one;
    made.file->evidence = evidence;
    if (merged && (kept == Mark::base || kept == Mark::open)) made.mark = kept;
    if (made.mark == Mark::base) made.mark = Mark::open;
  }
}

std::vector<std::string> BuildFiles::list(const std::string& folder,
                                          const std::function<bool(std::string_view)>& wanted) const {
  std::vector<std::string> found;
  const std::string start = folder == "/" ? "/" : folder + "/";
  for (auto one = entries_.lower_bound(start); one != entries_.end() && one->first.starts_with(start); ++one) {
    const std::string_view rest = std::string_view(one->first).substr(start.size());
    if (!rest.empty() && rest.find('/') == std::string_view::npos && one->second.file && wanted(rest))
      found.push_back(one->first);
  }
  return found;
}

}  // namespace imgforge
