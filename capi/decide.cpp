#include <string>

#include "ask.hpp"
#include "bytes.hpp"
#include "registry.hpp"
#include "request.hpp"
#include "structs.hpp"

using namespace ratel::capi;
using ratel::Decision;
using ratel::Registry;
using ratel::Request;
using ratel::Status;

namespace ratel::capi {
namespace {

rl_status CheckSettled(const Decision& decision, int64_t actual, const ErrorOut& error) noexcept {
  if (actual < 0) return error.Fail(RL_E_INVALID_ARGUMENT, "actual is %lld, below 0", static_cast<long long>(actual));
  if (!decision.allowed) return error.Fail(RL_E_INVALID_ARGUMENT, "decision: it was denied, so nothing was spent");
  if (decision.peeked) return error.Fail(RL_E_INVALID_ARGUMENT, "decision: an answer of rl_peek, so nothing was spent");
  const bool asked = decision.source == Source::kExact || decision.source == Source::kLocalFallback ||
                     decision.source == Source::kLeased;
  const bool spent = decision.cost > 0 && decision.rule != 0 && decision.limit_count > 0 && asked;
  return spent ? RL_OK : error.Fail(RL_E_INVALID_ARGUMENT, "decision: no limit was asked, so nothing was spent");
}

/// Many questions, decided in chunks that fit the stack.
class Batch {
 public:
  Batch(Registry& engine, uint32_t out_size) noexcept : engine_(engine), out_size_(out_size) {}
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void Add(const rl_request* at, uint32_t stride, rl_decision* out) noexcept {
    if (count_ == kChunk || kAttributes - attributes_ < kMaxAttributes) Decide();
    Request& question = questions_[count_];
    if (at->struct_size != stride || !ReadPlainRequest(at, question)) {
      question = Request();
      if (const rl_status status = Read(at, stride, question)) {
        Give(NoAnswer(status), out, out_size_);
        return;
      }
      attributes_ += question.identity.attributes.size();
    }
    places_[count_] = out;
    ++count_;
  }

  void Decide() noexcept {
    engine_.AllowMany(questions_.first(count_), answers_.first(count_), clock_ns_);
    for (size_t i = 0; i < count_; ++i) {
      const Decision& answer = answers_[i];
      if (answer.status == Status::kOk) {
        GiveDecision(answer, places_[i], out_size_);
      } else {
        Give(NoAnswer(ToC(answer.status)), places_[i], out_size_);
      }
    }
    count_ = attributes_ = 0;
  }

 private:
  static constexpr size_t kChunk = 32;
  static constexpr size_t kAttributes = 2 * kMaxAttributes;

  rl_status Read(const rl_request* at, uint32_t stride, Request& question) noexcept {
    const ErrorOut silent(nullptr);
    if (at->struct_size != stride) return RL_E_ABI;  // it lies where another's length says
    Input<rl_request> in;
    if (const rl_status status = in.Take(at, "requests", silent)) return status;
    return ReadRequest(*in, room_.from(attributes_), question, silent);
  }

  Registry& engine_;
  const uint32_t out_size_;
  size_t count_ = 0;
  size_t attributes_ = 0;
  uint64_t clock_ns_ = 0;  // so that one instant serves all chunks
  Room<Request, kChunk> questions_;
  Room<Decision, kChunk> answers_;
  Room<rl_decision*, kChunk> places_;
  Room<AttributeView, kAttributes> room_;
};

rl_status AllowMany(rl_registry* registry, const rl_request* requests, uint32_t count, rl_decision* out,
                    const ErrorOut& error) {
  if (const rl_status status = CheckHandle(registry, "registry", error)) return status;
  if (count == 0) return RL_OK;
  if (const rl_status status = CheckOutput(out, "out", error)) return status;
  if (requests == nullptr) return error.Fail(RL_E_INVALID_ARGUMENT, "requests is NULL");
  const uint32_t stride = SizeOf(requests);
  if (const char* problem = SizeProblem(requests)) {
    return error.Fail(RL_E_ABI, "requests: struct_size %u %s", stride, problem);
  }
  const uint32_t out_stride = out->struct_size;
  Batch batch(*registry->engine, out_stride);
  for (uint32_t i = 0; i < count; ++i) batch.Add(ElementAt(requests, stride, i), stride, ElementAt(out, out_stride, i));
  batch.Decide();
  return RL_OK;
}

/// The status of an rl_allow_rule that cannot be asked.
rl_status WhyNotAllowRule(const rl_registry* registry, rl_str key, int64_t cost, uint64_t now_ns,
                          const rl_decision* out) noexcept {
  const ErrorOut silent(nullptr);
  rl_status status = CheckOutput(out, "out", silent);
  if (status == RL_OK) status = CheckHandle(registry, "registry", silent);
  if (status == RL_OK) status = CheckBytes(key, "key", silent);
  if (status == RL_OK) status = CheckCost(cost, silent);
  if (status == RL_OK) status = CheckNow(now_ns, silent);
  return status;
}

/// Who is waiting for the answer of rl_allow_async.
struct Waiter {
  rl_callback callback;
  void* user;
};

void Deliver(void* self, const Decision& decision) {
  const std::unique_ptr<Waiter> waiter(static_cast<Waiter*>(self));
  const rl_decision answer = decision.status == Status::kOk ? ToC(decision) : NoAnswer(ToC(decision.status));
  waiter->callback(waiter->user, &answer);
}

}  // namespace
}  // namespace ratel::capi

