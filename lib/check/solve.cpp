#include "check/solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "base/text.hpp"
#include "check/cuda.hpp"

namespace imgforge {

namespace {

/// How much doubt a pass puts up with.
enum class Doubt { none, unverified, unknown };

/// GPUs and TPUs are given, not chosen: doubts about their rows are no reason to prefer another set.
bool is_doubtful(const Judgement& judgement) {
  return std::any_of(judgement.rows.begin(), judgement.rows.end(), [](const UsedRow& row) {
    return row.unverified && !row.what.starts_with("GPU ") && !row.what.starts_with("known issue ");
  });
}

bool passes(const Judgement& judgement, Doubt doubt) {
  switch (judgement.fits) {
    case Fits::no: return false;
    case Fits::unknown: return doubt == Doubt::unknown || judgement.silent;
    case Fits::yes: return doubt != Doubt::none || !is_doubtful(judgement);
  }
  return false;
}

/// The judgements that shut sets out, by how near to a solution the sets were: the farthest that the search came
/// counts.
class Reasons {
 public:
  void add(const Judgement& judgement, unsigned depth) {
    if (judgement.fits != Fits::no) return;
    if (depth > depth_) {
      depth_ = depth;
      all_.clear();
    }
    if (depth < depth_ || all_.size() >= limit) return;
    const auto same = [&](const Judgement& one) { return one.why == judgement.why; };
    if (std::none_of(all_.begin(), all_.end(), same)) all_.push_back(judgement);
  }
  std::vector<Judgement> all() const { return all_; }

