// What physics asks of whoever reads an image whole: read, SHA-256, inflate. Nothing is looked at, nothing kept.
//
//   limit [-j THREADS] LAYOUT     every layer of an OCI layout, the longest first, a layer a thread at a time
//   limit --file FILE             SHA-256 over one file
//
// imgforge is measured against it in bench/read.py.
#include <isa-l/igzip_lib.h>
#include <openssl/evp.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using nlohmann::json;

constexpr std::size_t buffer_size = 256 << 10;  // as in lib/layer/decompressor.cpp

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "limit: %s\n", why.c_str());
  std::exit(1);
}

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new()) { EVP_DigestInit_ex(context_, EVP_sha256(), nullptr); }
  ~Sha256() { EVP_MD_CTX_free(context_); }
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(const char* data, std::size_t size) { EVP_DigestUpdate(context_, data, size); }
  unsigned first_byte() {
    unsigned char bytes[EVP_MAX_MD_SIZE];
    EVP_DigestFinal_ex(context_, bytes, nullptr);
    return bytes[0];
  }

 private:
  EVP_MD_CTX* context_;
};

/// Inflates what it is given into a buffer that is overwritten.
class Inflater {
 public:
  virtual ~Inflater() = default;
  virtual void take(char* data, std::size_t size) = 0;
};

class Gzip final : public Inflater {
 public:
  Gzip() { reset(); }
  void take(char* data, std::size_t size) override {
    state_.next_in = reinterpret_cast<std::uint8_t*>(data);
    state_.avail_in = static_cast<std::uint32_t>(size);
    while (state_.avail_in != 0) {
      state_.next_out = out_.data();
      state_.avail_out = static_cast<std::uint32_t>(out_.size());
      if (isal_inflate(&state_) != ISAL_DECOMP_OK) fail("a gzip stream is damaged");
      if (state_.block_state == ISAL_BLOCK_FINISH) {
        std::uint8_t* next = state_.next_in;
        const std::uint32_t left = state_.avail_in;
        reset();
        state_.next_in = next;
        state_.avail_in = left;
      }
    }
  }

 private:
  void reset() {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
  }
  inflate_state state_;
  std::vector<std::uint8_t> out_ = std::vector<std::uint8_t>(buffer_size);
};

class Zstd final : public Inflater {
 public:
  ~Zstd() override { ZSTD_freeDCtx(context_); }
  void take(char* data, std::size_t size) override {
    ZSTD_inBuffer in{data, size, 0};
    while (in.pos < in.size) {
      ZSTD_outBuffer out{out_.data(), out_.size(), 0};
      if (ZSTD_isError(ZSTD_decompressStream(context_, &out, &in))) fail("a zstd stream is damaged");
    }
  }

 private:
  ZSTD_DCtx* context_ = ZSTD_createDCtx();
  std::vector<char> out_ = std::vector<char>(buffer_size);
};

unsigned pass(const std::string& path, bool inflate) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("cannot open " + path);
  std::vector<char> buffer(buffer_size);
  Sha256 hash;
  std::unique_ptr<Inflater> inflater;
  bool first = true;
  for (ssize_t count; (count = ::read(file, buffer.data(), buffer.size())) > 0; first = false) {
    const auto size = static_cast<std::size_t>(count);
    if (first && inflate && std::memcmp(buffer.data(), "\x1f\x8b", 2) == 0) inflater = std::make_unique<Gzip>();
    if (first && inflate && std::memcmp(buffer.data(), "\x28\xb5\x2f\xfd", 4) == 0) inflater = std::make_unique<Zstd>();
    hash.update(buffer.data(), size);
    if (inflater) inflater->take(buffer.data(), size);
  }
  ::close(file);
  return hash.first_byte();
}

json document(const std::string& path) {
  std::ifstream stream(path);
  return json::parse(stream);
}

}  // namespace

int main(int argc, char** argv) {
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::string layout, file;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "-j") == 0 && i + 1 < argc) threads = static_cast<unsigned>(std::max(1, std::atoi(argv[++i])));
    else if (std::strcmp(argv[i], "--file") == 0 && i + 1 < argc) file = argv[++i];
    else layout = argv[i];
  }
  if (!file.empty()) return pass(file, false) > 255 ? 1 : 0;
  if (layout.empty()) fail("usage: limit [-j THREADS] LAYOUT | limit --file FILE");
  const auto blob = [&](const json& descriptor) { return layout + "/blobs/sha256/" + descriptor.at("digest").get<std::string>().substr(7); };
  const json manifest = document(blob(document(layout + "/index.json").at("manifests").at(0)));
  std::vector<json> layers = manifest.at("layers");
  std::stable_sort(layers.begin(), layers.end(), [](const json& one, const json& other) { return one.at("size") > other.at("size"); });
  std::atomic<std::size_t> next = 0;
  std::atomic<unsigned> sum = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < layers.size(); i = next++) sum += pass(blob(layers[i]), true);
  };
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  std::printf("%u\n", sum.load());
}
