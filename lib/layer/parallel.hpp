// The same for each of some numbers, on as many threads as a layer's reading is worth.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace imgforge {

/// Calls `work` for each number, in this order, on several threads. After a failure no more are begun; what the first
/// of the numbers in ascending order threw comes out, once all threads have ended.
void in_parallel(const std::vector<std::size_t>& numbers, const std::function<void(std::size_t)>& work);

}  // namespace imgforge
