// update-alternatives (alternatives on Red Hat's): links that a name gets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "facts/command_arguments.hpp"

namespace imgforge {

struct AlternativesCommand {
  enum class Action { install, set, remove, remove_all, automatic, other };
  struct Link {
    Argument link;  // "/usr/bin/python3"
    Argument name;  // "python3"
    Argument path;  // "/usr/bin/python3.11"
  };
  Action action = Action::other;
  std::size_t offset = 0;
  Link main;  // of install; of set and remove: name and path, of automatic and remove_all: name
  std::optional<long> priority;
  std::vector<Link> slaves;
  std::string not_known;
};

std::optional<AlternativesCommand> read_alternatives(const RunCommand& command);

}  // namespace imgforge
