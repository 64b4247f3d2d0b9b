// Files that are on their way and must not be left behind by a run that is interrupted.
#pragma once

#include <string>

namespace imgforge {

/// While it lives, SIGINT, SIGTERM and SIGHUP, where they would end the process, delete the file first. The object is
/// made before the file is (with O_EXCL, under a name that nobody else takes), told once the file is there, and goes
/// once the file has another name or is deleted. Thread-safe. A path of more than 4,095 bytes, or the 65th at a time,
/// is not looked after.
class UnfinishedFile {
 public:
  /// `path` counts from `directory`, a folder's descriptor that stays open, or AT_FDCWD.
  UnfinishedFile(int directory, const std::string& path);
  ~UnfinishedFile();
  /// The file was made, or could not be. Until then a signal waits, for a second at most.
  void made() noexcept;
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

 private:
  int slot_ = -1;
};

/// Sixteen hex digits that nobody else has, for names of such files.
std::string unlikely_digits();

}  // namespace imgforge
