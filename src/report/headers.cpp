// Decision -> header fields. Which number goes where, and why, is told in docs/headers.md.
#include "report/headers.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "report/text.hpp"

namespace ratel {
namespace {

constexpr uint32_t kDrafts = kHeadersDraft11 | kHeadersDraft8 | kHeadersDraft7 | kHeadersDraft6;
constexpr uint32_t kAllForms = kHeadersX | kHeadersResetDelta | kHeadersRetryAfter | kDrafts | kHeadersNone;

/// The largest integer of a structured field (RFC 9651, section 3.3.1).
constexpr uint64_t kLargestFieldInteger = 999'999'999'999'999;

bool WaitingCures(const Decision& decision) {
  return !decision.allowed && decision.reason == Reason::kLimited && decision.retry_after_ns != kNever;
}

/// Epoch seconds of the reset, rounded up. Spans are measured from the microsecond of the decision.
uint64_t ResetEpochSeconds(const Decision& decision) {
  const uint64_t now = decision.now_ns - decision.now_ns % 1000;
  return CeilSeconds(now > UINT64_MAX - decision.reset_after_ns ? UINT64_MAX : now + decision.reset_after_ns);
}

/// Seconds until there is more to spend. The drafts want it to agree with Retry-After where both are sent.
uint64_t EffectiveWindowSeconds(const Decision& decision) {
  return WaitingCures(decision) ? RetryAfterSeconds(decision.retry_after_ns) : CeilSeconds(decision.reset_after_ns);
}

uint64_t WindowSeconds(const Decision& decision) { return std::max<uint64_t>(1, CeilSeconds(decision.window_ns)); }

/// Writes field lines into a buffer, as far as they fit, and counts them all.
class Fields {
 public:
  explicit Fields(std::span<char> out) noexcept : out_(out) {}
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  size_t size() const noexcept { return size_; }

  Fields& Text(std::string_view text) noexcept {
    if (size_ < out_.size()) std::memcpy(out_.data() + size_, text.data(), std::min(text.size(), out_.size() - size_));
    size_ += text.size();
    return *this;
  }
  /// The same for a text whose size the compiler knows.
  template <size_t kSize>
  Fields& Text(const char (&text)[kSize]) noexcept {
    static constexpr size_t kLength = kSize - 1;
    if (!Fits(kLength)) return Text(std::string_view(text, kLength));
    std::memcpy(out_.data() + size_, text, kLength);
    size_ += kLength;
    return *this;
  }
  Fields& Number(uint64_t number) noexcept {
    if (Fits(kMostDigits)) {
      size_ += Write(out_.data() + size_, number);
      return *this;
    }
    char digits[kMostDigits];
    return Text(std::string_view(digits, Write(digits, number)));
  }
  Fields& Integer(uint64_t number) noexcept { return Number(std::min(number, kLargestFieldInteger)); }

  /// A structured-field string. Names are printable ASCII by rule; whatever else came in could end the line.
  Fields& Quoted(std::string_view text) noexcept {
    Byte('"');
    for (const char c : text) {
      if (c == '"' || c == '\\') Byte('\\');
      Byte(c >= ' ' && c <= '~' ? c : '?');
    }
    return Byte('"');
  }
  void End() noexcept { Text("\r\n"); }

 private:
  static constexpr size_t kMostDigits = 20;

  bool Fits(size_t size) const noexcept { return size_ + size <= out_.size(); }
  static size_t Write(char* to, uint64_t number) noexcept {
    return static_cast<size_t>(std::to_chars(to, to + kMostDigits, number).ptr - to);
  }
  Fields& Byte(char c) noexcept { return Text(std::string_view(&c, 1)); }

  const std::span<char> out_;
  size_t size_ = 0;
};

void AppendX(Fields& fields, const Decision& decision, bool delta) {
  fields.Text("X-RateLimit-Limit: ").Number(decision.capacity).End();
  fields.Text("X-RateLimit-Remaining: ").Number(decision.remaining).End();
  const uint64_t reset = delta ? CeilSeconds(decision.reset_after_ns) : ResetEpochSeconds(decision);
  fields.Text("X-RateLimit-Reset: ").Number(reset).End();
}

/// Drafts 6 and 7: the quota itself is the item.
void AppendOldPolicy(Fields& fields, const Decision& decision) {
  fields.Text("RateLimit-Policy: ").Integer(decision.limit).Text(";w=").Integer(WindowSeconds(decision));
  if (decision.capacity != decision.limit) fields.Text(";burst=").Integer(decision.capacity);
  fields.End();
}

void AppendDraft6(Fields& fields, const Decision& decision) {
  fields.Text("RateLimit-Limit: ").Integer(decision.capacity).End();
  fields.Text("RateLimit-Remaining: ").Integer(decision.remaining).End();
  fields.Text("RateLimit-Reset: ").Integer(EffectiveWindowSeconds(decision)).End();
  AppendOldPolicy(fields, decision);
}

void AppendDraft7(Fields& fields, const Decision& decision) {
  AppendOldPolicy(fields, decision);
  fields.Text("RateLimit: limit=").Integer(decision.capacity);
  fields.Text(", remaining=").Integer(decision.remaining);
  fields.Text(", reset=").Integer(EffectiveWindowSeconds(decision)).End();
}

/// Draft 8 and later: the item is the policy's name. The two differ in words, not in syntax.
void AppendDraft8Up(Fields& fields, const Decision& decision, std::string_view name) {
  fields.Text("RateLimit-Policy: ").Quoted(name).Text(";q=").Integer(decision.limit);
  fields.Text(";w=").Integer(WindowSeconds(decision));
  if (decision.capacity != decision.limit) fields.Text(";ratel-burst=").Integer(decision.capacity);
  fields.End();
  fields.Text("RateLimit: ").Quoted(name).Text(";r=").Integer(decision.remaining);
  fields.Text(";t=").Integer(EffectiveWindowSeconds(decision)).End();
}

}  // namespace

bool IsValidHeaderForms(uint32_t forms) noexcept {
  if ((forms & ~kAllForms) != 0) return false;
  if ((forms & kHeadersNone) != 0) return forms == kHeadersNone;
  const uint32_t drafts = forms & kDrafts;
  return (drafts & (drafts - 1)) == 0;
}

uint64_t RetryAfterSeconds(uint64_t retry_after_ns) noexcept {
  return std::max<uint64_t>(1, CeilSeconds(retry_after_ns));
}

size_t DecisionHeaders(const Decision& decision, std::string_view limit_name, uint32_t forms,
                       std::span<char> out) noexcept {
  if (decision.limit_id == 0 || decision.capacity == 0) return 0;
  if (forms == 0) forms = kHeadersDefault;
  if ((forms & kHeadersNone) != 0) return 0;
  Fields fields(out);
  if ((forms & kHeadersX) != 0) AppendX(fields, decision, (forms & kHeadersResetDelta) != 0);
  if ((forms & kHeadersDraft6) != 0) AppendDraft6(fields, decision);
  if ((forms & kHeadersDraft7) != 0) AppendDraft7(fields, decision);
  if ((forms & (kHeadersDraft8 | kHeadersDraft11)) != 0) AppendDraft8Up(fields, decision, limit_name);
  if ((forms & kHeadersRetryAfter) != 0 && WaitingCures(decision)) {
    fields.Text("Retry-After: ").Number(RetryAfterSeconds(decision.retry_after_ns)).End();
  }
  return fields.size();
}

}  // namespace ratel
