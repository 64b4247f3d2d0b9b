// curl and wget: what is fetched, and where it goes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "facts/command_arguments.hpp"

namespace imgforge {

struct DownloadCommand {
  struct Item {
    Argument url;           // as given; its text is empty where it is not known
    std::string file;       // absolute where the folder is known; empty for standard output, or where it is not known
    std::string not_known;  // why the URL or the file is not
  };
  std::string program;  // "curl", "wget"
  std::size_t offset = 0;
  std::vector<Item> items;
  bool to_output = false;       // (also) to standard output: RunCommand::piped_into says who reads it
  bool fails_on_error = false;  // curl -f; wget always
  bool insecure = false;        // -k, --no-check-certificate
  bool data_sent = false;       // a POST or PUT: no download
  std::string not_known;
};

/// Nothing where the command is neither, or where it only asks for its version or help. A redirection (> FILE) counts
/// as the output file.
std::optional<DownloadCommand> read_download(const RunCommand& command);

}  // namespace imgforge
