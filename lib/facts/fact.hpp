// A fact: known, absent, or unknown, and how we know.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/place.hpp"

namespace imgforge {

/// Where something was seen. One of: a path in a layer, a key of the image's config, a label, a place in a text file.
struct Evidence {
  std::string layer;   // digest of the layer that holds `path`; may be empty where no layer does
  std::string path;    // absolute path in the image, bytes
  std::string config;  // "Env.PATH", "Entrypoint", "WorkingDir", "architecture"
  std::string label;
  Place place;         // of a recipe or a Dockerfile

  static Evidence in_layer(std::string layer, std::string path);
  static Evidence in_config(std::string key);
  static Evidence in_label(std::string name);
  static Evidence at(Place place);
  bool operator==(const Evidence&) const = default;
};

template <class T>
class Fact {
 public:
  static Fact known(T value, std::vector<Evidence> evidence = {}) {
    Fact fact;
    fact.value_ = std::move(value);
    fact.evidence_ = std::move(evidence);
    return fact;
  }
  /// It is proven that there is no such thing.
  static Fact absent(std::vector<Evidence> evidence = {}) {
    Fact fact;
    fact.evidence_ = std::move(evidence);
    return fact;
  }
  /// `reason` says what was not to be had: "the version of /usr/bin/python3 is proved by no file".
  static Fact unknown(std::string reason) {
    Fact fact;
    fact.reason_ = std::move(reason);
    return fact;
  }

  bool is_known() const noexcept { return value_.has_value(); }
  bool is_absent() const noexcept { return !value_ && !reason_; }
  bool is_unknown() const noexcept { return reason_.has_value(); }

  const T& value() const { return value_.value(); }
  const T* operator->() const { return &value_.value(); }
  const std::vector<Evidence>& evidence() const noexcept { return evidence_; }
  const std::string& reason() const { return reason_.value(); }

 private:
  std::optional<T> value_;
  std::optional<std::string> reason_;
  std::vector<Evidence> evidence_;
};

/// A fact that is computed when it is first asked for, once. Not thread-safe.
template <class T>
class LazyFact {
 public:
  LazyFact() : LazyFact([] { return Fact<T>::unknown("not read"); }) {}
  explicit LazyFact(std::function<Fact<T>()> compute) : compute_(std::move(compute)) {}
  explicit LazyFact(Fact<T> fact) : fact_(std::move(fact)) {}

  const Fact<T>& operator()() const {
    if (!fact_) fact_ = compute_();
    return *fact_;
  }

 private:
  std::function<Fact<T>()> compute_;
  mutable std::optional<Fact<T>> fact_;
};

}  // namespace imgforge
