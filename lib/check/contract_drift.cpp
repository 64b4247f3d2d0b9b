#include "check/contract_drift.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "check/worker.hpp"
#include "facts/commands.hpp"
#include "facts/secrets.hpp"
#include "image/manifest.hpp"

namespace imgforge {

namespace {

constexpr std::size_t max_drifts = 50;

/// "12.2" holds for 12.2.140, "8.9.7" does not for 8.9.6.50; parts that one of them does not name do not count.
bool same_as_far_as_said(const Version& promised, const Version& found) {
  const auto& one = promised.release();
  const auto& other = found.release();
  return std::equal(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(std::min(one.size(), other.size())),
                    other.begin());
}

class Comparison {
 public:
  explicit Comparison(const Case& subject) : subject_(subject), facts_(subject.facts), recipe_(*subject.recipe) {}

  Answer answer() {
    distributions();
    system_packages();
    cuda();
    environment();
    labels();
    paths();
    if (subject_.label_differs) {
      drifts_.push_back("the recipe in its label is another one");
      evidence_.push_back(Evidence::in_label(std::string(recipe_label)));
    }
    if (!drifts_.empty()) {
      if (drifts_.size() > max_drifts) {
        const std::size_t more = drifts_.size() - max_drifts;
        drifts_.resize(max_drifts);
        drifts_.push_back(fmt::format("{} more", more));
      }
      return Answer::finding("the image is not what its recipe says: " + join(drifts_, "; "),
                             "rebuild the image from the recipe (imgforge render), or correct the recipe", evidence_);
    }
    return open_.empty() ? Answer::pass() : Answer::undecided(open_);
  }

 private:
  void drift(std::string text, std::string_view path) {
    drifts_.push_back(std::move(text));
    evidence_.push_back(Evidence::at(recipe_.place_of(path)));
  }

  void leave_open(const std::string& what) {
    if (open_.empty()) open_ = what;
  }

  /// The one that the worker's interpreter imports; of an image without one, the first of that name.
  const Distribution* installed(std::string_view name) const {
    if (facts_.worker_interpreter() != nullptr) {
      for (const Distribution* distribution : facts_.worker_distributions()) {
        if (distribution->name == name) return distribution;
      }
      return nullptr;
    }
    if (!facts_.distributions().is_known()) return nullptr;
    for (const Distribution& distribution : facts_.distributions().value()) {
      if (distribution.name == name) return &distribution;
    }
    return nullptr;
  }

  void distributions() {
    const bool unknown =
        facts_.distributions().is_unknown() || (is_python_worker(subject_) && facts_.worker_python().is_unknown());
    const bool promised = recipe_.beam_version || !recipe_.frameworks.empty() || !recipe_.packages.pip.empty();
    if (unknown && promised) {
      leave_open("the installed distributions");
      return;
    }
    if (unknown) return;
    // Beam of a worker: beam/not-installed names it where it is missing.
    if (recipe_.beam_version) {
      if (const Distribution* beam = installed("apache-beam"))
        compare("apache-beam", *recipe_.beam_version, *beam, "beam.version");
    }
    framework("tensorflow", recipe_.frameworks.tensorflow,
              {"tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel", "tensorflow-cpu-aws",
               "nvidia-tensorflow", "tf-nightly", "intel-tensorflow"});
    framework("torch", recipe_.frameworks.torch, {"torch"});
    framework("jax", recipe_.frameworks.jax, {"jax"});
    for (std::size_t i = 0; i < recipe_.packages.pip.size(); ++i) {
      const Requirement& wanted = recipe_.packages.pip[i];
      if (wanted.has_marker()) continue;
      const std::string path = fmt::format("packages.pip[{}]", i);
      const Distribution* distribution = installed(wanted.normalised());
      if (distribution == nullptr) {
        drift(fmt::format("{} is not installed", escape_for_display(wanted.name())), path);
      } else if (wanted.url().empty() && distribution->version &&
                 !wanted.specifiers().contains(*distribution->version)) {
        drift(fmt::format("{} is {} and not {}", escape_for_display(wanted.name()),
                          escape_for_display(distribution->version_text), wanted.specifiers().to_string()),
              path);
        evidence_.push_back(distribution->evidence);
      }
    }
  }

