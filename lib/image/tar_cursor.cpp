#include "image/tar_cursor.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace imgforge {

struct TarCursor::State {
  std::unique_ptr<TarInput> input;
  std::string name;
  std::vector<char> buffer = std::vector<char>(256 << 10);
  std::uint64_t position = 0;  // in the input
  std::exception_ptr failure;  // of the input: an exception must not pass through C
  archive* handle = archive_read_new();

  ~State() {
    if (handle) archive_read_free(handle);
  }

  [[noreturn]] void fail() const {
    if (failure) std::rethrow_exception(failure);
    // libarchive knows the format as soon as the first header is good.
    if (archive_format(handle) == 0) throw Error(ErrorKind::image_unsupported, name + " is no tar archive");
    const char* reason = archive_error_string(handle);
    throw Error(ErrorKind::image_corrupt, fmt::format("{} is damaged or truncated, near byte {}: {}", name, position,
                                                      escape_for_display(reason ? reason : "no reason given")));
  }

  static la_ssize_t read_more(archive* handle, void* data, const void** buffer) {
    auto& self = *static_cast<State*>(data);
    try {
      const std::size_t count = self.input->read(self.buffer.data(), self.buffer.size());
      self.position += count;
      *buffer = self.buffer.data();
      return static_cast<la_ssize_t>(count);
    } catch (...) {
      self.failure = std::current_exception();
      archive_set_error(handle, EIO, "read error");
      return ARCHIVE_FATAL;
    }
  }

  static la_int64_t skip(archive*, void* data, la_int64_t request) {
    auto& self = *static_cast<State*>(data);
    const std::uint64_t count = self.input->skip(static_cast<std::uint64_t>(std::max<la_int64_t>(request, 0)));
    self.position += count;
    return static_cast<la_int64_t>(count);
  }
};

TarCursor::TarCursor(std::unique_ptr<TarInput> input, std::string name) : state_(std::make_unique<State>()) {
  if (!state_->handle) throw std::bad_alloc();
  state_->input = std::move(input);
  state_->name = std::move(name);
  archive_read_support_format_tar(state_->handle);
  archive_read_set_callback_data(state_->handle, state_.get());
  archive_read_set_read_callback(state_->handle, &State::read_more);
  archive_read_set_skip_callback(state_->handle, &State::skip);
  if (archive_read_open1(state_->handle) != ARCHIVE_OK) state_->fail();
}

TarCursor::~TarCursor() = default;

archive_entry* TarCursor::next() {
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(state_->handle, &entry);
  // At the end, a failed read may look like the lack of a second block of zeros.
  if (state_->failure) state_->fail();
  if (status == ARCHIVE_EOF) return nullptr;
  // RETRY and FAILED are fatal, too: going on would drop members.
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) state_->fail();
  return entry;
}

std::uint64_t TarCursor::header_position() const {
  return static_cast<std::uint64_t>(archive_read_header_position(state_->handle));
}

std::size_t TarCursor::read_data(char* buffer, std::size_t size) {
  const la_ssize_t count = archive_read_data(state_->handle, buffer, size);
  if (count < 0) state_->fail();
  return static_cast<std::size_t>(count);
}

}  // namespace imgforge
