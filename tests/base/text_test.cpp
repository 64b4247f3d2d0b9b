#include "base/text.hpp"

#include <catch2/catch.hpp>

using namespace imgforge;

TEST_CASE("text for a terminal is one harmless line", "[text]") {
  CHECK(escape_for_display("plain é 日本") == "plain é 日本");
  CHECK(escape_for_display("a\x1b[2Jb") == "a\\x1b[2Jb");
  CHECK(escape_for_display("line\nbreak\ttab\\") == "line\\nbreak\\ttab\\\\");
  CHECK(escape_for_display("\xff\xfe") == "\\xff\\xfe");
  CHECK(escape_for_display("\xc2\x9b") == "\\u{9b}");          // a C1 control, CSI in one character
  CHECK(escape_for_display("\xe2\x80\xaertl") == "\\u{202e}rtl");  // right-to-left override
  CHECK(escape_for_display("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate is no character
}

TEST_CASE("hostile: text in a log is no command to the service that keeps it", "[text][hostile]") {
  CHECK(escape_for_display("::error::x") == "\\x3a:error::x");
  CHECK(display_safe("  \u3000::set-output name=a::b") == "  \u3000\\x3a:set-output name=a::b");
  CHECK(escape_for_display("x ::y") == "x ::y");
  CHECK(escape_for_display("a##vso[task.setvariable]b") == "a\\x23#vso[task.setvariable]b");
  CHECK(display_safe("###[add-path]x") == "#\\x23#[add-path]x");
  CHECK(escape_for_display("##teamcity[x]") == "\\x23#teamcity[x]");
  CHECK(escape_for_display("## heading # [x]") == "## heading # [x]");
  CHECK(display_safe(escape_for_display("##[x]")) == "\\x23#[x]");
}

TEST_CASE("UTF-8 is told from what only looks like it", "[text]") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("\xf0\x9f\x90\x8d"));
  CHECK_FALSE(is_utf8("\xc0\xaf"));          // overlong
  CHECK_FALSE(is_utf8("\xf4\x90\x80\x80"));  // beyond U+10FFFF
  CHECK_FALSE(is_utf8("\xe2\x82"));          // cut
  CHECK(to_utf8("a\xff\x1b") == "a\\xff\x1b");
}

TEST_CASE("the nearest known word is one slip away, or nothing", "[text]") {
  const std::vector<std::string> known = {"runner", "role", "launch", "disk_size_gb"};
  CHECK(nearest("runer", known) == "runner");
  CHECK(nearest("rnuner", known) == "runner");
  CHECK(nearest("Runner", known) == "runner");
  CHECK(nearest("disk_size", known) == "disk_size_gb");
  CHECK_FALSE(nearest("accelerator", known));
  CHECK_FALSE(nearest("", known));
}

TEST_CASE("globs match whole paths", "[text]") {
  CHECK(glob_match("/usr/*/python3", "/usr/bin/python3"));
  CHECK_FALSE(glob_match("/usr/*/python3", "/usr/local/bin/python3"));
  CHECK(glob_match("/usr/**/python3", "/usr/local/bin/python3"));
  CHECK(glob_match("/usr/**/python3", "/usr/python3"));
  CHECK(glob_match("**/METADATA", "/a/b/METADATA"));
  CHECK(glob_match("/opt/**", "/opt/a/b"));
  CHECK(glob_match("/a/**/b/**/c", "/a/x/b/y/b/z/c"));
  CHECK_FALSE(glob_match("/a/**/b/**/c", "/a/x/c/y/b"));
  CHECK(glob_match("/x/?.so.*", "/x/a.so.1"));
  CHECK_FALSE(glob_match("/x/?.so.*", "/x/ab.so.1"));
  CHECK_FALSE(glob_match("/a", "/a/b"));
  CHECK_FALSE(glob_match("/a/b", "/a"));
}

TEST_CASE("a glob of many stars is still linear enough to end", "[text]") {
  std::string pattern, path;
  for (int i = 0; i < 40; ++i) pattern += "/**/a*a*a";
  for (int i = 0; i < 2000; ++i) path += "/aaaaaaaaaaaaaaaaab";
  CHECK_FALSE(glob_match(pattern, path));
}

TEST_CASE("sizes read as people write them", "[text]") {
  CHECK(human_size(17) == "17 B");
  CHECK(human_size(312'000) == "312 KB");
  CHECK(human_size(4'900'000'000) == "4.9 GB");
  CHECK(human_size(999'999) == "1.0 MB");
}

TEST_CASE("base64 is strict both ways", "[text]") {
  for (const std::string text : {"", "f", "fo", "foo", "foobar", "user:p\xc3\xa4ss"}) CHECK(base64_decode(base64_encode(text)) == text);
  CHECK(base64_encode("fo") == "Zm8=");
  CHECK_FALSE(base64_decode("Zm9"));      // no padding
  CHECK_FALSE(base64_decode("Zm8\n"));    // stray
  CHECK_FALSE(base64_decode("Zm9="));     // bits behind the end
  CHECK_FALSE(base64_decode("Z=8="));
}

TEST_CASE("words, lines and numbers", "[text]") {
  CHECK(join_words({"a"}) == "a");
  CHECK(join_words({"a", "b"}) == "a and b");
  CHECK(join_words({"a", "b", "c"}, "or") == "a, b or c");
  CHECK(lines("a\r\nb\n\nc") == std::vector<std::string_view>{"a", "b", "", "c"});
  CHECK(lines("").empty());
  CHECK(to_number("0042") == 42u);
  CHECK_FALSE(to_number("18446744073709551616"));
  CHECK_FALSE(to_number("-1"));
  CHECK_FALSE(to_number(""));
  CHECK(trim(" \t a b \n") == "a b");
}
