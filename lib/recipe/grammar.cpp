#include "recipe/grammar.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/reference.hpp"
#include "base/requirement.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "base/yaml.hpp"
#include "recipe/grammar_words.hpp"
#include "recipe/secret.hpp"

namespace imgforge {

using namespace grammar;

namespace {

bool is_alphanumeric(char c) noexcept { return is_digit(c) || is_letter(c); }
bool is_control(char c) noexcept { return (c >= 0 && c < ' ') || c == 0x7F; }

std::string quoted(std::string_view text) {
  constexpr std::size_t shown = 80;
  if (looks_secret({}, text)) return "\"***\"";  // secrets never reach a message
  std::string_view part = text.substr(0, shown);
  // Not in the middle of a character.
  while (part.size() < text.size() && !part.empty() && (static_cast<unsigned char>(text[part.size()]) & 0xC0) == 0x80) {
    part.remove_suffix(1);
  }
  return fmt::format("\"{}{}\"", escape_for_display(part), part.size() < text.size() ? "..." : "");
}

Fault control_fault(std::string_view text) {
  const auto found = std::find_if(text.begin(), text.end(), is_control);
  if (found == text.end()) return fits;
  return fmt::format("it holds the control character {}", quoted(std::string_view(&*found, 1)));
}

Fault name_fault(std::string_view text) {
  return fits_if(all(text, [](char c) { return is_lower(c) || is_digit(c) || c == '-'; }) && text.front() != '-' &&
                 text.back() != '-');
}

Fault python_minor_fault(std::string_view text) {
  const std::optional<PythonMinor> minor = PythonMinor::parse(text);
  if (minor) return minor->major == 2 || minor->major == 3 ? fits : "there is no such Python";
  const std::optional<Version> version = Version::parse(text);
  if (version && version->release().size() > 2) {
    return fmt::format("a recipe names the minor alone, write \"{}\"", PythonMinor::of(*version).to_string());
  }
  return no();
}

Fault version_fault(std::string_view text) { return fits_if(trim(text) == text && Version::parse(text)); }

Fault release_fault(std::string_view text) {
  return fits_if(all(text, [](char c) { return is_digit(c) || c == '.'; }) && Version::parse(text));
}

Fault reference_fault(std::string_view text) {
  std::string why;
  return Reference::parse(text, &why) ? fits : why;
}

Fault extra_fault(std::string_view text) { return fits_if(is_project_name(text)); }

Fault accelerator_type_fault(std::string_view text) {
  return fits_if(all(text, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; }) &&
                 is_alphanumeric(text.front()) && is_alphanumeric(text.back()));
}

Fault topology_fault(std::string_view text) {
  const std::vector<std::string_view> sides = split(text, 'x');
  if (sides.size() < 2 || sides.size() > 3) return no();
  return fits_if(std::all_of(sides.begin(), sides.end(), [](std::string_view side) {
    return side.size() <= 4 && all(side, is_digit) && side.front() != '0';
  }));
}

Fault apt_package_fault(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (name.size() < 2 || !(is_lower(name.front()) || is_digit(name.front())) ||
      !all(name, [](char c) { return is_lower(c) || is_digit(c) || c == '+' || c == '-' || c == '.'; })) {
    const std::string lowered = lower(name);
    if (lowered != name && !apt_package_fault(lowered))
      return fmt::format("names are lower case, write \"{}\"", lowered);
    return no();
  }
  if (name.back() == '-') return "apt-get would remove what stands before the dash";
  if (equals == std::string_view::npos) return fits;
  // A star at the end is for apt: "libcudnn8=8.9.*".
  const std::string_view version = text.substr(equals + 1);
  const bool version_fits = all(version, [](char c) {
    return is_alphanumeric(c) || c == '.' || c == '+' || c == '-' || c == '~' || c == ':' || c == '*';
  });
  return version_fits && is_digit(version.front()) ? fits : fmt::format("{} is no Debian version", quoted(version));
}

Fault url_fault(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with("https://"))
    rest.remove_prefix(8);
  else if (rest.starts_with("http://"))
    rest.remove_prefix(7);
  else
    return "it has to begin with https:// or http://";
  if (!all(rest, [](char c) {
        return c > ' ' && c < 0x7F && std::string_view("\"'<>\\^`{|}").find(c) == std::string_view::npos;
      })) {
    return "it holds a character that has to be written as %XX in a URL";
  }
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (authority.find('@') != std::string_view::npos) return "a user or password in a URL would be kept in the image";
  const bool host_fits = all(authority, [](char c) {
    return is_alphanumeric(c) || c == '.' || c == '-' || c == '_' || c == ':' || c == '[' || c == ']';
  });
  return host_fits && is_alphanumeric(authority.back() == ']' ? 'a' : authority.back()) ? fits
                                                                                        : "its host is no host name";
}

