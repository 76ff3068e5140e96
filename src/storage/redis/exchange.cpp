#include "storage/redis/exchange.hpp"

#include <algorithm>
#include <array>

#include "algorithm/convert.hpp"
#include "algorithm/log_vector.hpp"
#include "algorithm/step.hpp"
#include "storage/redis/command.hpp"
#include "storage/redis/state.hpp"

namespace ratel::redis {
namespace {

constexpr uint8_t kShadow = 1;
constexpr uint8_t kGiveBack = 2;
constexpr uint8_t kReplaces = 4;

void PutBase64(std::string& out, uint64_t bits, size_t digits) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<char, 10> text;
  for (size_t i = 0; i < digits; ++i) text[i] = kDigits[bits >> (6 * (digits - 1 - i)) & 63];
  out.append(text.data(), digits);
}

void PutHash(std::string& out, Hash128 hash) {
  PutBase64(out, hash.high >> 4, 10);
  PutBase64(out, (hash.high & 15) << 2 | hash.low >> 62, 1);
  PutBase64(out, hash.low >> 2, 10);
  PutBase64(out, hash.low & 3, 1);
}

/// What a charge's names begin with.
std::string Tag(const Options& options, const Charge& charge) {
  std::string name;
  name.reserve(options.prefix.size() + 28);
  name.append(options.prefix).push_back('{');
  PutBase64(name, charge.group, 3);
  name.push_back('}');
  return name;
}

uint8_t ModeNumber(Mode mode) noexcept { return mode == Mode::kSpend ? 1 : mode == Mode::kPeek ? 2 : 3; }

bool IsLog(const Charge& charge) noexcept { return charge.numbers->spec.algorithm == Algorithm::kSlidingLog; }

/// A settle corrects by so many units.
uint64_t Difference(const Charge& charge, const Operation& operation) noexcept {
  return operation.actual > charge.cost ? operation.actual - charge.cost : charge.cost - operation.actual;
}

/// The three numbers of a charge that its algorithm wants (decide.lua).
struct Terms {
  uint64_t x, y, z;
};

Terms TermsOf(const Charge& charge, const Operation& operation) noexcept {
  const Numbers& numbers = *charge.numbers;
  const bool settles = operation.mode == Mode::kSettle;
  const Tick charged_at = numbers.TickOf(operation.charged_at);
  if (IsBucket(numbers.spec.algorithm)) {
    if (settles) {
      const uint64_t units = std::min(Difference(charge, operation), 2 * numbers.capacity);
      return {numbers.refill, numbers.full, units * numbers.unit};
    }
    return {numbers.refill, numbers.full,
            charge.cost > numbers.capacity ? numbers.full + 1 : charge.cost * numbers.unit};
  }
  const uint64_t units =
      settles ? std::min(Difference(charge, operation), kMaxExact) : std::min(charge.cost, numbers.capacity + 1);
  return {numbers.capacity, IsLog(charge) ? charged_at : numbers.per_window.Floor(charged_at), units};
}

void PackCharge(std::string& packed, const Charge& charge, const Operation& operation, std::string_view replacement) {
  const Numbers& numbers = *charge.numbers;
  uint8_t flags = charge.shadow ? kShadow : 0;
  if (operation.mode == Mode::kSettle && operation.actual <= charge.cost) flags |= kGiveBack;
  if (!replacement.empty()) flags |= kReplaces;
  const Terms terms = TermsOf(charge, operation);
  PutInteger(packed, static_cast<uint8_t>(numbers.spec.algorithm), 1);
  PutInteger(packed, flags, 1);
  PutInteger(packed, Fingerprint(numbers), 3);
  PutInteger(packed, numbers.tick, 3);
  PutInteger(packed, numbers.window, 7);
  PutInteger(packed, terms.x, 7);
  PutInteger(packed, terms.y, 7);
  PutInteger(packed, terms.z, 7);
  packed.append(replacement);
}

/// The entries that a log's reply stands for: as few as lead to the same answer.
LogVector LogOf(const Operation& operation, std::string_view state) {
  if (state.empty()) return {};
  const auto word = [&](size_t i) { return GetInteger(state, 3 + 7 * i, 7); };
  const Tick newest = word(0);
  const uint64_t units = word(1);
  const Tick marked_at = word(2);  // the entry before the one that is settled, or the last that has to leave
  const uint64_t marked = word(3);
  std::vector<LogEntry> entries;
  uint64_t rest = units - marked;
  if (marked != 0 && (rest != 0 || marked_at != newest)) entries.push_back({marked_at, marked});
  if (marked != 0 && rest == 0 && marked_at == newest) rest = marked;
  if (operation.mode == Mode::kSettle) {
    const uint64_t charged = word(4);
    if (charged != 0) entries.push_back({operation.charged_at, charged});
    rest -= charged;
  }
  if (rest != 0) entries.push_back({newest, rest});
  return LogVector(std::move(entries));
}

/// A charge's state as the script found it, and the engine's steps on it.
class Held {
 public:
  Held(const Charge& charge, const Operation& operation, std::string_view state, Micros now)
      : numbers_(*charge.numbers), tick_(numbers_.TickOf(now)) {
    if (IsLog(charge)) {
      log_ = LogOf(operation, state);
    } else if (const auto packed = Unpack(numbers_.spec.algorithm, state)) {
      state_ = ToState(numbers_, *packed);
    }
  }

