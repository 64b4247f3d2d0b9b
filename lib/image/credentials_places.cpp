// Where documents with credentials lie: the second half of image/credentials.hpp.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "image/credentials.hpp"
#include "image/credentials_helper.hpp"

namespace imgforge {

namespace {

constexpr std::uint64_t max_file_bytes = 1 << 20;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// FOLDER/REST, or nothing where the folder is not known. Relative folders are none: nobody means the current one.
std::string below(const std::string& folder, std::string_view rest) {
  return folder.starts_with('/') ? fmt::format("{}/{}", folder, rest) : "";
}

std::vector<std::string> usual_files() {
  const std::string home = environment("HOME");
  const std::string runtime = environment("XDG_RUNTIME_DIR");
  const std::string config = environment("XDG_CONFIG_HOME");
  const std::string docker = environment("DOCKER_CONFIG");
  return {runtime.empty() ? fmt::format("/run/containers/{}/auth.json", ::getuid())
                          : below(runtime, "containers/auth.json"),
          config.empty() ? below(home, ".config/containers/auth.json") : below(config, "containers/auth.json"),
          // Docker takes a relative folder here.
          docker.empty() ? below(home, ".docker/config.json") : docker + "/config.json"};
}

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::optional<Credentials> find_in_file(const std::string& path, const CredentialQuestion& question,
                                        const CredentialHelper& helper) {
  std::string document;
  try {
    document = read_file(path, max_file_bytes);
  } catch (const Error& error) {
    throw Error(ErrorKind::image_access, error.message(), error.hint());
  }
  return find_credentials(document, escape_for_display(path), question, helper);
}

}  // namespace

CredentialLookup find_credentials(const CredentialQuestion& question, const std::string& authfile,
                                  const CredentialHelper& helper) {
  if (!authfile.empty()) return {find_in_file(authfile, question, helper), ""};
  if (const std::string file = environment("REGISTRY_AUTH_FILE"); !file.empty()) {
    // Where a script sets it before the first login, images that need none are read all the same.
    if (!is_there(file))
      return {std::nullopt, fmt::format("REGISTRY_AUTH_FILE names {}, which is not there", escape_for_display(file))};
    return {find_in_file(file, question, helper), ""};
  }
  if (const std::string text = environment("DOCKER_AUTH_CONFIG"); !text.empty()) {
    if (auto found = find_credentials(text, "DOCKER_AUTH_CONFIG", question, helper)) return {std::move(found), ""};
  }
  for (const std::string& path : usual_files()) {
    if (path.empty() || !is_there(path)) continue;
    if (auto found = find_in_file(path, question, helper)) return {std::move(found), ""};
  }
  return {};
}

CredentialLookup find_credentials(const CredentialQuestion& question, const std::string& authfile) {
  return find_credentials(question, authfile, [](const std::string& name, const std::string& server) {
    return ask_credential_helper(name, server);
  });
}

}  // namespace imgforge
