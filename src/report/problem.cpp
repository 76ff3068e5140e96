// Decision -> application/problem+json (RFC 9457).
#include <optional>

#include "core/json.hpp"
#include "report/headers.hpp"
#include "report/text.hpp"

namespace ratel {
namespace {

/// The problem type that draft-ietf-httpapi-ratelimit-headers registers.
constexpr const char* kQuotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded";
constexpr const char* kBlank = "about:blank";

/// What a reason means to an HTTP client.
struct Kind {
  const char* reason;
  uint64_t status;
  const char* type;
  const char* title;
};

Kind KindOf(Reason reason) {
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
  JsonWriter problem;
  problem.Begin('{');
  problem.Name("type").Text(kind.type);
  problem.Name("title").Text(kind.title);
  problem.Name("status").Number(kind.status);
  problem.Name("detail").Text(Detail(decision));
  problem.Name("reason").Text(kind.reason);
  if (!rule_name.empty()) problem.Name("rule").Text(rule_name);
  if (decision.limit_id != 0) {
    problem.Name("limit").Text(limit_name);
    problem.Name("violated-policies").Begin('[').Text(limit_name).End(']');
    problem.Name("capacity").Number(decision.capacity);
    problem.Name("remaining").Number(decision.remaining);
    problem.Name("reset_after").Number(CeilSeconds(decision.reset_after_ns));
  }
  if (const auto seconds = RetryAfter(decision)) problem.Name("retry_after").Number(*seconds);
  problem.End('}');
  return problem.Take();
}

}  // namespace ratel
