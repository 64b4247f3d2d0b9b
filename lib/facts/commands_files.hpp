// What commands do to the file system: ln, cp, mv, install, rm, rmdir, mkdir, chmod, chown, touch, tee, tar, unzip, and
// redirections.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "facts/command_arguments.hpp"

namespace imgforge {

struct FileCommand {
  enum class Action { link, copy, move, remove, make_folder, mode, owner, touch, write, unpack };
  Action action = Action::copy;
  std::string program;  // "ln"
  std::size_t offset = 0;
  // Paths are absolute where the folder is known, else as given. Globs are kept ("/usr/lib/*.so"): `globs` says that
  // one is there. A relative target of a symbolic link is kept as given in `sources`.
  std::vector<Argument> sources;        // of link: what it leads to; of copy and move; of unpack: the archive
  std::vector<Argument> paths;          // of remove, make_folder, mode, owner, touch, write: what it acts upon
  std::optional<Argument> destination;  // of link, copy, move, unpack
  bool destination_is_folder = false;   // certainly: -t, a trailing '/', several sources, install -d
  bool destination_is_file = false;     // certainly: -T, ln -n
  bool symbolic = false;                // ln -s
  bool hard = false;                    // cp -l, ln without -s
  bool force = false;
  bool recursive = false;
  bool parents = false;         // mkdir -p, cp --parents
  bool no_dereference = false;  // cp -d, -a, -P
  bool append = false;          // tee -a, >>
  bool globs = false;
  std::string mode;       // of chmod and install -m: "+x", "755"
  std::string owner;      // of chown: "1099:1099", install -o
  std::string not_known;  // why paths may be missing
};

/// Nothing where the command is none of these.
std::optional<FileCommand> read_file_command(const RunCommand& command);

/// A file that a command's output goes to: "> FILE", ">> FILE", "| tee FILE", and "cat > FILE <<EOF".
struct FileWrite {
  std::size_t command = 0;  // position in RunStep::commands of the one that writes the bytes
  Argument path;            // absolute where the folder is known; empty text where the name is not known
  bool append = false;
  std::optional<std::string> text;  // what is written, where echo, printf or a heredoc gives it
};
std::vector<FileWrite> file_writes(const RunStep& step);

/// What echo or printf prints, or cat of a heredoc; nothing where it is not known.
std::optional<std::string> printed_text(const RunCommand& command);

}  // namespace imgforge
