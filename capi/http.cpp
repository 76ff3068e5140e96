// What a middleware asks about an HTTP request: who the client is, whether it may pass, which fields the answer carries.
#include <string>
#include <string_view>
#include <vector>

#include "ask.hpp"
#include "bytes.hpp"
#include "header_forms.hpp"
#include "registry.hpp"
#include "report/headers.hpp"
#include "structs.hpp"

using namespace ratel::capi;
using ratel::Decision;
using ratel::Registry;
using ratel::Request;
using ratel::Status;

namespace ratel::capi {
namespace {

/// The address of the connection and the lines of the fields in which proxies tell of theirs. Borrowed from the caller.
struct Hops {
  std::string_view peer;
  std::vector<std::string_view> x_forwarded_for;
  std::vector<std::string_view> forwarded;

  std::string Client(const Registry& engine) const { return engine.ClientIp(peer, x_forwarded_for, forwarded); }
  /// The same for a request, which parses it when a limit counts addresses. `room` holds the text where it is made.
  std::string_view Client(const Registry& engine, std::string& room) const {
    if (!engine.TrustsProxies()) return peer;
    return room = Client(engine);
  }
};

/// The lines of one header field.
rl_status ReadLines(const rl_str* lines, uint32_t count, const char* argument, std::vector<std::string_view>& out,
                    const ErrorOut& error) {
  if (lines == nullptr && count != 0) {
    return error.Fail(RL_E_INVALID_ARGUMENT, "%s is NULL but its count is %u", argument, count);
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (const rl_status status = CheckBytes(lines[i], argument, error)) return status;
    out.push_back(View(lines[i]));
  }
  return RL_OK;
}

rl_status ReadHops(const rl_http& in, Hops& out, const ErrorOut& error) {
  rl_status status = CheckBytes(in.peer, "peer", error);
  if (status == RL_OK)
    status = ReadLines(in.x_forwarded_for, in.x_forwarded_for_count, "x_forwarded_for", out.x_forwarded_for, error);
  if (status == RL_OK) status = ReadLines(in.forwarded, in.forwarded_count, "forwarded", out.forwarded, error);
  out.peer = View(in.peer);
  return status;
}

}  // namespace
}  // namespace ratel::capi

rl_status rl_client_ip(const rl_registry* registry, rl_str peer, const rl_str* x_forwarded_for,
                       uint32_t x_forwarded_for_count, const rl_str* forwarded, uint32_t forwarded_count, char* buffer,
                       uint64_t capacity, uint64_t* needed, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    rl_status status = CheckBuffer(buffer, capacity, needed, error);
    if (status == RL_OK) status = CheckHandle(registry, "registry", error);
    Hops hops;
    const rl_http http{sizeof(rl_http), 0, peer, x_forwarded_for, forwarded, x_forwarded_for_count, forwarded_count};
    if (status == RL_OK) status = ReadHops(http, hops, error);
    return status == RL_OK ? WriteText(hops.Client(*registry->engine), buffer, capacity, needed, error) : status;
  });
}

rl_status rl_allow_http(rl_registry* registry, const rl_request* request, const rl_http* http, rl_decision* out,
                        char* buffer, uint64_t capacity, uint64_t* needed, rl_error* err) {
  return GuardDecision(out, err, [&](const ErrorOut& error, Decision& decision) -> rl_status {
    rl_status status = CheckBuffer(buffer, capacity, needed, error);
    if (status == RL_OK) status = CheckHandle(registry, "registry", error);
    Input<rl_http> in;
    if (status == RL_OK) status = in.Take(http, "http", error);
    uint32_t forms = 0;
    if (status == RL_OK) status = ReadHeaderForms(*registry->engine, in->header_flags, forms, error);
    Hops hops;
    if (status == RL_OK) status = ReadHops(*in, hops, error);
    std::string client;
    if (status == RL_OK) {
      status = AskEngine(registry, request, error, [&](Registry& engine, Request& question) {
        if (question.identity.ip.empty()) question.identity.ip = hops.Client(engine, client);
        return engine.Allow(question, decision);
      });
    }
    if (status != RL_OK) return status;
    const std::string_view limit = registry->engine->LimitName(decision.limit_id);
    *needed = ratel::DecisionHeaders(decision, limit, forms, {buffer, capacity});
    return RL_OK;
  });
}
