// One repository at one registry: where it is, the login that it wants, and GET. distribution-spec 1.1.
//
// What travels where: credentials go to the registry's own scheme, host and port only, and only after it asked for
// them. Redirects are followed by hand, at most five, never from https to http, and without credentials to anywhere
// else.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/http.hpp"
#include "base/reference.hpp"
#include "image/registry_login.hpp"
#include "image/retry.hpp"
#include "image/source.hpp"

namespace imgforge {

/// GET /v2/NAME/PATH.
struct RegistryRequest {
  std::string path;         // "manifests/latest", "blobs/sha256:…"
  std::string_view accept;  // of manifests
  std::string_view what;    // names the thing in messages: "the manifest", "layer 3 of 11"
  std::optional<std::pair<std::uint64_t, std::uint64_t>> range = {};  // as in HttpRequest
};

struct RegistryAnswer {
  HttpResponse response;
  Url url;  // that answered, after redirects
};

/// Thread-safe.
class RegistrySession {
 public:
  /// Throws Error(usage) where the reference's host cannot be one. `mirror`: it stands in for another registry.
  RegistrySession(const Reference& reference, const SourceOptions& options, bool mirror = false);

  const Reference& reference() const noexcept { return reference_; }
  const RetryPolicy& retry_policy() const noexcept { return retry_policy_; }

  /// One attempt: redirects, a login where it is asked for, and plain HTTP where that is allowed. Whatever the status,
  /// the body unread. Throws Error(image_access) where a login is asked for that there is none for, and
  /// Error(image_network) for redirects that lead nowhere good.
  RegistryAnswer ask(const RegistryRequest& request);

  /// The response with status 200 (or 206, where a range was asked for), its body unread; attempts are repeated within
  /// a RetryBudget. Throws Error(image_*).
  HttpResponse open(const RegistryRequest& request);

  /// The error that an answer of another status, or none, means.
  [[noreturn]] void throw_refused(RegistryAnswer& answer, std::string_view what) const;

 private:
  Url origin() const;
  /// Whether plain HTTP is to be tried from now on, since the host does not speak TLS.
  bool fall_back(const Url& registry, const HttpFailure& failure);

  Reference reference_;
  bool insecure_;
  bool mirror_;
  bool may_be_plain_ = false;
  RetryPolicy retry_policy_;
  Url plain_;
  HttpClient client_;
  RegistryLogin login_;
  mutable std::mutex mutex_;
  Url origin_;  // scheme, host and port of the registry, as they turned out
};

}  // namespace imgforge
