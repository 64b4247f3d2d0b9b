// docker's config.json and containers' auth.json. Whatever stands in them, what comes out is credentials or an Error,
// and an Error never has a secret of the file in it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "image/credentials.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const imgforge::CredentialHelper helper = [](const std::string& name, const std::string& server) {
    imgforge::Credentials found;
    found.user = name;
    found.password = "x";
    return server.empty() ? std::nullopt : std::optional(found);
  };
  for (const imgforge::CredentialQuestion& question : {imgforge::CredentialQuestion{"docker.io", "library/python"},
                                                       imgforge::CredentialQuestion{"localhost:5000", ""}}) {
    try {
      if (const auto found = imgforge::find_credentials(bytes, "the file", question, helper)) {
        found->basic();
        if (!found->has_password() && found->identity_token.empty() && found->registry_token.empty()) std::abort();
      }
    } catch (const imgforge::Error& error) {
      if (error.message().find("sesame") != std::string::npos) std::abort();
    }
  }
  return 0;
}
