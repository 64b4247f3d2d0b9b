// The grammar of EXPOSE (moby/buildkit frontend/dockerfile/dockerfile2llb/convert_expose.go).
#pragma once

#include <string>
#include <string_view>

namespace imgforge::dockerfile {

/// What BuildKit would say about "80", "80-90/udp", "8080:80"; empty where it takes it, or where a variable decides.
std::string fault_of_port(std::string_view word);

}  // namespace imgforge::dockerfile
