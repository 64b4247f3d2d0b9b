// Which daemon docker would talk to, as its command line resolves it: DOCKER_HOST, else the context that
// DOCKER_CONTEXT names, else `currentContext` of config.json, else the default socket. Contexts lie in
// $DOCKER_CONFIG (~/.docker): contexts/meta/SHA256-OF-NAME/meta.json, as `docker context create` writes it.
// docs.docker.com/engine/manage-resources/contexts; docker/cli, cli/command/cli.go resolveContextName.
#pragma once

#include <string>

namespace imgforge {

struct DockerEndpoint {
  std::string socket;  // path of a unix socket
  std::string from;  // what named it, for messages: "DOCKER_HOST", "the docker context colima"; escaped. Empty: nothing
};

/// Throws Error(image_not_found) where a context is named that is not there, Error(image_access) where one cannot be
/// read, Error(image_unsupported) where it leads over anything else than a unix socket. Hosts are never shown: they
/// may have a user in them.
DockerEndpoint docker_endpoint();

}  // namespace imgforge
