// The newest set of versions that goes together, or the smallest reason why there is none.
//
// A search, newest first, over Beam, then Python, then the frameworks in the order asked, then CUDA. Three passes: only
// verified rows, then unverified ones too, then what the tables do not decide. Known errors shut a set out in each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check/compat.hpp"

namespace imgforge {

/// What was asked for: "beam=2.66 tensorflow gpu=nvidia-l4".
struct Wish {
  bool beam = false;
  std::optional<Version> beam_version;  // "2.66" is any 2.66.*
  std::optional<PythonMinor> python;
  struct Framework {
    std::string name;  // "tensorflow", "torch", "jax"
    std::optional<Version> version;
  };
  std::vector<Framework> frameworks;
  std::string gpu;                   // a type of the tables; empty: none
  std::string tpu;                   // the same
  std::string topology;              // of the TPU; empty: any
  std::optional<CudaOrigin> origin;  // cuda=wheels|base; unset: wheels where there are some, else base
  std::optional<Version> cuda;       // cuda=12.2: the minor, from wherever
  std::optional<Version> cudnn;      // cudnn=8.9: major, and minor where it is given
};

/// Reads the words of the command line. Throws Error(usage) on a word that is none, a name that is misspelt (with the
/// one that may be meant), a version that the tables do not hold (with the nearest that they do), and on a wish for
/// nothing.
Wish parse_wish(const Knowledge& knowledge, const std::vector<std::string>& words);

struct Solution {
  VersionSet set;
  std::vector<Judgement> judgements;    // judge() of the set
  bool certain = true;                  // none of them is unknown, but for what the tables are silent on
  std::string image;                    // what to put behind FROM: "apache/beam_python3.11_sdk:2.66.0"; empty: any
  std::vector<std::string> pip;         // requirements that install the frameworks: "tensorflow[and-cuda]==2.19.1"
  std::vector<std::string> find_links;  // URLs that pip needs for them
};

/// Why nothing fits: constraints of which no smaller part contradicts itself, and what the rows say about it.
struct Contradiction {
  std::vector<std::string> constraints;  // "beam=2.66", "python=3.6": one, two or more
  std::vector<Judgement> reasons;        // those that shut out the nearest sets; at most a handful
};

struct SolveResult {
  std::optional<Solution> solution;
  Contradiction contradiction;  // where there is no solution
};

/// Knowledge has to outlive the result.
SolveResult solve(const Knowledge& knowledge, const Wish& wish);

}  // namespace imgforge