Fault requirement_fault(std::string_view text) {
  const std::optional<Requirement> requirement = Requirement::parse(text);
  if (!requirement) {
    if (text.starts_with('-'))
      return "options of pip have keys of their own: requirements, constraints, indexes, find_links";
    return no();
  }
  const std::string& url = requirement->url();
  if (url.empty()) return fits;
  // Version control ("git+https://") goes over the same protocols.
  constexpr std::string_view git = "git+";
  const Fault fault = url_fault(url.starts_with(git) ? std::string_view(url).substr(git.size()) : url);
  return fault ? Fault(fmt::format("its URL does not fit: {}", *fault)) : fits;
}

Fault sha256_fault(std::string_view text) {
  if (text.starts_with("sha256:")) return "leave out \"sha256:\"";
  if (!all(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); })) return no();
  return text.size() == 64 ? fits : Fault(fmt::format("it has {} digits", text.size()));
}

Fault context_path_fault(std::string_view text) {
  if (text.empty()) return "it is empty";
  if (Fault control = control_fault(text)) return control;
  if (text.front() == '/') return "it is absolute, and the build context has its own root";
  if (text.front() == '-')
    return fmt::format("it would be read as an option, write {}", quoted(fmt::format("./{}", text)));
  if (text.find("://") != std::string_view::npos) return "it is a URL";
  for (const std::string_view component : split(text, '/')) {
    if (component == "..") return "\"..\" would leave the build context";
  }
  return fits;
}

Fault absolute_path_fault(std::string_view text) {
  if (Fault control = control_fault(text)) return control;
  return text.starts_with('/') ? fits : "it has to begin with \"/\"";
}

Fault variable_name_fault(std::string_view text) {
  return fits_if(all(text, [](char c) { return is_alphanumeric(c) || c == '_'; }) && !is_digit(text.front()));
}

Fault label_key_fault(std::string_view text) {
  if (text.starts_with("dev.imgforge.")) return "labels below dev.imgforge are written by imgforge";
  return fits_if(all(text, [](char c) { return is_alphanumeric(c) || c == '.' || c == '-' || c == '_' || c == '/'; }) &&
                 is_alphanumeric(text.front()) && is_alphanumeric(text.back()));
}

Fault value_fault(std::string_view text) {
  const auto found = std::find_if(text.begin(), text.end(), [](char c) { return is_control(c) && c != '\t'; });
  if (found == text.end()) return fits;
  if (*found == '\n' || *found == '\r') return "it holds a line break, which an instruction of a Dockerfile cannot";
  return fmt::format("it holds the control character {}", quoted(std::string_view(&*found, 1)));
}

constexpr std::string_view version_pattern = "^[0-9A-Za-z.!+_-]+$";

}  // namespace

const Grammar api_version_grammar{.noun = "version of the recipe format that this imgforge reads",
                                  .advice = {},
                                  .pattern = {},
                                  .choices = {"imgforge/v1"}};
