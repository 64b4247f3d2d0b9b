#include "image/registry_certificates.hpp"

#include <catch2/catch.hpp>

#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

TEST_CASE("certificates of a registry lie in a folder of its name", "[certificates]") {
  const TemporaryFolder one;
  const TemporaryFolder two;
  const auto files = [&](const std::string& url) { return certificates_for(*Url::parse(url), {one.path, two.path}); };
  CHECK(files("https://r.example/") == TlsFiles{});
  write_file(two / "r.example:5000/ca.crt", "x");
  write_file(two / "r.example:5000/client.cert", "x");
  write_file(two / "r.example:5000/client.key", "x");
  write_file(two / "r.example:5000/README", "x");
  const TlsFiles found = files("https://r.example:5000/v2/");
  CHECK(found.authorities == std::vector<std::string>{two / "r.example:5000/ca.crt"});
  CHECK(found.certificate == two / "r.example:5000/client.cert");
  CHECK(found.key == two / "r.example:5000/client.key");
  CHECK(files("http://r.example:5000/v2/") == TlsFiles{});
  CHECK(files("https://r.example/v2/") == TlsFiles{});
  CHECK(files("https://r.example:5001/v2/") == TlsFiles{});
  CHECK(files("https://x.r.example:5000/v2/") == TlsFiles{});

  write_file(two / "two.example/b.crt", "x");
  write_file(two / "two.example/a.crt", "x");
  CHECK(files("https://two.example/v2/").authorities ==
        std::vector<std::string>{two / "two.example/a.crt", two / "two.example/b.crt"});

  write_file(two / "plain.example/ca.crt", "x");
  CHECK(files("https://plain.example/v2/").authorities == std::vector<std::string>{two / "plain.example/ca.crt"});
  CHECK(files("https://plain.example:444/v2/") == TlsFiles{});
  write_file(one / "plain.example:443/mine.crt", "x");
  CHECK(files("https://plain.example/v2/").authorities == std::vector<std::string>{one / "plain.example:443/mine.crt"});
}

TEST_CASE("half a client certificate is an error", "[certificates]") {
  const TemporaryFolder folder;
  write_file(folder / "cert.example/client.cert", "x");
  write_file(folder / "key.example/client.key", "x");
  for (const std::string host : {"cert.example", "key.example"}) {
    const Error error = error_of([&] { certificates_for(*Url::parse("https://" + host + "/"), {folder.path}); });
    CHECK(error.kind() == ErrorKind::image_access);
    CHECK(mentions(error, "NAME.cert with NAME.key"));
  }
}

TEST_CASE("hostile: a host is no path", "[certificates][hostile]") {
  const TemporaryFolder folder;
  write_file(folder / "ca.crt", "x");
  Url url = *Url::parse("https://r.example/");
  for (const std::string host : {"..", ".", ""}) {
    url.host = host;
    CHECK(certificates_for(url, {folder / "certs.d", folder.path + "/x/.."}) == TlsFiles{});
  }
}