 private:
  static constexpr std::size_t limit = 4;
  unsigned depth_ = 0;
  std::vector<Judgement> all_;
};

/// A framework's release with one of its builds: what the search chooses between.
std::vector<ChosenFramework> choices_of(const Knowledge& knowledge, const Wish& wish, const Wish::Framework& asked) {
  std::vector<ChosenFramework> all;
  for (const FrameworkBuild& build : knowledge.framework_builds()) {
    if (build.framework != asked.name || (build.version.is_prerelease() && !asked.version)) continue;
    if (asked.version && !is_version(build.version, *asked.version)) continue;
    if (wish.gpu.empty()) {
      all.push_back({&build, nullptr, CudaOrigin::wheels});
      continue;
    }
    for (const FrameworkBuild::Cuda& cuda : build.cuda) {
      // A build of another index than PyPI's has an address that the tables do not hold.
      if (!cuda.local.empty() && !cuda.on_pypi) continue;
      if (wish.cuda && !is_version(cuda.cuda, *Version::parse(cuda_minor(*wish.cuda)))) continue;
      if (wish.cudnn && !(cuda.cudnn && is_version(*cuda.cudnn, *wish.cudnn))) continue;
      const bool wheels = cuda.brings || (!build.cuda_extra.empty() && &cuda == &build.cuda.front());
      if (wheels && wish.origin != CudaOrigin::base) all.push_back({&build, &cuda, CudaOrigin::wheels});
      if (!cuda.brings && wish.origin != CudaOrigin::wheels) all.push_back({&build, &cuda, CudaOrigin::base});
    }
  }
  const auto rank = [](const ChosenFramework& one) {
    return std::pair(one.origin == CudaOrigin::wheels, one.cuda == nullptr ? Version() : one.cuda->cuda);
  };
  std::stable_sort(all.begin(), all.end(), [&](const ChosenFramework& one, const ChosenFramework& other) {
    if (one.build->version != other.build->version) return one.build->version > other.build->version;
    return rank(one) > rank(other);
  });
  return all;
}

/// Why a framework that was asked for has no choice at all: what is said of its newest release.
Judgement no_choice(const Knowledge& knowledge, const Wish& wish, const Wish::Framework& asked) {
  const FrameworkBuild* newest = nullptr;
  for (const FrameworkBuild& build : knowledge.framework_builds()) {
    if (build.framework == asked.name && (!asked.version || is_version(build.version, *asked.version))) newest = &build;
  }
  Judgement answer;
  answer.fits = Fits::no;
  const std::string name = framework_title(asked.name) + (newest == nullptr ? "" : " " + newest->version.to_string());
  if (newest != nullptr) answer.rows.push_back({name, newest->source, newest->unverified});
  std::vector<std::string> built;
  if (newest != nullptr) {
    for (const FrameworkBuild::Cuda& one : newest->cuda) {
      built.push_back(cuda_minor(one.cuda) + (one.cudnn ? " with cuDNN " + one.cudnn->to_string() : std::string()));
    }
  }
  if (built.empty()) {
    answer.why = fmt::format("the tables know of no CUDA that {} is built for", name);
  } else if (wish.cuda || wish.cudnn) {
    answer.why = asked.version
                     ? fmt::format("{} is built for CUDA {}", name, join_words(built))
                     : fmt::format("no release of {} is for that CUDA or cuDNN; the newest, {}, is built for CUDA {}",
                                   framework_title(asked.name), newest->version.to_string(), join_words(built));
  } else if (wish.origin == CudaOrigin::wheels) {
    answer.why = fmt::format("{} has no extra that brings CUDA as wheels", name);
  } else {
    answer.why = fmt::format("{} brings its CUDA as wheels, and has no build that takes it from the base image", name);
  }
  return answer;
}

/// CUDA of the base image and of wheels side by side is asking for the wrong library, but for a framework that brings
/// its own in any case.
bool mixes_origins(const ChosenFramework& one, const ChosenFramework& other) {
  if (one.cuda == nullptr || other.cuda == nullptr || one.origin == other.origin) return false;
  const ChosenFramework& wheels = one.origin == CudaOrigin::wheels ? one : other;
  return !wheels.cuda->brings;
}

/// Why two frameworks of which one takes CUDA from the base image do not go together.
Judgement mixed(const ChosenFramework& one, const ChosenFramework& other) {
  const ChosenFramework& wheels = one.origin == CudaOrigin::wheels ? one : other;
  const ChosenFramework& base = &wheels == &one ? other : one;
  const auto name = [](const ChosenFramework& choice) {
    return framework_title(choice.build->framework) + " " + choice.build->version.to_string();
  };
  Judgement answer;
  answer.fits = Fits::no;
  answer.why = fmt::format("{} takes CUDA from the base image and {} from wheels: one would load the other's libraries",
                           name(base), name(wheels));
  for (const ChosenFramework* choice : {&base, &wheels})
    answer.rows.push_back({name(*choice), choice->build->source, choice->build->unverified});
  return answer;
}

/// Everything a search goes through, with the answers about pairs that it keeps.
class Search {
 public:
  Search(const Knowledge& knowledge, const Wish& wish) : knowledge_(knowledge), wish_(wish) {
    if (!wish.gpu.empty()) base_.gpu = knowledge.gpu(wish.gpu);
    if (!wish.tpu.empty()) {
      for (const TpuType& row : knowledge.tpus()) {
        if (row.type == wish.tpu && (wish.topology.empty() || row.topology == wish.topology) && base_.tpu == nullptr)
          base_.tpu = &row;
      }
    }
    for (const Wish::Framework& one : wish.frameworks) {
      choices_.push_back(choices_of(knowledge, wish, one));
      if (choices_.back().empty()) reasons_.add(no_choice(knowledge, wish, one), 1);
    }
    for (const BeamRelease& row : knowledge.beam_releases()) {
      if (wish.beam && (!wish.beam_version || is_version(row.version, *wish.beam_version))) beams_.push_back(&row);
    }
    std::reverse(beams_.begin(), beams_.end());
    if (!wish.beam) beams_ = {nullptr};
    for (const PythonRelease& row : knowledge.python_releases()) {
      if (!wish.python || row.minor == *wish.python) pythons_.push_back(row.minor);
    }
    std::sort(pythons_.rbegin(), pythons_.rend());
    for (const CudaImage& image : knowledge.cuda_images()) {
      if (image.flavour == "runtime") images_[cuda_minor(image.cuda)].push_back(&image);
    }
    for (auto& [minor, images] : images_) {
      std::stable_sort(images.begin(), images.end(), [](const CudaImage* one, const CudaImage* other) {
        return std::pair(one->cuda, one->os) > std::pair(other->cuda, other->os);
      });
    }
  }

  std::optional<VersionSet> run(Doubt doubt) {
    doubt_ = doubt;
    chosen_.clear();
    serving_.clear();
    narrow();
    for (const BeamRelease* beam : beams_) {
      VersionSet set = base_;
      set.beam = beam;
      for (const PythonMinor& python : pythons_) {
        if (beam != nullptr && !take(beam_supports_python(knowledge_, beam->version, python), 1)) continue;
        set.python = python;
        if (add_framework(set, 0)) return set;
      }
    }
    return std::nullopt;
  }

  const Reasons& reasons() const { return reasons_; }

 private:
  bool take(const Judgement& judgement, unsigned depth) {
    if (passes(judgement, doubt_)) return true;
    reasons_.add(judgement, depth);
    return false;
  }

