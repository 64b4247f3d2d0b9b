// What `imgforge inspect IMAGE --tree` prints: everything in the merged root, parents first, siblings by bytes.
//
// Written in portions, so that millions of files take no memory. A hard link stands as the file that it names.
#pragma once

#include <functional>
#include <string_view>

#include "layer/root_view.hpp"

namespace imgforge {

using TextSink = std::function<void(std::string_view)>;

/// A line each, as `ls -ln` has it: mode, uid:gid, bytes, number of the layer it comes from (1 the lowest; of a folder
/// that no layer names, the newest with something in it), path, and "-> target" of a link. Names are escaped as
/// text.hpp escape_for_display does.
void tree_text(RootView& root, const TextSink& sink);

/// An array of {path, type, size, mode, uid, gid, link, layer}. `mode` holds the bits of 07777, as a number; `link` is
/// there for symlinks, `layer` counts from 0. Bytes that are no UTF-8 are escaped, with
/// path_base64 and link_base64 beside.
void tree_json(RootView& root, const TextSink& sink);

}  // namespace imgforge
