// /opt/apache/beam/boot: there, executable, for this machine, and loadable.
#include <fmt/format.h>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/steps.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

constexpr std::string_view build_page = "https://cloud.google.com/dataflow/docs/guides/build-container-image";
constexpr std::string_view troubleshooting_page = "https://cloud.google.com/dataflow/docs/guides/troubleshoot-custom-container";

/// The line that brings boot, in the versions of this image where they are known.
std::string copy_line(const Case& subject) {
  const Fact<Version>& release = beam_release(subject);
  const Interpreter* interpreter = subject.facts.worker_interpreter();
  return fmt::format("COPY --from=docker.io/apache/beam_python{}_sdk:{} /opt/apache/beam /opt/apache/beam",
                     interpreter != nullptr ? interpreter->minor.to_string() : "3.X", release.is_known() ? release->base().to_string() : "VERSION");
}

Answer boot_missing(const Case& subject) {
  if (!subject.judged_as.is_beam_worker()) return Answer::not_applicable();
  const Fact<Boot>& boot = subject.facts.boot();
  if (boot.is_unknown()) return undecided_for("boot", boot);
  if (boot.is_known()) return Answer::pass();
  if (better_stage(subject) != nullptr) return Answer::not_applicable();  // beam/wrong-final-stage names it
  return Answer::finding("the image has no /opt/apache/beam/boot: the worker cannot start and its container is restarted for ever",
                         "add to the Dockerfile: " + copy_line(subject), boot.evidence());
}

Answer boot_not_executable(const Case& subject) {
  if (!subject.judged_as.is_beam_worker()) return Answer::not_applicable();
  const Fact<Boot>& boot = subject.facts.boot();
  if (!boot.is_known()) return boot.is_unknown() ? undecided_for("boot", boot) : Answer::not_applicable();
  if (!boot->broken_link.empty()) {
    return Answer::finding(fmt::format("/opt/apache/beam/boot is a link that leads nowhere: {}", escape_for_display(boot->broken_link)),
                           "copy the folder itself and not a link to it: " + copy_line(subject), boot.evidence());
  }
  if (!boot->regular) {
    return Answer::finding("/opt/apache/beam/boot is no regular file", "copy the program itself: " + copy_line(subject), boot.evidence());
  }
  if (!boot->executable) {
    return Answer::finding("/opt/apache/beam/boot is not executable: no x bit is set in its mode",
                           "keep the mode when copying (no --chmod), or add: RUN chmod 755 /opt/apache/beam/boot", boot.evidence());
  }
  return Answer::pass();
}

Answer boot_wrong_arch(const Case& subject) {
  if (!subject.judged_as.is_beam_worker()) return Answer::not_applicable();
  const Fact<Boot>& boot = subject.facts.boot();
  if (boot.is_unknown()) return undecided_for("boot", boot);
  if (boot.is_absent() || !boot->regular) return Answer::not_applicable();
  if (!boot->elf) {
    return Answer::finding("/opt/apache/beam/boot is no ELF program: what was copied or downloaded there is something else (exec format error)",
                           "take it from the SDK image: " + copy_line(subject), boot.evidence());
  }
  const Fact<Platform>& platform = subject.facts.platform();
  if (!platform.is_known()) return undecided_for("the image's platform", platform);
  const std::optional<unsigned> expected = elf_machine_of(platform->architecture);
  if (!expected) return Answer::undecided("the ELF machine of architecture " + escape_for_display(platform->architecture));
  if (*expected == boot->machine) return Answer::pass();
  return Answer::finding(fmt::format("/opt/apache/beam/boot is for {}, the image is for {}: exec format error", elf_machine_name(boot->machine),
                                     escape_for_display(platform->to_string())),
                         fmt::format("build for one platform throughout: docker build --platform {}, and an SDK image of that platform (Beam 2.50 or later for arm64)",
                                     escape_for_display(platform->to_string())),
                         join_evidence({boot.evidence(), platform.evidence()}));
}

Answer boot_loader_missing(const Case& subject) {
  if (!subject.judged_as.is_beam_worker()) return Answer::not_applicable();
  const Fact<Boot>& boot = subject.facts.boot();
  if (boot.is_unknown()) return undecided_for("boot", boot);
  if (boot.is_absent() || !boot->elf) return Answer::not_applicable();
  if (!boot->dynamic) return Answer::pass();
  if (!boot->interpreter_found) {
    return Answer::finding(fmt::format("/opt/apache/beam/boot needs the loader {}, which is not in the image (\"no such file or directory\" at start)",
                                       escape_for_display(boot->interpreter)),
                           "use a glibc base (Debian, Ubuntu), or the boot of the official SDK image, which is static", boot.evidence());
  }
  if (!boot->missing_versions.empty()) {
    std::vector<std::string> versions;
    for (const std::string& version : boot->missing_versions) versions.push_back(escape_for_display(version));
    return Answer::finding(fmt::format("/opt/apache/beam/boot needs {}, which the image's libc does not have", join_words(versions)),
                           "use a newer base image, or the boot of the official SDK image, which is static", boot.evidence());
  }
  return Answer::pass();
}

constexpr Rule rules[] = {
    {"beam/boot-missing", Level::error, Reach::paths, D | I, "the final file system has no /opt/apache/beam/boot",
     "boot is the program that the runner starts in the container. Without it the container dies at once and is restarted for ever.",
     "Copy /opt/apache/beam from the SDK image of the same Beam version.", build_page, boot_missing},
    {"beam/boot-not-executable", Level::error, Reach::paths, I, "boot is there but not a regular executable file",
     "The runtime cannot execute it: permission denied, or no such file where it is a dangling link.",
     "Copy the folder with its modes.", build_page, boot_not_executable},
    {"beam/boot-wrong-arch", Level::error, Reach::paths, I, "boot's ELF machine is not the image's architecture, or it is no ELF",
     "exec format error at the start of every worker.", "Build all stages for one platform.", troubleshooting_page, boot_wrong_arch},
    {"beam/boot-loader-missing", Level::error, Reach::paths, I, "boot is dynamic and its loader, or a GLIBC version that it needs, is not in the image",
     "The kernel or the loader refuses to start it.", "Use a glibc base that is at least as new as the one that boot was built on.",
     troubleshooting_page, boot_loader_missing},
};

}  // namespace

std::span<const Rule> boot_rules() { return rules; }

}  // namespace imgforge