  /// The choices that hold on their own: kernels and toolkit for the GPU, a TPU's requirement.
  void narrow() {
    possible_.clear();
    for (const auto& all : choices_) {
      std::vector<const ChosenFramework*> kept;
      for (const ChosenFramework& one : all) {
        VersionSet alone = base_;
        alone.frameworks = {one};
        const auto judgements = judge(knowledge_, alone);
        const bool fits = std::all_of(judgements.begin(), judgements.end(),
                                      [&](const Judgement& judgement) { return take(judgement, 1); });
        if (fits && runs_on_tpu(one)) kept.push_back(&one);
      }
      possible_.push_back(std::move(kept));
    }
  }

  bool runs_on_tpu(const ChosenFramework& one) {
    if (base_.tpu == nullptr) return true;
    const FrameworkRelease* row = knowledge_.framework(one.build->framework, one.build->version);
    if (row != nullptr && !row->tpu_requirement.empty()) return true;
    Judgement answer;
    answer.fits = Fits::no;
    answer.why = fmt::format("{} {} has no requirement that brings the TPU runtime",
                             framework_title(one.build->framework), one.build->version.to_string());
    if (row != nullptr)
      answer.rows.push_back({answer.why.substr(0, answer.why.find(" has")), row->source, row->unverified});
    reasons_.add(answer, 1);
    return false;
  }

  bool add_framework(VersionSet& set, std::size_t index) {
    if (index == possible_.size()) return add_image(set);
    const unsigned depth = 2 + static_cast<unsigned>(index) * 2;
    for (const ChosenFramework* one : possible_[index]) {
      if (!goes_with_python(*one, set, depth) || !goes_with_others(*one, depth)) continue;
      set.frameworks.push_back(*one);
      chosen_.push_back(one);
      if (add_framework(set, index + 1)) return true;
      set.frameworks.pop_back();
      chosen_.pop_back();
    }
    return false;
  }

  bool goes_with_python(const ChosenFramework& one, const VersionSet& set, unsigned depth) {
    if (!take(framework_supports_python(*one.build, *set.python), depth)) return false;
    if (needs_image(one) && images_for(one, *set.python, depth).empty()) return false;
    if (set.beam == nullptr) return true;
    const auto key = std::tuple(one.build, set.beam, *set.python);
    auto found = with_beam_.find(key);
    if (found == with_beam_.end())
      found =
          with_beam_.emplace(key, std::vector{requirements_meet(knowledge_, *one.build, *set.beam, *set.python)}).first;
    return take_known(found->second, depth + 1);
  }

  bool goes_with_others(const ChosenFramework& one, unsigned depth) {
    return std::all_of(chosen_.begin(), chosen_.end(), [&](const ChosenFramework* other) {
      if (mixes_origins(one, *other)) {
        reasons_.add(mixed(one, *other), depth + 1);
        return false;
      }
      const auto key = std::pair<const void*, const void*>(&one, other);
      auto found = pairs_.find(key);
      if (found == pairs_.end()) found = pairs_.emplace(key, of_pair(*other, one)).first;
      return take_known(found->second, depth + 1);
    });
  }

  /// What there is to say of two frameworks, whatever Beam and Python.
  std::vector<Judgement> of_pair(const ChosenFramework& one, const ChosenFramework& other) const {
    const bool wheels = one.cuda != nullptr && other.cuda != nullptr && one.origin == CudaOrigin::wheels &&
                        other.origin == CudaOrigin::wheels;
    VersionSet pair = base_;
    pair.frameworks = {one, other};
    std::vector<Judgement> all = known_issues_with(knowledge_, pair);
    all.push_back(requirements_meet(*one.build, *other.build, wheels));
    if (needs_image(one) && needs_image(other) && !loads_cuda(one.cuda->cuda, other.cuda->cuda).value_or(true) &&
        !loads_cuda(other.cuda->cuda, one.cuda->cuda).value_or(true)) {
      const std::vector<UsedRow> rows = all.back().rows;
      Judgement& two = all.emplace_back();
      two.fits = Fits::no;
      two.why = fmt::format("no base image has both CUDAs: {} {} is built for {}, {} {} for {}",
                            framework_title(one.build->framework), one.build->version.to_string(),
                            cuda_minor(one.cuda->cuda), framework_title(other.build->framework),
                            other.build->version.to_string(), cuda_minor(other.cuda->cuda));
      two.rows = rows;
    }
    return all;
  }