  Outcome Decide(uint64_t cost, Spend spend) noexcept {
    if (!is_log()) {
      next_ = state_;
      return Step(numbers_, next_, tick_, cost, spend);
    }
    LogChange change;
    const Outcome outcome = EvaluateLog(numbers_, log_, tick_, cost, spend, change);
    next_ = {outcome.reset_at, Units() + change.append_cost};
    return outcome;
  }

  Outcome Correct(Micros charged_at, uint64_t spent, uint64_t actual) noexcept {
    if (!is_log()) return Settle(numbers_, state_, tick_, numbers_.TickOf(charged_at), spent, actual);
    LogCorrection correction;
    return SettleLog(numbers_, log_, tick_, numbers_.TickOf(charged_at), spent, actual, correction);
  }

  /// As two words, for explain.
  State before() const noexcept {
    if (!is_log()) return state_;
    const LogWindow window = LogWindowAt(numbers_, log_, tick_);
    return {window.units == 0 ? 0 : window.newest + numbers_.window, window.units};
  }
  State after() const noexcept { return next_; }

 private:
  bool is_log() const noexcept { return numbers_.spec.algorithm == Algorithm::kSlidingLog; }
  uint64_t Units() const noexcept { return LogWindowAt(numbers_, log_, tick_).units; }

  const Numbers& numbers_;
  Tick tick_;
  State state_;
  State next_;
  LogVector log_;
};

void Peek(Charge& charge, Held held) noexcept {
  held.Decide(charge.cost, Spend::kYes);
  charge.before = held.before();
  charge.after = held.after();
  charge.outcome = held.Decide(charge.cost, Spend::kNo);
}

}  // namespace

std::string KeyName(const Options& options, const Charge& charge) {
  std::string name = Tag(options, charge);
  PutHash(name, charge.key);
  return name;
}

std::string OnceKey(const Options& options, const Operation& operation) {
  std::string name = Tag(options, operation.charges.front());
  name.push_back('=');
  PutHash(name, *operation.id);
  return name;
}

std::string NumbersKey(const Options& options) { return options.prefix + ":numbers"; }

std::string FieldOf(uint32_t fingerprint) {
  std::string field;
  PutBase64(field, fingerprint, 4);
  return field;
}

bool IsPlain(const Operation& operation) noexcept {
  return operation.mode == Mode::kSpend && !operation.id && operation.charges.size() == 1 &&
         !operation.charges.front().shadow && !IsLog(operation.charges.front());
}

void PutKeys(std::string& out, const Options& options, const Operation& operation) {
  for (const Charge& charge : operation.charges) PutArgument(out, KeyName(options, charge));
  if (operation.id) PutArgument(out, OnceKey(options, operation));
}

void PutTerms(std::string& out, const Options& options, const Operation& operation,
              std::span<const Replacement> replacements) {
  std::string packed;
  packed.reserve(64);
  PutInteger(packed, ModeNumber(operation.mode), 1);
  PutInteger(packed, options.server_time ? 1 : 0, 1);
  // What the script does not look at is left out, so that requests of one limit say the same (batch.hpp).
  PutInteger(packed, options.server_time ? 0 : operation.now, 7);
  PutInteger(packed, options.ttl_margin_ms, 6);
  const bool alone = operation.charges.size() == 1;
  if (!alone) PutArgument(out, packed);
  for (size_t i = 0; i < operation.charges.size(); ++i) {
    if (!alone) packed.clear();
    PackCharge(packed, operation.charges[i], operation, replacements.empty() ? std::string_view() : replacements[i]);
    PutArgument(out, packed);
  }
  if (operation.id) PutArgument(out, std::to_string(options.idempotency_ms));
}

