#include "image/docker_context.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

using nlohmann::json;

constexpr const char* default_socket = "/var/run/docker.sock";
constexpr std::uint64_t max_file_bytes = 1 << 20;
constexpr std::size_t longest_name = 200;
constexpr const char* any_daemon =
    "docker save NAME | imgforge verify docker-archive:- reads from any daemon that docker reaches";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// The folder of docker's config, or nothing where there is no home.
std::string config_folder() {
  if (std::string folder = environment("DOCKER_CONFIG"); !folder.empty()) return folder;
  const std::string home = environment("HOME");
  return home.starts_with('/') ? home + "/.docker" : "";
}

/// A document of docker's; nothing where it is not there.
std::optional<json> read_document(const std::string& path) {
  if (path.empty() || ::access(path.c_str(), F_OK) != 0) return std::nullopt;
  try {
    return parse_json(read_file(path, max_file_bytes), escape_for_display(path));
  } catch (const Error& error) {
    // It says which file; never what is in it, which may be a secret.
    throw Error(ErrorKind::image_access, error.message(), "DOCKER_HOST=unix:///PATH names a daemon without it");
  }
}

std::string text_member(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const json& member(const json& object, const char* key) {
  static const json nothing;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : nothing;
}

std::string socket_of(const std::string& host, const std::string& from) {
  constexpr std::string_view scheme = "unix://";
  if (host.starts_with(scheme) && host.size() > scheme.size()) return host.substr(scheme.size());
  throw Error(ErrorKind::image_unsupported,
              fmt::format("{} names a daemon over \"{}\"; only unix:// sockets are read", from,
                          escape_for_display(host.substr(0, std::min<std::size_t>(host.find(':'), 20)))),
              any_daemon);
}

DockerEndpoint endpoint_of_context(const std::string& name, const std::string& named_by) {
  const std::string shown = escape_for_display(name.substr(0, longest_name));
  const std::string from = fmt::format("the docker context {} ({})", shown, named_by);
  const std::string folder = config_folder();
  const std::string path =
      folder.empty() ? "" : fmt::format("{}/contexts/meta/{}/meta.json", folder, Digest::of(name).hex());
  const std::optional<json> meta = read_document(path);
  if (!meta) {
    throw Error(ErrorKind::image_not_found,
                folder.empty()
                    ? fmt::format("{} is not known: neither DOCKER_CONFIG nor HOME says where contexts are", from)
                    : fmt::format("{} is not there: {} does not exist", from, escape_for_display(path)),
                "docker context ls shows those that are; DOCKER_HOST=unix:///PATH goes without");
  }
  const std::string host = text_member(member(member(*meta, "Endpoints"), "docker"), "Host");
  if (host.empty()) {
    throw Error(ErrorKind::image_unsupported,
                fmt::format("{} names no daemon: {} has no Endpoints.docker.Host", from, escape_for_display(path)),
                any_daemon);
  }
  return {socket_of(host, from), from};
}

}  // namespace

DockerEndpoint docker_endpoint() {
  if (const std::string host = environment("DOCKER_HOST"); !host.empty())
    return {socket_of(host, "DOCKER_HOST"), "DOCKER_HOST"};
  std::string name = environment("DOCKER_CONTEXT");
  std::string named_by = "DOCKER_CONTEXT";
  if (name.empty()) {
    const std::string folder = config_folder();
    const std::string path = folder.empty() ? "" : folder + "/config.json";
    if (const std::optional<json> config = read_document(path)) name = text_member(*config, "currentContext");
    named_by = "currentContext in " + escape_for_display(path);
  }
  if (name.empty() || name == "default") return {default_socket, ""};
  return endpoint_of_context(name, named_by);
}

}  // namespace imgforge
