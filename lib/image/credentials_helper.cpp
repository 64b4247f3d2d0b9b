#include "image/credentials_helper.hpp"

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
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t max_output = 1 << 20;
constexpr std::size_t max_complaint = 2000;  // bytes of standard error that are shown; the rest is read and dropped
constexpr std::size_t max_server = 2048;     // fits a pipe's buffer, so that writing it never waits

class File {
 public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~File() { close(); }
  int get() const noexcept { return descriptor_; }
  bool is_open() const noexcept { return descriptor_ >= 0; }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_;
};

struct Pipe {
  File reading;
  File writing;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw Error(ErrorKind::image_access, fmt::format("no pipe for a credential helper: {}", std::strerror(errno)));
    reading = File(ends[0]);
    writing = File(ends[1]);
  }
};

std::string program_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path ? path : "", ':')) {
    if (!folder.starts_with('/')) continue;  // an empty or relative one means the current folder: anybody's
    const std::string candidate = fmt::format("{}/{}", folder, program);
    struct stat status {};
    if (::stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  return "";
}

struct FileActions {
  posix_spawn_file_actions_t value{};
  FileActions() { ::posix_spawn_file_actions_init(&value); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&value); }
};

struct Attributes {
  posix_spawnattr_t value{};
  Attributes() { ::posix_spawnattr_init(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { ::posix_spawnattr_destroy(&value); }
};

/// A child in a process group of its own, which ends with this object.
class Child {
 public:
  Child(const std::string& path, const std::string& program, int input, int output, int complaints) {
    FileActions actions;
    ::posix_spawn_file_actions_adddup2(&actions.value, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions.value, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions.value, complaints, STDERR_FILENO);
    Attributes attributes;
    sigset_t none;
    sigset_t usual;
    ::sigemptyset(&none);
    ::sigemptyset(&usual);
    ::sigaddset(&usual, SIGPIPE);  // ours is ignored, and that would be inherited
    ::posix_spawnattr_setsigmask(&attributes.value, &none);
    ::posix_spawnattr_setsigdefault(&attributes.value, &usual);
    ::posix_spawnattr_setpgroup(&attributes.value, 0);
    ::posix_spawnattr_setflags(&attributes.value,
                               POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::string name = program;
    std::string verb = "get";
    char* arguments[] = {name.data(), verb.data(), nullptr};
    const int failed = ::posix_spawn(&id_, path.c_str(), &actions.value, &attributes.value, arguments, environ);
    if (failed != 0) {
      throw Error(ErrorKind::image_access,
                  fmt::format("cannot start {}: {}", escape_for_display(path), std::strerror(failed)));
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (has_ended()) return;
    ::kill(-id_, SIGKILL);
    while (::waitpid(id_, &status_, 0) < 0 && errno == EINTR) {
    }
  }

  bool has_ended() {
    if (ended_) return true;
    const pid_t waited = ::waitpid(id_, &status_, WNOHANG);
    ended_ = waited == id_ || (waited < 0 && errno != EINTR);
    return ended_;
  }
  int status() const noexcept { return status_; }  // as waitpid tells it, once it has ended

 private:
  pid_t id_ = 0;
  bool ended_ = false;
  int status_ = 0;
};

struct Output {
  std::string text;
  std::string complaint;
  int status = 0;
};

/// What is there now; closes the file at its end. Bytes beyond `limit` are dropped, or are an error.
void read_some(File& file, std::string& into, std::size_t limit, bool strict, const std::string& program) {
  std::array<char, 4096> buffer{};
  const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) {
    file.close();
    return;
  }
  const auto size = static_cast<std::size_t>(count);
  if (strict && into.size() + size > limit)
    throw Error(ErrorKind::image_access, fmt::format("{} writes more than {} bytes", program, limit));
  into.append(buffer.data(), std::min(size, limit - std::min(limit, into.size())));
}

Output run(const std::string& path, const std::string& program, const std::string& input, milliseconds limit) {
  Pipe to_child;
  Pipe from_child;
  Pipe complaints;
  // Before the child is there: both ends are ours, so this can neither wait nor raise SIGPIPE.
  if (::write(to_child.writing.get(), input.data(), input.size()) != static_cast<ssize_t>(input.size()))
    throw Error(ErrorKind::image_access, "cannot write to a pipe for " + program);
  to_child.writing.close();
  Child child(path, program, to_child.reading.get(), from_child.writing.get(), complaints.writing.get());
  to_child.reading.close();
  from_child.writing.close();
  complaints.writing.close();
  ::fcntl(from_child.reading.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(complaints.reading.get(), F_SETFL, O_NONBLOCK);

  Output output;
  const Clock::time_point end = Clock::now() + limit;
  // What it started may keep the pipes open for ever (an agent does); once it has ended itself, it has said all.
  bool ended = false;
  for (;;) {
    ended = child.has_ended();
    std::array<pollfd, 2> files{pollfd{from_child.reading.get(), POLLIN, 0},
                                pollfd{complaints.reading.get(), POLLIN, 0}};
    const int ready = ::poll(files.data(), files.size(), ended ? 0 : 20);
    if (ready > 0) {
      if (from_child.reading.is_open() && files[0].revents != 0)
        read_some(from_child.reading, output.text, max_output, true, program);
      if (complaints.reading.is_open() && files[1].revents != 0)
        read_some(complaints.reading, output.complaint, max_complaint, false, program);
    } else if (ended) {
      break;
    }
    if (Clock::now() >= end) {
      if (ended) break;
      throw Error(ErrorKind::image_access,
                  fmt::format("{} has not answered in {} s, and was stopped", program, limit.count() / 1000.0));
    }
  }
  output.status = child.status();
  return output;
}

bool is_helper_name(std::string_view name) {
  return !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

std::string said_by(const Output& output) {
  const std::string_view text = trim(output.complaint);
  return text.empty() ? "" : fmt::format(": {}", escape_for_display(text));
}

}  // namespace

std::optional<Credentials> ask_credential_helper(const std::string& name, const std::string& server,
                                                 milliseconds limit) {
  if (!is_helper_name(name)) {
    throw Error(ErrorKind::image_access,
                fmt::format("\"{}\" is no name of a credential helper",
                            escape_for_display(std::string_view(name).substr(0, 100))),
                "letters, digits, \".\", \"_\" and \"-\": the program is docker-credential-NAME");
  }
  const std::string program = "docker-credential-" + name;
  if (server.empty() || server.size() > max_server ||
      server.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos)
    throw Error(ErrorKind::image_access, fmt::format("{} cannot be asked about such a host", program));
  const std::string path = program_path(program);
  if (path.empty()) {
    throw Error(ErrorKind::image_access, fmt::format("the credential helper {} is not on PATH", program),
                "install it, or take it out of the file that names it (credsStore, credHelpers)");
  }
  const Output output = run(path, program, server, limit);
  if (!WIFEXITED(output.status) || WEXITSTATUS(output.status) != 0) {
    // The protocol has no other sign for it than this text on standard output.
    if (lower(output.text).find("credentials not found") != std::string::npos) return std::nullopt;
    const std::string how = WIFSIGNALED(output.status) ? fmt::format("was ended by signal {}", WTERMSIG(output.status))
                                                       : fmt::format("failed with {}", WEXITSTATUS(output.status));
    throw Error(ErrorKind::image_access, fmt::format("{} {}{}", program, how, said_by(output)),
                fmt::format("try it: echo {} | {} get", server, program));
  }
  nlohmann::json answer;
  try {
    answer = parse_json(output.text, program, {.bytes = max_output});
  } catch (const Error&) {
  }
  const auto text_of = [&](const char* key) -> std::optional<std::string> {
    const auto found = answer.is_object() ? answer.find(key) : answer.end();
    return answer.is_object() && found != answer.end() && found->is_string() ? std::optional(found->get<std::string>())
                                                                             : std::nullopt;
  };
  const auto user = text_of("Username");
  const auto secret = text_of("Secret");
  if (!user || !secret) {
    throw Error(ErrorKind::image_access,
                fmt::format("{} answered with something else than Username and Secret{}", program, said_by(output)));
  }
  if (secret->empty()) return std::nullopt;
  Credentials result;
  result.from = program;
  if (*user == "<token>") {
    result.identity_token = *secret;
  } else {
    result.user = *user;
    result.password = *secret;
  }
  return result;
}

}  // namespace imgforge
