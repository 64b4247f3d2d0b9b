// A Dockerfile → Facts, evaluated as BuildKit would, nothing run: what each step certainly does to the file system, the
// environment and the interpreters; base images by what the knowledge holds of them. What it cannot follow is unknown.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dockerfile/dockerfile.hpp"
#include "facts/build.hpp"
#include "facts/facts.hpp"
#include "knowledge/knowledge.hpp"

namespace imgforge {

/// A file of the build context, by its path in it ("requirements.txt"); nothing where it is not there or not readable,
/// or leads out of the context.
using ContextFile = std::function<std::optional<std::string>(const std::string& path)>;

/// Reads below `folder`, bounded (1 MiB a file, 16 MiB in all), following no link out of it.
ContextFile context_in(const std::string& folder);

struct BuildOptions {
  std::string stage;                                       // --stage; the last one where it is empty
  std::map<std::string, std::string, std::less<>> arguments;  // --build-arg
  std::string architecture = "amd64";
};

/// Throws Error(usage) where there is no such stage, with the nearest name. `dockerfile` may be destroyed afterwards;
/// `knowledge` has to outlive the facts.
Facts facts_from_dockerfile(const dockerfile::Dockerfile& dockerfile, const BuildOptions& options, const ContextFile& context,
                            const Knowledge& knowledge);

}  // namespace imgforge
