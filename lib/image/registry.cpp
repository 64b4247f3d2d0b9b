// Images of registries: distribution-spec 1.1, "Pulling manifests" and "Pulling blobs".
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/http.hpp"
#include "base/reference.hpp"
#include "base/text.hpp"
#include "image/mirror.hpp"
#include "image/registry_answer.hpp"
#include "image/registry_blob.hpp"
#include "image/registry_foreign.hpp"
#include "image/registry_session.hpp"
#include "image/store.hpp"

namespace imgforge {

namespace {

std::string without_parameters(std::string_view content_type) {
  return lower(trim(content_type.substr(0, content_type.find(';'))));
}

/// The mirrors of a registry, and it: whoever has a thing gives it.
class Places {
 public:
  Places(const Reference& reference, const SourceOptions& options) {
    for (const Reference& mirror : mirrored(reference, options.mirrors))
      sessions_.push_back(std::make_shared<RegistrySession>(mirror, options, true));
    sessions_.push_back(std::make_shared<RegistrySession>(reference, options));
    failed_.resize(sessions_.size());
  }

  /// What `action` makes of the first place where it does not fail. A mirror that could not be reached is not asked
  /// again. The error is the registry's own, with what the mirrors said. Thread-safe, as all of it.
  template <class Action>
  auto ask(Action action) const -> decltype(action(std::shared_ptr<RegistrySession>(), std::size_t())) {
    std::string mirrors;
    for (std::size_t i = 0; i + 1 < sessions_.size(); ++i) {
      std::string failure = failure_of(i);
      if (failure.empty()) {
        try {
          return action(sessions_[i], i);
        } catch (const Error& error) {
          failure = fail(i, error);
        }
      }
      mirrors += failure;
    }
    try {
      return action(sessions_.back(), sessions_.size() - 1);
    } catch (const Error& error) {
      if (mirrors.empty()) throw;
      throw Error(error.kind(), error.message() + mirrors, error.hint());
    }
  }

  /// The first place behind `place`, which failed in the middle of something, that did not fail before; `place` becomes
  /// its number. Null behind the last one.
  std::shared_ptr<RegistrySession> next(std::size_t& place, const Error& failure) const {
    if (place + 1 == sessions_.size()) return nullptr;
    fail(place, failure);
    do ++place;
    while (place + 1 != sessions_.size() && !failure_of(place).empty());
    return sessions_[place];
  }

 private:
  std::string failure_of(std::size_t place) const {
    const std::lock_guard lock(mutex_);
    return failed_[place];
  }
  /// What to say of it.
  std::string fail(std::size_t place, const Error& error) const {
    std::string why =
        fmt::format("; its mirror {} failed before: {}", sessions_[place]->reference().host(), error.message());
    const std::lock_guard lock(mutex_);
    if (error.kind() == ErrorKind::image_network || error.kind() == ErrorKind::image_access) failed_[place] = why;
    return why;
  }

  std::vector<std::shared_ptr<RegistrySession>> sessions_;  // the registry itself is the last one
  mutable std::mutex mutex_;
  mutable std::vector<std::string> failed_;  // why a place is not asked any more
};

class RegistryStore final : public BlobStore {
 public:
  explicit RegistryStore(std::shared_ptr<const Places> places) : places_(std::move(places)) {}

  std::unique_ptr<ByteReader> open_blob(const Descriptor& descriptor, std::string_view what) const override {
    try {
      return places_->ask([&](std::shared_ptr<RegistrySession> session, std::size_t place) {
        return open_registry_blob(std::move(session), descriptor, what, others(place));
      });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::image_not_found || descriptor.urls.empty()) throw;
      return open_foreign_blob(descriptor, what, error);
    }
  }

  std::unique_ptr<ByteReader> open_blob_range(const Descriptor& descriptor, std::string_view what, std::uint64_t offset,
                                              std::uint64_t length) const override {
    if (!ranges_) return nullptr;
    auto reader = places_->ask([&](std::shared_ptr<RegistrySession> session, std::size_t place) {
      return open_registry_blob_range(std::move(session), descriptor, what, offset, length, others(place));
    });
    if (!reader) ranges_ = false;
    return reader;
  }

  std::unique_ptr<ByteReader> open_manifest(const Descriptor& descriptor) const override {
    return places_->ask([&](std::shared_ptr<RegistrySession> session, std::size_t place) {
      return open_registry_manifest(std::move(session), descriptor, others(place));
    });
  }

 private:
  OtherPlaces others(std::size_t place) const {
    return [places = places_, place](const Error& failure) mutable { return places->next(place, failure); };
  }

  std::shared_ptr<const Places> places_;
  mutable std::atomic<bool> ranges_ = true;  // until a server shows that it knows none: then it is not asked again
};

/// What Content-Type says about a manifest, where it says anything: proxies and old registries send a generic type.
std::string manifest_media_type(const HttpResponse& response) {
  const std::string type = without_parameters(response.header("content-type").value_or(""));
  const bool generic =
      type == "application/json" || type == "text/plain" || type == "application/octet-stream" || type == "text/html";
  return generic ? "" : type;
}

Document top_document(RegistrySession& session) {
  constexpr std::string_view what = "the manifest";
  const Reference& reference = session.reference();
  RetryBudget budget(session.retry_policy());
  const auto get = [&] { return session.open({"manifests/" + reference.identifier(), accepted_manifests, what}); };
  HttpResponse response = get();
  std::string bytes;
  for (;;) {
    const auto asked = std::chrono::steady_clock::now();
    try {
      bytes = read_body(response, max_document_bytes, what);
      break;
    } catch (const Error& error) {
      budget.spend(std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - asked));
      if (error.kind() != ErrorKind::image_network || !budget.wait()) throw;
      response = get();
    }
  }
  const std::string announced = response.header("docker-content-digest").value_or("");
  const std::optional<Digest> claim = Digest::parse(announced);
  if (!claim && (announced.starts_with("sha256:") || announced.starts_with("sha512:"))) {
    throw Error(ErrorKind::image_corrupt, fmt::format("the registry's Docker-Content-Digest is no digest: \"{}\"",
                                                      escape_for_display(announced.substr(0, 200))));
  }
  for (const std::optional<Digest>& expected : {reference.digest(), claim}) {
    if (!expected) continue;
    const Digest found = Digest::of(bytes, expected->algorithm());
    if (found != *expected) {
      throw Error(ErrorKind::image_corrupt, fmt::format("digest mismatch of the manifest: expected {}, found {}",
                                                        expected->to_string(), found.to_string()));
    }
  }
  Digest digest = reference.digest() ? *reference.digest() : claim ? *claim : Digest::of(bytes);
  return {std::move(bytes), manifest_media_type(response), std::move(digest)};
}

}  // namespace

OpenedSource open_registry_source(std::string_view name, const SourceOptions& options) {
  std::string why;
  const std::optional<Reference> reference = Reference::parse(name, &why);
  if (!reference)
    throw Error(ErrorKind::usage, "it is no image reference: " + why,
                "as in python:3.11, or europe-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE:TAG");
  const auto places = std::make_shared<const Places>(*reference, options);
  Document top =
      places->ask([](const std::shared_ptr<RegistrySession>& session, std::size_t) { return top_document(*session); });
  return {std::make_shared<RegistryStore>(places), std::move(top), {}, reference->to_full_string()};
}

}  // namespace imgforge
