#include "examples.hpp"

#include <algorithm>

extern "C" {
#define IMGFORGE_EXAMPLE(symbol, rule, file) \
  extern const char symbol##_begin[];        \
  extern const char symbol##_end[];
#include "examples.inc"
#undef IMGFORGE_EXAMPLE
}

namespace imgforge {

namespace {

struct Carried {
  std::string_view rule;
  std::string_view file;
  const char* begin;
  const char* end;
};

const Carried carried[] = {
#define IMGFORGE_EXAMPLE(symbol, rule, file) {rule, file, symbol##_begin, symbol##_end},
#include "examples.inc"
#undef IMGFORGE_EXAMPLE
};

}  // namespace

std::vector<Example> examples_of(std::string_view rule) {
  std::vector<Example> examples;
  for (const Carried& one : carried) {
    if (one.rule != rule) continue;
    examples.push_back(
        {one.rule, one.file, std::string_view(one.begin, static_cast<std::size_t>(one.end - one.begin))});
  }
  std::sort(examples.begin(), examples.end(),
            [](const Example& one, const Example& other) { return one.file > other.file; });
  return examples;
}

}  // namespace imgforge
