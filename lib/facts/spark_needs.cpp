#include "facts/spark_needs.hpp"

#include <fmt/format.h>

#include "facts/accounts.hpp"

namespace imgforge {
namespace {

constexpr std::uint64_t max_accounts = 4 << 20;  // bytes of passwd and group
constexpr std::size_t max_evidence = 5;

std::string_view last_component(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_multi_call(std::string_view path) {
  const std::string_view name = last_component(path);
  return name.starts_with("busybox") || name.starts_with("toybox");
}

/// A program by PATH, or at one of the places where the service's own scripts name it.
Fact<bool> program(ImageReader& reader, std::string_view name, std::initializer_list<const char*> places) {
  std::vector<Evidence> evidence;
  const auto usable = [&](const std::string& path) {
    const Lookup found = reader.root().lookup(path);
    if (!found || found.node->type != EntryType::file || (found.node->mode & 0111) == 0) return false;
    evidence.push_back(reader.evidence(*found.node));
    return !is_multi_call(found.node->path);
  };
  const auto command = reader.find(name);
  if (command && command->executable && usable(command->found_at)) return Fact<bool>::known(true, std::move(evidence));
  for (const char* place : places) {
    if (usable(place)) return Fact<bool>::known(true, {evidence.back()});
  }
  return Fact<bool>::known(false, std::move(evidence));
}

void read_accounts(ImageReader& reader, SparkNeeds& needs) {
  const Lookup passwd = reader.root().lookup("/etc/passwd");
  const Lookup group = reader.root().lookup("/etc/group");
  if (!passwd || passwd.node->type != EntryType::file) {
    needs.user_spark = Fact<User>::absent();
  } else if (const auto text = reader.root().read(*passwd.node, max_accounts); !text) {
    needs.user_spark = Fact<User>::unknown("/etc/passwd is too large to be read");
  } else {
    needs.user_spark = Fact<User>::absent({reader.evidence(*passwd.node)});
    for (const Account& account : parse_passwd(*text)) {
      if (account.name != "spark") continue;
      User user;
      user.written = "spark";
      user.uid = account.uid;
      user.gid = account.gid;
      user.home = account.home;
      needs.home_exists = account.home.starts_with('/') && reader.is_folder(account.home);
      needs.user_spark = Fact<User>::known(std::move(user), {reader.evidence(*passwd.node)});
      break;  // getpwnam(3) takes the first
    }
  }
  if (!group || group.node->type != EntryType::file) {
    needs.group_spark = Fact<std::uint32_t>::absent();
  } else if (const auto text = reader.root().read(*group.node, max_accounts); !text) {
    needs.group_spark = Fact<std::uint32_t>::unknown("/etc/group is too large to be read");
  } else {
    needs.group_spark = Fact<std::uint32_t>::absent({reader.evidence(*group.node)});
    for (const Group& one : parse_group(*text)) {
      if (one.name != "spark") continue;
      needs.group_spark = Fact<std::uint32_t>::known(one.gid, {reader.evidence(*group.node)});
      break;
    }
  }
}

void read_software(ImageReader& reader, SparkNeeds& needs) {
  std::vector<Evidence> spark, java;
  const auto add = [&](std::vector<Evidence>& list, const Node& node) {
    if (list.size() < max_evidence) list.push_back(reader.evidence(node));
  };
  const auto& distributions = reader.distributions();
  if (distributions.is_known()) {
    for (const Distribution& distribution : distributions.value()) {
      if (distribution.name == "pyspark" && spark.size() < max_evidence) spark.push_back(distribution.evidence);
    }
  }
  // The site folders of pyspark hold a whole Spark: one piece of evidence is enough.
  const bool by_pip = !spark.empty();
  reader.root().walk([&](const Node& node) {
    if (node.type != EntryType::file) return;
    const std::string_view name = last_component(node.path);
    if (name.starts_with("spark-core_") && name.ends_with(".jar")) {
      if (!by_pip) add(spark, node);
    } else if (name == "spark-submit" && node.path.ends_with("/bin/spark-submit")) {
      if (!by_pip) add(spark, node);
    } else if (name == "java" && node.path.ends_with("/bin/java") && (node.mode & 0111) != 0) {
      add(java, node);
    }
  });
  const bool has_spark = !spark.empty(), has_java = !java.empty();
  needs.spark = Fact<bool>::known(has_spark, std::move(spark));
  needs.java = Fact<bool>::known(has_java, std::move(java));
}

}  // namespace

Fact<SparkNeeds> read_spark_needs(ImageReader& reader) {
  SparkNeeds needs;
  needs.procps = program(reader, "ps", {"/bin/ps", "/usr/bin/ps"});
  needs.tini =
      program(reader, "tini", {"/usr/bin/tini", "/bin/tini", "/sbin/tini", "/usr/sbin/tini", "/usr/local/bin/tini"});
  read_accounts(reader, needs);
  if (reader.depth() == Depth::full) {
    read_software(reader, needs);
  } else {
    const std::string reason = "it takes a look at every layer, and --depth contract reads named paths only";
    needs.spark = needs.java = Fact<bool>::unknown(reason);
  }
  return Fact<SparkNeeds>::known(std::move(needs));
}

Fact<FlexLauncher> read_flex_launcher(ImageReader& reader) {
  constexpr std::string_view folder = "/opt/google/dataflow", ending = "_template_launcher";
  const auto at = [&](const std::string& path) -> std::optional<FlexLauncher> {
    const Lookup found = reader.root().lookup(path);
    if (!found || found.node->type != EntryType::file) return std::nullopt;
    return FlexLauncher{path, std::nullopt, {reader.evidence(*found.node)}};
  };
  for (const char* language : {"python", "java", "go"}) {
    if (const auto launcher = at(fmt::format("{}/{}{}", folder, language, ending))) {
      return Fact<FlexLauncher>::known(*launcher, launcher->evidence);
    }
  }
  // Every layer was looked into for that.
  for (const Node& node : reader.root().list(folder)) {
    if (!node.path.ends_with(ending)) continue;
    if (const auto launcher = at(node.path)) return Fact<FlexLauncher>::known(*launcher, launcher->evidence);
  }
  return Fact<FlexLauncher>::absent();
}

}  // namespace imgforge