rl_status rl_allow(rl_registry* registry, const rl_request* request, rl_decision* out, rl_error* err) {
  const ErrorOut own(err);
  Request plain;
  if (IsUsable(out) && own.usable() && IsLive(registry) && ReadPlainRequest(request, plain)) [[likely]] {
    // The engine does not throw and fills it whatever comes: no guard, no clearing.
    Room<Decision, 1> room;
    const Status status = registry->engine->Allow(plain, room[0]);
    if (status == Status::kOk) [[likely]] {
      GiveDecision(room[0], out, out->struct_size);
      return RL_OK;
    }
    Give(NoAnswer(ToC(status)), out);
    return FailToDecide(status, plain, nullptr, own);
  }
  return GuardDecision(out, err, [&](const ErrorOut& error, Decision& decision) {
    return AskEngine(registry, request, error,
                     [&](Registry& engine, const Request& question) { return engine.Allow(question, decision); });
  });
}

rl_status rl_allow_rule(rl_registry* registry, uint32_t rule, const char* key, uint64_t key_size, int64_t cost,
                        uint64_t now_ns, rl_decision* out) {
  const bool answers = IsUsable(out);
  if (!answers || !IsLive(registry) || !IsBytes({key, key_size}) || !IsCost(cost) || now_ns > RL_NOW_MAX_NS)
      [[unlikely]] {
    const rl_status status = WhyNotAllowRule(registry, {key, key_size}, cost, now_ns, out);
    if (answers) Give(NoAnswer(status), out);
    return status;
  }
  // The engine does not throw and fills it whatever comes: no guard, no clearing.
  Room<Decision, 1> room;
  Decision& decision = room[0];
  const rl_status status = ToC(registry->engine->AllowRule(rule, {key, key_size}, cost, now_ns, decision));
  if (status == RL_OK) {
    GiveDecision(decision, out, out->struct_size);
  } else {
    Give(NoAnswer(status), out);
  }
  return status;
}

rl_status rl_allow_many(rl_registry* registry, const rl_request* requests, uint32_t count, rl_decision* out,
                        rl_error* err) {
  const rl_status status =
      Guard(err, [&](const ErrorOut& error) { return AllowMany(registry, requests, count, out, error); });
  if (status != RL_OK && count != 0 && IsUsable(out)) {
    const uint32_t stride = out->struct_size;
    for (uint32_t i = 0; i < count; ++i) Give(NoAnswer(status), ElementAt(out, stride, i), stride);
  }
  return status;
}

rl_status rl_allow_async(rl_registry* registry, const rl_request* request, rl_callback callback, void* user,
                         rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (callback == nullptr) return error.Fail(RL_E_INVALID_ARGUMENT, "callback is NULL");
    auto waiter = std::make_unique<Waiter>(Waiter{callback, user});
    const rl_status status = AskEngine(registry, request, error, [&](Registry& engine, const Request& question) {
      return engine.AllowAsync(question, Deliver, waiter.get());
    });
    if (status == RL_OK) (void)waiter.release();
    return status;
  });
}

rl_status rl_peek(rl_registry* registry, const rl_request* request, rl_decision* out, rl_error* err) {
  return GuardDecision(out, err, [&](const ErrorOut& error, Decision& decision) {
    return AskEngine(registry, request, error,
                     [&](Registry& engine, const Request& question) { return engine.Peek(question, decision); });
  });
}

rl_status rl_settle(rl_registry* registry, const rl_request* request, const rl_decision* decision, int64_t actual,
                    rl_decision* out, rl_error* err) {
  return GuardDecision(out, err, [&](const ErrorOut& error, Decision& settled) -> rl_status {
    if (const rl_status status = CheckHandle(registry, "registry", error)) return status;
    Decision before;
    if (const rl_status status = ReadDecision(decision, before, error)) return status;
    if (const rl_status status = CheckSettled(before, actual, error)) return status;
    return AskEngine(
        registry, request, error,
        [&](Registry& engine, const Request& question) { return engine.Settle(question, before, actual, settled); },
        &before);
  });
}

rl_status rl_reset(rl_registry* registry, const rl_request* request, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) {
    return AskEngine(registry, request, error,
                     [](Registry& engine, const Request& question) { return engine.Reset(question); });
  });
}

rl_status rl_explain(rl_registry* registry, const rl_request* request, uint32_t flags, char* buffer, uint64_t capacity,
                     uint64_t* needed, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    rl_status status = CheckBuffer(buffer, capacity, needed, error);
    if (status == RL_OK) status = CheckTextFlags(flags, error);
    if (status != RL_OK) return status;
    std::string text;
    status = AskEngine(registry, request, error, [&](Registry& engine, const Request& question) {
      return engine.Explain(question, flags == RL_TEXT_JSON, text);
    });
    return status == RL_OK ? WriteText(text, buffer, capacity, needed, error) : status;
  });
}
