#include "storage/redis/shared_numbers.hpp"

#include <chrono>

#include "storage/redis/command.hpp"
#include "storage/redis/exchange.hpp"
#include "storage/redis/slot.hpp"
#include "storage/redis/state.hpp"

namespace ratel::redis {
namespace {

constexpr std::chrono::seconds kAgain{60};

}  // namespace

SharedNumbers::SharedNumbers(const Options& options) : key_(NumbersKey(options)), slot_(SlotOf(key_)) {}

CallPtr SharedNumbers::NewCall(Call::Kind kind) const {
  auto call = std::make_shared<Call>();
  call->kind = kind;
  call->slot = slot_;
  return call;
}

void SharedNumbers::Publish(const Operation& operation, Router& router, Clock::time_point now) {
  if (now >= again_at_) {
    published_.clear();
    again_at_ = now + kAgain;
  }
  for (const Charge& charge : operation.charges) {
    const uint32_t fingerprint = Fingerprint(*charge.numbers);
    if (!published_.insert(fingerprint).second) continue;
    const CallPtr call = NewCall(Call::Kind::kPublish);
    call->body = MakeCommand({"HSET", key_, FieldOf(fingerprint), ToText(charge.numbers->spec)});
    router.Dispatch(call);
  }
}

void SharedNumbers::LookUp(const CallPtr& asker, std::span<const uint32_t> fingerprints, Router& router) {
  const CallPtr call = NewCall(Call::Kind::kLookUp);
  call->asker = asker;
  PutArrayHeader(call->body, 2 + fingerprints.size());
  PutArgument(call->body, "HMGET");
  PutArgument(call->body, key_);
  for (const uint32_t fingerprint : fingerprints) PutArgument(call->body, FieldOf(fingerprint));
  router.Dispatch(call);
}

void SharedNumbers::Learn(const redisReply& reply) {
  for (size_t i = 0; reply.type == REDIS_REPLY_ARRAY && i < reply.elements; ++i) {
    const auto numbers = NumbersFromText(TextOf(*reply.element[i]));
    if (numbers) known_.insert_or_assign(Fingerprint(*numbers), *numbers);
  }
}

const Numbers* SharedNumbers::Find(uint32_t fingerprint) const noexcept {
  const auto found = known_.find(fingerprint);
  return found == known_.end() ? nullptr : &found->second;
}

}  // namespace ratel::redis
