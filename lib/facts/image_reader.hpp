// What the facts of one image share: the sources, and answers that several facts need, computed once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/depth.hpp"
#include "facts/facts.hpp"
#include "facts/survey.hpp"
#include "image/source.hpp"
#include "knowledge/knowledge.hpp"
#include "layer/elf_parts.hpp"
#include "layer/root_view.hpp"

namespace imgforge {

class ImageReader {
 public:
  ImageReader(const Image& image, RootView& root, const Knowledge& knowledge, Depth depth);

  Depth depth() const { return depth_; }

  const ImageConfig& config() const { return image_.config(); }
  RootView& root() const { return root_; }
  const Knowledge& knowledge() const { return knowledge_; }

  Evidence evidence(const Node& node) const { return Evidence::in_layer(root_.layer_name(node.layer), node.path); }
  /// Absolute, without ".." and "//".
  std::string working_directory() const;
  /// PATH of the image, or the one that runtimes set.
  std::string search_path() const;
  std::optional<Command> find(std::string_view name) const;
  bool exists(const std::string& path) const { return static_cast<bool>(root_.lookup(path)); }
  bool is_file(const std::string& path) const;
  bool is_folder(const std::string& path) const;

  const Survey& survey();
  ElfFiles& elfs() { return elfs_; }
  /// Versions by package, of dpkg and apk; `package_evidence` is where they come from.
  const std::map<std::string, std::string>& packages();
  const Evidence& package_evidence() const { return package_evidence_; }

  LazyFact<OsRelease> os_release;
  LazyFact<User> user;
  LazyFact<Version> boot_version;
  LazyFact<std::vector<Interpreter>> interpreters;
  LazyFact<std::vector<Distribution>> distributions;
  LazyFact<WorkerPython> worker_python;
  LazyFact<Distribution> beam;

 private:
  const Image& image_;
  RootView& root_;
  const Knowledge& knowledge_;
  Depth depth_;
  ElfFiles elfs_{root_};
  std::optional<Survey> survey_;
  std::optional<std::map<std::string, std::string>> packages_;
  Evidence package_evidence_;
};

}  // namespace imgforge
