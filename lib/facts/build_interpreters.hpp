// The interpreters of a stage as facts: which of them boot picks, and the Beam that is in it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/build_state.hpp"
#include "facts/facts.hpp"

namespace imgforge {

class StateInterpreters {
 public:
  /// Both must outlive it.
  StateInterpreters(const BuildState& state, const Knowledge& knowledge);

  Fact<std::vector<Interpreter>> interpreters() const;
  Fact<std::vector<Distribution>> distributions() const;
  Fact<std::map<std::string, Command>> commands() const;
  Fact<Command> usr_local_pip() const;
  Fact<Command> python_path() const;
  Fact<Distribution> beam() const;
  Fact<Version> beam_version() const;
  const Fact<WorkerPython>& worker_python() const { return worker_; }
  const Fact<Version>& boot_version() const { return boot_version_; }
  /// The one whose software counts, by its position: the worker's, else the one on PATH, else the only one.
  std::optional<std::size_t> counting() const;

 private:
  Fact<Command> command_fact(const std::string& name) const;
  std::optional<std::size_t> python_named(std::string_view name) const;
  Fact<Distribution> beam_of(std::size_t index) const;
  void find_worker();

  const BuildState& state_;
  const Knowledge& knowledge_;
  Fact<Version> boot_version_;
  Fact<WorkerPython> worker_ = Fact<WorkerPython>::unknown("not read");
};

}  // namespace imgforge
