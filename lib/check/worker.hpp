// Questions about a worker that several rules ask.
#pragma once

#include <optional>
#include <string>

#include "check/rule.hpp"

namespace imgforge {

/// A Beam worker whose SDK is Python's: said by the recipe, by the SDK's tarball beside boot, or by an installed
/// apache-beam. (A Go or Java worker has boot and no Python at all.)
bool is_python_worker(const Case& subject);

/// The Beam release that the worker will run: apache-beam's, else that of the SDK which boot came from.
const Fact<Version>& beam_release(const Case& subject);

/// RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT is set to something and this release reads it.
bool runs_in_default_environment(const Case& subject, const Version& release);

/// boot will make a venv over the image's interpreter for this release.
bool makes_venv(const Case& subject, const Version& release);

/// "Beam 2.66.0".
std::string beam_name(const Version& release);

/// Answers undecided with the reason of an unknown fact, naming what it is.
template <class T>
Answer undecided_for(std::string_view what, const Fact<T>& fact) {
  return Answer::undecided(std::string(what) + ": " + (fact.is_unknown() ? fact.reason() : std::string("not found")));
}

/// Evidence of several facts together.
std::vector<Evidence> join_evidence(std::initializer_list<std::vector<Evidence>> lists);

/// A path of the image as a word of a line to copy: quoted for a shell where that is needed, and harmless to show.
std::string shell_argument(std::string_view text);

/// Why it is not known whether the worker's environment sets a variable, or to what: an unknown base, a value that comes
/// from outside. Empty where that is known.
std::string variable_open(const Case& subject, std::string_view name);

/// The same of RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT; empty also for a release that does not read it.
std::string opt_out_open(const Case& subject, const Version& release);

/// What is to be said of a distribution whose version is not known: "it is asked for as numpy>=1.2".
std::string version_open(const Distribution& distribution);

inline constexpr std::string_view default_environment_variable = "RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT";

}  // namespace imgforge
