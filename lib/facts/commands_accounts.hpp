// useradd, adduser, groupadd, addgroup, usermod, groupmod, userdel, groupdel: of shadow-utils, Debian's adduser and
// busybox.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "facts/command_arguments.hpp"

namespace imgforge {

struct AccountCommand {
  enum class Action { add_user, add_group, change_user, change_group, delete_user, delete_group, add_to_group };
  Action action = Action::add_user;
  std::string program;
  std::size_t offset = 0;
  Argument name;                    // of the user (the group for *_group); empty text where it is not known
  std::string uid;                  // as given, digits; empty where it is not given
  std::string gid;                  // of add_group and change_group
  std::string group;                // of a user: the primary group as given, a name or a number
  std::vector<std::string> groups;  // further ones
  std::string home;                 // as given
  bool creates_home = false;        // -m; adduser unless told otherwise
  bool no_home = false;             // -M, --no-create-home
  bool own_group = false;           // -U, --user-group; adduser --group
  bool no_own_group = false;        // -N
  bool system = false;
  bool not_unique = false;  // -o
  bool force = false;       // groupadd -f
  std::string shell;
  std::string new_name;   // usermod -l, groupmod -n
  std::string not_known;  // why a field may be missing
};

std::optional<AccountCommand> read_account_command(const RunCommand& command);

}  // namespace imgforge
