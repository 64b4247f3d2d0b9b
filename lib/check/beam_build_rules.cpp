// beam/* rules that judge the steps of a build: which images it names, what it asks pip for.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/steps.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

constexpr std::string_view build_page = "https://cloud.google.com/dataflow/docs/guides/build-container-image";
constexpr std::string_view images_page = "https://hub.docker.com/u/apache?search=beam";

std::string shown(const ImageUse& use) {
  return escape_for_display(use.reference ? use.reference->to_string() : use.written);
}

/// The instruction with the image's name replaced, or the name alone.
std::string line_with(const ImageUse& use, const std::string& image, SubjectKind kind) {
  if (kind == SubjectKind::recipe && use.role == ImageUse::Role::base) {
    return fmt::format("base: {{image: \"{}\"}}", escape_for_display(image));
  }
  return with_replaced(use.at.line, use.written, image).value_or(escape_for_display(image));
}

Answer wrong_final_stage(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr || !subject.judged_as.is_beam_worker() || build->stages.size() < 2)
    return Answer::not_applicable();
  const StageContract* better = better_stage(subject);
  if (better == nullptr) return Answer::pass();
  const std::string name = escape_for_display(better->stage);
  return Answer::finding(
      fmt::format("stage {} keeps the contract of a worker, but the last stage, {}, is what is built by default, and "
                  "it does not",
                  name, escape_for_display(build->stages.back().stage)),
      fmt::format("move stage {0} to the end, or end the Dockerfile with: FROM {0}  (or build with --target {0})",
                  name),
      {Evidence::at(build->stages.back().place), Evidence::at(better->place)});
}

/// An SDK image of a known release that the build uses; null where there is none.
const ImageUse* pinned_sdk_image(const Build& build) {
  for (const ImageUse& use : build.images) {
    if (is_sdk_image(use) && Version::parse(use.reference->tag())) return &use;
  }
  return nullptr;
}

bool pins_beam(const std::vector<PackageRequest>& requests) {
  return std::any_of(requests.begin(), requests.end(), [](const PackageRequest& one) {
    return one.name == "apache-beam" && one.requirement &&
           (one.requirement->specifiers().pinned() || !one.requirement->url().empty());
  });
}

Answer version_unpinned(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  const ImageUse* sdk = pinned_sdk_image(*build);
  if (sdk == nullptr) return Answer::not_applicable();
  const std::string& release = sdk->reference->tag();
  std::vector<Answer::Found> found;
  std::string open;
  bool asked = false;
  for (const PipInstall& install : build->pip) {
    if (!install.at.in_image || install.elsewhere) continue;
    for (const PackageRequest& request : install.requests) {
      // What does not parse ("apache-beam==" of an empty variable) has a fault of its own.
      if (request.name != "apache-beam" || !request.requirement) continue;
      asked = true;
      if (pins_beam(install.requests) || pins_beam(install.constraints)) continue;
      const auto sdk_release = Version::parse(release);
      // ~=2.66.0 and ==2.66.* stay with the SDK image when the next minor release comes.
      if (sdk_release && sdk_release->release().size() >= 2 && request.requirement->specifiers().contains(*sdk_release)) {
        const auto next = Version::parse(
            fmt::format("{}.{}.0", sdk_release->release()[0], sdk_release->release()[1] + 1));
        if (next && !request.requirement->specifiers().contains(*next)) continue;
      }
      // What no such release can fit: beam/sdk-version-mismatch.
      if (sdk_release && !request.requirement->specifiers().contains(sdk_release->base()) && subject.facts.beam().is_known() &&
          subject.facts.boot_version().is_known())
        continue;
      if (!install.not_known.empty()) {
        open = fmt::format("the version of apache-beam: {}", escape_for_display(install.not_known));
        continue;
      }
      std::string pinned = "apache-beam";
      if (!request.requirement->extras().empty()) pinned += "[" + join(request.requirement->extras(), ",") + "]";
      pinned += "==" + release;
      const Place place = request.place.line != 0 ? request.place : install.at.place;
      const bool in_step = place.file == install.at.place.file && subject.kind == SubjectKind::dockerfile;
      std::string fix = in_step ? with_replaced(install.at.line, request.written, pinned).value_or("") : std::string();
      if (fix.empty()) fix = escape_for_display(pinned);
      found.push_back(
          {std::nullopt,
           fmt::format(
               "{} takes the release of the day, and the SDK image is {}: they part with the next release of Beam",
               escape_for_display(request.written), shown(*sdk)),
           std::move(fix),
           {Evidence::at(place), at(sdk->at)}});
    }
  }
  return answer_of(std::move(found), open, asked);
}

