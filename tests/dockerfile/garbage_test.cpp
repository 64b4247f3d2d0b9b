// Whatever the bytes are: no crash, no throw, and every place lies within the file.
#include <catch2/catch.hpp>
#include <random>

#include "dockerfile/dockerfile.hpp"
#include "dockerfile/expand.hpp"
#include "dockerfile/parsed.hpp"
#include "dockerfile/places.hpp"

namespace imgforge::dockerfile {
namespace {

const std::vector<std::string> fragments = {
    "FROM a AS b",
    "\n",
    "\n",
    "\n",
    "RUN ",
    "COPY ",
    "ENV ",
    "A=1",
    " ",
    " ",
    "\\\n",
    "\\",
    "`",
    "# ",
    "# escape=`",
    "<<EOF",
    "EOF",
    "<<-'E'",
    "\t",
    "ARG ",
    "$",
    "${",
    "}",
    ":-",
    "\"",
    "'",
    "[",
    "]",
    "[\"a\", \"b\"]",
    ",",
    "ONBUILD ",
    "HEALTHCHECK ",
    "CMD ",
    "--from=b ",
    "--mount=type=cache,target=/x ",
    "\r\n",
    "\r",
    "\xEF\xBB\xBF",
    "\u00a0",
    "\xC3",
    "# imgforge: ignore=x y",
    "LABEL ",
    "USER ",
    "EXPOSE 80",
    "=",
    "//",
    "%%",
    "\0x",
    "VOLUME ",
    "SHELL ",
    "&& x",
    "#",
};

std::string random_text(std::mt19937& random, std::size_t parts) {
  std::string text;
  for (std::size_t i = 0; i < parts; ++i) text += fragments[random() % fragments.size()];
  return text;
}

constexpr std::string_view whole =
    "# syntax=docker/dockerfile:1\n# escape=\\\nARG V=1\nFROM --platform=$P a:${V:-2} AS build\n"
    "ENV A=1 \\\n  # c\n  B=\"x y\" \\\n\n  C='z' # d\nRUN --mount=type=cache,target=/c apt-get update \\\n && x\n"
    "RUN cat <<-EOF > /a && cat <<'B'\n\tx\n\tEOF\ny\nB\nCOPY --from=build <<f \"/a\" /b/\n1\nf\n"
    "HEALTHCHECK --interval=5s CMD [\"a\", \"b\"]\nONBUILD ADD [\"a b\", \"/c\"]\nEXPOSE 80/tcp\nLABEL a b c\n"
    "# imgforge: ignore=a/b c\nENTRYPOINT [ \"/x\" ]\r\nCMD it's\n";

}  // namespace

TEST_CASE("garbage: texts of random parts") {
  std::mt19937 random(4711);
  std::size_t accepted = 0;
  for (int i = 0; i < 4'000; ++i) {
    const std::string text = (i % 2 == 0 ? "FROM a\n" : "") + random_text(random, 1 + random() % 40);
    const DockerfileParse parse = parse_dockerfile(text, "f");
    const std::string outside = place_outside(parse, text);
    if (!outside.empty()) FAIL_CHECK(outside << " in: " << text);
    accepted += parse.dockerfile ? 1 : 0;
    looks_like_dockerfile(text);
    expand(text, i % 3 == 0 ? '`' : '\\', [](std::string_view) { return Variable{}; });
    unquote(text, '\\');
  }
  CHECK(accepted > 100);  // else the test tests nothing but errors
}

TEST_CASE("garbage: a Dockerfile of everything with bytes changed, cut and doubled") {
  REQUIRE(parse_dockerfile(whole, "f").dockerfile);
  std::mt19937 random(815);
  std::size_t accepted = 0;
  for (int i = 0; i < 4'000; ++i) {
    std::string text(whole);
    for (std::size_t change = 0; change < 1 + random() % 4; ++change) {
      const std::size_t at = random() % text.size();
      const std::size_t length = std::min<std::size_t>(random() % 12, text.size() - at);
      switch (random() % 4) {
        case 0: text[at] = static_cast<char>(random() % 256); break;
        case 1: text.erase(at, length); break;
        case 2: text.insert(random() % text.size(), text.substr(at, length)); break;
        default: text.insert(at, fragments[random() % fragments.size()]); break;
      }
    }
    const DockerfileParse parse = parse_dockerfile(text, "f");
    const std::string outside = place_outside(parse, text);
    if (!outside.empty()) FAIL_CHECK(outside << " in: " << text);
    CHECK((parse.dockerfile || !parse.diagnostics.empty()));
    accepted += parse.dockerfile ? 1 : 0;
  }
  CHECK(accepted > 400);
  CHECK(accepted < 3'900);
}

TEST_CASE("garbage: long texts take no long time") {
  for (const char* part : {"\\\n", "A=1 #x \\\n", "\"a b\" ", "$", "${A:-", "<<EOF ", "[\"a\",", "# imgforge: x\n",
                           "' ", "\n", "#\n", "--a=b "}) {
    for (const char* start : {"FROM a\nENV A=1 ", "FROM a\nRUN ", "FROM a\nCOPY ", ""}) {
      std::string text = start;
      while (text.size() < 1'000'000)
        text += std::string_view(part).ends_with("\n") ? part : std::string(part) + "\\\n";
      const DockerfileParse parse = parse_dockerfile(text, "f");
      CHECK((parse.dockerfile || !parse.diagnostics.empty()));
    }
  }
}

}  // namespace imgforge::dockerfile
