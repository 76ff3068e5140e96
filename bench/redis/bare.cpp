// What one would write by hand over hiredis, pipelined to IN_FLIGHT on one connection: a token bucket in a hash of two fields by EVALSHA, and INCR with
// EXPIRE at the first.
#include <hiredis/hiredis.h>

#include <deque>
#include <memory>

#include "peer.hpp"

namespace bench {
namespace {

constexpr const char* kBucket = R"(
local limit, window, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local held = redis.call('HMGET', KEYS[1], 'level', 'at')
local level, at = tonumber(held[1]) or limit, tonumber(held[2]) or now
level = math.min(limit, level + (now - at) * limit / window)
if level < cost then return {0, math.floor(level), math.ceil((cost - level) * window / limit)} end
level = level - cost
redis.call('HSET', KEYS[1], 'level', string.format('%.17g', level), 'at', string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil((limit - level) * window / limit / 1000))
return {1, math.floor(level), 0}
)";

struct Free {
  void operator()(redisContext* context) const { redisFree(context); }
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, Free>;

class Connection {
 public:
  explicit Connection(int port) : context_(redisConnect("127.0.0.1", port)) {
    if (!context_ || context_->err != 0) throw std::runtime_error("no connection to Redis");
  }
  void Append(std::initializer_list<std::string_view> arguments) {
    std::vector<const char*> argv;
    std::vector<size_t> sizes;
    for (const std::string_view one : arguments) {
      argv.push_back(one.data());
      sizes.push_back(one.size());
    }
    redisAppendCommandArgv(context_.get(), static_cast<int>(argv.size()), argv.data(), sizes.data());
  }
  /// Sends what was appended.
  void Flush() {
    for (int done = 0; done == 0;) {
      if (redisBufferWrite(context_.get(), &done) != REDIS_OK) throw std::runtime_error(context_->errstr);
    }
  }
  /// The next reply that is here; none when nothing more is.
  Reply Next() {
    void* reply = nullptr;
    if (redisGetReplyFromReader(context_.get(), &reply) != REDIS_OK) throw std::runtime_error(context_->errstr);
    return Reply(static_cast<redisReply*>(reply));
  }
  /// Waits for bytes.
  void Read() {
    if (redisBufferRead(context_.get()) != REDIS_OK) throw std::runtime_error(context_->errstr);
  }
  Reply Ask(std::initializer_list<std::string_view> arguments) {
    Append(arguments);
    Flush();
    for (;;) {
      if (Reply reply = Next()) return reply;
      Read();
    }
  }

 private:
  std::unique_ptr<redisContext, Free> context_;
};

/// A reply that is on the way: to the n-th question, or to a command of no interest.
struct Waiting {
  uint64_t n;
  Clock::time_point asked;
  bool ignored = false;
};

/// Keeps IN_FLIGHT questions on the way. `ask(n)` appends one; `allowed(reply, n, waiting)` reads its answer.
template <typename Ask, typename Allowed>
Seen Pipeline(Connection& connection, const Options& options, Ask ask, Allowed allowed) {
  Seen seen;
  seen.nanoseconds.reserve(options.decisions);
  std::deque<Waiting> waiting;
  for (uint64_t next = 0; next < options.decisions || !waiting.empty();) {
    const auto now = Clock::now();
    while (next < options.decisions && waiting.size() < options.in_flight) {
      ask(next);
      waiting.push_back({next++, now, false});
    }
    connection.Flush();
    connection.Read();
    while (!waiting.empty()) {
      const Reply reply = connection.Next();
      if (!reply) break;
      const Waiting one = waiting.front();
      waiting.pop_front();
      const bool failed = reply->type == REDIS_REPLY_ERROR;
      seen.failed += failed;
      if (!one.ignored) seen.Add(!failed && allowed(*reply, one.n, waiting), one.asked);
    }
  }
  return seen;
}

void Hash(const Options& options) {
  Connection connection(options.port);
  const Reply sha = connection.Ask({"SCRIPT", "LOAD", kBucket});
  if (sha->type != REDIS_REPLY_STRING) throw std::runtime_error("the script was not loaded");
  const std::string limit = std::to_string(options.limit);
  Measure([&] {
    return Pipeline(
        connection, options,
        [&](uint64_t n) {
          connection.Append({"EVALSHA", sha->str, "1", KeyOf(options, n), limit, "86400000000", "1"});
        },
        [](const redisReply& reply, uint64_t, auto&) { return reply.elements == 3 && reply.element[0]->integer == 1; });
  });
}

void Incr(const Options& options) {
  Connection connection(options.port);
  const auto limit = static_cast<long long>(options.limit);
  Measure([&] {
    return Pipeline(
        connection, options,
        [&](uint64_t n) {
          connection.Append({"INCR", KeyOf(options, n)});
        },
        [&](const redisReply& reply, uint64_t n, std::deque<Waiting>& waiting) {
          if (reply.integer == 1) {
            connection.Append({"EXPIRE", KeyOf(options, n), "86400"});
            waiting.push_back({n, {}, true});
          }
          return reply.integer <= limit;
        });
  });
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Run(argc, argv, {{"hash", bench::Hash}, {"incr", bench::Incr}}); }