bool copies_boot(const ImageUse& use) {
  return std::any_of(use.copied.begin(), use.copied.end(),
                     [](const std::string& path) { return path.starts_with("/opt/apache"); });
}

Answer boot_python_differs(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr || !subject.judged_as.is_beam_worker()) return Answer::not_applicable();
  for (const ImageUse& use : build->images) {
    if (use.role != ImageUse::Role::copy || !use.at.in_image || !copies_boot(use)) continue;
    const ImageUse* source = source_of(*build, use);
    if (source == nullptr || !is_sdk_image(*source) || !source->row || !source->row->python) continue;
    const Interpreter* interpreter = interpreter_of(subject);
    if (interpreter == nullptr) {
      return subject.facts.worker_python().is_unknown()
                 ? undecided_for("the interpreter that boot picks", subject.facts.worker_python())
                 : Answer::not_applicable();
    }
    const PythonMinor minor = *source->row->python;
    if (minor == interpreter->minor) return Answer::pass();
    const std::string own = "beam_python" + interpreter->minor.to_string() + "_sdk";
    std::string mended = source->written;
    const std::size_t position = mended.find("beam_python" + minor.to_string() + "_sdk");
    if (position != std::string::npos)
      mended.replace(position, own.size() - interpreter->minor.to_string().size() + minor.to_string().size(), own);
    return Answer::finding(fmt::format("boot comes from {}, the SDK image of Python {}, and the image runs Python {}: "
                                       "boot does not care, but whoever reads it is misled",
                                       shown(*source), minor.to_string(), interpreter->minor.to_string()),
                           position != std::string::npos ? line_with(*source, mended, subject.kind) : own,
                           join_evidence({{at(use.at)}, interpreter->evidence}));
  }
  return Answer::not_applicable();
}

Answer distroless_run(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  bool asked = false;
  for (const ImageUse& use : build->images) {
    if (use.role != ImageUse::Role::base || !is_sdk_image(use) || !repository_of(use).ends_with("_distroless"))
      continue;
    asked = true;
    if (!use.runs_steps) continue;
    std::string plain = use.written;
    const std::size_t position = plain.find("_distroless");
    if (position != std::string::npos) plain.erase(position, std::string_view("_distroless").size());
    found.push_back(found_at(use.at,
                             fmt::format("{} has no shell and no apt: a RUN step on it cannot work", shown(use)),
                             line_with(use, plain, subject.kind) +
                                 "  (or install in a stage on the plain SDK image, and copy /usr/local from it)"));
  }
  return asked ? Answer::findings(std::move(found)) : Answer::not_applicable();
}

Answer mutable_tag(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  std::string open;
  bool asked = false;
  for (const ImageUse& use : build->images) {
    const bool base = use.role == ImageUse::Role::base;
    if (!use.reference) {
      if (base && !use.not_known.empty() && use.at.in_image)
        open = "the base image: " + escape_for_display(use.not_known);
      continue;
    }
    // Tools of a build ("COPY --from=uv") may move: what the worker stands on may not.
    if (!base && !is_sdk_image(use) && !is_launcher_image(use)) continue;
    if (use.reference->repository() == "scratch" || use.reference->repository() == "library/scratch") continue;
    asked = true;
    const std::string& tag = use.reference->tag();
    if (use.reference->digest() || (!tag.empty() && tag != "latest")) continue;
    std::string written = use.written;
    if (written.ends_with(":latest")) written.resize(written.size() - std::string_view(":latest").size());
    const Fact<Version>& release = beam_release(subject);
    const bool known = is_sdk_image(use) && release.is_known();
    found.push_back(found_at(
        use.at,
        fmt::format("{} {}: it is another image after every release", shown(use),
                    tag.empty() ? "has no tag and means :latest" : "moves"),
        line_with(use, written + ":" + (known ? release->to_string() : std::string("VERSION")), subject.kind)));
  }
  return answer_of(std::move(found), open, asked);
}

// apache/beam: sdks/java/container, common.gradle and CHANGES.md say from and to which release each Java had an image.
struct JavaImage {
  unsigned java;
  std::string_view from;  // empty: since ever
  std::string_view through;
};
constexpr JavaImage java_images[] = {
    {8, "", "2.65.0"}, {11, "", ""}, {17, "", ""}, {21, "2.52.0", ""}, {25, "2.69.0", ""}};

/// What is wrong with the name of an SDK image.
struct NameFault {
  std::string message;
  std::string meant;  // the repository's last part; empty where nobody can tell
};

std::string last_part(const ImageUse& use) {
  const std::string repository = repository_of(use);
  return repository.substr(repository.rfind('/') + 1);
}

