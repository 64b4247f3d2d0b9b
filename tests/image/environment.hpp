// Tests never see the logins of whoever runs them, and leave the environment as it was.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace imgforge::test {

/// As long as this lives, the variables that lead to credentials are unset, and the home is an empty one.
class CleanEnvironment {
 public:
  CleanEnvironment() {
    for (const char* name :
         {"REGISTRY_AUTH_FILE", "DOCKER_AUTH_CONFIG", "XDG_CONFIG_HOME", "DOCKER_CONFIG", "GCE_METADATA_HOST",
          "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "XDG_RUNTIME_DIR", "HOME", "PATH", "DOCKER_HOST",
          "DOCKER_CONTEXT"}) {
      const char* value = std::getenv(name);
      saved_.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
      if (std::string(name) != "PATH") ::unsetenv(name);
    }
    ::setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
    ::setenv("HOME", "/nonexistent", 1);
  }
  CleanEnvironment(const CleanEnvironment&) = delete;
  CleanEnvironment& operator=(const CleanEnvironment&) = delete;
  ~CleanEnvironment() {
    for (const auto& [name, value] : saved_) {
      if (value)
        ::setenv(name.c_str(), value->c_str(), 1);
      else
        ::unsetenv(name.c_str());
    }
  }

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> saved_;
};

}  // namespace imgforge::test
