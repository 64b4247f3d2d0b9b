// What breaks a hand-written Dockerfile, whatever the image is for.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/steps.hpp"

namespace imgforge {

namespace {

constexpr std::string_view reference_page = "https://docs.docker.com/reference/dockerfile/";
constexpr std::size_t most_findings = 100;  // of one rule in one file; whoever mends these sees the next ones
constexpr std::string_view comment_error = "can't find = in \"#";  // BuildKit's words for a comment behind an ENV value

bool is_env_comment(const Diagnostic& diagnostic) {
  return diagnostic.message.find(comment_error) != std::string::npos;
}

bool same_line(const Place& one, const Place& other) { return one.file == other.file && one.line == other.line; }

void keep_first(std::vector<Answer::Found>& found) {
  if (found.size() > most_findings) found.resize(most_findings);
}

Answer all_of(std::vector<Answer::Found> found) {
  keep_first(found);
  return Answer::findings(std::move(found));
}

Answer syntax(const Case& subject) {
  const Build* build = subject.facts.build.get();
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  for (const Diagnostic& diagnostic : build->syntax) {
    if (diagnostic.level != Diagnostic::Level::error || is_env_comment(diagnostic)) continue;
    const bool named = std::any_of(build->env_comments.begin(), build->env_comments.end(),
                                   [&](const StepPlace& step) { return same_line(step.place, diagnostic.place); });
    if (named) continue;
    found.push_back({std::nullopt,
                     escape_for_display(diagnostic.message),
                     diagnostic.hint.empty() ? "write the line as the Dockerfile reference has it" : diagnostic.hint,
                     {Evidence::at(diagnostic.place)}});
  }
  return all_of(std::move(found));
}

/// The instruction without its comment; nothing where no " #" is in it.
std::optional<std::string> without_comment(std::string_view line) {
  const std::size_t hash = line.find(" #");
  if (hash == std::string_view::npos) return std::nullopt;
  std::string_view kept = line.substr(0, hash);
  while (!kept.empty() && kept.back() == ' ') kept.remove_suffix(1);
  return escape_for_display(std::string(kept));
}

Answer env_inline_comment(const Case& subject) {
  const Build* build = subject.facts.build.get();
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  const auto add = [&](const Place& place, std::string_view line) {
    for (const Answer::Found& other : found) {
      if (same_line(other.evidence.front().place, place)) return;
    }
    found.push_back(
        {std::nullopt,
         "a \"#\" behind a value is no comment in a Dockerfile: its words are read as more NAME=value pairs, or become "
         "part of the value",
         without_comment(line).value_or("keep the value alone") + "  (and the comment on a line of its own above)",
         {Evidence::at(place)}});
  };
  for (const StepPlace& step : build->env_comments) {
    if (found.size() < most_findings) add(step.place, step.line);
  }
  for (const Diagnostic& diagnostic : build->syntax) {
    if (is_env_comment(diagnostic) && found.size() < most_findings) add(diagnostic.place, diagnostic.line_text);
  }
  return all_of(std::move(found));
}

Answer copy_from_variable(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  for (const ImageUse& use : build->images) {
    if (use.role != ImageUse::Role::copy || !use.has_variable) continue;
    const std::string written = escape_for_display(use.written);
    const std::string copy = with_replaced(use.at.line, use.written, "source").value_or("COPY --from=source ...");
    found.push_back(found_at(
        use.at,
        fmt::format("COPY --from={}: --from is never expanded, so the image is looked for under that very name",
                    written),
        fmt::format("FROM {} AS source  (a stage above, with its ARGs before the first FROM), then {}", written,
                    copy)));
  }
  return all_of(std::move(found));
}

bool sets_itself(const VariableUse& use) {
  return use.instruction == "ENV" && use.name.ends_with("PATH") &&
         use.at.line.find(use.name + "=") != std::string::npos;
}

Answer undeclared_variable(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  for (const VariableUse& use : build->undeclared) {
    // cuda/ld-path-dangling names a search path that grows upon itself, dockerfile/copy-from-variable a --from.
    if (!use.breaks || sets_itself(use)) continue;
    const bool of_copy = std::any_of(build->images.begin(), build->images.end(), [&](const ImageUse& image) {
      return image.role == ImageUse::Role::copy && image.has_variable && same_line(image.at.place, use.at.place) &&
             image.written.find(use.name) != std::string::npos;
    });
    if (of_copy) continue;
    const std::string name = escape_for_display(use.name);
    const std::string becomes = use.result.empty() ? "nothing" : "\"" + escape_for_display(use.result) + "\"";
    const std::string message =
        use.global_arg
            ? fmt::format(
                  "${{{}}} is empty here: its ARG stands before FROM, and the stage does not declare it again; the "
                  "word becomes {}",
                  name, becomes)
            : fmt::format("${{{}}} is declared by no ARG or ENV in scope; the word becomes {}", name, becomes);
    const std::string fix = use.global_arg ? fmt::format("ARG {}  (in this stage, after its FROM)", name)
                            : use.instruction == "FROM"
                                ? fmt::format("ARG {}=VALUE  (before the first FROM)", name)
                                : fmt::format("ARG {}=VALUE  (in this stage, before this line)", name);
    found.push_back(found_at(use.at, message, fix));
  }
  return all_of(std::move(found));
}

Answer invalid_reference(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  for (const ImageUse& use : build->images) {
    if (use.wrong.empty() || (use.role == ImageUse::Role::copy && use.has_variable)) continue;
    const bool undeclared = std::any_of(
        build->undeclared.begin(), build->undeclared.end(),
        [&](const VariableUse& variable) { return variable.breaks && same_line(variable.at.place, use.at.place); });
    if (undeclared) continue;  // dockerfile/undeclared-variable says why it comes to this
    const std::string written = escape_for_display(use.written);
    const std::string expanded = use.expanded.empty() || use.expanded == use.written
                                     ? std::string()
                                     : fmt::format(" (that is \"{}\")", escape_for_display(use.expanded));
    std::string fix = "name it as [HOST/]NAME:TAG, all lower case";
    std::string_view mended = use.written;
    while (!mended.empty() && (mended.back() == ':' || mended.back() == '@')) mended.remove_suffix(1);
    if (mended.size() != use.written.size() && !mended.empty()) {
      fix = with_replaced(use.at.line, use.written, std::string(mended) + ":TAG")
                .value_or(fmt::format("{}:TAG", escape_for_display(std::string(mended))));
    } else if (const std::string small = lower(use.written); small != use.written && Reference::parse(small)) {
      fix = with_replaced(use.at.line, use.written, small).value_or(escape_for_display(small));
    }
    found.push_back(found_at(
        use.at, fmt::format("\"{}\"{} can be no image: {}", written, expanded, escape_for_display(use.wrong)), fix));
  }
  return all_of(std::move(found));
}

Answer empty_install_list(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  const auto add = [&](const StepPlace& step, std::string_view program) {
    found.push_back(found_at(
        step,
        fmt::format(
            "{} is asked to install, and no package is named: the names were lost, or the command is a leftover",
            escape_for_display(program)),
        "name the packages on this command, or drop it"));
  };
  for (const PipInstall& install : build->pip) {
    if (install.empty && install.not_known.empty()) add(install.at, install.uses_uv ? "uv pip" : "pip");
  }
  for (const AptInstall& install : build->apt) {
    if (install.empty && install.not_known.empty()) add(install.at, install.program);
  }
  for (const CondaInstall& install : build->conda) {
    if (install.empty && install.not_known.empty()) add(install.at, install.program);
  }
  return all_of(std::move(found));
}

Answer version_redirect(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  for (const VersionRedirect& redirect : build->redirects) {
    const std::string quoted = "\"" + redirect.written + "\"";
    const std::size_t sign = redirect.written.find_first_of("<>");
    const std::string file = sign == std::string::npos ? std::string() : redirect.written.substr(sign + 1);
    found.push_back(
        found_at(redirect.at,
                 fmt::format("{} is a redirection for the shell: the bound is lost, and what the command prints goes "
                             "to a file named \"{}\"",
                             escape_for_display(redirect.written), escape_for_display(file)),
                 with_replaced(redirect.at.line, redirect.written, quoted).value_or(escape_for_display(quoted))));
  }
  return all_of(std::move(found));
}

std::string posix_spelling(std::string_view what) {
  if (what == "[[") return "write [ ... ] with = and quoted words";
  if (what == "source") return "write . FILE instead of source FILE";
  if (what == "<<<") return "write printf '%s' TEXT | COMMAND instead of <<<";
  if (what == "function") return "write NAME() { ...; } instead of function NAME";
  if (what.find("pipefail") != std::string_view::npos) return "drop pipefail";
  return "write it in POSIX shell";
}

Answer bash_under_sh(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  std::string open;
  for (const ShellConstruct& construct : build->constructs) {
    if (construct.shell != StepShell::posix) continue;
    const DistributionFamily family = family_of(subject, *build, construct.at, construct.os);
    if (family == DistributionFamily::unknown)
      open = fmt::format("which shell /bin/sh of stage {} is ({} is bash's)", escape_for_display(construct.at.stage),
                         escape_for_display(construct.what));
    if (family != DistributionFamily::debian) continue;
    found.push_back(found_at(
        construct.at,
        fmt::format("{} is bash's, and /bin/sh is dash here: the step fails, or does something else than it says",
                    escape_for_display(construct.what)),
        fmt::format("SHELL [\"/bin/bash\", \"-c\"]  (before this step), or {}", posix_spelling(construct.what))));
  }
  if (found.empty() && !open.empty()) return Answer::undecided(open);
  return all_of(std::move(found));
}

/// python/not-found speaks of these: of any Python, and of pip where there is no Python at all.
bool is_python_program(const Case& subject, std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  if (name.starts_with("python")) return true;
  const auto& interpreters = subject.facts.interpreters();
  return name.starts_with("pip") && interpreters.is_known() && interpreters->empty();
}

/// The Debian package that brings a program, where it is not called like it.
std::string package_of(std::string_view program) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> packages = {
      {{"pip", "python3-pip"},
       {"pip3", "python3-pip"},
       {"gpg", "gnupg"},
       {"add-apt-repository", "software-properties-common"},
       {"gcc", "build-essential"},
       {"g++", "build-essential"},
       {"make", "build-essential"},
       {"cc", "build-essential"},
       {"xz", "xz-utils"},
       {"ps", "procps"},
       {"ssh", "openssh-client"},
       {"lsb_release", "lsb-release"},
       {"gsutil", "google-cloud-cli"},
       {"7z", "p7zip-full"}}};
  for (const auto& [name, package] : packages) {
    if (name == program) return std::string(package);
  }
  return std::string(program);
}

Answer command_not_installed(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  std::set<std::pair<std::string, std::string>> named;
  for (const ProgramUse& use : build->programs) {
    if (use.there != ProgramUse::There::no || use.guarded || use.name.empty() || is_python_program(subject, use.name))
      continue;
    // Nothing runs on a distroless base: beam/distroless-run names that once.
    const ImageUse* base = base_of(*build, use.at.stage);
    for (int depth = 0; depth < 8 && base != nullptr; ++depth) {
      const ImageUse* below = source_of(*build, *base);
      if (below == nullptr || below == base) break;
      base = below;
    }
    if (base != nullptr && repository_of(*base).ends_with("_distroless"))
      continue;
    if (found.size() >= most_findings || !named.emplace(use.at.stage, use.name).second) continue;
    const std::string name = escape_for_display(use.name);
    const bool path = use.name.find('/') != std::string::npos;
    const bool debian = family_of(subject, *build, use.at, "") == DistributionFamily::debian;
    std::string fix = path     ? fmt::format("make sure that {} is there before this step", name)
                      : debian ? fmt::format(
                                     "RUN apt-get update && apt-get install -y --no-install-recommends {} && rm -rf "
                                     "/var/lib/apt/lists/*  (before this step)",
                                     escape_for_display(package_of(use.name)))
                               : fmt::format("install {} before this step", name);
    found.push_back(found_at(
        use.at,
        fmt::format("this step runs {}, which neither the base image nor a step before it brings: \"{}: not found\"",
                    name, name),
        std::move(fix)));
  }
  return all_of(std::move(found));
}

Answer secret(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  for (const SecretUse& use : build->secrets) {
    // The value is not in the facts, and must not come to light here either: neither the line nor the word is shown.
    const std::string name = use.name.empty() ? "a value" : escape_for_display(use.name);
    const bool recipe = subject.kind == SubjectKind::recipe;
    std::string fix;
    if (recipe) {
      fix = "take it out of the recipe, and let the job fetch it at run time (Secret Manager)";
    } else if (use.where == "ENV" || use.where == "LABEL") {
      fix = fmt::format(
          "drop the line; let the job fetch it at run time (Secret Manager), or give it to one step: RUN "
          "--mount=type=secret,id={} ...",
          use.name.empty() ? "token" : lower(name));
    } else {
      fix = fmt::format(
          "RUN --mount=type=secret,id={0} ...  (the step reads /run/secrets/{0}; docker build --secret "
          "id={0},src=FILE)",
          use.name.empty() ? "token" : lower(name));
    }
    found.push_back(found_at(use.at,
                             fmt::format("{} in {} looks like a credential: everybody who can pull the image can read "
                                         "it, also when a later step takes it away; revoke it",
                                         name, escape_for_display(use.where)),
                             std::move(fix)));
  }
  return all_of(std::move(found));
}

std::string_view libc_name(Libc::Family family) { return family == Libc::Family::musl ? "musl (Alpine)" : "glibc"; }

Answer libc_mixed(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  for (const LibcCopy& copy : build->libc_copies) {
    std::vector<std::string> paths;
    for (const std::string& path : copy.paths) {
      if (paths.size() < 3) paths.push_back(escape_for_display(path));
    }
    const auto other = copy.from_libc == Libc::Family::musl ? Libc::Family::glibc : Libc::Family::musl;
    found.push_back(found_at(
        copy.at,
        fmt::format(
            "{} from {} was built on {} and is copied into a stage of {}: programs and modules in it do not load",
            join_words(paths), escape_for_display(copy.from), libc_name(copy.from_libc), libc_name(other)),
        fmt::format("build {} on the distribution of the stage that it is copied into",
                    escape_for_display(copy.from))));
  }
  return all_of(std::move(found));
}

constexpr Rule rules[] = {
    {"dockerfile/syntax", Level::error, Reach::config, D, "it does not parse as BuildKit would parse it",
     "The build ends before its first step.", "Write the line as the Dockerfile reference has it.", reference_page,
     syntax},
    {"dockerfile/env-inline-comment", Level::error, Reach::config, D, "a \"#\" comment follows an ENV value",
     "Only a line that begins with # is a comment. Behind a value its words are more NAME=value pairs, and the build "
     "ends with \"can't find = in #\".",
     "Put the comment on a line of its own.", "https://docs.docker.com/reference/dockerfile/#format",
     env_inline_comment},
    {"dockerfile/copy-from-variable", Level::error, Reach::config, D, "COPY --from holds a variable",
     "--from is never expanded, whether the variable is declared or not.",
     "Give the image a stage of its own (FROM image:${TAG} AS source) and copy from that.",
     "https://github.com/moby/moby/issues/34482", copy_from_variable},
    {"dockerfile/undeclared-variable", Level::error, Reach::config, D,
     "a variable is used where no ARG or ENV in scope declares it, and the word is empty or broken",
     "An undeclared variable is empty. An ARG before the first FROM is known to FROM lines alone, until a stage "
     "declares it again.",
     "Declare it in the stage: ARG NAME.",
     "https://docs.docker.com/reference/dockerfile/#understand-how-arg-and-from-interact", undeclared_variable},
    {"dockerfile/invalid-reference", Level::error, Reach::config, D, "FROM or --from names what can be no image",
     "The build ends with \"invalid reference format\".", "Write [HOST/]NAME:TAG, in lower case.",
     "https://pkg.go.dev/github.com/distribution/reference", invalid_reference},
    {"dockerfile/empty-install-list", Level::error, Reach::config, D, "an install command names no packages",
     "What was to be installed is not there, and nothing says so.", "Name the packages, or drop the command.",
     reference_page, empty_install_list},
    {"dockerfile/version-redirect", Level::error, Reach::config, D, "an unquoted pkg>=1.2 stands in a shell's RUN",
     "The shell takes > and < for redirections: the bound is lost.", "Quote it: \"pkg>=1.2\".",
     "https://pubs.opengroup.org/onlinepubs/9699919799/utilities/V3_chap02.html#tag_18_07", version_redirect},
    {"dockerfile/bash-under-sh", Level::error, Reach::config, D, "bash-only syntax runs under a /bin/sh that is dash",
     "RUN uses /bin/sh, which is dash on Debian and Ubuntu: [[ is not found there, pipefail an illegal option.",
     "Set SHELL to bash, or write POSIX shell.", "https://docs.docker.com/reference/dockerfile/#shell", bash_under_sh},
    {"dockerfile/command-not-installed", Level::warning, Reach::config, D,
     "a step runs a program that nothing installed on this base", "The step fails with \"not found\".",
     "Install it in a step before.", "https://hub.docker.com/_/python", command_not_installed},
    {"dockerfile/secret", Level::error, Reach::config, R | D,
     "a token or password stands in ENV, ARG or RUN, or in a recipe's env or labels",
     "The image's config and history keep it for ever, for everybody who can pull.",
     "Use a build secret for a step, Secret Manager for a job; revoke what was published.",
     "https://docs.docker.com/build/building/secrets/", secret},
    {"dockerfile/libc-mixed", Level::warning, Reach::config, D,
     "files built on musl are copied into a glibc stage, or the reverse",
     "Programs and extension modules of one C library do not load under the other.",
     "Build them on the distribution that they run on.", "https://peps.python.org/pep-0656/", libc_mixed},
};

}  // namespace

std::span<const Rule> dockerfile_rules() { return rules; }

}  // namespace imgforge
