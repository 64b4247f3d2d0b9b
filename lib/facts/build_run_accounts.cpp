// Commands of a RUN step that make and change users and groups.
#include <algorithm>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"
#include "facts/commands_accounts.hpp"

namespace imgforge {

void BuildReader::account_command(Step& step, const Running& running) {
  BuildState& state = *step.state;
  const auto account = read_account_command(*running.command);
  if (!account) return;
  using Action = AccountCommand::Action;
  if (account->name.text.empty() || !running.command->certain || state.accounts.size() > 200 ||
      state.groups.size() > 200) {
    if (state.accounts_open.empty()) state.accounts_open = "an account that a step makes";
    return;
  }
  const std::string& name = account->name.text;
  const auto number = [](const std::string& text) -> std::optional<std::uint32_t> {
    const auto value = to_number(text);
    return value && *value <= 0x7fffffff ? std::optional<std::uint32_t>(static_cast<std::uint32_t>(*value))
                                         : std::nullopt;
  };
  const auto free_id = [&](bool system, bool group) {
    const auto taken = [&](std::uint32_t id) {
      return group ? std::any_of(state.groups.begin(), state.groups.end(),
                                 [&](const Group& one) { return one.gid == id; })
                   : std::any_of(state.accounts.begin(), state.accounts.end(),
                                 [&](const Account& one) { return one.uid == id; });
    };
    std::uint32_t id = system ? 999 : 1000;
    while (taken(id) && id > 100 && id < 60'000) id = system ? id - 1 : id + 1;
    return id;
  };
  const auto group_id = [&](const std::string& group) -> std::optional<std::uint32_t> {
    if (const auto id = number(group)) return id;
    for (const Group& one : state.groups) {
      if (one.name == group) return one.gid;
    }
    return std::nullopt;
  };
  switch (account->action) {
    case Action::add_group: {
      if (std::any_of(state.groups.begin(), state.groups.end(), [&](const Group& one) { return one.name == name; }))
        return;
      Group group;
      group.name = name;
      group.gid = number(account->gid).value_or(free_id(account->system, true));
      state.groups.push_back(std::move(group));
      return;
    }
    case Action::add_user: {
      Account user;
      user.name = name;
      user.uid = number(account->uid).value_or(free_id(account->system, false));
      if (!account->group.empty()) {
        user.gid = group_id(account->group).value_or(user.uid);
      } else if (account->no_own_group) {
        user.gid = 100;
      } else {
        const auto taken = [&](std::uint32_t id) {
          return std::any_of(state.groups.begin(), state.groups.end(), [&](const Group& one) { return one.gid == id; });
        };
        user.gid = taken(user.uid) ? free_id(account->system, true) : user.uid;
        state.groups.push_back({name, user.gid, {}});
      }
      for (const std::string& group : account->groups) {
        for (Group& one : state.groups) {
          if (one.name == group) one.members.push_back(name);
        }
      }
      user.home = account->home.empty() ? "/home/" + name : account->home;
      if (account->creates_home && !account->no_home && user.home.starts_with('/')) {
        const std::string home = absolute_path(user.home, "/");
        state.files.make_folder(home, running.evidence);
        const BuildFiles::Look look = state.files.look(home);
        if (look.seen == BuildFiles::Seen::yes && look.file->kind == BuildFile::Kind::folder) {
          BuildFile folder = *look.file;
          folder.uid = user.uid;
          state.files.put(look.canonical, std::move(folder));
        }
      }
      state.account_evidence[name] = running.evidence;
      std::erase_if(state.accounts, [&](const Account& one) { return one.name == name; });
      state.accounts.push_back(std::move(user));
      return;
    }
    case Action::change_user:
      for (Account& one : state.accounts) {
        if (one.name != name) continue;
        if (const auto id = number(account->uid)) one.uid = *id;
        if (!account->group.empty()) {
          if (const auto id = group_id(account->group)) one.gid = *id;
        }
        if (!account->home.empty()) one.home = account->home;
        if (!account->new_name.empty()) one.name = account->new_name;
        state.account_evidence[one.name] = running.evidence;
        return;
      }
      return;
    case Action::change_group:
      for (Group& one : state.groups) {
        if (one.name != name) continue;
        if (const auto id = number(account->gid)) {
          for (Account& user : state.accounts) {
            if (user.gid == one.gid) user.gid = *id;
          }
          one.gid = *id;
        }
        if (!account->new_name.empty()) one.name = account->new_name;
      }
      return;
    case Action::delete_user:
      std::erase_if(state.accounts, [&](const Account& one) { return one.name == name; });
      return;
    case Action::delete_group: std::erase_if(state.groups, [&](const Group& one) { return one.name == name; }); return;
    case Action::add_to_group:
      for (const std::string& group : account->groups) {
        for (Group& one : state.groups) {
          if (one.name == group) one.members.push_back(name);
        }
      }
      return;
  }
}

}  // namespace imgforge
