#include "image/child_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

constexpr std::size_t max_complaint = 2000;  // bytes of standard error that are shown; the rest is read and dropped

class File {
 public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(); }
  int get() const noexcept { return descriptor_; }
  void reset(int descriptor) {
    close();
    descriptor_ = descriptor;
  }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_;
};

/// What it said, without what the containers tools' logger puts around it: time="..." level=fatal msg="...".
std::string essence(std::string_view said) {
  constexpr std::string_view mark = "level=fatal msg=\"";
  const std::size_t at = said.find(mark);
  if (at == std::string_view::npos) return std::string(trim(said));
  std::string message;
  for (std::size_t i = at + mark.size(); i < said.size() && said[i] != '"'; ++i) {
    if (said[i] == '\\' && i + 1 < said.size()) ++i;
    message += said[i];
  }
  return message;
}

class ChildReader final : public ByteReader {
 public:
  ChildReader(const std::vector<std::string>& arguments, std::chrono::milliseconds stall)
      : name_(arguments.front().substr(arguments.front().rfind('/') + 1)), stall_(stall) {
    File writing_output;
    File writing_complaints;
    open_pipe(output_, writing_output);
    open_pipe(complaints_, writing_complaints);
    start(arguments, writing_output.get(), writing_complaints.get());
    ::fcntl(complaints_.get(), F_SETFL, O_NONBLOCK);
  }
  ChildReader(const ChildReader&) = delete;
  ChildReader& operator=(const ChildReader&) = delete;

  ~ChildReader() override {
    if (id_ <= 0) return;
    ::kill(-id_, SIGKILL);
    wait();
  }

  std::size_t read(char* buffer, std::size_t size) override {
    while (!ended_) {
      std::array<pollfd, 2> files{pollfd{output_.get(), POLLIN, 0}, pollfd{complaints_.get(), POLLIN, 0}};
      const int ready = ::poll(files.data(), files.size(), static_cast<int>(stall_.count()));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) {
        throw Error(ErrorKind::image_access,
                    fmt::format("{} has given nothing for {} s, and was stopped", name_, stall_.count() / 1000.0));
      }
      if (files[1].revents != 0) take_complaints();
      if (files[0].revents == 0) continue;
      const ssize_t count = ::read(output_.get(), buffer, size);
      if (count > 0) return static_cast<std::size_t>(count);
      if (count < 0 && errno == EINTR) continue;
      finish();
    }
    return 0;
  }

 private:
  static void open_pipe(File& reading, File& writing) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw Error(ErrorKind::image_access, fmt::format("no pipe for a program: {}", std::strerror(errno)));
    reading.reset(ends[0]);
    writing.reset(ends[1]);
  }

  void start(const std::vector<std::string>& arguments, int output, int complaints) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
    sigset_t none;
    sigset_t usual;
    ::sigemptyset(&none);
    ::sigemptyset(&usual);
    ::sigaddset(&usual, SIGPIPE);  // ours may be ignored, and that would be inherited
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &usual);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<std::string> copies = arguments;
    std::vector<char*> words;
    for (std::string& word : copies) words.push_back(word.data());
    words.push_back(nullptr);
    const int failed = ::posix_spawn(&id_, copies.front().c_str(), &actions, &attributes, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (failed != 0) {
      id_ = 0;
      throw Error(ErrorKind::image_access,
                  fmt::format("cannot start {}: {}", escape_for_display(arguments.front()), std::strerror(failed)));
    }
  }

  void take_complaints() {
    std::array<char, 4096> buffer{};
    const ssize_t count = ::read(complaints_.get(), buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) {
      complaints_.close();  // poll passes over negative descriptors
      return;
    }
    const std::size_t room = max_complaint - std::min(max_complaint, said_.size());
    said_.append(buffer.data(), std::min(static_cast<std::size_t>(count), room));
  }

  int wait() {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = 0;
    return status;
  }

  void finish() {
    output_.close();
    // It has said all; whatever it leaves running may keep the other pipe open.
    for (std::size_t before = said_.size() + 1; complaints_.get() >= 0 && before != said_.size();) {
      before = said_.size();
      take_complaints();
    }
    const int status = wait();
    if (complaints_.get() >= 0) take_complaints();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      const std::string how = WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                                                  : fmt::format("failed with {}", WEXITSTATUS(status));
      const std::string said = essence(said_);
      throw Error(ErrorKind::image_access,
                  fmt::format("{} {}{}{}", name_, how, said.empty() ? "" : ": ", escape_for_display(said)));
    }
    ended_ = true;
  }

  std::string name_;
  std::chrono::milliseconds stall_;
  File output_;
  File complaints_;
  pid_t id_ = 0;
  std::string said_;
  bool ended_ = false;
};

}  // namespace

std::string program_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path ? path : "", ':')) {
    if (!folder.starts_with('/')) continue;
    const std::string candidate = fmt::format("{}/{}", folder, program);
    struct stat status {};
    if (::stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  return "";
}

std::unique_ptr<ByteReader> start_program(const std::vector<std::string>& arguments, std::chrono::milliseconds stall) {
  return std::make_unique<ChildReader>(arguments, stall);
}

}  // namespace imgforge
