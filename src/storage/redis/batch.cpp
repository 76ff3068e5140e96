#include "storage/redis/batch.hpp"

#include <algorithm>
#include <utility>

#include "storage/redis/command.hpp"
#include "storage/redis/exchange.hpp"
#include "storage/redis/state.hpp"

namespace ratel::redis {
namespace {

/// What waits is looked through for each call that goes out by itself.
constexpr size_t kMostWaiting = 1024;

std::string_view KeysOf(const Call& call) noexcept { return std::string_view(call.body).substr(0, call.keys_size); }
std::string_view TermsOf(const Call& call) noexcept { return std::string_view(call.body).substr(call.keys_size); }

}  // namespace

bool Gathered::full() const noexcept { return calls_.size() >= kMostWaiting; }

void Gathered::Add(CallPtr call) {
  keys_.push_back(call->operation->charges.front().key);
  calls_.push_back(std::move(call));
}

bool Gathered::Touches(const Call& call) const noexcept {
  if (keys_.empty() || call.operation == nullptr) return false;
  return std::ranges::any_of(call.operation->charges,
                             [&](const Charge& charge) { return std::ranges::find(keys_, charge.key) != keys_.end(); });
}

std::vector<std::vector<CallPtr>> Gathered::Take() {
  keys_.clear();
  std::vector<CallPtr> calls = std::exchange(calls_, {});
  std::erase_if(calls, [](const CallPtr& call) { return call->ended(); });
  const auto by_slot = [](const CallPtr& a, const CallPtr& b) { return a->slot < b->slot; };
  if (!std::ranges::is_sorted(calls, by_slot)) std::ranges::stable_sort(calls, by_slot);
  std::vector<std::vector<CallPtr>> parts;
  for (CallPtr& call : calls) {
    if (parts.empty() || parts.back().size() == most_ || parts.back().front()->slot != call->slot) parts.emplace_back();
    parts.back().push_back(std::move(call));
  }
  return parts;
}

void Gathered::Close(Status status) noexcept {
  keys_.clear();
  for (const CallPtr& call : std::exchange(calls_, {})) call->End(status);
}

std::string MakeBatch(std::span<const CallPtr> calls) {
  std::vector<std::string_view> terms;
  std::string which;
  size_t size = 128;
  for (const CallPtr& call : calls) {
    // Requests of one limit mostly have the same terms, and come one after the other.
    const std::string_view own = TermsOf(*call);
    auto found = std::find(terms.rbegin(), terms.rend(), own);
    which.push_back(
        static_cast<char>(found == terms.rend() ? terms.size() + 1 : static_cast<size_t>(terms.rend() - found)));
    if (found == terms.rend()) terms.push_back(own);
    size += call->body.size();
  }
  std::string out;
  out.reserve(size);
  PutArrayHeader(out, 3 + calls.size() + 1 + terms.size());
  PutArgument(out, "EVALSHA");
  PutArgument(out, kBatchSha1);
  PutArgument(out, std::to_string(calls.size()));
  for (const CallPtr& call : calls) out.append(KeysOf(*call));
  PutArgument(out, which);
  for (const std::string_view one : terms) out.append(one);
  return out;
}

std::optional<BatchReply> BatchReply::Read(const redisReply& reply, size_t calls) noexcept {
  if (reply.type != REDIS_REPLY_ARRAY || reply.elements != 1 + calls) return std::nullopt;
  const std::string_view instant = TextOf(*reply.element[0]);
  if (instant.size() != 7) return std::nullopt;
  const Micros now = GetInteger(instant, 0, 7);
  for (size_t i = 0; i < calls; ++i) {
    const redisReply& answer = *reply.element[1 + i];
    if (!IsError(answer) && TextOf(answer).empty()) return std::nullopt;
  }
  return BatchReply(reply, now);
}

const redisReply* BatchReply::Error(size_t i) const noexcept {
  const redisReply* answer = reply_.element[1 + i];
  return IsError(*answer) ? answer : nullptr;
}

void BatchReply::PutAnswer(std::string& out, size_t i, const Call& call, bool server_time) const {
  const std::string_view answer = TextOf(*reply_.element[1 + i]);
  out.push_back(answer.front());
  PutInteger(out, server_time ? now_ : call.operation->now, 7);
  PutInteger(out, answer.size() - 1, 1);
  out.append(answer.substr(1));
}

}  // namespace ratel::redis
