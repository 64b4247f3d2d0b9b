// Core metadata of an installed Python distribution: METADATA (PEP 566 and later) and PKG-INFO, the header block only.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imgforge {

struct PythonMetadata {
  std::string name;     // as written
  std::string version;  // as written
  std::vector<std::string> requires_dist;
  std::string requires_python;
};

/// The header block of `text`, up to the first empty line; the description behind it is not looked at. Continuation
/// lines are joined with a space. Of Name, Version and Requires-Python the first counts, as for Python's email parser.
/// Nothing where there is no Name or no Version. At most 4,096 requirements. `cut` says that `text` is the first
/// part of a file: its last line is then not believed.
std::optional<PythonMetadata> parse_python_metadata(std::string_view text, bool cut = false);

/// What the name of a dist-info or egg-info says: "numpy-2.0.1.dist-info" → numpy, 2.0.1;
/// "Foo-1.0-py3.9.egg-info" → Foo, 1.0; "foo.egg-info" → foo and no version. Nothing for other names, and for the
/// remains of an interrupted pip ("~umpy-…").
struct MetadataName {
  std::string name;
  std::string version;
};
std::optional<MetadataName> parse_metadata_name(std::string_view folder);

/// The tags of a WHEEL file (PEP 427), compressed sets as they are written: "py2.py3-none-any". At most 256.
std::vector<std::string> parse_wheel_tags(std::string_view text);

/// The requirements of an egg-info's requires.txt as Requires-Dist would have them: sections "[extra]",
/// "[extra:marker]" and "[:marker]" become markers, as pip does. At most 4,096.
std::vector<std::string> parse_requires_txt(std::string_view text);

/// direct_url.json (PEP 610): where a distribution came from that no index brought.
struct DirectUrl {
  std::string url;
  bool editable = false;
};
/// Nothing where it is no such JSON.
std::optional<DirectUrl> parse_direct_url(std::string_view text);

/// Calls `visit` with the path of each line of a RECORD (PEP 376), relative to the site folder, as it is written.
void for_each_recorded(std::string_view record, const std::function<void(std::string_view path)>& visit);

}  // namespace imgforge
