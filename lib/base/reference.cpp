#include "base/reference.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace imgforge {

namespace {

constexpr std::size_t longest_name = 255;  // distribution/reference: NameTotalLengthMax
constexpr std::size_t longest_tag = 128;
constexpr std::string_view default_host = "docker.io";

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
bool is_letter(char c) noexcept { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", escape_for_display(text.substr(0, 80))); }

/// "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?", joined by dots: a DNS name or an IPv4 address.
bool is_host_name(std::string_view text) {
  for (const std::string_view label : split(text, '.')) {
    if (label.empty() || label.front() == '-' || label.back() == '-') return false;
    if (!std::all_of(label.begin(), label.end(), [](char c) { return is_digit(c) || is_letter(c) || c == '-'; }))
      return false;
  }
  return true;
}

bool is_host(std::string_view text) {
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || end < 3) return false;
    const std::string_view address = text.substr(1, end - 1);
    if (!std::all_of(address.begin(), address.end(), [](char c) {
          return is_digit(c) || c == ':' || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        }))
      return false;
    port = text.substr(end + 1);
    text = {};
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    port = text.substr(colon);
    text = text.substr(0, colon);
    if (!is_host_name(text)) return false;
  } else {
    return is_host_name(text);
  }
  if (port.empty()) return true;
  const std::optional<std::uint64_t> number = port.starts_with(':') ? to_number(port.substr(1)) : std::nullopt;
  return number && *number <= 65535;
}

/// "[a-z0-9]+((?:_|__|[.]|[-]+)[a-z0-9]+)*"
bool is_path_component(std::string_view text) {
  std::size_t i = 0;
  for (;;) {
    const std::size_t start = i;
    while (i < text.size() && (is_digit(text[i]) || is_lower(text[i]))) ++i;
    if (i == start) return false;
    if (i == text.size()) return true;
    const std::size_t separator = i;
    while (i < text.size() && (text[i] == '_' || text[i] == '.' || text[i] == '-')) ++i;
    const std::string_view between = text.substr(separator, i - separator);
    const bool dashes = !between.empty() && between.find_first_not_of('-') == std::string_view::npos;
    if (!dashes && between != "_" && between != "__" && between != ".") return false;
  }
}

bool is_image_id(std::string_view name) { return name.size() == 64 && is_hex(name); }

/// Whether the first component cannot be one of a path: it has a dot or a port, or it is localhost.
bool begins_with_host(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('/'));
  return first.size() < name.size() && (first.find_first_of(".:") != std::string_view::npos || first == "localhost");
}

bool is_tag(std::string_view text) {
  if (text.empty() || text.size() > longest_tag || text.front() == '.' || text.front() == '-') return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_digit(c) || is_letter(c) || c == '_' || c == '.' || c == '-'; });
}

std::string what_is_wrong_with_digest(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view algorithm = text.substr(0, colon);
  if (colon == std::string_view::npos || (algorithm != "sha256" && algorithm != "sha512")) {
    return fmt::format("the digest {} has to begin with sha256: or sha512:", quoted(text));
  }
  const std::size_t wanted = algorithm == "sha256" ? 64 : 128;
  const std::string_view hex = text.substr(colon + 1);
  if (hex.size() != wanted) {
    return fmt::format("a {} digest has {} hexadecimal digits, this one has {} characters", algorithm, wanted,
                       hex.size());
  }
  return fmt::format("the digest {} has characters that are no lower-case hexadecimal digits", quoted(text));
}

}  // namespace

