// pip's requirements and constraints files (pip documentation, "Requirements File Format"), included ones followed.
//
// Bounds: 1 MiB a file, 64 files, includes 16 deep, 20,000 requirements in all.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/place.hpp"
#include "base/requirement.hpp"

namespace imgforge {

struct RequirementLine {
  std::string written;                     // without options and comment: "numpy==1.26.4 ; python_version < '3.12'"
  std::optional<Requirement> requirement;  // nothing for a path or URL, or where a variable is not known
  std::string location;                    // of a path or URL without "NAME @": "./vendor/x.whl", "git+https://..."
  bool editable = false;
  bool hashed = false;  // --hash
  Place place;          // of the line, in the file that holds it
};

struct RequirementsFile {
  std::vector<RequirementLine> requirements;
  std::vector<RequirementLine> constraints;  // of -c, and of a file read as one
  std::vector<std::string> index_urls;       // --index-url, --extra-index-url
  bool replaces_index = false;               // --index-url, --no-index
  std::vector<std::string> find_links;
  bool no_index = false;
  bool pre = false;
  bool no_binary = false;  // :all: or any name
  bool require_hashes = false;
  std::vector<std::string> not_known;  // files that are not there, variables without a value, lines that do not parse
};

/// The text of a file: `path` is as the command or the including file names it, joined with the including file's
/// folder.
using IncludedFile = std::function<std::optional<std::string>(const std::string& path)>;
/// A variable's value for ${NAME}: nothing where it is not known or not set (pip leaves it as it is then).
using RequirementVariable = std::function<std::optional<std::string>(std::string_view name)>;

/// Reads `path` and what it includes. A file that is not there becomes a `not_known`, never an error.
RequirementsFile read_requirements_file(const std::string& path, const IncludedFile& file,
                                        const RequirementVariable& variable, bool as_constraints = false);

}  // namespace imgforge
