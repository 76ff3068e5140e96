#include "rules/rule.hpp"

namespace ratel {
namespace {

std::string ToText(const ScopeElement& element) {
  switch (element.part) {
    case ScopePart::kUser:
      return "user";
    case ScopePart::kApiKey:
      return "api_key";
    case ScopePart::kIp:
      return "ip";
    case ScopePart::kGlobal:
      return "global";
    case ScopePart::kAttribute:
      return "attribute:" + element.attribute;
  }
  return "";
}

}  // namespace

std::string ToText(const Scope& scope) {
  std::string text;
  for (const ScopeElement& element : scope) {
    if (!text.empty()) text += ',';
    text += ToText(element);
  }
  return text;
}

const char* ToText(LocalTier tier) noexcept {
  switch (tier) {
    case LocalTier::kNone:
      return "none";
    case LocalTier::kDenials:
      return "denials";
    case LocalTier::kLeases:
      return "leases";
  }
  return "";
}

}  // namespace ratel
