#include "storage/redis/slot.hpp"

#include <array>

namespace ratel::redis {
namespace {

constexpr std::array<uint16_t, 256> MakeTable() noexcept {
  std::array<uint16_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned rest = byte << 8;
    for (int bit = 0; bit < 8; ++bit) rest = (rest & 0x8000) != 0 ? rest << 1 ^ 0x1021 : rest << 1;
    table[byte] = static_cast<uint16_t>(rest);
  }
  return table;
}

constexpr std::array<uint16_t, 256> kTable = MakeTable();

}  // namespace

uint16_t Crc16(std::string_view bytes) noexcept {
  uint16_t crc = 0;
  for (const char c : bytes) crc = static_cast<uint16_t>(crc << 8 ^ kTable[crc >> 8 ^ static_cast<uint8_t>(c)]);
  return crc;
}

uint16_t SlotOf(std::string_view key) noexcept {
  if (const size_t open = key.find('{'); open != std::string_view::npos) {
    const size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  return Crc16(key) % kSlots;
}

}  // namespace ratel::redis
