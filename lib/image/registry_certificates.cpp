#include "image/registry_certificates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_names = 200;  // of files in one folder that are looked at

std::vector<std::string> usual_folders() {
  std::vector<std::string> folders;
  if (const char* home = std::getenv("HOME"); home && *home == '/')
    folders.push_back(std::string(home) + "/.config/containers/certs.d");
  folders.emplace_back("/etc/containers/certs.d");
  folders.emplace_back("/etc/docker/certs.d");
  return folders;
}

std::vector<fs::path> files_in(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end && files.size() < max_names;
       entry.increment(error)) {
    files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TlsFiles read_folder(const std::string& folder) {
  TlsFiles result;
  for (const fs::path& file : files_in(folder)) {
    std::error_code error;
    const fs::path extension = file.extension();
    const fs::path other = fs::path(file).replace_extension(extension == ".cert" ? ".key" : ".cert");
    if ((extension == ".cert" || extension == ".key") && !fs::exists(other, error)) {
      throw Error(ErrorKind::image_access,
                  fmt::format("{} is there, and {} is not", escape_for_display(file.string()),
                              escape_for_display(other.filename().string())),
                  "a client certificate is NAME.cert with NAME.key; a certificate authority is NAME.crt");
    }
    if (extension == ".crt") result.authorities.push_back(file.string());
    if (extension == ".cert" && result.certificate.empty()) {
      result.certificate = file.string();
      result.key = other.string();
    }
  }
  return result;
}

}  // namespace

TlsFiles certificates_for(const Url& url, const std::vector<std::string>& folders) {
  if (url.scheme != "https" || url.host.empty() || url.host.front() == '.') return {};
  std::vector<std::string> names = {fmt::format("{}:{}", url.host, url.port)};
  if (url.port == 443) names.push_back(url.host);
  for (const std::string& folder : folders) {
    for (const std::string& name : names) {
      const TlsFiles found = read_folder(fmt::format("{}/{}", folder, name));
      if (found != TlsFiles{}) return found;
    }
  }
  return {};
}

TlsFiles certificates_for(const Url& url) { return certificates_for(url, usual_folders()); }

}  // namespace imgforge