/// A repository in the SDK images' own namespaces that never was. Only names that mean to be an SDK image are judged.
std::optional<NameFault> name_fault(const std::string& name) {
  static const re2::RE2 python_name("beam_python\\d\\.\\d+_sdk(_distroless|_ml)?");
  static const re2::RE2 java_name("beam_java\\d+_sdk(_distroless)?");
  static const re2::RE2 other_name("beam_(go|typescript)_sdk(_distroless)?");
  static const re2::RE2 loose("beam[-_.]?python[-_.]?(\\d)[._-]?(\\d+)[-_.]?sdk([-_.]?(?:distroless|ml))?");
  if (re2::RE2::FullMatch(name, python_name) || re2::RE2::FullMatch(name, java_name) ||
      re2::RE2::FullMatch(name, other_name))
    return std::nullopt;
  std::string major;
  std::string minor;
  std::string variant;
  if (re2::RE2::FullMatch(name, loose, &major, &minor, &variant)) {
    while (!variant.empty() && (variant.front() == '-' || variant.front() == '_' || variant.front() == '.'))
      variant.erase(0, 1);
    return NameFault{"there is no such repository",
                     fmt::format("beam_python{}.{}_sdk{}{}", major, minor, variant.empty() ? "" : "_", variant)};
  }
  if (name.find("python") != std::string::npos)
    return NameFault{"there is no such repository: SDK images are called beam_pythonX.Y_sdk", {}};
  return std::nullopt;  // a job server, an older language: not judged
}

std::string pythons_of(const BeamRelease& row) {
  std::vector<std::string> minors;
  for (const PythonMinor& minor : row.pythons) minors.push_back(minor.to_string());
  return join_words(minors);
}

/// What is wrong with one SDK image; nothing where it is published, `open` where that cannot be told.
std::optional<Answer::Found> not_published(const Case& subject, const ImageUse& use, std::string& open) {
  const std::string name = last_part(use);
  const auto finding = [&](const std::string& why, const std::string& fix, bool unverified = false) {
    Answer::Found found = found_at(use.at, fmt::format("{} was never published: {}", shown(use), why), fix);
    if (unverified) found.level = Level::warning;
    return found;
  };
  const auto with_name = [&](const std::string& meant) {
    std::string written = use.written;
    const std::size_t position = written.find(name);
    if (position != std::string::npos) written.replace(position, name.size(), meant);
    return line_with(use, position != std::string::npos ? written : meant, subject.kind);
  };
  if (const auto fault = name_fault(name))
    return finding(fault->message, fault->meant.empty() ? "beam_pythonX.Y_sdk:VERSION" : with_name(fault->meant));
  const std::string& tag = use.reference->tag();
  if (tag.empty() || tag == "latest") return std::nullopt;  // beam/mutable-tag
  const auto version = Version::parse(tag);
  const auto& complete = subject.knowledge.beam_complete();
  if (!version || version->dev() || !version->local().empty() || version->post()) {
    open = fmt::format("whether {} was published: its tag is none of a release", shown(use));
    return std::nullopt;
  }
  const Version base = version->base();
  if (!complete || !complete->covers(base)) {
    open = fmt::format("whether {} was published: the tables hold {}", shown(use),
                       complete ? "Beam " + complete->from.to_string() + " to " + complete->through.to_string()
                                : std::string("no range"));
    return std::nullopt;
  }
  const auto with_tag = [&](const std::string& meant) {
    std::string written = use.written;
    const std::size_t position = written.rfind(tag);
    if (position != std::string::npos) written.replace(position, tag.size(), meant);
    return line_with(use, position != std::string::npos ? written : repository_of(use) + ":" + meant, subject.kind);
  };
  const BeamRelease* row = subject.knowledge.beam_release(*version);
  if (row == nullptr) {
    std::string nearest;
    for (const BeamRelease& other : subject.knowledge.beam_releases()) {
      if (other.version.major() == base.major() && other.version.minor() == base.minor())
        nearest = other.version.to_string();
    }
    return finding(fmt::format("there is no Beam {}", base.to_string()),
                   nearest.empty() ? "use a release of Beam" : with_tag(nearest));
  }
  if (version->release().size() < 3)
    return finding(fmt::format("tags have three parts, and this one has \"{}\"", escape_for_display(tag)),
                   with_tag(row->version.to_string()));

  std::string digits;
  static const re2::RE2 java_name("beam_java(\\d+)_sdk.*");
  if (re2::RE2::FullMatch(name, java_name, &digits)) {
    const auto java = std::find_if(std::begin(java_images), std::end(java_images),
                                   [&](const JavaImage& one) { return std::to_string(one.java) == digits; });
    if (java == std::end(java_images))
      return finding(fmt::format("there is no SDK image of Java {}", digits), with_name("beam_java17_sdk"));
    if (!java->from.empty() && base < *Version::parse(java->from))
      return finding(fmt::format("the images of Java {} begin with Beam {}", digits, java->from),
                     with_name("beam_java17_sdk"));
    if (!java->through.empty() && base > *Version::parse(java->through))
      return finding(fmt::format("the images of Java {} end with Beam {}", digits, java->through),
                     with_name("beam_java11_sdk"));
    return std::nullopt;
  }
  static const re2::RE2 python_name("beam_python(\\d\\.\\d+)_sdk(_[a-z]+)?");
  std::string variant;
  if (!re2::RE2::FullMatch(name, python_name, &digits, &variant)) return std::nullopt;
  const auto minor = PythonMinor::parse(digits);
  if (!minor) return std::nullopt;
  if (std::find(row->pythons.begin(), row->pythons.end(), *minor) == row->pythons.end()) {
    std::string newest;
    for (const BeamRelease& other : subject.knowledge.beam_releases()) {
      if (std::find(other.pythons.begin(), other.pythons.end(), *minor) != other.pythons.end())
        newest = other.version.to_string();
    }
    std::string fix = row->pythons.empty()
                          ? std::string()
                          : with_name("beam_python" + row->pythons.back().to_string() + "_sdk" + variant);
    if (!newest.empty()) fix += fmt::format("{}Beam {} for Python {}", fix.empty() ? "" : ", or ", newest, digits);
    return finding(fmt::format("Beam {} has images for Python {}", row->version.to_string(), pythons_of(*row)), fix,
                   row->unverified);
  }
  // Rows of variants name the releases that have them.
  if (!variant.empty() && !subject.knowledge.base_image(repository_of(use), tag)) {
    return finding(fmt::format("Beam {} has no {} image", row->version.to_string(), variant.substr(1)),
                   with_name("beam_python" + digits + "_sdk"));
  }
  if (!variant.empty()) {
    const Publication known = subject.knowledge.beam_publication(repository_of(use), tag);
    if (known.answer == Publication::Answer::no)
      return finding(known.why, with_name("beam_python" + digits + "_sdk"), known.unverified);
  }
  return std::nullopt;
}

