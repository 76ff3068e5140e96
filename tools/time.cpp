#include "time.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

namespace ratel::tool {
namespace {

using std::chrono::seconds;

constexpr int64_t kNsPerSecond = 1'000'000'000;
/// Seconds that still fit: RL_NOW_MAX_NS is below.
constexpr int64_t kMaxSeconds = 9'007'199'254;

/// Takes fields off the front of a text; after the first that does not fit, everything fails.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  int Number(size_t digits) {
    int value = 0;
    const std::string_view field = Take(digits);
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (field.empty() || field[0] == '-' || error != std::errc() || end != field.data() + field.size()) ok_ = false;
    return value;
  }
  std::string_view Take(size_t size) {
    if (rest_.size() < size) ok_ = false;
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  void Expect(char c) {
    if (Take(1) != std::string_view(&c, 1)) ok_ = false;
  }
  bool Next(char c) const { return !rest_.empty() && rest_.front() == c; }
  bool Done() const { return ok_ && rest_.empty(); }

  /// Digits after a point, as nanoseconds; more than nine are cut.
  int64_t Fraction() {
    if (!Next('.')) return 0;
    Expect('.');
    if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') ok_ = false;
    int64_t value = 0;
    int64_t unit = kNsPerSecond / 10;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      value += (Take(1)[0] - '0') * unit;
      unit /= 10;
    }
    return value;
  }

  /// "+02:00", "+0200".
  int64_t Offset() {
    const int64_t sign = Next('-') ? -1 : 1;
    if (!Next('-')) {
      Expect('+');
    } else {
      Expect('-');
    }
    const int hours = Number(2);
    if (Next(':')) Expect(':');
    const int minutes = Number(2);
    if (hours > 23 || minutes > 59) ok_ = false;
    return sign * (int64_t{hours} * 3600 + int64_t{minutes} * 60);
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct Fields {
  int year, month, day, hour, minute, second;
};

std::optional<int64_t> ToSeconds(const Fields& f, int64_t offset) {
  const std::chrono::year_month_day date{std::chrono::year{f.year}, std::chrono::month{static_cast<unsigned>(f.month)},
                                         std::chrono::day{static_cast<unsigned>(f.day)}};
  if (!date.ok() || f.hour > 23 || f.minute > 59 || f.second > 60) return std::nullopt;
  const int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  const int64_t result = days * 86400 + int64_t{f.hour} * 3600 + int64_t{f.minute} * 60 + f.second - offset;
  if (result < 1 || result > kMaxSeconds) return std::nullopt;
  return result;
}

std::optional<uint64_t> ToNs(std::optional<int64_t> whole, int64_t fraction) {
  if (!whole) return std::nullopt;
  return static_cast<uint64_t>(*whole * kNsPerSecond + fraction);
}

std::optional<uint64_t> ParseEpoch(std::string_view text) {
  int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error != std::errc() || whole < 1 || whole > kMaxSeconds) return std::nullopt;
  Cursor cursor(text.substr(static_cast<size_t>(end - text.data())));
  const int64_t fraction = cursor.Fraction();
  if (!cursor.Done()) return std::nullopt;
  return ToNs(whole, fraction);
}

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

int MonthOf(std::string_view name) {
  for (size_t i = 0; i < kMonths.size(); ++i) {
    if (kMonths[i] == name) return static_cast<int>(i) + 1;
  }
  return 0;
}

}  // namespace

std::optional<uint64_t> ParseInstant(std::string_view text) {
  if (text.find('-', 1) == std::string_view::npos) return ParseEpoch(text);
  Cursor cursor(text);
  Fields f{};
  f.year = cursor.Number(4);
  cursor.Expect('-');
  f.month = cursor.Number(2);
  cursor.Expect('-');
  f.day = cursor.Number(2);
  if (!cursor.Next(' ')) {
    cursor.Expect('T');
  } else {
    cursor.Expect(' ');
  }
  f.hour = cursor.Number(2);
  cursor.Expect(':');
  f.minute = cursor.Number(2);
  cursor.Expect(':');
  f.second = cursor.Number(2);
  const int64_t fraction = cursor.Fraction();
  int64_t offset = 0;
  if (cursor.Next('Z')) {
    cursor.Expect('Z');
  } else {
    offset = cursor.Offset();
  }
  if (!cursor.Done()) return std::nullopt;
  return ToNs(ToSeconds(f, offset), fraction);
}

std::optional<uint64_t> ParseLogTime(std::string_view text) {
  Cursor cursor(text);
  Fields f{};
  f.day = cursor.Number(2);
  cursor.Expect('/');
  f.month = MonthOf(cursor.Take(3));
  cursor.Expect('/');
  f.year = cursor.Number(4);
  cursor.Expect(':');
  f.hour = cursor.Number(2);
  cursor.Expect(':');
  f.minute = cursor.Number(2);
  cursor.Expect(':');
  f.second = cursor.Number(2);
  cursor.Expect(' ');
  const int64_t offset = cursor.Offset();
  if (!cursor.Done()) return std::nullopt;
  return ToNs(ToSeconds(f, offset), 0);
}

std::string FormatInstant(uint64_t ns) {
  const std::chrono::sys_seconds instant{seconds(ns / static_cast<uint64_t>(kNsPerSecond))};
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{instant - day};
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u %02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text;
}

}  // namespace ratel::tool
