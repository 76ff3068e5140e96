// One thing that the registry has to tell the store: questions that follow one another, each asked when the one before has been answered. Who asks them,
// waiting or not, is Errands' business.
#pragma once

#include <cstdint>
#include <memory>

#include "limiter/counters.hpp"
#include "limiter/ledger.hpp"
#include "limiter/tier.hpp"
#include "storage/storage.hpp"

namespace ratel {

class Errand {
 public:
  Errand() = default;
  virtual ~Errand() = default;
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;
  /// The next question, valid until the next call; nullptr when there is none any more. After a failure there is none.
  virtual Operation* Next() noexcept = 0;
  /// The store has answered it.
  virtual void Answered(Status status) noexcept = 0;
};

/// Hands back what is left of a block, one state after the other. A failure gives the rest up: what was sent may have arrived.
class LeaseReturn final : public Errand {
 public:
  LeaseReturn(Tier& tier, std::unique_ptr<Lease> lease) noexcept;
  Operation* Next() noexcept override;
  void Answered(Status status) noexcept override;

 private:
  Tier& tier_;
  const std::unique_ptr<Lease> lease_;
  const Micros held_;  ///< for how long the units were out, until the hand-back arrives
  size_t next_ = 0;    ///< index of the charge
  Operation settle_;
};

/// Charges what is owed of one state, or what fits of it. A look comes first, which may fail without harm; what is spent is spent once, whether the reply
/// arrives or not.
class DebtReport final : public Errand {
 public:
  DebtReport(Ledger& ledger, TotalCounters& totals, OwedState state, Micros now);
  Operation* Next() noexcept override;
  void Answered(Status status) noexcept override;

 private:
  void Spend() noexcept;
  void End() noexcept;

  Ledger& ledger_;
  TotalCounters& totals_;
  const OwedState state_;
  Micros now_;
  Charge charge_;
  Operation operation_;
  bool has_question_ = true;
  int tries_ = 0;
  uint64_t owed_ = 0;  ///< units, once they have been taken from the ledger
};

}  // namespace ratel
