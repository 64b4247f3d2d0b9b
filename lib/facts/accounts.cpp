#include "facts/accounts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace imgforge {
namespace {

constexpr std::size_t max_lines = 65'536;
constexpr std::uint64_t max_id = 0x7fffffff;

std::optional<std::uint32_t> parse_id(std::string_view text) {
  const auto number = to_number(text);
  if (!number || *number > max_id) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::vector<Account> parse_passwd(std::string_view text) {
  std::vector<Account> accounts;
  for (const std::string_view line : lines(text)) {
    const auto fields = split(line, ':');
    if (fields.size() < 6 || fields[0].empty()) continue;
    const auto uid = parse_id(fields[2]);
    const auto gid = parse_id(fields[3]);
    if (!uid || !gid) continue;
    accounts.push_back({std::string(fields[0]), *uid, *gid, std::string(fields[5])});
    if (accounts.size() == max_lines) break;
  }
  return accounts;
}

std::vector<Group> parse_group(std::string_view text) {
  std::vector<Group> groups;
  for (const std::string_view line : lines(text)) {
    const auto fields = split(line, ':');
    if (fields.size() < 3 || fields[0].empty()) continue;
    const auto gid = parse_id(fields[2]);
    if (!gid) continue;
    Group group{std::string(fields[0]), *gid, {}};
    if (fields.size() > 3) {
      for (const std::string_view member : split(fields[3], ',')) {
        if (!trim(member).empty()) group.members.emplace_back(trim(member));
      }
    }
    groups.push_back(std::move(group));
    if (groups.size() == max_lines) break;
  }
  return groups;
}

Fact<User> resolve_user(std::string_view written, const std::vector<Account>& accounts,
                        const std::vector<Group>& groups) {
  User user;
  user.written = std::string(written);
  const std::size_t colon = written.find(':');
  const std::string_view name = written.substr(0, colon);
  const std::string_view group_name = colon == std::string_view::npos ? std::string_view() : written.substr(colon + 1);

  const Account* account = nullptr;
  // A name wins over a number, so that an account named "1000" is found as such.
  if (!name.empty()) {
    for (const Account& one : accounts) {
      if (one.name == name) account = &one;
      if (account != nullptr) break;
    }
  }
  if (account == nullptr && (name.empty() || all_digits(name))) {
    const auto uid = name.empty() ? std::optional<std::uint32_t>(0) : parse_id(name);
    if (!uid) return Fact<User>::unknown(fmt::format("the user id {} is out of range", escape_for_display(name)));
    user.uid = *uid;
    for (const Account& one : accounts) {
      if (one.uid == *uid) account = &one;
      if (account != nullptr) break;
    }
  } else if (account == nullptr) {
    return Fact<User>::unknown(fmt::format("the user \"{}\" is not in /etc/passwd", escape_for_display(name)));
  }
  user.home = user.uid == 0 ? "/root" : "/";
  if (account != nullptr) {
    user.uid = account->uid;
    user.gid = account->gid;
    if (!account->home.empty()) user.home = account->home;
  }

  if (group_name.empty()) {
    if (account != nullptr) {
      for (const Group& group : groups) {
        if (std::find(group.members.begin(), group.members.end(), account->name) != group.members.end()) {
          user.groups.push_back(group.gid);
        }
      }
    }
    return Fact<User>::known(std::move(user), {Evidence::in_config("User")});
  }
  const auto named =
      std::find_if(groups.begin(), groups.end(), [&](const Group& one) { return one.name == group_name; });
  if (named != groups.end()) {
    user.gid = named->gid;
  } else if (all_digits(group_name)) {
    const auto gid = parse_id(group_name);
    if (!gid)
      return Fact<User>::unknown(fmt::format("the group id {} is out of range", escape_for_display(group_name)));
    user.gid = *gid;
  } else {
    return Fact<User>::unknown(fmt::format("the group \"{}\" is not in /etc/group", escape_for_display(group_name)));
  }
  return Fact<User>::known(std::move(user), {Evidence::in_config("User")});
}

}  // namespace imgforge
