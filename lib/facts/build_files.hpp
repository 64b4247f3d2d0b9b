// The file system that the steps of a build make, as far as it is certain: what is there, what is proven not to be
// there, and where anything may be.
//
// Every folder has a mark that holds for what is not listed below it: closed (nothing else is there), base (files of
// the base image that nobody lists; programs that the base is known to lack and Pythons are not among them), open
// (anything), context (files of the build context, read where they can be).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.hpp"
#include "facts/build.hpp"
#include "facts/fact.hpp"

namespace imgforge {

/// The SDK image that a file comes from.
struct SdkOrigin {
  Version beam;
  std::optional<PythonMinor> python;
};

struct BuildFile {
  enum class Kind { file, program, folder, link, any };  // program: no text; any: there, but which of them is not known
  Kind kind = Kind::file;
  std::string link;                 // of link: as written
  std::optional<std::string> text;  // of file: its content, where it is known
  bool executable = true;           // of file and program: an x bit is set, or nothing says that none is
  std::string runs_python;          // of a program: the interpreter that it is a script of ("/usr/bin/python3")
  std::shared_ptr<const SdkOrigin> sdk;
  std::optional<std::uint32_t> uid;  // of a folder: its owner, where a step said so
  bool writable_by_all = false;      // of a folder: chmod 777 and the like
  Evidence evidence;
};

BuildFile program_file(const Evidence& evidence);
BuildFile link_file(std::string target, const Evidence& evidence);

class BuildFiles {
 public:
  enum class Seen { yes, no, unknown };
  enum class Mark { none, closed, base, open, context };

  struct Look {
    Seen seen = Seen::unknown;
    std::string canonical;           // links followed; of what is not there, as far as they led
    std::optional<BuildFile> file;   // of yes
    std::string reason;              // of unknown
    Evidence removed_by;             // of no: the step that removed it
    std::vector<std::string> links;  // that were followed
  };

  /// Nothing is there.
  BuildFiles();

  void set_context(std::function<std::optional<std::string>(const std::string&)> context) {
    context_ = std::move(context);
  }
  /// Names that the base image does not have on PATH.
  void set_lacks(std::set<std::string, std::less<>> lacks) { lacks_ = std::move(lacks); }
  const std::set<std::string, std::less<>>& lacks() const { return lacks_; }
  /// A step may have brought that file, where nothing else is known of it.
  void maybe(const std::string& path, const std::string& reason) { maybe_.emplace(path, reason); }

  /// Paths are absolute and clean (absolute_path). Links in the folders of `path` are followed; its last part is not.
  void put(const std::string& path, BuildFile file);
  void make_folder(const std::string& path, const Evidence& evidence);
  void remove(const std::string& path, const Evidence& evidence);
  /// Makes it a folder with that mark. `reason` says why, of open; of context it is the folder's path in the context.
  void mark(const std::string& path, Mark mark, const std::string& reason, const Evidence& evidence);
  /// A step may have done anything below `path`: what was proven not to be there is not known any more.
  void lose(const std::string& path, const std::string& reason);

  Look look(const std::string& path, bool follow_last = true) const;
  bool there(const std::string& path) const { return look(path).seen == Seen::yes; }
  bool proven_absent(const std::string& path) const { return look(path).seen == Seen::no; }

  /// Copies what is at `source` of `other`, a file or a folder with all that is below. A folder's content goes into
  /// `destination`, a file becomes it.
  void copy_from(const BuildFiles& other, const std::string& source, const std::string& destination,
                 const Evidence& evidence);

  /// Listed paths directly below a folder whose last part `wanted` accepts.
  std::vector<std::string> list(const std::string& folder, const std::function<bool(std::string_view)>& wanted) const;

  static constexpr std::size_t max_entries = 20'000;

 private:
  struct Entry {
    std::optional<BuildFile> file;  // nothing: removed
    Mark mark = Mark::none;
    std::string reason;  // of mark
    Evidence removed_by;
  };
  std::string real_folder(const std::string& path) const;
  Look walk(const std::string& path, bool follow_last, int depth) const;
  Entry& entry(const std::string& path);

  std::map<std::string, Entry, std::less<>> entries_;
  std::set<std::string, std::less<>> lacks_;
  std::map<std::string, std::string, std::less<>> maybe_;
  std::function<std::optional<std::string>(const std::string&)> context_;
  Entry overflow_;
  std::size_t copied_ = 0;  // entries that were copied in all
};

/// "python", "python3.11", "pip", "pip3": programs of which the knowledge says whether a base has them.
bool is_python_program(std::string_view name);

}  // namespace imgforge