std::optional<Reference> Reference::parse(std::string_view text, std::string* why) {
  const auto fail = [why](std::string reason) -> std::optional<Reference> {
    if (why != nullptr) *why = std::move(reason);
    return std::nullopt;
  };
  if (text.empty()) return fail("it is empty");
  const auto* strange = std::find_if(text.begin(), text.end(), [](char c) { return c <= ' ' || c >= 0x7F; });
  if (strange != text.end()) {
    return fail(fmt::format("it holds the character {}, which no reference has", quoted(std::string_view(strange, 1))));
  }
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    return fail(fmt::format("a reference has no scheme: leave out {}", quoted(text.substr(0, scheme + 3))));
  }

  Reference reference;
  std::string_view name = text;
  if (const std::size_t at = name.find('@'); at != std::string_view::npos) {
    const std::string_view digest = name.substr(at + 1);
    reference.digest_ = Digest::parse(digest);
    if (!reference.digest_) return fail(what_is_wrong_with_digest(digest));
    name = name.substr(0, at);
  }
  // A colon behind the last slash begins a tag; one before it belongs to a port.
  const std::size_t last_slash = name.rfind('/');
  const std::size_t colon = name.find(':', last_slash == std::string_view::npos ? 0 : last_slash);
  if (colon != std::string_view::npos) {
    const std::string_view tag = name.substr(colon + 1);
    if (tag.empty()) return fail("the tag after the colon is empty");
    if (!is_tag(tag)) {
      return fail(
          fmt::format("{} is no tag: at most {} of A-Z, a-z, 0-9, \"_\", \".\" and \"-\", the first no \".\" or \"-\"",
                      quoted(tag), longest_tag));
    }
    reference.tag_ = std::string(tag);
    name = name.substr(0, colon);
  }

  std::string_view host = default_host;
  std::string_view path = name;
  if (const std::size_t slash = name.find('/'); slash != std::string_view::npos) {
    const std::string_view first = name.substr(0, slash);
    if (begins_with_host(name)) {
      if (!is_host(first)) return fail(fmt::format("{} is no registry host", quoted(first)));
      reference.explicit_host_ = true;
      host = first;
      path = name.substr(slash + 1);
    }
  }
  if (path.empty()) return fail("the repository name is missing");
  for (const std::string_view component : split(path, '/')) {
    if (is_path_component(component)) continue;
    if (component.empty()) return fail("the repository name has an empty component");
    if (is_path_component(lower(component))) {
      return fail(fmt::format("a repository name is lower case: write \"{}\"", lower(path.substr(0, longest_name))));
    }
    return fail(
        fmt::format("{} is no component of a repository name: a-z and 0-9, with single \"_\" or \".\", \"__\" or "
                    "dashes between",
                    quoted(component)));
  }
  if (!reference.explicit_host_ && is_image_id(path)) {
    return fail("64 hexadecimal digits are an image id and no name");
  }
  std::string host_name(host == "index.docker.io" ? default_host : host);
  std::string repository(path);
  if (host_name == default_host && path.find('/') == std::string_view::npos) repository = "library/" + repository;
  if (host_name.size() + 1 + repository.size() > longest_name) {
    return fail(fmt::format("the name has more than {} characters", longest_name));
  }
  reference.host_ = std::move(host_name);
  reference.repository_ = std::move(repository);
  return reference;
}

std::string Reference::identifier() const {
  if (digest_) return digest_->to_string();
  return tag_.empty() ? "latest" : tag_;
}

namespace {

std::string with_suffix(std::string name, const std::string& tag, const std::optional<Digest>& digest) {
  if (!tag.empty()) name += ":" + tag;
  if (digest) name += "@" + digest->to_string();
  return name;
}

}  // namespace

std::string Reference::to_string() const {
  constexpr std::string_view official = "library/";
  std::string name = repository_;
  if (host_ == default_host && name.starts_with(official) && name.find('/', official.size()) == std::string::npos) {
    name.erase(0, official.size());
  }
  // The host stays where the rest alone would be read as something else.
  const bool misread = name.find('/') == std::string::npos ? is_image_id(name) : begins_with_host(name);
  if (host_ != default_host || misread) name = host_ + "/" + repository_;
  return with_suffix(std::move(name), tag_, digest_);
}

std::string Reference::to_full_string() const {
  return with_suffix(host_ + "/" + repository_, tag_.empty() && !digest_ ? "latest" : tag_, digest_);
}

}  // namespace imgforge
