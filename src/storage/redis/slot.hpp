// Where a cluster keeps a key.
#pragma once

#include <cstdint>
#include <string_view>

namespace ratel::redis {

inline constexpr size_t kSlots = 16384;

/// CRC-16/XMODEM: polynomial 0x1021, start 0, no reflection.
uint16_t Crc16(std::string_view bytes) noexcept;

/// The hash slot of a key: of what stands between its first { and the next }, if anything does, else of all of it.
uint16_t SlotOf(std::string_view key) noexcept;

}  // namespace ratel::redis