const Grammar name_grammar{
    .noun = "recipe name",
    .advice = "lower-case letters, digits and dashes, at most 63, a letter or digit at both ends",
    .pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
    .choices = {},
    .longest = 63,
    .fault = name_fault};
const Grammar runner_grammar{.noun = "runner",
                             .advice = {},
                             .pattern = {},
                             .choices = {"dataflow", "dataflow-flex", "spark-serverless", "portable", "generic"}};
const Grammar role_grammar{.noun = "role", .advice = {}, .pattern = {}, .choices = {"worker", "launcher", "both"}};
const Grammar python_minor_grammar{.noun = "minor version of Python",
                                   .advice = "two numbers with a dot between, in quotes: \"3.11\"",
                                   .pattern = "^[23]\\.[0-9]{1,3}$",
                                   .choices = {},
                                   .longest = 64,
                                   .is_version = true,
                                   .fault = python_minor_fault};
const Grammar version_grammar{.noun = "version (PEP 440)",
                              .advice = "as PyPI lists it: 2.48.0, \"2.1\", 2.8.0+cpu",
                              .pattern = version_pattern,
                              .choices = {},
                              .longest = 256,
                              .is_version = true,
                              .fault = version_fault};
const Grammar release_grammar{.noun = "release number",
                              .advice = "numbers with dots between, as \"12.2\" or 8.9.7",
                              .pattern = "^[0-9]+(\\.[0-9]+)*$",
                              .choices = {},
                              .longest = 64,
                              .is_version = true,
                              .fault = release_fault};
const Grammar image_reference_grammar{.noun = "image reference",
                                      .advice = {},
                                      .pattern = "^[!-~]+$",
                                      .choices = {},
                                      .longest = 512,
                                      .fault = reference_fault};
const Grammar python_from_grammar{
    .noun = "source of Python", .advice = {}, .pattern = {}, .choices = {"base", "apt", "deadsnakes", "conda", "uv"}};
const Grammar boot_from_grammar{.noun = "way to get boot", .advice = {}, .pattern = {}, .choices = {"copy", "inherit"}};
const Grammar cuda_from_grammar{
    .noun = "source of CUDA", .advice = {}, .pattern = {}, .choices = {"base", "wheels", "apt", "runfile"}};
const Grammar cudnn_from_grammar{
    .noun = "source of cuDNN", .advice = {}, .pattern = {}, .choices = {"base", "wheels", "apt", "archive"}};
const Grammar extra_grammar{.noun = "extra (PEP 508)",
                            .advice = "letters, digits, \".\", \"_\" and \"-\", as gcp",
                            .pattern = "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$",
                            .choices = {},
                            .longest = 128,
                            .fault = extra_fault};
const Grammar accelerator_type_grammar{.noun = "accelerator type",
                                       .advice = "as the platform calls it: nvidia-tesla-t4, tpu-v5-lite-podslice",
                                       .pattern = "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$",
                                       .choices = {},
                                       .longest = 64,
                                       .fault = accelerator_type_fault};
const Grammar topology_grammar{.noun = "topology",
                               .advice = "two or three numbers with \"x\" between, as 2x4",
                               .pattern = "^[1-9][0-9]{0,3}(x[1-9][0-9]{0,3}){1,2}$",
                               .choices = {},
                               .longest = 64,
                               .fault = topology_fault};
const Grammar apt_package_grammar{.noun = "Debian package name",
                                  .advice = "a name, or name=version: curl, libcudnn8=8.9.7.29-1+cuda12.2",
                                  .pattern = "^[a-z0-9][a-z0-9+.-]+(=[0-9][A-Za-z0-9.+~:*-]*)?$",
                                  .choices = {},
                                  .longest = 256,
                                  .fault = apt_package_fault};
const Grammar requirement_grammar{
    .noun = "requirement (PEP 508)",
    .advice = "as pip takes it: numpy==1.26.4, \"jax[tpu]>=0.6; python_version >= '3.10'\"",
    .pattern = "^[A-Za-z0-9]",
    .choices = {},
    .fault = requirement_fault};
