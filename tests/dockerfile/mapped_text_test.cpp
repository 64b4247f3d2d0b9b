#include <catch2/catch.hpp>

#include "dockerfile/dockerfile.hpp"

namespace imgforge::dockerfile {

TEST_CASE("mapped text: every byte knows where it came from") {
  MappedText text;
  CHECK(text.place_at(0) == Place{});
  text.append("RUN a ", {"f", 1, 1});
  text.append("", {"f", 2, 1});
  text.append(" && b", {"f", 4, 1});
  CHECK(text.text() == "RUN a  && b");
  CHECK(text.place_at(0) == Place{"f", 1, 1});
  CHECK(text.place_at(5) == Place{"f", 1, 6});
  CHECK(text.place_at(6) == Place{"f", 4, 1});
  CHECK(text.place_at(10) == Place{"f", 4, 5});
  CHECK(text.place_at(11) == Place{"f", 4, 5});
  CHECK(text.place_at(999) == Place{"f", 4, 5});
}

TEST_CASE("mapped text: parts keep their places") {
  MappedText text;
  text.append("abc", {"f", 1, 5});
  text.append("def", {"f", 2, 1});
  text.append("ghi", {"f", 3, 1});
  const MappedText part = text.slice(2, 5);
  CHECK(part.text() == "cdefg");
  CHECK(part.place_at(0) == Place{"f", 1, 7});
  CHECK(part.place_at(1) == Place{"f", 2, 1});
  CHECK(part.place_at(4) == Place{"f", 3, 1});
  CHECK(text.slice(9).text().empty());
  CHECK(text.slice(7).text() == "hi");
  CHECK(text.slice(3, 3).place_at(0) == Place{"f", 2, 1});
  MappedText joined = text.slice(0, 1);
  joined.append(text.slice(8));
  CHECK(joined.text() == "ai");
  CHECK(joined.place_at(1) == Place{"f", 3, 3});
}

}  // namespace imgforge::dockerfile
