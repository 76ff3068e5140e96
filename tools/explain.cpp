#include <chrono>
#include <stdexcept>

#include "command.hpp"
#include "load.hpp"
#include "time.hpp"

namespace ratel::tool {
namespace {

uint64_t Now(const std::string& text) {
  if (text.empty()) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }
  const std::optional<uint64_t> instant = ParseInstant(text);
  if (!instant)
    throw std::invalid_argument("--now: \"" + text + "\" is neither 2026-07-01T12:00:00Z nor epoch seconds");
  return *instant;
}

void AddAttributes(Request& request, const std::vector<std::string>& attributes) {
  for (const std::string& attribute : attributes) {
    const size_t equals = attribute.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw std::invalid_argument("--attr: \"" + attribute + "\" is not name=value");
    }
    const std::string_view view = attribute;
    request.Attribute(view.substr(0, equals), view.substr(equals + 1));
  }
}

Request ToRequest(const ExplainOptions& options, const Registry& registry) {
  if (options.rule.empty() && options.path.empty())
    throw std::invalid_argument("METHOD and PATH, or --rule, are needed");
  if (options.rule.empty() && !options.key.empty()) throw std::invalid_argument("--key goes with --rule");
  Request request;
  request.Method(options.method).Path(options.path).User(options.user).Ip(options.ip).ApiKey(options.api_key);
  request.Key(options.key).NowNs(Now(options.now));
  if (!options.rule.empty()) request.Rule(registry.RuleId(options.rule));
  if (options.has_cost) request.Cost(options.cost);
  AddAttributes(request, options.attributes);
  return request;
}

}  // namespace

int Explain(const ExplainOptions& options) {
  const Config config = LoadOrExit(options.file);
  const Registry registry(config);
  const Request request = ToRequest(options, registry);
  for (uint32_t i = 0; i < options.after; ++i) registry.Allow(request);
  const std::string text = registry.Explain(request, options.json ? RL_TEXT_JSON : 0);
  Print(options.json ? text : Visible(text, true));
  if (!text.empty() && text.back() != '\n') Print("\n");
  return kOk;
}

}  // namespace ratel::tool