  /// Of requirements, nothing in common is no doubt.
  bool take_known(const std::vector<Judgement>& judgements, unsigned depth) {
    return std::all_of(judgements.begin(), judgements.end(), [&](const Judgement& judgement) {
      return judgement.fits == Fits::unknown || take(judgement, depth);
    });
  }

  static bool needs_image(const ChosenFramework& one) { return one.cuda != nullptr && one.origin == CudaOrigin::base; }

  /// The images of nvidia/cuda that serve a framework and have the Python, newest first. Kept for the pass.
  const std::vector<const CudaImage*>& images_for(const ChosenFramework& one, const PythonMinor& python,
                                                  unsigned depth) {
    const auto [kept, is_new] = serving_.try_emplace({&one, python});
    if (!is_new) return kept->second;
    const auto found = images_.find(cuda_minor(one.cuda->cuda));
    if (found == images_.end()) {
      Judgement answer;
      answer.fits = Fits::no;
      answer.why = fmt::format("the tables know of no image of nvidia/cuda with CUDA {}", cuda_minor(one.cuda->cuda));
      answer.rows.push_back({framework_title(one.build->framework) + " " + one.build->version.to_string(),
                             one.build->source, one.build->unverified});
      reasons_.add(answer, depth);
      return kept->second;
    }
    for (const CudaImage* image : found->second) {
      if (take(image_serves(*image, *one.cuda), depth) &&
          take(distribution_has_python(knowledge_, image->os, python), depth))
        kept->second.push_back(image);
    }
    return kept->second;
  }

  bool add_image(VersionSet& set) {
    const unsigned depth = 2 + static_cast<unsigned>(possible_.size()) * 2;
    bool asked = false;
    for (const ChosenFramework* one : chosen_) {
      if (!needs_image(*one)) continue;
      asked = true;
      for (const CudaImage* image : images_for(*one, *set.python, depth)) {
        set.image = image;
        if (holds(set, depth)) return true;
      }
    }
    if (!asked) return holds(set, depth);
    set.image = nullptr;
    return false;
  }

  /// The whole set by every predicate.
  bool holds(const VersionSet& set, unsigned depth) {
    const auto judgements = judge(knowledge_, set);
    return std::all_of(judgements.begin(), judgements.end(),
                       [&](const Judgement& judgement) { return take(judgement, depth); });
  }

