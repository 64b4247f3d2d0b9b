// Names of images: "[host[:port]/]path[:tag][@digest]", as Docker and the distribution specification read them.
//
// It lives in base because recipes, Dockerfiles and image sources all name images, and none of them may include another.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/digest.hpp"

namespace imgforge {

class Reference {
 public:
  /// Nothing where it is no reference; `why` then says what is wrong with it. Grammar: distribution/reference, with
  /// Docker's defaults: no host means docker.io, and one path component there means library/NAME.
  static std::optional<Reference> parse(std::string_view text, std::string* why = nullptr);

  const std::string& host() const noexcept { return host_; }        // "docker.io", "localhost:5000", "[::1]:5000"
  const std::string& repository() const noexcept { return repository_; }  // "library/python", "project/repo/image"
  const std::string& tag() const noexcept { return tag_; }          // empty where none was written
  const std::optional<Digest>& digest() const noexcept { return digest_; }

  /// What a registry is asked for: the digest where there is one (it decides), else the tag, else "latest".
  std::string identifier() const;
  bool has_explicit_host() const noexcept { return explicit_host_; }
  /// As short as Docker shows it ("python:3.11-slim"); to_full_string spells everything out.
  std::string to_string() const;
  std::string to_full_string() const;

 private:
  std::string host_;
  std::string repository_;
  std::string tag_;
  std::optional<Digest> digest_;
  bool explicit_host_ = false;
};

}  // namespace imgforge
