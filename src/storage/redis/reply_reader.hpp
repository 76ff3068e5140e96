// Replies out of a stream of bytes, by hiredis's reader.
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ratel::redis {

struct FreeReply {
  void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};
using ReplyPtr = std::unique_ptr<redisReply, FreeReply>;

inline bool IsError(const redisReply& reply) noexcept { return reply.type == REDIS_REPLY_ERROR; }
/// The bytes of a string, status or error; empty for others.
inline std::string_view TextOf(const redisReply& reply) noexcept {
  return reply.str == nullptr ? std::string_view() : std::string_view(reply.str, static_cast<size_t>(reply.len));
}

/// One connection's. One thread.
class ReplyReader {
 public:
  /// Throws std::bad_alloc.
  ReplyReader();
  /// False when memory is out or the bytes are no RESP; see fault().
  bool Feed(std::string_view bytes);
  /// The next whole reply; null when there is none yet or when failed().
  ReplyPtr Next();
  bool failed() const noexcept { return reader_->err != 0; }
  std::string fault() const { return reader_->errstr; }

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
  };
  std::unique_ptr<redisReader, FreeReader> reader_;
};

}  // namespace ratel::redis
