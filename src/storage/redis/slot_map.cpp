#include "storage/redis/slot_map.hpp"

#include <algorithm>
#include <charconv>

namespace ratel::redis {
namespace {

template <class Integer>
bool ReadNumber(std::string_view text, Integer& out) noexcept {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
  return fault == std::errc() && end == text.data() + text.size();
}

/// [host, port, id, ...]; nothing for one that cannot be reached.
std::optional<Place> ReadNode(const redisReply& node, const Place& asked) {
  if (node.type != REDIS_REPLY_ARRAY || node.elements < 2) return std::nullopt;
  const redisReply& port = *node.element[1];
  if (port.type != REDIS_REPLY_INTEGER || port.integer < 1 || port.integer > UINT16_MAX) return std::nullopt;
  Place place;
  place.host = TextOf(*node.element[0]);
  if (place.host == "?") return std::nullopt;
  if (place.host.empty()) place.host = asked.host;
  place.port = static_cast<uint16_t>(port.integer);
  return place;
}

}  // namespace

std::optional<SlotMap> SlotMap::Read(const redisReply& reply, const Place& asked) {
  if (reply.type != REDIS_REPLY_ARRAY) return std::nullopt;
  SlotMap map;
  for (size_t i = 0; i < reply.elements; ++i) {
    const redisReply& range = *reply.element[i];
    if (range.type != REDIS_REPLY_ARRAY || range.elements < 3) return std::nullopt;
    const long long first = range.element[0]->integer;
    const long long last = range.element[1]->integer;
    if (first < 0 || first > last || last >= static_cast<long long>(kSlots)) return std::nullopt;
    for (size_t n = 3; n < range.elements; ++n) {
      const auto replica = ReadNode(*range.element[n], asked);
      if (replica) map.replicas_.push_back(*replica);
    }
    const auto master = ReadNode(*range.element[2], asked);
    if (!master) continue;
    const uint16_t owner = map.MasterAt(*master);
    for (long long slot = first; slot <= last; ++slot) map.owners_[static_cast<size_t>(slot)] = owner;
  }
  if (map.masters_.empty()) return std::nullopt;
  return map;
}

uint16_t SlotMap::MasterAt(const Place& place) {
  const auto found = std::ranges::find(masters_, place);
  if (found == masters_.end()) {
    masters_.push_back(place);
    return static_cast<uint16_t>(masters_.size() - 1);
  }
  return static_cast<uint16_t>(found - masters_.begin());
}

std::vector<Place> SlotMap::Nodes() const {
  std::vector<Place> nodes = masters_;
  for (const Place& replica : replicas_) {
    if (std::ranges::find(nodes, replica) == nodes.end()) nodes.push_back(replica);
  }
  return nodes;
}

bool SlotMap::HasMaster(const Place& place) const noexcept {
  return std::ranges::find(masters_, place) != masters_.end();
}

std::optional<Redirection> ReadRedirection(std::string_view error, const Place& from) {
  Redirection to;
  to.moved = error.starts_with("MOVED ");
  if (!to.moved && !error.starts_with("ASK ")) return std::nullopt;
  error.remove_prefix(error.find(' ') + 1);
  const size_t space = error.find(' ');
  const size_t colon = error.rfind(':');  // an IPv6 host has more of them, and no brackets
  if (space == std::string_view::npos || colon == std::string_view::npos || colon < space) return std::nullopt;
  const std::string_view host = error.substr(space + 1, colon - space - 1);
  const bool read = ReadNumber(error.substr(0, space), to.slot) && to.slot < kSlots &&
                    ReadNumber(error.substr(colon + 1), to.place.port) && to.place.port != 0;
  if (!read || host == "?") return std::nullopt;
  to.place.host = host.empty() ? from.host : std::string(host);
  return to;
}

}  // namespace ratel::redis
