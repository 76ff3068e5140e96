// One key of a Redis as a text: read and written on the caller's thread, for what is asked seldom.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "storage/redis/options.hpp"

namespace ratel::redis {

/// One thread at a time, but for Stop.
class KeyClient {
 public:
  /// kConfig when a TLS file cannot be used.
  static Result<std::unique_ptr<KeyClient>> Make(const Options& options);
  ~KeyClient();
  KeyClient(const KeyClient&) = delete;
  KeyClient& operator=(const KeyClient&) = delete;

  /// Nothing when there is no such key; kIo when that cannot be told. Within about a second for each server.
  Result<std::optional<std::string>> Get(std::string_view key);
  /// kIo when it was not done, as far as can be told.
  std::optional<Error> Set(std::string_view key, std::string_view text);
  /// Any thread: what waits for a server ends soon, and nothing more is asked.
  void Stop() noexcept;
  /// "redis://host:6379/0#key", for messages.
  std::string Shown(std::string_view key) const;

 private:
  struct Impl;
  explicit KeyClient(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ratel::redis
