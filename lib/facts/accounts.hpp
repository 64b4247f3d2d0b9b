// passwd(5), group(5), and how container runtimes turn the config's User into ids (image-spec config.md "User";
// moby/sys/user GetExecUser).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "facts/facts.hpp"

namespace imgforge {

struct Account {
  std::string name;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string home;
};

struct Group {
  std::string name;
  std::uint32_t gid = 0;
  std::vector<std::string> members;
};

/// The lines that are well formed, at most 65,536 of them; ids outside of 0..2^31-1, which runtimes refuse, are none.
std::vector<Account> parse_passwd(std::string_view text);
std::vector<Group> parse_group(std::string_view text);

/// "", "name", "uid", "uid:gid", "name:group" and mixtures. Unknown, with the reason, where a name is in no file or a
/// number is out of range: the runtime refuses to start such an image.
Fact<User> resolve_user(std::string_view written, const std::vector<Account>& accounts,
                        const std::vector<Group>& groups);

}  // namespace imgforge
