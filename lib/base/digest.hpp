// Content digests as OCI writes them: "sha256:<64 hex>" or "sha512:<128 hex>".
// image-spec 1.1, descriptor.md "Digests". Hex is lower case; anything else is not a digest.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace imgforge {

class Digest {
 public:
  enum class Algorithm { sha256, sha512 };

  /// Nothing where the text is no digest of a known algorithm; nothing is ever guessed or trimmed.
  static std::optional<Digest> parse(std::string_view text);

  /// The digest of some bytes.
  static Digest of(std::string_view bytes, Algorithm algorithm = Algorithm::sha256);

  Algorithm algorithm() const noexcept { return algorithm_; }
  const std::string& hex() const noexcept { return hex_; }
  std::string to_string() const;     // "sha256:..."
  std::string short_hex() const;     // the first twelve hex digits
  std::string_view algorithm_name() const noexcept;

  bool operator==(const Digest&) const = default;
  auto operator<=>(const Digest&) const = default;

 private:
  friend class Hasher;
  Digest(Algorithm algorithm, std::string hex) : algorithm_(algorithm), hex_(std::move(hex)) {}

  Algorithm algorithm_;
  std::string hex_;
};

/// A running hash. Not copyable; finish() may be called once.
class Hasher {
 public:
  explicit Hasher(Digest::Algorithm algorithm = Digest::Algorithm::sha256);
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  ~Hasher();

  void update(std::string_view bytes);
  void update(const void* data, std::size_t size);
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
  Digest::Algorithm algorithm_;
};

}  // namespace imgforge
