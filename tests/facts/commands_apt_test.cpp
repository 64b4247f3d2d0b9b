#include "facts/commands_apt.hpp"

#include <catch2/catch.hpp>

#include "run_commands.hpp"

using namespace imgforge;

namespace {

using Action = SystemPackageCommand::Action;

SystemPackageCommand packages_of(const std::string& text) {
  INFO(text);
  const auto made = read_system_packages(command_of(text));
  REQUIRE(made);
  return *made;
}

std::string shown(const SystemPackageCommand& made) {
  std::string text;
  for (const SystemPackage& one : made.packages) {
    text += (text.empty() ? "" : " ") + std::string(one.remove ? "-" : "") +
            (one.name.empty() ? "@" + one.written : one.name);
    if (!one.version.empty()) text += "=" + one.version;
    if (!one.release.empty()) text += "/" + one.release;
  }
  return text;
}

std::string changes_of(const std::string& text) {
  static constexpr const char* kinds[] = {"ppa", "line", "list", "key", "removed"};
  std::string all;
  for (const RepositoryChange& one : repository_changes(step_of(text)))
    all += std::string(kinds[static_cast<int>(one.kind)]) + " " + one.text + (one.not_known.empty() ? "" : "?") + "\n";
  return all;
}

}  // namespace

TEST_CASE("packages that are asked for", "[commands_apt]") {
  const struct {
    const char* text;
    Action action;
    const char* packages;
  } rows[] = {
      {"apt-get install -y --no-install-recommends python3.11=3.11.2-6 g++ libc6:amd64", Action::install,
       "python3.11=3.11.2-6 g++ libc6"},
      {"apt-get -qq -o Dpkg::Use-Pty=0 install a/bookworm-backports b-", Action::install, "a/bookworm-backports -b"},
      {"apt install ./x.deb /y/z.deb", Action::install, "@./x.deb @/y/z.deb"},
      {"apt-get update", Action::update, ""},
      {"apt-get dist-upgrade -y", Action::upgrade, ""},
      {"apt-get purge -y a", Action::remove, "a"},
      {"apt-get clean", Action::clean, ""},
      {"dpkg -i /tmp/cuda-keyring_1.1-1_all.deb", Action::install, "@/tmp/cuda-keyring_1.1-1_all.deb"},
      {"dpkg --print-architecture", Action::other, ""},
      {"apk add --no-cache -t .build gcc=12.2 'curl>8' edge@testing", Action::install, "gcc=12.2 curl=8 edge/testing"},
      {"apk del .build", Action::remove, "@.build"},
      {"yum install -y python39 https://h/x.rpm", Action::install, "python39 @https://h/x.rpm"},
      {"microdnf install --setopt=install_weak_deps=0 a", Action::install, "a"},
      {"yum update -y", Action::upgrade, ""},
      {"apt-get install", Action::install, ""},
  };
  for (const auto& row : rows) {
    const auto made = packages_of(row.text);
    INFO(row.text);
    CHECK(made.action == row.action);
    CHECK(shown(made) == row.packages);
    CHECK(made.not_known.empty());
  }
  CHECK(packages_of("apt-get install -y --no-install-recommends x").no_recommends);
  CHECK(!packages_of("apt-get install -y x").no_recommends);
  CHECK(packages_of("apt-get install").empty());
  CHECK(!packages_of("apt-get install $UNKNOWN x").not_known.empty());
  CHECK(packages_of("apk add --no-cache x").updates_first);
  CHECK(!packages_of("apk add x").updates_first);
  CHECK(packages_of("apt-get install -t bookworm-backports x").target_release == "bookworm-backports");
  const std::string text = "apt-get update && apt-get install -y a b";
  CHECK(packages_of(text).packages[1].offset == text.size() - 1);
  CHECK(!read_system_packages(command_of("apt-cache policy x")));
}

TEST_CASE("where packages come from", "[commands_apt]") {
  CHECK(changes_of("add-apt-repository -y ppa:deadsnakes/ppa") == "ppa ppa:deadsnakes/ppa\n");
  CHECK(changes_of("add-apt-repository -y 'deb https://h jammy main'") == "line deb https://h jammy main\n");
  CHECK(changes_of("add-apt-repository --remove ppa:x/y").empty());
  CHECK(changes_of("echo 'deb https://h x main' > /etc/apt/sources.list.d/x.list") == "line deb https://h x main\n\n");
  CHECK(changes_of("echo \"deb https://h x main\" | tee -a /etc/apt/sources.list") == "line deb https://h x main\n\n");
  CHECK(changes_of("cat > /etc/apt/sources.list.d/x.sources <<E\nTypes: deb\nE\n") == "line Types: deb\n\n");
  CHECK(changes_of("curl -fsSL https://h/k.asc | gpg --dearmor -o /usr/share/keyrings/k.gpg") ==
        "key https://h/k.asc\n");
  CHECK(changes_of("curl -fsSL https://h/3bf863cc.pub | apt-key add -") == "key https://h/3bf863cc.pub\n");
  CHECK(changes_of("apt-key adv --fetch-keys https://h/3bf863cc.pub") == "key https://h/3bf863cc.pub\n");
  CHECK(changes_of("curl -o /etc/yum.repos.d/x.repo https://h/x.repo") == "list https://h/x.repo\n");
  CHECK(changes_of("curl https://h/x.repo > /etc/yum.repos.d/x.repo") == "list https://h/x.repo\n");
  CHECK(changes_of("dnf config-manager --add-repo https://h/cuda.repo") == "list https://h/cuda.repo\n");
  CHECK(changes_of("rm -f /etc/apt/sources.list.d/cuda.list") == "removed /etc/apt/sources.list.d/cuda.list\n");
  CHECK(changes_of("echo $UNKNOWN > /etc/apt/sources.list") == "line ?\n");
  CHECK(changes_of("echo x > /etc/motd").empty());
}
