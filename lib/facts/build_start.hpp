// What a container of a stage starts with: its entrypoint and boot.
#pragma once

#include "facts/build_state.hpp"
#include "facts/facts.hpp"

namespace imgforge {

Fact<Entrypoint> entrypoint_of(const BuildState& state);
Fact<Boot> boot_of(const BuildState& state);
/// The SDK that boot came from.
Fact<Version> boot_version_of(const BuildState& state);

}  // namespace imgforge
