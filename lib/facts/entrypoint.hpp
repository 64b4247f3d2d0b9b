// The entrypoint followed to its end, without running anything.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"
#include "facts/shell_words.hpp"
#include "image/manifest.hpp"
#include "layer/root_view.hpp"

namespace imgforge {

inline constexpr std::string_view boot_path = "/opt/apache/beam/boot";

/// The files that an entrypoint is followed through: of an image's root, or of a build's steps.
class StartFiles {
 public:
  struct Found {
    std::optional<Command> command;  // nothing: there is no such name
    std::string unknown;             // why that cannot be told
  };
  struct Content {
    enum class Kind { none, program, text, unknown };  // none: no file
    Kind kind = Kind::none;
    std::string text;                // of text: its first bytes, or all
    std::string why;                 // of unknown
  };
  virtual ~StartFiles() = default;
  virtual Found at(const std::string& path) = 0;
  virtual Found find(std::string_view name, std::string_view path, std::string_view folder) = 0;
  /// Whether a path is /opt/apache/beam/boot or leads there through links, even where nothing is there.
  virtual bool reaches_boot(const std::string& path, const std::optional<Command>& command) = 0;
  virtual Content start_of(const std::string& canonical) = 0;  // at least 260 bytes of a text
  virtual Content all_of(const std::string& canonical) = 0;    // unknown where it is too large for a script
  virtual std::optional<Evidence> evidence(const std::string& path) = 0;
};

/// What is started, and with what.
struct StartCommand {
  std::vector<std::string> entrypoint;
  std::vector<std::string> cmd;
  ShellContext context;
  Evidence entrypoint_evidence;
  Evidence cmd_evidence;
};

Fact<Entrypoint> follow_entrypoint(const StartCommand& start, StartFiles& files);

/// Follows tini, dumb-init, catatonit, env, conda run, nohup and their kin, sh -c, and scripts, at most 16 deep.
/// Unknown where a script or a program cannot be followed with certainty.
Fact<Entrypoint> follow_entrypoint(const ImageConfig& config, RootView& root);

}  // namespace imgforge
