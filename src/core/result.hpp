// Status, Error and Result: how every part of the engine says that something went wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ratel {

/// The engine's own list of failures; capi maps it one to one to RL_E_*.
enum class Status : int32_t {
  kOk = 0,
  kInvalidArgument = -1,
  kNoMemory = -2,
  kConfig = -3,
  kIo = -4,
  kNotFound = -5,
  kUnsupported = -6,
  kStore = -7,
  kBufferTooSmall = -8,
  kAbi = -9,
  kState = -10,
  kCancelled = -11,
  kInternal = -12,
};

/// A place in a rule file. `line` and `column` are 1-based; 0 = not in a file.
struct Position {
  uint32_t line = 0;
  uint32_t column = 0;
};

/// One thing that is wrong: where, what, and what would be right.
struct Error {
  Status status = Status::kOk;
  std::string message;
  std::string file;
  std::string path;  ///< such as "rules[2].limits[0].window"
  Position position;
};

/// A value, or why there is none.
template <class T>
class Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : value_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return std::holds_alternative<T>(value_); }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<T>(value_); }
  const T& value() const { return std::get<T>(value_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<Error>(value_); }

 private:
  std::variant<T, Error> value_;
};

}  // namespace ratel
