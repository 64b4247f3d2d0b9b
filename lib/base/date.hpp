// A calendar date (proleptic Gregorian, no time zone): what end-of-life tables and --today speak of.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace imgforge {

class Date {
 public:
  Date() = default;  // 1970-01-01
  /// "YYYY-MM-DD" of a day that exists; nothing otherwise.
  static std::optional<Date> parse(std::string_view text);
  /// Today in UTC, or the day of SOURCE_DATE_EPOCH where that is set (reproducible-builds.org).
  static Date today();

  std::string to_string() const;
  int year() const noexcept { return year_; }
  int month() const noexcept { return month_; }
  int day() const noexcept { return day_; }

  auto operator<=>(const Date&) const = default;

 private:
  Date(int year, int month, int day) : year_(year), month_(month), day_(day) {}
  int year_ = 1970;
  int month_ = 1;
  int day_ = 1;
};

}  // namespace imgforge