  /// `built` is of NVIDIA's own builds, whose versions are those of a commit: "2.3.0a0+40ec155e58.nv24.3".
  void compare(std::string_view name, const Version& wanted, const Distribution& found, std::string_view path) {
    const bool own_build =
        found.version && (found.version->local().find("nv") != std::string::npos || found.name == "nvidia-tensorflow");
    bool same = found.version && (own_build ? found.version->base() == wanted.base()
                                            : found.version->public_part() == wanted.public_part());
    if (same && !own_build && !wanted.local().empty()) same = *found.version == wanted;
    if (same) return;
    drift(fmt::format("{} is {} and not {}", name, escape_for_display(found.version_text), wanted.to_string()), path);
    evidence_.push_back(found.evidence);
  }

  void framework(std::string_view name, const std::optional<Version>& wanted,
                 std::initializer_list<std::string_view> packages) {
    if (!wanted) return;
    const std::string path = fmt::format("frameworks.{}", name);
    for (const std::string_view package : packages) {
      const Distribution* found = installed(package);
      if (found == nullptr) continue;
      compare(package, *wanted, *found, path);
      cuda_of_build(*found);
      return;
    }
    drift(fmt::format("{} {} is not installed", name, wanted->to_string()), path);
  }

  /// The CUDA that CUDA's wheels were asked for in, against the one that a wheel of PyTorch's index was built for.
  void cuda_of_build(const Distribution& found) {
    if (!recipe_.gpu || !recipe_.gpu->cuda.version || !found.version || recipe_.gpu->cuda.from != CudaFrom::wheels)
      return;
    const std::string& local = found.version->local();  // "cu121"
    if (!local.starts_with("cu") || local.size() < 4 || local.size() > 6 ||
        !to_number(std::string_view(local).substr(2)))
      return;
    const Version& wanted = *recipe_.gpu->cuda.version;
    if (wanted.release().size() < 2 || local == fmt::format("cu{}{}", wanted.major(), wanted.minor())) return;
    drift(fmt::format("{} is built for CUDA {}.{} ({}) and not {}", found.name, local.substr(2, local.size() - 3),
                      local.back(), local, wanted.to_string()),
          "accelerator.gpu.cuda.version");
    evidence_.push_back(found.evidence);
    cuda_named_ = true;
  }

  void cuda() {
    if (!recipe_.gpu) return;
    if (const auto& wanted = recipe_.gpu->cuda.version;
        wanted && !cuda_named_ && facts_.cuda().is_known() && !facts_.cuda()->empty()) {
      std::vector<std::string> others;
      bool open = false, found = false;
      std::vector<Evidence> evidence;
      for (const CudaToolkit& toolkit : facts_.cuda().value()) {
        open = open || !toolkit.version;
        if (!toolkit.version) continue;
        found = found || same_as_far_as_said(*wanted, *toolkit.version);
        others.push_back(escape_for_display(toolkit.version->to_string()));
        evidence.insert(evidence.end(), toolkit.evidence.begin(), toolkit.evidence.end());
      }
      if (!found && !open) {
        drift(fmt::format("CUDA is {} and not {}", join_words(others), wanted->to_string()),
              "accelerator.gpu.cuda.version");
        evidence_.insert(evidence_.end(), evidence.begin(), evidence.end());
      }
    }
    if (const auto& wanted = recipe_.gpu->cudnn.version;
        wanted && facts_.cudnn().is_known() && !facts_.cudnn()->empty()) {
      std::vector<std::string> others;
      std::vector<Evidence> evidence;
      bool found = false;
      for (const Cudnn& one : facts_.cudnn().value()) {
        const std::optional<Version> version = one.version ? one.version : Version::parse(std::to_string(one.major));
        found = found || !version || same_as_far_as_said(*wanted, *version);
        if (version) others.push_back(escape_for_display(version->to_string()));
        evidence.insert(evidence.end(), one.evidence.begin(), one.evidence.end());
      }
      if (!found) {
        drift(fmt::format("cuDNN is {} and not {}", join_words(others), wanted->to_string()),
              "accelerator.gpu.cudnn.version");
        evidence_.insert(evidence_.end(), evidence.begin(), evidence.end());
      }
    }
  }

