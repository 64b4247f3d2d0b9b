// knowledge/published_images.yaml: its columns, its checks, and whether an image was ever published.
#include <re2/re2.h>

#include <algorithm>

#include "base/text.hpp"
#include "knowledge/tables.hpp"

namespace imgforge {

namespace {

RE2::Options pattern_options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  return options;
}

std::string check_published(const PublishedImages& row) {
  const RE2 pattern(row.name, pattern_options());
  if (!pattern.ok()) return "name: not a pattern: " + escape_for_display(pattern.error());
  if (row.language == "python" && pattern.NamedCapturingGroups().count("python") != 1)
    return "name: the group (?P<python>...) is missing";
  if (row.language != "python" && row.language != "java" && row.language != "other")
    return "language: unknown \"" + escape_for_display(row.language) + "\"; known are python, java and other";
  if (row.from && row.sure && *row.sure < *row.from) return "sure: is before from";
  if (row.from && row.through && *row.through < *row.from) return "through: is before from";
  return {};
}

// docker.io/apache/NAME → NAME; empty for other repositories.
std::string_view name_of(std::string_view repository) {
  for (const std::string_view prefix : {"docker.io/apache/", "gcr.io/cloud-dataflow/v1beta3/"}) {
    if (repository.starts_with(prefix)) return repository.substr(prefix.size());
  }
  return {};
}

// "beam_python312_sdk" → "beam_python3.12_sdk": the name that was meant, where one can be told.
std::string name_meant(const std::string& name) {
  static const RE2 python("beam[-_]?python[-_]?3\\.?([0-9]{1,2})(?:[-_]?sdk)?([-_](?:distroless|ml))?",
                          pattern_options());
  static const RE2 java("beam[-_]?(?:java|jdk)[-_]?([0-9]+)(?:[-_]?sdk)?", pattern_options());
  std::string minor;
  std::string variant;
  if (RE2::FullMatch(name, python, &minor, &variant)) {
    if (!variant.empty()) variant[0] = '_';
    return "beam_python3." + minor + "_sdk" + variant;
  }
  return RE2::FullMatch(name, java, &minor) ? "beam_java" + minor + "_sdk" : std::string();
}

bool has(const std::vector<PythonMinor>& minors, const PythonMinor& minor) {
  return std::find(minors.begin(), minors.end(), minor) != minors.end();
}

}  // namespace

namespace knowledge {

template <>
const TableSpec<PublishedImages>& spec_of() {
  using Type = PublishedImages;
  static const TableSpec<Type> spec = {
      "published_images",
      {required<Type>("name", &Type::name), required<Type>("language", &Type::language),
       optional<Type>("from", &Type::from), optional<Type>("sure", &Type::sure),
       optional<Type>("through", &Type::through), optional<Type>("without", &Type::without)},
      [](const Type& row) { return row.name; },
      check_published,
      {}};
  return spec;
}

}  // namespace knowledge

Publication Knowledge::beam_publication(std::string_view host_and_repository, std::string_view tag) const {
  Publication result;
  const std::string name(name_of(host_and_repository));
  const std::string owner(host_and_repository.substr(0, host_and_repository.size() - name.size()));
  if (name.empty() || name.size() > 128) return result;
  const auto no = [&](std::string why, const std::string& instead, std::string_view tag_instead) {
    result.answer = Publication::Answer::no;
    result.why = std::move(why);
    if (!instead.empty()) {
      // As people write it: Docker Hub's host goes without saying.
      const std::string host = owner.starts_with("docker.io/") ? owner.substr(10) : owner;
      result.instead = host + instead + (tag_instead.empty() ? "" : ":" + std::string(tag_instead));
    }
    return result;
  };

  const PublishedImages* family = nullptr;
  std::string python_text;
  for (const PublishedImages& row : tables_->get<PublishedImages>().rows) {
    const RE2 pattern(row.name, pattern_options());
    if (row.language == "python" ? RE2::FullMatch(name, pattern, &python_text) : RE2::FullMatch(name, pattern)) {
      family = &row;
      break;
    }
  }
  if (family == nullptr) {
    // Beam has images that are no SDK's (beam_flink1.18_job_server): only names that look like one are judged.
    const bool is_java = RE2::FullMatch(name, "beam_java[0-9]+_sdk");
    const std::string meant = name_meant(name);
    if (meant.empty()) return result;
    result.source = "https://hub.docker.com/u/apache: the names of the SDK images";
    if (is_java) return no("Beam publishes no SDK image for this Java", "beam_java11_sdk", tag);
    return meant == name ? result : no("Beam has no image of the name " + escape_for_display(name), meant, tag);
  }
  result.source = family->source;
  result.unverified = family->unverified;

  const auto version = Version::parse(tag);
  if (!version || version->release().size() != 3 || version->to_string() != tag || version->dev() || version->post() ||
      !version->local().empty()) {
    return result;
  }
  const Version base = version->base();
  const auto& complete = beam_complete();
  const BeamRelease* release = beam_release(base);
  if (release == nullptr) {
    if (version->is_prerelease() || !complete || !complete->covers(base)) return result;
    // The nearest release of the same minor, else the one before.
    const BeamRelease* near = nullptr;
    for (const BeamRelease& row : beam_releases()) {
      if (row.version < base || (row.version.minor() == base.minor() && row.version.major() == base.major()))
        near = &row;
    }
    result.source = "knowledge/beam_releases.yaml, which has every release from " + complete->from.to_string() +
                    " to " + complete->through.to_string();
    return no("Beam " + base.to_string() + " was never released", near == nullptr ? "" : name,
              near == nullptr ? "" : near->version.to_string());
  }

  if (family->through && *family->through < base)
    return no("Beam publishes it through " + family->through->to_string() + " only", name,
              family->through->to_string());
  if (family->from && base < *family->from)
    return no("Beam publishes it from " + family->from->to_string() + " on", name, family->from->to_string());
  if (family->language == "python") {
    const auto minor = PythonMinor::parse(python_text);
    if (!minor) return result;
    if (!has(release->pythons, *minor) || has(family->without, *minor)) {
      std::string newest;
      for (const PythonMinor& other : release->pythons) {
        if (!has(family->without, other)) newest = other.to_string();
      }
      std::string instead = name;
      const std::size_t at = instead.find(python_text);
      if (newest.empty()) {
        instead.clear();
      } else {
        instead.replace(at, python_text.size(), newest);
      }
      if (result.source.find("beam_releases") == std::string::npos && !has(release->pythons, *minor))
        result.source = release->source;
      return no("Beam " + base.to_string() + " has no image for Python " + python_text, instead, tag);
    }
  }
  // A candidate's images are there for a while, and some were never pushed.
  if (version->is_prerelease() || (family->from && family->sure && base < *family->sure)) return result;
  if (family->language == "other") return result;
  result.answer = Publication::Answer::yes;
  return result;
}

}  // namespace imgforge
