#include "base/date.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "base/text.hpp"

namespace imgforge {

namespace {

std::chrono::year_month_day calendar(std::chrono::system_clock::time_point time) {
  return std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(time));
}

}  // namespace

std::optional<Date> Date::parse(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = to_number(text.substr(0, 4));
  const auto month = to_number(text.substr(5, 2));
  const auto day = to_number(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return Date(static_cast<int>(*year), static_cast<int>(*month), static_cast<int>(*day));
}

Date Date::today() {
  std::chrono::system_clock::time_point now = std::chrono::system_clock::now();
  if (const char* epoch = std::getenv("SOURCE_DATE_EPOCH")) {
    // Beyond year 9999 it is no date that anything here could print.
    if (const auto seconds = to_number(epoch); seconds && *seconds < 253402300800) {
      now = std::chrono::system_clock::time_point(std::chrono::seconds(*seconds));
    }
  }
  const std::chrono::year_month_day date = calendar(now);
  return Date(static_cast<int>(date.year()), static_cast<int>(static_cast<unsigned>(date.month())), static_cast<int>(static_cast<unsigned>(date.day())));
}

std::string Date::to_string() const { return fmt::format("{:04}-{:02}-{:02}", year_, month_, day_); }

}  // namespace imgforge
