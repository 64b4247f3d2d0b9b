#include "base/digest.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <new>

namespace imgforge {

namespace {

std::size_t hex_length(Digest::Algorithm algorithm) noexcept { return algorithm == Digest::Algorithm::sha256 ? 64 : 128; }

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

std::optional<Digest> Digest::parse(std::string_view text) {
  Algorithm algorithm;
  if (text.starts_with("sha256:")) algorithm = Algorithm::sha256;
  else if (text.starts_with("sha512:")) algorithm = Algorithm::sha512;
  else return std::nullopt;
  const std::string_view hex = text.substr(7);
  if (hex.size() != hex_length(algorithm)) return std::nullopt;
  const bool all_hex = std::all_of(hex.begin(), hex.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (!all_hex) return std::nullopt;
  return Digest(algorithm, std::string(hex));
}

Digest Digest::of(std::string_view bytes, Algorithm algorithm) {
  Hasher hasher(algorithm);
  hasher.update(bytes);
  return hasher.finish();
}

std::string Digest::to_string() const { return std::string(algorithm_name()) + ":" + hex_; }
std::string Digest::short_hex() const { return hex_.substr(0, 12); }
std::string_view Digest::algorithm_name() const noexcept { return algorithm_ == Algorithm::sha256 ? "sha256" : "sha512"; }

struct Hasher::State {
  std::unique_ptr<EVP_MD_CTX, FreeContext> context{EVP_MD_CTX_new()};
};

Hasher::Hasher(Digest::Algorithm algorithm) : state_(std::make_unique<State>()), algorithm_(algorithm) {
  const EVP_MD* type = algorithm == Digest::Algorithm::sha256 ? EVP_sha256() : EVP_sha512();
  // Fails only where memory runs out: the default provider always has SHA-2.
  if (!state_->context || EVP_DigestInit_ex(state_->context.get(), type, nullptr) != 1) throw std::bad_alloc();
}

Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

void Hasher::update(std::string_view bytes) { update(bytes.data(), bytes.size()); }

void Hasher::update(const void* data, std::size_t size) {
  if (size != 0 && EVP_DigestUpdate(state_->context.get(), data, size) != 1) throw std::bad_alloc();
}

Digest Hasher::finish() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_DigestFinal_ex(state_->context.get(), bytes, &size) != 1) throw std::bad_alloc();
  constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(size * 2);
  for (unsigned int i = 0; i < size; ++i) {
    hex += digits[bytes[i] >> 4];
    hex += digits[bytes[i] & 15];
  }
  return Digest(algorithm_, std::move(hex));
}

}  // namespace imgforge
