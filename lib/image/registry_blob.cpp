#include "image/registry_blob.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/error.hpp"
#include "image/store.hpp"

namespace imgforge {

namespace {

/// A body that has to be as long as its descriptor says.
class BodyReader final : public ByteReader {
 public:
  BodyReader(std::shared_ptr<RegistrySession> session, HttpResponse response, const Descriptor& descriptor,
             std::string_view what)
      : session_(std::move(session)), response_(std::move(response)), descriptor_(descriptor), what_(what) {
    const std::optional<std::uint64_t> length = response_.content_length();
    if (length && *length != descriptor.size) throw_size_mismatch(what_, descriptor.digest, descriptor.size, *length);
  }

  std::size_t read(char* buffer, std::size_t size) override {
    std::size_t count = 0;
    try {
      count = response_.read(buffer, size);
    } catch (const Error& error) {
      throw error.within(fmt::format("{}, after {} of {} bytes", what_, done_, descriptor_.size));
    }
    done_ += count;
    if (done_ > descriptor_.size || (count == 0 && size != 0 && done_ != descriptor_.size)) {
      throw_size_mismatch(what_, descriptor_.digest, descriptor_.size, done_);
    }
    return count;
  }

 private:
  std::shared_ptr<RegistrySession> session_;
  HttpResponse response_;
  Descriptor descriptor_;
  std::string what_;
  std::uint64_t done_ = 0;
};

}  // namespace

std::unique_ptr<ByteReader> open_registry_blob(std::shared_ptr<RegistrySession> session, const Descriptor& descriptor,
                                               std::string_view what) {
  HttpResponse response = session->open({"blobs/" + descriptor.digest.to_string(), "", what});
  return std::make_unique<BodyReader>(std::move(session), std::move(response), descriptor, what);
}

std::unique_ptr<ByteReader> open_registry_manifest(std::shared_ptr<RegistrySession> session,
                                                   const Descriptor& descriptor) {
  constexpr std::string_view what = "the manifest";
  HttpResponse response = session->open({"manifests/" + descriptor.digest.to_string(), accepted_manifests, what});
  return std::make_unique<BodyReader>(std::move(session), std::move(response), descriptor, what);
}

}  // namespace imgforge
