#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <clocale>

int main(int argc, char* argv[]) {
  // As cmd/imgforge/main.cpp does: libarchive reads pax names only under a UTF-8 LC_CTYPE.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  return Catch::Session().run(argc, argv);
}
