// Decision -> application/problem+json (RFC 9457).
#include <optional>

#include "report/headers.hpp"
#include "report/text.hpp"

namespace ratel {
namespace {

/// How many bytes at the start of `text` are one well-formed UTF-8 character; 0 when they are none.
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second > 0x9F;
  const bool too_large = lead == 0xF4 && second > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

void AppendEscaped(std::string& out, char c) {
  constexpr char kHex[] = "0123456789abcdef";
  if (c == '"' || c == '\\') {
    out.push_back('\\');
    out.push_back(c);
  } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
    out.append("\\u00");
    out.push_back(kHex[(c >> 4) & 0xF]);
    out.push_back(kHex[c & 0xF]);
  } else {
    out.push_back(c);
  }
}

/// A JSON string of any bytes; a byte that is not UTF-8 becomes U+FFFD.
void AppendJsonString(std::string& out, std::string_view text) {
  out.push_back('"');
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    if (length == 1) {
      AppendEscaped(out, text[0]);
    } else if (length == 0) {
      out.append("\xEF\xBF\xBD");
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out.push_back('"');
}

/// One JSON object, member by member.
class Object {
 public:
  void Text(std::string_view name, std::string_view value) {
    Name(name);
    AppendJsonString(out_, value);
  }
  void Number(std::string_view name, uint64_t value) {
    Name(name);
    AppendNumber(out_, value);
  }
  void List(std::string_view name, std::string_view only) {
    Name(name);
    out_.push_back('[');
    AppendJsonString(out_, only);
    out_.push_back(']');
  }
  std::string Take() { return std::move(out_.append(out_.empty() ? "{}" : "}")); }

 private:
  void Name(std::string_view name) {
    out_.append(out_.empty() ? "{" : ",");
    AppendJsonString(out_, name);
    out_.push_back(':');
  }
  std::string out_;
};

/// What a reason means to an HTTP client.
struct Kind {
  const char* reason;
  uint64_t status;
  const char* type;
  const char* title;
};

Kind KindOf(Reason reason) {
  constexpr const char* kQuotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded";
  constexpr const char* kBlank = "about:blank";
  switch (reason) {
    case Reason::kNeverFits:
      return {"never_fits", 429, kQuotaExceeded, "Quota Exceeded"};
    case Reason::kBlocked:
      return {"blocked", 403, kBlank, "Forbidden"};
    case Reason::kStore:
      return {"store", 503, kBlank, "Service Unavailable"};
    case Reason::kLimited:
    case Reason::kNone:
      break;
  }
  return {"limited", 429, kQuotaExceeded, "Quota Exceeded"};
}

std::optional<uint64_t> RetryAfter(const Decision& decision) {
  if (decision.reason != Reason::kLimited || decision.retry_after_ns == kNever) return std::nullopt;
  return RetryAfterSeconds(decision.retry_after_ns);
}

std::string Detail(const Decision& decision) {
  std::string text;
  switch (decision.reason) {
    case Reason::kNeverFits:
      text = "The request costs ";
      AppendNumber(text, static_cast<uint64_t>(decision.cost));
      text += ", more than the limit ever holds (";
      AppendNumber(text, decision.capacity);
      text += "); waiting does not help.";
      return text;
    case Reason::kBlocked:
      return "Requests of this kind are blocked.";
    case Reason::kStore:
      return "The limits cannot be checked at the moment.";
    case Reason::kLimited:
    case Reason::kNone:
      break;
  }
  text = "The limit is used up";
  if (const auto seconds = RetryAfter(decision)) {
    text += "; retry after ";
    AppendNumber(text, *seconds);
    text += *seconds == 1 ? " second" : " seconds";
  }
  return text + ".";
}

}  // namespace

std::string DecisionProblem(const Decision& decision, std::string_view rule_name, std::string_view limit_name) {
  const Kind kind = KindOf(decision.reason);
  Object problem;
  problem.Text("type", kind.type);
  problem.Text("title", kind.title);
  problem.Number("status", kind.status);
  problem.Text("detail", Detail(decision));
  problem.Text("reason", kind.reason);
  if (!rule_name.empty()) problem.Text("rule", rule_name);
  if (decision.limit_id != 0) {
    problem.Text("limit", limit_name);
    problem.List("violated-policies", limit_name);
    problem.Number("capacity", decision.capacity);
    problem.Number("remaining", decision.remaining);
    problem.Number("reset_after", CeilSeconds(decision.reset_after_ns));
  }
  if (const auto seconds = RetryAfter(decision)) problem.Number("retry_after", *seconds);
  return problem.Take();
}

}  // namespace ratel
