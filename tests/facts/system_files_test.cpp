// os-release, passwd and group, package databases: small text files that anybody may have written.
#include <catch2/catch.hpp>

#include "facts/accounts.hpp"
#include "facts/os_release.hpp"
#include "facts/package_databases.hpp"

using namespace imgforge;

TEST_CASE("os-release is read as a shell would", "[os-release]") {
  const OsRelease debian = parse_os_release(
      "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n# "
      "comment\nVERSION_ID='12'\nVERSION_CODENAME=bookworm\r\nID=debian\nBROKEN\nID_LIKE=x\n");
  CHECK(debian.id == "debian");
  CHECK(debian.version_id == "12");
  CHECK(debian.code_name == "bookworm");
  CHECK(debian.pretty_name == "Debian GNU/Linux 12 (bookworm)");
  CHECK(parse_os_release("ID=\"a\\\"b\"\nID=c").id == "c");  // the last one holds
  CHECK(parse_os_release("ID=" + std::string(10'000, 'x')).id.size() == 256);
}

namespace {

const std::vector<Account> accounts = parse_passwd(
    "root:x:0:0:root:/root:/bin/bash\nspark:x:1099:1099:Spark:/home/spark:/bin/bash\n1000:x:4:4::/four:/bin/sh\n"
    "broken\nhuge:x:99999999999:1::/:\nminus:x:-1:1::/:\nlast:x:2147483647:5::/last:");
const std::vector<Group> groups = parse_group("root:x:0:\nspark:x:1099:\nvideo:x:44:other,spark\nbroken:x:y:\n");

}  // namespace

TEST_CASE("only accounts that a runtime would take are accounts", "[accounts]") {
  REQUIRE(accounts.size() == 4);
  CHECK(accounts[3].uid == 2147483647);
  CHECK(groups.size() == 3);
}

TEST_CASE("the config's user is resolved as runtimes do", "[accounts]") {
  const auto ids = [](std::string_view written) {
    const auto user = resolve_user(written, accounts, groups);
    return user.is_known() ? std::to_string(user->uid) + ":" + std::to_string(user->gid) : user.reason();
  };
  CHECK(ids("") == "0:0");
  CHECK(ids("spark") == "1099:1099");
  CHECK(ids("1099") == "1099:1099");  // the account's group
  CHECK(ids("1234") == "1234:0");     // no account: group root
  CHECK(ids("1234:55") == "1234:55");
  CHECK(ids("spark:video") == "1099:44");
  CHECK(ids("1000") == "4:4");  // a name first, though it looks like a number
  CHECK(ids("nobody") == "the user \"nobody\" is not in /etc/passwd");
  CHECK(ids("spark:wheel") == "the group \"wheel\" is not in /etc/group");
  CHECK(ids("4294967295") == "the user id 4294967295 is out of range");
  CHECK(ids("1:2147483648") == "the group id 2147483648 is out of range");
  CHECK(resolve_user("spark", accounts, groups)->home == "/home/spark");
  CHECK(resolve_user("spark", accounts, groups)->groups == std::vector<std::uint32_t>{44});
  CHECK(resolve_user("spark:spark", accounts, groups)->groups.empty());  // a named group is the only one
  CHECK(resolve_user("1234", accounts, groups)->home == "/");
}

TEST_CASE("dpkg's status tells what is installed", "[packages]") {
  const auto packages = parse_dpkg_status(
      "Package: python3.11-minimal\nStatus: install ok installed\nVersion: 3.11.2-6+deb12u3\nDescription: x\n Package: "
      "not-this\n\n"
      "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n\npackage: tini\nversion: 0.19.0-1");
  CHECK(packages.size() == 2);
  CHECK(packages.at("python3.11-minimal") == "3.11.2-6+deb12u3");
  CHECK(packages.at("tini") == "0.19.0-1");  // a stanza of distroless, without Status
  CHECK(parse_apk_installed("P:musl\nV:1.2.4-r2\n\nP:python3\nV:3.11.9-r0\n").at("python3") == "3.11.9-r0");
}

TEST_CASE("upstream versions of packages", "[packages]") {
  const auto text = [](std::string_view written) {
    const auto version = upstream_version(written);
    return version ? version->to_string() : "none";
  };
  CHECK(text("3.11.2-6+deb12u3") == "3.11.2");
  CHECK(text("3.8.10-0ubuntu1~20.04.18") == "3.8.10");
  CHECK(text("3.13.0~rc2-1+jammy1") == "3.13.0rc2");
  CHECK(text("1:3.9.2-1") == "3.9.2");
  CHECK(text("3.11.9-r0") == "3.11.9");
  CHECK(text("2.31-13+deb11u10") == "2.31");
  CHECK(text("garbage") == "none");
}