const Grammar url_grammar{.noun = "URL",
                          .advice = {},
                          .pattern = "^https?://[^/?#@]+([/?#].*)?$",
                          .choices = {},
                          .longest = 2048,
                          .fault = url_fault};
const Grammar sha256_grammar{.noun = "SHA-256 sum",
                             .advice = "64 lower-case hexadecimal digits, as sha256sum prints them",
                             .pattern = "^[0-9a-f]{64}$",
                             .choices = {},
                             .longest = 256,
                             .fault = sha256_fault};
const Grammar context_path_grammar{.noun = "path in the build context",
                                   .advice = "a path relative to the folder of the recipe",
                                   .pattern = "^[^/-]",
                                   .choices = {},
                                   .fault = context_path_fault};
const Grammar absolute_path_grammar{.noun = "absolute path",
                                    .advice = "a path in the image, as /app",
                                    .pattern = "^/",
                                    .choices = {},
                                    .fault = absolute_path_fault};
const Grammar variable_name_grammar{.noun = "variable name",
                                    .advice = "letters, digits and \"_\", no digit first",
                                    .pattern = "^[A-Za-z_][A-Za-z0-9_]*$",
                                    .choices = {},
                                    .longest = 256,
                                    .fault = variable_name_fault};
const Grammar label_key_grammar{.noun = "label key",
                                .advice = "letters, digits, \".\", \"-\", \"_\" and \"/\", as org.example.team",
                                .pattern = "^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$",
                                .choices = {},
                                .longest = 256,
                                .fault = label_key_fault};
const Grammar value_grammar{.noun = "value in one line",
                            .advice = "put text of several lines into a file and copy it with files",
                            .pattern = {},
                            .choices = {},
                            .longest = 32768,
                            .shown = false,
                            .fault = value_fault};

std::optional<std::string> check_text(const Grammar& grammar, std::string_view text) {
  if (!is_utf8(text)) return fmt::format("no {}: it is not UTF-8", grammar.noun);
  if (!grammar.choices.empty()) {
    if (std::find(grammar.choices.begin(), grammar.choices.end(), text) != grammar.choices.end()) return std::nullopt;
    const std::vector<std::string> choices(grammar.choices.begin(), grammar.choices.end());
    const std::optional<std::string> near = text.size() <= 64 ? nearest(text, choices) : std::nullopt;
    std::string message = fmt::format("{} is no {}", quoted(text), grammar.noun);
    if (near) return message + fmt::format(", did you mean \"{}\"?", *near);
    return message + fmt::format(": {} is expected", join_words(choices, "or"));
  }
  if (text.size() > grammar.longest) {
    return fmt::format("no {}: it has {} bytes, at most {} are allowed", grammar.noun, text.size(), grammar.longest);
  }
  const std::optional<std::string> fault = grammar.fault(text);
  if (!fault) return std::nullopt;
  if (!grammar.shown) return fmt::format("no {}: {}", grammar.noun, *fault);
  return fmt::format("{} is no {}{}{}", quoted(text), grammar.noun, fault->empty() ? "" : ": ", *fault);
}

std::optional<std::string> number_trap(std::string_view plain) {
  if (!is_yaml_number(plain)) return std::nullopt;
  std::string_view value = plain;
  if (value.find('.') != std::string_view::npos && value.find_first_of("eE") == std::string_view::npos) {
    while (value.ends_with('0')) value.remove_suffix(1);
    if (value.ends_with('.')) value.remove_suffix(1);
  }
  const std::string_view shown = plain.substr(0, 40);
  if (value.size() != plain.size() && !value.empty()) {
    return fmt::format("YAML reads {} as the number {}, not as a version", shown, value.substr(0, 40));
  }
  return fmt::format("YAML reads {} as a number, not as a version (and 3.10 as 3.1)", shown);
}

}  // namespace imgforge
