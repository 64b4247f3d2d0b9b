// The tags of nvidia/cuda: which exist, and what to take instead.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "check/rule.hpp"
#include "facts/build.hpp"

namespace imgforge {

/// nvidia/cuda on Docker Hub or nvcr.io.
bool is_cuda_repository(const ImageUse& use);

/// Where the image is named.
Evidence at_step(const ImageUse& use);

struct TagVerdict {
  enum class There {
    yes,
    no,         // the table is complete there, and does not hold it
    withdrawn,  // it was there, and is not (or probably not) any more
    unknown,    // newer than the table, or nothing that it could judge
  };
  There there = There::unknown;
  std::string why;                   // of no and withdrawn
  std::vector<std::string> instead;  // tags that do exist, the nearest first
};

TagVerdict judge_cuda_tag(const Knowledge& knowledge, std::string_view tag);

/// Whether the tag's image was probably built before NVIDIA changed its repository keys (2022-04-28): a CUDA
/// before 11.7 of which a later update exists, so that nobody built it again.
bool before_key_rotation(const Knowledge& knowledge, const CudaImage& image);

}  // namespace imgforge