  const Knowledge& knowledge_;
  const Wish& wish_;
  VersionSet base_;
  Doubt doubt_ = Doubt::none;
  std::vector<std::vector<ChosenFramework>> choices_;
  std::vector<std::vector<const ChosenFramework*>> possible_;
  std::vector<const BeamRelease*> beams_;
  std::vector<PythonMinor> pythons_;
  std::map<std::string, std::vector<const CudaImage*>> images_;  // runtime images by CUDA minor, newest first
  std::vector<const ChosenFramework*> chosen_;                   // what of possible_ is in the set that is being built
  std::map<std::pair<const void*, const void*>, std::vector<Judgement>> pairs_;
  // By Python, too: what the SDK image of a minor ships is part of the answer.
  std::map<std::tuple<const FrameworkBuild*, const BeamRelease*, PythonMinor>, std::vector<Judgement>> with_beam_;
  std::map<std::pair<const ChosenFramework*, PythonMinor>, std::vector<const CudaImage*>> serving_;
  Reasons reasons_;
};

std::string requirement_of(const Knowledge& knowledge, const VersionSet& set, const ChosenFramework& one,
                           std::vector<std::string>& find_links) {
  const FrameworkRelease* row = knowledge.framework(one.build->framework, one.build->version);
  std::string name = one.build->framework;
  std::string links;
  if (set.tpu != nullptr && row != nullptr && !row->tpu_requirement.empty()) {
    name = row->tpu_requirement;
    links = row->tpu_find_links;
  } else if (one.cuda != nullptr && one.origin == CudaOrigin::wheels) {
    name = row != nullptr && !row->gpu_requirement.empty() ? row->gpu_requirement
           : one.build->cuda_extra.empty()                 ? name
                                                           : fmt::format("{}[{}]", name, one.build->cuda_extra);
    if (row != nullptr) links = row->gpu_find_links;
  }
  if (!links.empty() && std::find(find_links.begin(), find_links.end(), links) == find_links.end())
    find_links.push_back(links);
  return fmt::format("{}=={}", name, one.build->version.to_string());
}

Solution finish(const Knowledge& knowledge, VersionSet set) {
  Solution solution;
  solution.judgements = judge(knowledge, set);
  solution.certain =
      std::none_of(solution.judgements.begin(), solution.judgements.end(),
                   [](const Judgement& judgement) { return judgement.fits == Fits::unknown && !judgement.silent; });
  for (const ChosenFramework& one : set.frameworks)
    solution.pip.push_back(requirement_of(knowledge, set, one, solution.find_links));
  if (set.image != nullptr) {
    solution.image = "nvidia/cuda:" + set.image->tag;
  } else if (set.beam != nullptr && set.python) {
    const std::string repository = fmt::format("apache/beam_python{}_sdk", set.python->to_string());
    const std::string version = set.beam->version.to_string();
    const Publication published = knowledge.beam_publication("docker.io/" + repository, version);
    if (published.answer != Publication::Answer::no) solution.image = repository + ":" + version;
  }
  solution.set = std::move(set);
  return solution;
}

std::optional<VersionSet> find(const Knowledge& knowledge, const Wish& wish, std::vector<Judgement>* reasons) {
  Search search(knowledge, wish);
  for (const Doubt doubt : {Doubt::none, Doubt::unverified, Doubt::unknown}) {
    if (auto set = search.run(doubt)) return set;
  }
  if (reasons != nullptr) *reasons = search.reasons().all();
  return std::nullopt;
}

/// One thing that was asked for, and what takes it into a wish.
struct Constraint {
  std::string text;
  std::function<void(Wish&)> apply;
};

std::vector<Constraint> constraints_of(const Wish& wish) {
  std::vector<Constraint> all;
  const auto suffix = [](const std::optional<Version>& version) {
    return version ? "=" + version->to_string() : std::string();
  };
  if (wish.beam) {
    all.push_back({"beam" + suffix(wish.beam_version), [&wish](Wish& part) {
                     part.beam = true;
                     part.beam_version = wish.beam_version;
                   }});
  }
  if (wish.python)
    all.push_back({"python=" + wish.python->to_string(), [&wish](Wish& part) { part.python = wish.python; }});
  for (const Wish::Framework& one : wish.frameworks)
    all.push_back({one.name + suffix(one.version), [&one](Wish& part) { part.frameworks.push_back(one); }});
  if (!wish.gpu.empty()) all.push_back({"gpu=" + wish.gpu, [&wish](Wish& part) { part.gpu = wish.gpu; }});
  if (!wish.tpu.empty()) {
    all.push_back({"tpu=" + wish.tpu, [&wish](Wish& part) {
                     part.tpu = wish.tpu;
                     part.topology = wish.topology;
                   }});
  }
  if (wish.origin) {
    all.push_back({wish.origin == CudaOrigin::base ? "cuda=base" : "cuda=wheels",
                   [&wish](Wish& part) { part.origin = wish.origin; }});
  }
  if (wish.cuda) all.push_back({"cuda" + suffix(wish.cuda), [&wish](Wish& part) { part.cuda = wish.cuda; }});
  if (wish.cudnn) all.push_back({"cudnn" + suffix(wish.cudnn), [&wish](Wish& part) { part.cudnn = wish.cudnn; }});
  return all;
}

/// Takes away one constraint after the other for as long as the rest still contradicts itself: no part of what is left
/// does. Cheaper than trying all pairs first, and as small as it gets where one pair is at fault.
Contradiction smallest(const Knowledge& knowledge, const Wish& wish) {
  std::vector<Constraint> left = constraints_of(wish);
  Contradiction answer;
  const auto fails = [&](const std::vector<Constraint>& constraints) {
    Wish part;
    for (const Constraint& one : constraints) one.apply(part);
    std::vector<Judgement> reasons;
    if (find(knowledge, part, &reasons)) return false;
    answer.reasons = std::move(reasons);
    return true;
  };
  // Details first, so that what is left is what the user thinks in.
  for (std::size_t index = left.size(); index-- > 0;) {
    if (left.size() == 1) break;
    std::vector<Constraint> without = left;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(index));
    if (fails(without)) left = std::move(without);
  }
  static_cast<void>(fails(left));
  for (const Constraint& one : left) answer.constraints.push_back(one.text);
  return answer;
}

}  // namespace

SolveResult solve(const Knowledge& knowledge, const Wish& wish) {
  SolveResult result;
  if (auto set = find(knowledge, wish, nullptr)) {
    result.solution = finish(knowledge, std::move(*set));
  } else {
    result.contradiction = smallest(knowledge, wish);
  }
  return result;
}

}  // namespace imgforge
