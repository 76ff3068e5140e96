#include "storage/redis/reply_reader.hpp"

#include <new>

namespace ratel::redis {

ReplyReader::ReplyReader() : reader_(redisReaderCreate()) {
  if (reader_ == nullptr) throw std::bad_alloc();
}

bool ReplyReader::Feed(std::string_view bytes) {
  return redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) == REDIS_OK;
}

ReplyPtr ReplyReader::Next() {
  void* reply = nullptr;
  if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) return nullptr;
  return ReplyPtr(static_cast<redisReply*>(reply));
}

}  // namespace ratel::redis
