// The tar of docker save as a stream, and what is made of its documents.
#include <clocale>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.hpp"
#include "image/docker_manifest.hpp"
#include "image/docker_stream.hpp"

namespace {

class Bytes final : public imgforge::ByteReader {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}
  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t count = left_.copy(buffer, size);
    left_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view left_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  static const char* locale = std::setlocale(LC_CTYPE, "C.UTF-8");
  static_cast<void>(locale);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const auto files = walk_docker_stream(std::make_unique<Bytes>(bytes), "the stream",
                                          [](ByteReader& layer, std::uint64_t announced) {
                                            char buffer[512];
                                            std::uint64_t count = 0;
                                            while (const std::size_t more = layer.read(buffer, sizeof buffer))
                                              count += more;
                                            if (count != announced) __builtin_trap();
                                          },
                                          {.document_bytes = 64 << 10});
    static_cast<void>(read_docker_image(*files, "", "stream"));
  } catch (const Error&) {
  }
  return 0;
}
