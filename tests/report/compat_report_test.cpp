// The two spellings of what compat answers: nothing is lost between them, and nothing gets through to a terminal.
#include "report/compat_report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace imgforge {

namespace {

const Knowledge& knowledge() {
  static const Knowledge tables = Knowledge::embedded();
  return tables;
}

CompatPage page_with(const std::string& value, bool unverified) {
  CompatTable table{"things", {"some_name", "pythons"}, {}, ""};
  table.rows.push_back({{CompatCell::one(value), CompatCell::list({"3.9", "3.10"})}, "where it says so", unverified});
  table.rows.push_back({{CompatCell::one(""), CompatCell::list({})}, "where it says so", false});
  return {"a subject", {table}};
}

}  // namespace

TEST_CASE("a table of compat: a source on each row, told once, and a mark on what is unverified") {
  const std::string text = compat_text(page_with("one", true), Palette{});
  CHECK(text ==
        "things\n"
        "  some name  pythons    source\n"
        "  one        3.9, 3.10  [1] unverified\n"
        "  -          -          [1]\n"
        "\nsources\n"
        "  [1] where it says so\n");
  CHECK(compat_text(page_with("one", false), Palette{}).find("unverified") == std::string::npos);
}

TEST_CASE("a long cell goes on in the next line of its column") {
  const std::string text = compat_text(page_with(std::string(40, 'a') + ", " + std::string(40, 'b'), false), Palette{});
  CHECK(text.find("  " + std::string(40, 'a') + ",  3.9, 3.10  [1]\n  " + std::string(40, 'b') + "\n") !=
        std::string::npos);
}

TEST_CASE("rows of a folder's tables are made safe for the terminal, and the JSON stays ASCII") {
  const CompatPage page = page_with("a\x1b[31m\xff\xc3\xa9", false);
  CHECK(compat_text(page, Palette{}).find('\x1b') == std::string::npos);
  const std::string text = compat_json(page, knowledge());
  for (const char letter : text) CHECK(static_cast<unsigned char>(letter) < 0x80);
  const auto json = nlohmann::json::parse(text);
  CHECK(json["tables"][0]["rows"][0]["some_name"].is_string());
}

TEST_CASE("the JSON of a page: values by column, lists as lists, what is not known as null") {
  const auto json = nlohmann::json::parse(compat_json(page_with("one", true), knowledge()));
  CHECK(json["schema"] == "imgforge.compat/v1");
  CHECK(json["subject"] == "a subject");
  const auto& rows = json["tables"][0]["rows"];
  CHECK(rows[0] ==
        nlohmann::json::parse(
            R"({"some_name": "one", "pythons": ["3.9", "3.10"], "source": "where it says so", "unverified": true})"));
  CHECK(rows[1]["some_name"].is_null());
  CHECK(rows[1]["pythons"].empty());
}

TEST_CASE("the JSON of solve: a solution or a contradiction, never both") {
  for (const std::string python : {"3.11", "3.6"}) {
    const std::vector<std::string> asked{"beam=2.66", "tensorflow", "gpu=nvidia-l4", "python=" + python};
    const SolveResult result = solve(knowledge(), parse_wish(knowledge(), asked));
    const auto json = nlohmann::json::parse(solve_json(result, asked, knowledge()));
    CHECK(json["asked"] == asked);
    CHECK(json["solution"].is_null() != json["contradiction"].is_null());
    const std::string text = solve_text(result, asked, Palette{});
    if (python == "3.6") {
      CHECK(json["contradiction"]["constraints"] == std::vector<std::string>{"beam=2.66", "python=3.6"});
      CHECK(text.find("beam=2.66 and python=3.6 exclude each other") != std::string::npos);
    } else {
      CHECK(json["solution"]["python"] == "3.11");
      CHECK(json["solution"]["frameworks"][0]["cuda_from"] == "wheels");
      CHECK_FALSE(json["solution"]["judgements"][0]["rows"][0]["source"].get<std::string>().empty());
      CHECK(text.find("  Python         3.11\n") != std::string::npos);
    }
  }
}

}  // namespace imgforge
