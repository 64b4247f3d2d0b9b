// The entrypoint followed to its end, without running anything.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "facts/facts.hpp"
#include "image/manifest.hpp"
#include "layer/root_view.hpp"

namespace imgforge {

inline constexpr std::string_view boot_path = "/opt/apache/beam/boot";

/// Follows tini, dumb-init, catatonit, env, conda run, nohup and their kin, sh -c, and scripts, at most 16 deep.
/// Unknown where a script or a program cannot be followed with certainty.
Fact<Entrypoint> follow_entrypoint(const ImageConfig& config, RootView& root);

}  // namespace imgforge