Answer image_not_published(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  std::string open;
  bool asked = false;
  for (const ImageUse& use : build->images) {
    if (!use.reference || !is_sdk_image(use)) continue;
    asked = true;
    if (auto fault = not_published(subject, use, open)) found.push_back(std::move(*fault));
  }
  return answer_of(std::move(found), open, asked);
}

constexpr Rule rules[] = {
    {"beam/wrong-final-stage", Level::error, Reach::config, D,
     "an earlier stage satisfies the contract and the last one, which is built by default, does not",
     "docker build without --target builds the last stage.", "Put the worker's stage last.",
     "https://docs.docker.com/build/building/multi-stage/", wrong_final_stage},
    {"beam/version-unpinned", Level::warning, Reach::config, R | D,
     "apache-beam is installed without an exact version beside a pinned SDK image",
     "With the next release of Beam, pip's SDK and boot are of two releases.",
     "Pin apache-beam to the release of the SDK image.", build_page, version_unpinned},
    {"beam/boot-python-differs", Level::warning, Reach::config, D,
     "boot is copied from an SDK image of another Python minor",
     "boot is a Go program and works all the same; but the SDK image does not tell what the worker runs.",
     "Name the SDK image of the worker's own Python.",
     "https://github.com/apache/beam/blob/master/sdks/python/container/boot.go", boot_python_differs},
    {"beam/distroless-run", Level::error, Reach::config, R | D, "a RUN step stands on a _distroless SDK image",
     "There is no shell in it: the step cannot start.", "Use the plain SDK image, or install in another stage.",
     "https://github.com/apache/beam/tree/master/sdks/python/container/distroless", distroless_run},
    {"beam/mutable-tag", Level::warning, Reach::config, R | D, "the SDK, launcher or base image is untagged or :latest",
     "The same file gives another image after the next release.", "Name a release, or a digest.",
     "https://docs.docker.com/build/building/best-practices/#pin-base-image-versions", mutable_tag},
    {"beam/image-not-published", Level::error, Reach::config, R | D,
     "an SDK image name and tag that was never published", "The build ends: manifest unknown, or access denied.",
     "Use a name and tag that exist: apache/beam_pythonX.Y_sdk:VERSION.", images_page, image_not_published},
};

}  // namespace

std::span<const Rule> beam_build_rules() { return rules; }

}  // namespace imgforge
