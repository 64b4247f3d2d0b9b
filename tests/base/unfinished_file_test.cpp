// What an interrupted run leaves behind: nothing.
#include "base/unfinished_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"

using namespace imgforge;

namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/imgforge-test-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& item : std::filesystem::directory_iterator(path)) result.push_back(item.path().filename());
    return result;
  }
  std::string path;
};

void make(const std::string& path) { ::close(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600)); }

/// Runs it in a child whose signals are as a shell leaves them; how that ended.
int status_of(const auto& run) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_DFL);
    run();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("a signal that ends the process deletes what is unfinished, and only that", "[file][hostile]") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const Folder folder;
    const int status = status_of([&] {
      const int directory = ::open(folder.path.c_str(), O_RDONLY | O_DIRECTORY);
      const UnfinishedFile relative(directory, "relative");
      make(folder.path + "/relative");
      const UnfinishedFile absolute(AT_FDCWD, folder.path + "/absolute");
      make(folder.path + "/absolute");
      {
        const UnfinishedFile finished(AT_FDCWD, folder.path + "/finished");
        make(folder.path + "/finished");
      }
      ::raise(number);
    });
    // It ends by the signal, so that a shell and make see what happened.
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == number);
    CHECK(folder.names() == std::vector<std::string>{"finished"});
  }
}

TEST_CASE("a signal that is ignored stays ignored", "[file]") {
  const Folder folder;
  const int status = status_of([&] {
    ::signal(SIGHUP, SIG_IGN);  // as nohup does
    const UnfinishedFile file(AT_FDCWD, folder.path + "/file");
    make(folder.path + "/file");
    ::raise(SIGHUP);
  });
  CHECK(WIFEXITED(status));
  CHECK(folder.names() == std::vector<std::string>{"file"});
}

TEST_CASE("more unfinished files than are looked after, and paths that are too long", "[file]") {
  const Folder folder;
  const int status = status_of([&] {
    std::vector<std::optional<UnfinishedFile>> files(100);
    for (std::size_t i = 0; i < files.size(); ++i) {
      files[i].emplace(AT_FDCWD, folder.path + "/" + std::to_string(i));
      make(folder.path + "/" + std::to_string(i));
    }
    const UnfinishedFile endless(AT_FDCWD, std::string(100'000, 'x'));
    ::raise(SIGTERM);
  });
  CHECK(WIFSIGNALED(status));
  CHECK(folder.names().size() == 36);
}

TEST_CASE("however a run that writes is interrupted, there is the old file or the new one", "[file][hostile]") {
  const Folder folder;
  const std::string content(1 << 20, 'x');
  const auto handler = ::signal(SIGINT, SIG_DFL);  // not the test program's, from a child's first moment on
  for (int round = 0; round < 20; ++round) {
    const ::pid_t child = ::fork();
    if (child == 0) {
      std::vector<std::jthread> threads;
      for (int number = 0; number < 4; ++number) {
        threads.emplace_back([&, number] {
          try {
            for (;;) write_file_atomically(folder.path + "/file" + std::to_string(number), content);
          } catch (const Error&) {
            // Who has no handler at all would end the process before it is unwound.
          }
        });
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10 + round));
    ::kill(child, SIGINT);
    ::waitpid(child, nullptr, 0);
    for (const std::string& name : folder.names()) {
      CAPTURE(round, name);
      CHECK(name.size() == 5);
      CHECK(std::filesystem::file_size(folder.path + "/" + name) == content.size());
    }
  }
  ::signal(SIGINT, handler);
}
