#include "check/wheel_tags.hpp"

#include <catch2/catch.hpp>

using namespace imgforge;

namespace {

const PythonMinor python311{3, 11};

std::optional<bool> fits(const std::string& tags) { return wheel_is_for("some_thing-1.0-" + tags + ".whl", python311); }

}  // namespace

TEST_CASE("a wheel's name tells for which Python it is") {
  CHECK(fits("cp311-cp311-linux_x86_64") == true);
  CHECK(fits("1-cp311-cp311-linux_x86_64") == true);  // with a build number
  CHECK(fits("cp310-cp310-linux_x86_64") == false);
  CHECK(fits("cp37-cp37m-linux_x86_64") == false);
  CHECK(fits("cp39-abi3-linux_x86_64") == true);
  CHECK(fits("cp312-abi3-linux_x86_64") == false);
  CHECK(fits("cp310.cp311-cp310.cp311-linux_x86_64") == true);
  CHECK(fits("py3-none-any") == true);
  CHECK(fits("py2.py3-none-any") == true);
  CHECK(fits("py38-none-any") == true);
  CHECK(fits("py313-none-any") == false);
  CHECK(fits("py2-none-any") == false);
  CHECK(fits("pp310-pypy310_pp73-linux_x86_64") == false);
  CHECK(fits("cp311-cp311t-linux_x86_64") == std::nullopt);
  CHECK(fits("graal-x-any") == std::nullopt);
  CHECK(wheel_is_for("some-1.0.tar.gz", python311) == std::nullopt);
  CHECK(wheel_is_for("short.whl", python311) == std::nullopt);
}

TEST_CASE("a wheel's name is the last part of its path or URL") {
  CHECK(wheel_file_name("https://x.example/a%2Bcu121-1.0-py3-none-any.whl?y#sha256=1") ==
        "a%2Bcu121-1.0-py3-none-any.whl");
  CHECK(wheel_file_name("./dist/a-1.0-py3-none-any.whl[extra]") == "a-1.0-py3-none-any.whl");
  CHECK(wheel_file_name("a==1.0") == std::nullopt);
  CHECK(wheel_file_name("") == std::nullopt);
  CHECK(wheel_python_tags("a-1.0-cp39-cp39-linux_x86_64.whl") == "cp39-cp39");
}
