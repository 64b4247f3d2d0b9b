#include "facts/commands_accounts.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace imgforge {
namespace {

using Action = AccountCommand::Action;

/// shadow-utils: useradd, usermod.
const OptionTable& user_options() {
  static const OptionTable table = {
      "bcdefgGkKpsuZRPl",
      {"base-dir", "comment", "home-dir", "home", "expiredate", "inactive", "gid", "groups", "skel", "key", "password",
       "shell", "uid", "selinux-user", "root", "prefix", "login"},
      false,
      false};
  return table;
}

const OptionTable& group_options() {
  static const OptionTable table = {
      "gKnpRPU", {"gid", "key", "new-name", "password", "root", "prefix", "users"}, false, false};
  return table;
}

/// Debian's adduser (long options) and busybox's (short ones).
const OptionTable& adduser_options() {
  static const OptionTable table = {"hgsGuk",
                                    {"home", "shell", "uid", "gid", "ingroup", "gecos", "conf", "firstuid", "lastuid",
                                     "firstgid", "lastgid", "add_extra_groups", "comment"},
                                    false,
                                    false};
  return table;
}

std::string text_of(const std::optional<Argument>& argument) { return argument ? argument->text : std::string(); }

void read_user(const RunCommand& command, AccountCommand& made) {
  // "-l" of useradd is --no-log-init, of usermod the new name; "-b" and "-e" are as they are.
  OptionTable table = user_options();
  if (made.program == "useradd") table.short_with_value = "bcdefgGkKpsuZRP";
  const GivenArguments given = sort_arguments(command, 1, table);
  made.not_known = given.not_known;
  if (!given.operands.empty()) made.name = given.operands.back();
  made.uid = text_of(given.value("-u", "--uid"));
  made.group = text_of(given.value("-g", "--gid"));
  for (const Argument& list : given.values("-G", "--groups")) {
    for (const std::string_view one : split(list.text, ',')) {
      if (!one.empty()) made.groups.emplace_back(one);
    }
  }
  made.home = text_of(given.value("-d", made.program == "useradd" ? "--home-dir" : "--home"));
  if (made.home.empty()) made.home = text_of(given.value("--home", "--home-dir"));
  made.creates_home = given.has("-m") || given.has("--create-home") || given.has("--move-home");
  made.no_home = given.has("-M") || given.has("--no-create-home");
  made.own_group = given.has("-U") || given.has("--user-group");
  made.no_own_group = given.has("-N") || given.has("--no-user-group");
  made.system = given.has("-r") || given.has("--system");
  made.not_unique = given.has("-o") || given.has("--non-unique");
  made.shell = text_of(given.value("-s", "--shell"));
  if (made.program == "usermod") {
    made.new_name = text_of(given.value("-l", "--login"));
    if (made.groups.size() > 0 && (given.has("-a") || given.has("--append")) && made.uid.empty() &&
        made.group.empty() && made.home.empty() && made.new_name.empty() && made.shell.empty()) {
      made.action = Action::add_to_group;
      made.group = made.groups.front();
    }
  }
}

void read_group(const RunCommand& command, AccountCommand& made) {
  const GivenArguments given = sort_arguments(command, 1, group_options());
  made.not_known = given.not_known;
  if (!given.operands.empty()) made.name = given.operands.back();
  made.gid = text_of(given.value("-g", "--gid"));
  made.new_name = text_of(given.value("-n", "--new-name"));
  made.system = given.has("-r") || given.has("--system");
  made.not_unique = given.has("-o") || given.has("--non-unique");
  made.force = given.has("-f") || given.has("--force");
}

void read_adduser(const RunCommand& command, AccountCommand& made) {
  const GivenArguments given = sort_arguments(command, 1, adduser_options());
  made.not_known = given.not_known;
  const bool group_program = made.program == "addgroup";
  const bool user_wanted = !group_program || given.has("--ingroup");
  made.system = given.has("--system") || given.has("-S") || given.has("-r");
  const auto group = given.value("--ingroup", "-G");
  const auto gid = given.value("--gid", group_program ? "-g" : std::string_view());
  const std::size_t names = given.operands.size();
  if (names >= 1) made.name = given.operands.front();
  if (names >= 2) {
    // "adduser USER GROUP"
    made.action = Action::add_to_group;
    made.group = given.operands[1].text;
    return;
  }
  const bool group_only = group_program || (given.has("--group") && !given.has("--system"));
  if (group_only && !(user_wanted && !group_program && group)) {
    made.action = Action::add_group;
    made.gid = text_of(gid);
    return;
  }
  made.action = Action::add_user;
  made.uid = text_of(given.value("-u", "--uid"));
  made.group = group ? group->text : text_of(gid);
  made.home = text_of(given.value("--home", "-h"));
  made.shell = text_of(given.value("--shell", "-s"));
  made.no_home = given.has("--no-create-home") || given.has("-H");
  made.creates_home = !made.no_home;
  made.own_group = given.has("--group");
}

void read_deletion(const RunCommand& command, AccountCommand& made) {
  const GivenArguments given = sort_arguments(command, 1, {});
  made.not_known = given.not_known;
  if (!given.operands.empty()) made.name = given.operands.front();
}

}  // namespace

std::optional<AccountCommand> read_account_command(const RunCommand& command) {
  AccountCommand made;
  made.program = program_name(command);
  made.offset = command.offsets.empty() ? command.offset : command.offsets.front();
  const std::string& name = made.program;
  if (name == "useradd" || name == "usermod") {
    made.action = name == "useradd" ? Action::add_user : Action::change_user;
    read_user(command, made);
  } else if (name == "groupadd" || name == "groupmod") {
    made.action = name == "groupadd" ? Action::add_group : Action::change_group;
    read_group(command, made);
  } else if (name == "adduser" || name == "addgroup") {
    read_adduser(command, made);
  } else if (name == "userdel" || name == "deluser") {
    made.action = Action::delete_user;
    read_deletion(command, made);
  } else if (name == "groupdel" || name == "delgroup") {
    made.action = Action::delete_group;
    read_deletion(command, made);
  } else {
    return std::nullopt;
  }
  if (made.name.text.empty() && made.not_known.empty()) made.not_known = "no name is given";
  return made;
}

}  // namespace imgforge
