#include "layer/name_hash.hpp"

#include <bit>
#include <cstring>
#include <random>

namespace imgforge {

namespace {

struct Key {
  std::uint64_t first;
  std::uint64_t second;
};

const Key& key() {
  static const Key made = [] {
    std::random_device device;
    const auto word = [&] { return static_cast<std::uint64_t>(device()) << 32 | device(); };
    const std::uint64_t first = word();
    return Key{first, word()};
  }();
  return made;
}

struct State {
  std::uint64_t a, b, c, d;

  void round() noexcept {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }
  void take(std::uint64_t word) noexcept {
    d ^= word;
    round();
    a ^= word;
  }
};

}  // namespace

std::uint64_t name_hash(std::string_view bytes, std::uint64_t more) noexcept {
  const Key& secret = key();
  State state{secret.first ^ 0x736f6d6570736575, secret.second ^ 0x646f72616e646f6d, secret.first ^ 0x6c7967656e657261,
              secret.second ^ 0x7465646279746573};
  state.take(more);
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    state.take(word);
  }
  std::uint64_t last = static_cast<std::uint64_t>(bytes.size()) << 56;
  for (std::size_t i = 0; i < left; ++i)
    last |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  state.take(last);
  state.c ^= 0xff;
  state.round();
  state.round();
  state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace imgforge
