// os-release, passwd, group, dpkg's status, apk's database, pyvenv.cfg, patchlevel.h: text that an image brings.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "facts/accounts.hpp"
#include "facts/os_release.hpp"
#include "facts/package_databases.hpp"
#include "facts/python_version.hpp"
#include "facts/site_packages.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  parse_os_release(text);
  const auto accounts = parse_passwd(text);
  const auto groups = parse_group(text);
  const auto user = resolve_user(text.substr(0, 64), accounts, groups);
  if (user.is_known() && (user->uid > 0x7fffffff || user->gid > 0x7fffffff)) std::abort();
  for (const auto& [name, version] : parse_dpkg_status(text)) upstream_version(version);
  parse_apk_installed(text);
  parse_venv_config(text);
  version_of_patchlevel(text);
  version_in_program(text, {3, 11});
  return 0;
}