  void system_packages() {
    if (recipe_.packages.apt.empty()) return;
    const auto& packages = facts_.system_packages();
    if (!packages.is_known()) {
      leave_open("the installed system packages: the image has no database of them");
      return;
    }
    for (std::size_t i = 0; i < recipe_.packages.apt.size(); ++i) {
      const std::string_view written = recipe_.packages.apt[i];
      const std::string_view name = written.substr(0, written.find_first_of("=:/"));
      const std::size_t equals = written.find('=');
      const std::string_view version =
          equals == std::string_view::npos ? std::string_view() : written.substr(equals + 1);
      const std::string path = fmt::format("packages.apt[{}]", i);
      const auto found = packages->find(std::string(name));
      if (found == packages->end()) {
        drift(fmt::format("the package {} is not installed", escape_for_display(name)), path);
        evidence_.insert(evidence_.end(), packages.evidence().begin(), packages.evidence().end());
      } else if (!version.empty() && !found->second.empty() && found->second != version &&
                 !glob_match(version, found->second)) {
        drift(fmt::format("the package {} is {} and not {}", escape_for_display(name),
                          escape_for_display(found->second), escape_for_display(version)),
              path);
        evidence_.insert(evidence_.end(), packages.evidence().begin(), packages.evidence().end());
      }
    }
  }

  void environment() {
    if (!facts_.env().is_known()) return;
    for (const auto& [name, value] : recipe_.env) {
      if (name.starts_with("TPU_")) continue;  // tpu/environment
      const auto actual = facts_.variable(name);
      if (actual && *actual == value) continue;
      drift(actual ? fmt::format("{} is \"{}\" and not \"{}\"", name, escape_for_display(shown_setting(name, *actual)),
                                 escape_for_display(shown_setting(name, value)))
                   : fmt::format("{} is not set", name),
            "env." + name);
      evidence_.push_back(facts_.variable_evidence(name));
    }
  }

  void labels() {
    if (!facts_.labels().is_known()) return;
    for (const auto& [name, value] : recipe_.labels) {
      if (name == recipe_label) continue;
      const auto actual = facts_.labels()->find(name);
      if (actual != facts_.labels()->end() && actual->second == value) continue;
      const std::string shown = escape_for_display(name);
      if (actual == facts_.labels()->end()) {
        drift(fmt::format("the label {} is not there", shown), "labels." + name);
      } else {
        drift(fmt::format("the label {} is \"{}\" and not \"{}\"", shown, escape_for_display(actual->second),
                          escape_for_display(value)),
              "labels." + name);
        evidence_.push_back(Evidence::in_label(name));
      }
    }
  }

  void paths() {
    const auto promised = [&](const std::string& path, const std::string& key) {
      if (path.empty() || !path.starts_with('/') || !facts_.has_path) return;
      const Fact<bool> there = facts_.has_path(path);
      if (there.is_unknown()) {
        leave_open(fmt::format("whether {} is there", escape_for_display(path)));
      } else if (!there.is_known() || !there.value()) {
        drift(fmt::format("{} is not there", escape_for_display(path)), key);
      }
    };
    for (std::size_t i = 0; i < recipe_.files.size(); ++i) promised(recipe_.files[i].to, fmt::format("files[{}]", i));
    promised(recipe_.flex.py_file, "flex.py_file");
    promised(recipe_.flex.requirements_file, "flex.requirements_file");
    promised(recipe_.flex.setup_file, "flex.setup_file");
    if (!recipe_.workdir.empty() && facts_.workdir().is_known() &&
        facts_.workdir()->path != absolute_path(recipe_.workdir, "/")) {
      drift(fmt::format("WORKDIR is {} and not {}", escape_for_display(facts_.workdir()->path), recipe_.workdir),
            "workdir");
      evidence_.push_back(Evidence::in_config("WorkingDir"));
    }
  }

  const Case& subject_;
  const Facts& facts_;
  const Recipe& recipe_;
  std::vector<std::string> drifts_;
  std::vector<Evidence> evidence_;
  std::string open_;
  bool cuda_named_ = false;
};

}  // namespace

Answer judge_contract_drift(const Case& subject) {
  if (subject.recipe != nullptr) return Comparison(subject).answer();
  return subject.recipe_problem.empty() ? Answer::not_applicable()
                                        : Answer::undecided("the recipe: " + subject.recipe_problem);
}

}  // namespace imgforge
