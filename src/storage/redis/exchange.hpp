// One decision as an exchange with the script: what is asked, and what its reply makes of the operation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithm/numbers.hpp"
#include "storage/redis/options.hpp"
#include "storage/storage.hpp"

namespace ratel::redis {

/// The script, as Redis loads it (decide.lua).
extern const std::string_view kDecideScript;
/// The same for an operation with an id (once.lua), and its name. Loaded by whoever needs it first.
extern const std::string_view kOnceScript;
extern const std::string_view kOnceSha1;
/// Many operations in one call (batch.lua), likewise.
extern const std::string_view kBatchScript;
extern const std::string_view kBatchSha1;

/// The name under which a state lies: prefix{tag}hash. The tag comes from the identity alone, so that all limits of one scope lie in one slot of a
/// cluster; the hash is the charge's whole key.
std::string KeyName(const Options& options, const Charge& charge);
/// Where the reply to an operation with an id is kept, in the slot of its states.
std::string OnceKey(const Options& options, const Operation& operation);
/// The hash in which every gateway writes down what its fingerprints stand for.
std::string NumbersKey(const Options& options);
/// A fingerprint as a field of it.
std::string FieldOf(uint32_t fingerprint);

/// Takes the place of a state that was held under other numbers, should that still be there. As the script wants it; empty = none.
using Replacement = std::string;

/// Whether it is one limit to spend on and nothing else, so that it may share a call of the script (batch.lua).
bool IsPlain(const Operation& operation) noexcept;

/// The script's keys, as arguments. kSpend, kPeek and kSettle.
void PutKeys(std::string& out, const Options& options, const Operation& operation);
/// Its other arguments. `replacements` is empty or has one entry for each charge.
void PutTerms(std::string& out, const Options& options, const Operation& operation,
              std::span<const Replacement> replacements);
/// How many each of them puts.
inline size_t CountOfKeys(const Operation& operation) noexcept {
  return operation.charges.size() + (operation.id ? 1 : 0);
}
inline size_t CountOfTerms(const Operation& operation) noexcept {
  return (operation.charges.size() == 1 ? 1 : 1 + operation.charges.size()) + (operation.id ? 1 : 0);
}

enum class Verdict : uint8_t { kAdmitted, kDenied, kStale };

/// A reply of the script, cut into its parts. Refers to the reply's bytes.
struct Reply {
  Verdict verdict = Verdict::kDenied;
  Micros now = 0;
  std::vector<std::string_view> states;  ///< one for each charge; empty = none
};

/// Nothing when it is no reply of the script to this operation.
std::optional<Reply> ReadReply(const Operation& operation, std::string_view bytes);

/// Runs the engine's own steps on the states that the script decided on, at its instant: fills each charge's outcome, and `operation.now`. False when
/// they come to another decision than the script, which must not be. Not for kStale.
bool Conclude(Operation& operation, const Reply& reply);

/// The fingerprint of a charge's state in a kStale reply when its numbers are not the charge's.
std::optional<uint32_t> StaleFingerprint(const Charge& charge, std::string_view state);
/// What is to take that state's place; `from` = the numbers that it is held under, nullptr when nobody knows them (it then counts as none).
Replacement Replace(const Charge& charge, std::string_view state, const Numbers* from, Micros now);

}  // namespace ratel::redis
