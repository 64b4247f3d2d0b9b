// Which hosts a server may not send us to.
#include <catch2/catch.hpp>
#include <string>

#include "base/http.hpp"

using namespace imgforge;

TEST_CASE("hosts that are not on the public Internet", "[url]") {
  for (const std::string host : {"localhost",
                                 "localhost.",
                                 "x.localhost",
                                 "127.0.0.1",
                                 "127.255.0.1",
                                 "0.0.0.0",
                                 "0.1.2.3",
                                 "10.0.0.1",
                                 "10.255.255.255",
                                 "100.64.0.1",
                                 "100.127.255.255",
                                 "169.254.169.254",
                                 "172.16.0.1",
                                 "172.31.255.255",
                                 "192.0.0.1",
                                 "192.168.0.1",
                                 "198.18.0.1",
                                 "198.19.255.255",
                                 "224.0.0.1",
                                 "240.0.0.1",
                                 "255.255.255.255",
                                 "[::]",
                                 "[::1]",
                                 "[fe80::1]",
                                 "[fec0::1]",
                                 "[fc00::1]",
                                 "[fd12:3456::1]",
                                 "[ff02::1]",
                                 "[::ffff:10.0.0.1]",
                                 "[::10.0.0.1]",
                                 "[64:ff9b::a9fe:a9fe]",
                                 "[2002:a00:1::1]",
                                 "metadata.google.internal",
                                 "metadata.google.internal."}) {
    INFO(host);
    CHECK(is_inner_host(host));
  }
  for (const std::string host : {"example.com",       "auth.docker.io",
                                 "1.1.1.1",           "9.255.255.255",
                                 "11.0.0.0",          "100.63.255.255",
                                 "100.128.0.1",       "169.253.0.1",
                                 "172.15.255.255",    "172.32.0.1",
                                 "192.0.1.1",         "192.167.0.1",
                                 "192.169.0.1",       "198.17.0.1",
                                 "198.20.0.1",        "223.255.255.255",
                                 "[2001:4860::1]",    "[64:ff9b::808:808]",
                                 "[2002:808:808::1]", "[::ffff:8.8.8.8]",
                                 "notlocalhost",      "metadata.google.internal.example"}) {
    INFO(host);
    CHECK_FALSE(is_inner_host(host));
  }
}

TEST_CASE("other spellings of an address are the address", "[url]") {
  for (const std::string url : {"http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/"}) {
    INFO(url);
    const auto parsed = Url::parse(url);
    CHECK((!parsed || is_inner_host(parsed->host)));
  }
}

TEST_CASE("forms", "[url]") {
  CHECK(form_encode({}).empty());
  CHECK(form_encode({{"scope", "repository:a/b:pull"}, {"x y", "&=+\r\n\xff"}}) ==
        "scope=repository%3Aa%2Fb%3Apull&x%20y=%26%3D%2B%0D%0A%FF");
}
