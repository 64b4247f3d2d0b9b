// Finding things by their bytes, kept in tables of numbers. The bytes are hostile: so the hash has a key that nobody
// outside of this process knows (SipHash-1-3, Aumasson and Bernstein 2012), or one could make them all collide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace imgforge {

std::uint64_t name_hash(std::string_view bytes, std::uint64_t more = 0) noexcept;

/// Numbers of things that are kept elsewhere, by hash. Nothing is ever taken out.
class NumberTable {
 public:
  static constexpr std::uint32_t none = 0xFFFFFFFF;

  /// The number with this hash that `same` takes, or none.
  template <typename Same>
  std::uint32_t find(std::uint64_t hash, const Same& same) const {
    if (slots_.empty()) return none;
    const auto part = static_cast<std::uint32_t>(hash >> 32);
    for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.number == none) return none;
      if (slot.part == part && same(slot.number)) return slot.number;
    }
  }

  /// Adds a number. `hash_of` gives the hash of those that are there already, when the table grows.
  template <typename HashOf>
  void insert(std::uint64_t hash, std::uint32_t number, const HashOf& hash_of) {
    if ((count_ + 1) * 4 > slots_.size() * 3) grow(hash_of);
    put(hash, number);
    ++count_;
  }

  void reserve(std::size_t count) {
    std::size_t size = 16;
    while (size * 3 < count * 4) size *= 2;
    if (slots_.empty()) slots_.resize(size);
  }

  std::size_t memory() const noexcept { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    std::uint32_t part = 0;  // of the hash
    std::uint32_t number = none;
  };

  void put(std::uint64_t hash, std::uint32_t number) {
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].number != none) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {static_cast<std::uint32_t>(hash >> 32), number};
  }

  template <typename HashOf>
  void grow(const HashOf& hash_of) {
    std::vector<Slot> before(slots_.empty() ? 16 : slots_.size() * 2);
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.number != none) put(hash_of(slot.number), slot.number);
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace imgforge
