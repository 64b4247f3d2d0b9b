// Plan + templates → the text of a Dockerfile.
//
// The dialect is "portable": POSIX sh, every RUN begins with `set -eu`, no SHELL, no here-document, no --mount, no
// `# syntax=`, so that buildah 1.28, the classic builder of Docker and BuildKit all build it.
#pragma once

#include <string>

#include "render/plan.hpp"
#include "render/templates.hpp"

namespace imgforge {

/// A pure function: the same plan and templates give the same bytes on every machine. Throws Error(templates) only.
std::string render_dockerfile(const Plan& plan, const Templates& templates);

}  // namespace imgforge
