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
using ratel::Room;
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
  Batch(Registry& engine, rl_decision* out) noexcept : engine_(engine), next_(out), out_size_(out->struct_size) {}
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void Add(const rl_request* at, uint32_t stride) noexcept {
    if (count_ == kChunk || kAttributes - attributes_ < kMaxAttributes) Decide();
    Request& question = questions_[count_];
    if (at->struct_size != stride || !ReadPlainRequest(at, question)) AddOther(at, stride, question);
    ++count_;
  }

  void Decide() noexcept {
    if (out_size_ == sizeof(rl_decision)) {
      engine_.AllowMany(questions_.first(count_), {&InPlace(*next_), count_}, clock_ns_);
      for (size_t i = 0; i < count_; ++i) next_[i].struct_size = sizeof(rl_decision);
    } else {
      engine_.AllowMany(questions_.first(count_), answers_.first(count_), clock_ns_);
      for (size_t i = 0; i < count_; ++i) GiveDecision(answers_[i], Place(i), out_size_);
    }
    for (size_t i = 0; i < faults_; ++i) Give(NoAnswer(fault_[i].status), Place(fault_[i].index), out_size_);
    next_ = Place(count_);
    count_ = attributes_ = faults_ = 0;
  }

 private:
  static constexpr size_t kChunk = 32;
  static constexpr size_t kAttributes = 2 * kMaxAttributes;

  /// A question that cannot be asked.
  struct Fault {
    size_t index;
    rl_status status;
  };

  rl_decision* Place(size_t i) noexcept { return ElementAt(next_, out_size_, i); }

  [[gnu::noinline]] void AddOther(const rl_request* at, uint32_t stride, Request& question) noexcept {
    if (const rl_status status = Read(at, stride, question)) {
      question = Request();
      question.cost = 0;  // the engine refuses it, and asks no clock about it
      question.now_ns = 1;
      fault_[faults_++] = {count_, status};
    } else {
      attributes_ += question.identity.attributes.size();
    }
  }

  rl_status Read(const rl_request* at, uint32_t stride, Request& question) noexcept {
    if (at->struct_size != stride) return RL_E_ABI;  // it lies where another's length says
    return TakeRequest(at, room_.from(attributes_), question, ErrorOut(nullptr));
  }

  Registry& engine_;
  rl_decision* next_;  ///< where the chunk's answers go
  const uint32_t out_size_;
  size_t count_ = 0;
  size_t attributes_ = 0;
  size_t faults_ = 0;
  uint64_t clock_ns_ = 0;  // so that one instant serves all chunks
  Room<Request, kChunk> questions_;
  Room<Decision, kChunk> answers_;
  Room<Fault, kChunk> fault_;
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
  Batch batch(*registry->engine, out);
  for (uint32_t i = 0; i < count; ++i) batch.Add(ElementAt(requests, stride, i), stride);
  batch.Decide();
  return RL_OK;
}

/// rl_allow for any request and any struct.
[[gnu::noinline]] rl_status AllowAny(rl_registry* registry, const rl_request* request, rl_decision* out,
                                     rl_error* err) noexcept {
  return GuardDecision(out, err, [&](const ErrorOut& error, Decision& decision) {
    return AskEngine(registry, request, error,
                     [&](Registry& engine, const Request& question) { return engine.Allow(question, decision); });
  });
}

/// rl_allow_rule likewise.
[[gnu::noinline]] rl_status AllowAnyRule(rl_registry* registry, uint32_t rule, rl_str key, int64_t cost,
                                         uint64_t now_ns, rl_decision* out) noexcept {
  const ErrorOut silent(nullptr);
  rl_status status = CheckOutput(out, "out", silent);
  if (status == RL_OK) status = CheckHandle(registry, "registry", silent);
  if (status == RL_OK) status = CheckBytes(key, "key", silent);
  if (status == RL_OK) status = CheckCost(cost, silent);
  if (status == RL_OK) status = CheckNow(now_ns, silent);
  Decision decision;
  if (status == RL_OK) status = ToC(registry->engine->AllowRule(rule, View(key), cost, now_ns, decision));
  if (status == RL_OK) {
    GiveDecision(decision, out, out->struct_size);
  } else if (IsUsable(out)) {
    Give(NoAnswer(status), out);
  }
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

// What almost every caller does comes first: structs of our size, nothing wrong with them. The engine does not throw and answers in the caller's struct.

rl_status rl_allow(rl_registry* registry, const rl_request* request, rl_decision* out, rl_error* err) {
  Room<Request> plain;
  if (!IsOurs(out) || !IsUsable(err) || !IsLive(registry) || !ReadPlainRequest(request, *plain)) [[unlikely]]
    return AllowAny(registry, request, out, err);
  const Status status = registry->engine->Allow(*plain, InPlace(*out));
  out->struct_size = sizeof *out;
  return status == Status::kOk ? RL_OK : FailToDecide(status, *plain, nullptr, ErrorOut(err));
}

rl_status rl_allow_rule(rl_registry* registry, uint32_t rule, const char* key, uint64_t key_size, int64_t cost,
                        uint64_t now_ns, rl_decision* out) {
  if (!IsOurs(out) || !IsLive(registry) || !IsBytes({key, key_size}) || !IsCost(cost) || now_ns > RL_NOW_MAX_NS)
      [[unlikely]]
    return AllowAnyRule(registry, rule, {key, key_size}, cost, now_ns, out);
  const Status status = registry->engine->AllowRule(rule, {key, key_size}, cost, now_ns, InPlace(*out));
  out->struct_size = sizeof *out;
  return ToC(status);
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
