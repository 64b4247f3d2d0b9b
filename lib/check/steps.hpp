// Questions about the steps of a build (facts/build.hpp) that several rules ask.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/rule.hpp"
#include "facts/build.hpp"

namespace imgforge {

/// The steps that led here; null for a built image, and for a Dockerfile that does not parse.
const Build* build_of(const Case& subject);

Evidence at(const StepPlace& step);

/// A finding of a step, with the rule's own level.
Answer::Found found_at(const StepPlace& step, std::string message, std::string fix);

/// Of a rule that looked at one step after the other: what it found; else undecided where something was `open`; else
/// pass, where it had anything to look at.
Answer answer_of(std::vector<Answer::Found> found, const std::string& open, bool asked);

/// "RUN pip install ..." as it is written, safe to show; `otherwise` where the step's text is not known or was cut.
std::string line_or(const StepPlace& step, std::string_view otherwise);

/// `line` with the first `old_text` replaced; nothing where it does not hold it.
std::optional<std::string> with_replaced(std::string_view line, std::string_view old_text, std::string_view new_text);

/// The FROM image of a stage, by its name or number; null where it stands on another stage or none.
const ImageUse* base_of(const Build& build, std::string_view stage);

/// The image that files of a COPY --from come from: the one it names, or the base of the stage that it names.
const ImageUse* source_of(const Build& build, const ImageUse& copy);

/// "docker.io/apache/beam_python3.12_sdk", without tag; empty where the reference is not known.
std::string repository_of(const ImageUse& use);

/// An SDK image of Beam, of any language: apache's, and Dataflow's copies.
bool is_sdk_image(const ImageUse& use);
/// A base image of Flex Template launchers.
bool is_launcher_image(const ImageUse& use);

enum class DistributionFamily { debian, other, unknown };

/// Whether a step runs on Debian or Ubuntu. `os` is the step's, where it is known; else the base of its stage tells.
DistributionFamily family_of(const Case& subject, const Build& build, const StepPlace& step, std::string_view os);

/// `specifiers` against an interpreter of which perhaps the minor alone is known: true, false, or nothing where that
/// depends on the micro version.
std::optional<bool> allows(const SpecifierSet& specifiers, const PythonMinor& minor,
                           const std::optional<Version>& version);

/// The interpreter that the subject is about: boot's for a worker, else the one that PATH finds, else the only one.
const Interpreter* interpreter_of(const Case& subject);

/// A later stage lacks what an earlier one has (beam/wrong-final-stage): the earlier one; null otherwise.
const StageContract* better_stage(const Case& subject);

}  // namespace imgforge
