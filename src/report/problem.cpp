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
