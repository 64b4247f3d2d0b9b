// The standard output of a program as a stream. No shell is in between; the program ends with the reader.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "image/source.hpp"

namespace imgforge {

/// The program's path by $PATH, "" where it is not there. Relative folders of PATH are left out: they are anybody's.
std::string program_path(const std::string& program);

/// Starts arguments[0] (an absolute path) in a process group of its own, with no standard input. At the end of its
/// output its exit code is looked at: Error(image_access) with what it wrote to standard error, unless it is 0; the
/// reader then never says that the stream has ended. A program that gives nothing for `stall` is an error, too.
/// Whoever destroys the reader earlier, ends the program.
std::unique_ptr<ByteReader> start_program(const std::vector<std::string>& arguments,
                                          std::chrono::milliseconds stall = std::chrono::minutes(30));

}  // namespace imgforge
