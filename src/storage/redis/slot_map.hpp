// Which node of a cluster has which slots.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/redis/place.hpp"
#include "storage/redis/reply_reader.hpp"
#include "storage/redis/slot.hpp"

namespace ratel::redis {

class SlotMap {
 public:
  static constexpr uint16_t kNobody = UINT16_MAX;

  SlotMap() { owners_.fill(kNobody); }
  /// From what CLUSTER SLOTS says. `asked`: who stands where the reply names no host. Nothing when it is no such reply, or no slot has an owner.
  static std::optional<SlotMap> Read(const redisReply& reply, const Place& asked);

  /// An index into masters(), or kNobody.
  uint16_t OwnerOf(uint16_t slot) const noexcept { return owners_[slot]; }
  void Move(uint16_t slot, const Place& place) { owners_[slot] = MasterAt(place); }
  const std::vector<Place>& masters() const noexcept { return masters_; }
  /// Masters, then replicas.
  std::vector<Place> Nodes() const;
  bool HasMaster(const Place& place) const noexcept;

 private:
  uint16_t MasterAt(const Place& place);

  std::array<uint16_t, kSlots> owners_;
  std::vector<Place> masters_;
  std::vector<Place> replicas_;
};

/// "MOVED 3999 host:6381" or "ASK ...".
struct Redirection {
  bool moved = false;  ///< else only this once
  uint16_t slot = 0;
  Place place;
};

/// Nothing when an error is no redirection. `from`: who said so, and stands where no host is named.
std::optional<Redirection> ReadRedirection(std::string_view error, const Place& from);

}  // namespace ratel::redis