std::optional<Reply> ReadReply(const Operation& operation, std::string_view bytes) {
  if (bytes.size() < 8) return std::nullopt;
  Reply reply;
  switch (bytes[0]) {
    case 'A':
      reply.verdict = Verdict::kAdmitted;
      break;
    case 'D':
      reply.verdict = Verdict::kDenied;
      break;
    case 'S':
      reply.verdict = Verdict::kStale;
      break;
    default:
      return std::nullopt;
  }
  reply.now = GetInteger(bytes, 1, 7);
  if (reply.now > kMaxMicros) return std::nullopt;
  bytes.remove_prefix(8);
  reply.states.reserve(operation.charges.size());
  const size_t log_size = operation.mode == Mode::kSettle ? 38 : 31;
  for (const Charge& charge : operation.charges) {
    if (bytes.empty()) return std::nullopt;
    const auto size = static_cast<uint8_t>(bytes[0]);
    if (bytes.size() <= size) return std::nullopt;
    const std::string_view state = bytes.substr(1, size);
    const bool cut = IsLog(charge) && reply.verdict != Verdict::kStale && size != 0 && size != log_size;
    if (cut) return std::nullopt;
    reply.states.push_back(state);
    bytes.remove_prefix(size + size_t{1});
  }
  if (!bytes.empty()) return std::nullopt;
  return reply;
}

bool Conclude(Operation& operation, const Reply& reply) {
  operation.now = reply.now;
  const auto held = [&](size_t i) { return Held(operation.charges[i], operation, reply.states[i], reply.now); };
  const size_t count = operation.charges.size();
  switch (operation.mode) {
    case Mode::kPeek:
      for (size_t i = 0; i < count; ++i) Peek(operation.charges[i], held(i));
      return true;
    case Mode::kSettle:
      for (size_t i = 0; i < count; ++i) {
        Charge& charge = operation.charges[i];
        charge.outcome = held(i).Correct(operation.charged_at, charge.cost, operation.actual);
      }
      return reply.verdict == Verdict::kAdmitted;
    case Mode::kSpend: {
      for (size_t i = 0; i < count; ++i)
        operation.charges[i].outcome = held(i).Decide(operation.charges[i].cost, Spend::kYes);
      const bool admitted = Admits(operation.charges);
      for (size_t i = 0; !admitted && i < count; ++i) {
        Charge& charge = operation.charges[i];
        if (charge.outcome.allowed) charge.outcome = held(i).Decide(charge.cost, Spend::kNo);
      }
      return admitted == (reply.verdict == Verdict::kAdmitted);
    }
    case Mode::kForget:
      break;
  }
  return false;
}

std::optional<uint32_t> StaleFingerprint(const Charge& charge, std::string_view state) {
  uint32_t held = 0;
  if (IsLog(charge)) {
    if (state.size() < 3) return std::nullopt;
    held = static_cast<uint32_t>(GetInteger(state, 0, 3));
  } else {
    const auto packed = Unpack(charge.numbers->spec.algorithm, state);
    if (!packed) return std::nullopt;
    held = packed->fingerprint;
  }
  if (held == Fingerprint(*charge.numbers)) return std::nullopt;
  return held;
}

Replacement Replace(const Charge& charge, std::string_view state, const Numbers* from, Micros now) {
  Replacement out;
  if (IsLog(charge)) {
    PutInteger(out, GetInteger(state, 0, 3), 3);
    PutInteger(out, from == nullptr ? 0 : from->window, 7);
    return out;
  }
  PutInteger(out, state.size(), 1);
  out.append(state);
  if (from != nullptr) {
    const auto packed = Unpack(charge.numbers->spec.algorithm, state);
    if (packed) out += Pack(*charge.numbers, Convert(*from, *charge.numbers, ToState(*from, *packed), now));
  }
  return out;
}

}  // namespace ratel::redis
