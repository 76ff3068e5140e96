// Spans of time as users write them.
#include <array>
#include <charconv>

#include "config/reader.hpp"
#include "config/words.hpp"

namespace ratel {
namespace {

struct Unit {
  std::string_view name;
  Micros micros;
};

constexpr std::array kUnits = {
    Unit{"w", 604'800'000'000},
    Unit{"d", 86'400'000'000},
    Unit{"h", 3'600'000'000},
    Unit{"m", 60'000'000},
    Unit{"s", 1'000'000},
    Unit{"ms", 1'000},
    Unit{"us", 1},
};

constexpr size_t kMaxFractionDigits = 12;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

size_t CountDigits(std::string_view text) {
  size_t count = 0;
  while (count < text.size() && IsDigit(text[count])) ++count;
  return count;
}

Error Fault(std::string_view text, const std::string& reason) {
  return {Status::kInvalidArgument, Quote(text) + " is not a time span: " + reason, {}, {}, {}};
}

/// One "1.5h" of a span, cut from the front of `rest`.
class Term {
 public:
  /// False when `rest` does not start with a number and a unit; reason() says why.
  bool Read(std::string_view& rest) {
    const size_t whole_digits = CountDigits(rest);
    if (whole_digits == 0) return Refuse("a number and a unit are due, such as 250ms, 1m or 1h30m");
    const char* const end = rest.data() + whole_digits;
    if (std::from_chars(rest.data(), end, whole_).ec != std::errc()) return Refuse("the number is too large");
    rest.remove_prefix(whole_digits);
    return ReadFraction(rest) && ReadUnit(rest);
  }
  const std::string& reason() const { return reason_; }
  size_t unit() const { return unit_; }

  /// In microseconds, or false: it is not a whole number of them, or too many.
  bool Value(Wide& micros) {
    const Wide part = static_cast<Wide>(fraction_) * kUnits[unit_].micros;
    if (part % fraction_unit_ != 0) return Refuse("the finest step is 1us");
    micros = static_cast<Wide>(whole_) * kUnits[unit_].micros + part / fraction_unit_;
    return true;
  }

 private:
  bool ReadFraction(std::string_view& rest) {
    if (rest.empty() || rest[0] != '.') return true;
    const size_t digits = CountDigits(rest.substr(1));
    if (digits == 0 || digits > kMaxFractionDigits) return Refuse("1 to 12 digits are due after the point");
    for (const char c : rest.substr(1, digits)) {
      fraction_ = fraction_ * 10 + static_cast<uint64_t>(c - '0');
      fraction_unit_ *= 10;
    }
    rest.remove_prefix(digits + 1);
    return true;
  }

  bool ReadUnit(std::string_view& rest) {
    size_t length = 0;
    while (length < rest.size() && !IsDigit(rest[length])) ++length;
    const std::string_view name = rest.substr(0, length);
    for (unit_ = 0; unit_ < kUnits.size(); ++unit_) {
      if (kUnits[unit_].name != name) continue;
      rest.remove_prefix(length);
      return true;
    }
    if (name.empty()) return Refuse("the number has no unit (us, ms, s, m, h, d or w)");
    return Refuse("there is no unit " + Quote(name) + "; use us, ms, s, m, h, d or w");
  }

  bool Refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  uint64_t whole_ = 0;
  uint64_t fraction_ = 0;
  uint64_t fraction_unit_ = 1;
  size_t unit_ = 0;
  std::string reason_;
};

}  // namespace

Result<Micros> ParseDuration(std::string_view text) {
  if (text.find(' ') != std::string_view::npos) return Fault(text, "it is written without blanks, such as 1h30m");
  std::string_view rest = text;
  Wide total = 0;
  size_t next_unit = 0;
  do {
    Term term;
    Wide micros = 0;
    if (!term.Read(rest) || !term.Value(micros)) return Fault(text, term.reason());
    if (term.unit() < next_unit) return Fault(text, "units go from large to small, each once, such as 1h30m");
    next_unit = term.unit() + 1;
    total += micros;
  } while (!rest.empty());
  if (total > kMaxMicros) return Fault(text, "it is too long");
  return static_cast<Micros>(total);
}

std::string FormatDuration(Micros span) {
  if (span == 0) return "0s";
  std::string text;
  for (const Unit& unit : kUnits) {
    // Weeks only when nothing is left over: 10d reads better than 1w3d.
    if (unit.name == "w" && span % unit.micros != 0) continue;
    if (span < unit.micros) continue;
    text.append(std::to_string(span / unit.micros)).append(unit.name);
    span %= unit.micros;
  }
  return text;
}

}  // namespace ratel
