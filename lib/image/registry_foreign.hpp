// Layers that a registry may not hand out, and whose descriptor says where else they are. image-spec 1.1, descriptor.md
// ("urls"), layer.md ("non-distributable layers").
//
// Anybody may have written these addresses: they are used only where the registry has not the blob, only with https to
// public hosts, through each redirect, and without any credentials. The digest is checked as of any blob.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/error.hpp"
#include "base/http.hpp"
#include "image/manifest.hpp"
#include "image/redirect.hpp"
#include "image/source.hpp"

namespace imgforge {

/// The blob from the first of the descriptor's addresses that has it. Throws the registry's error `missing`, with what
/// came of the addresses. `check` says which addresses are good; other rules than check_foreign_address are for tests.
std::unique_ptr<ByteReader> open_foreign_blob(
    const Descriptor& descriptor, std::string_view what, const Error& missing,
    const std::function<Url(std::string_view)>& check = check_foreign_address);

}  // namespace imgforge
