// What stands around every entry point: no exception leaves, and a failure says why in the caller's rl_error.
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "ratel/rl.h"

namespace ratel::capi {

/// The caller's rl_error, or none. Writing to it never allocates.
class ErrorOut {
 public:
  explicit ErrorOut(rl_error* err) noexcept : err_(err) {}

  /// Whether there is none, or one whose struct_size can be honoured.
  bool usable() const noexcept;

  /// Fills the error and returns `status`.
  rl_status Fail(rl_status status, const char* format, ...) const noexcept __attribute__((format(printf, 3, 4)));

  /// Fills it with the first of some faults and returns that one's status. `faults` must not be empty.
  rl_status Fail(const std::vector<Error>& faults) const noexcept;

  /// Fills it with one fault of `count`.
  rl_status Fail(const Error& fault, size_t count) const noexcept;

 private:
  void Reset(rl_status status) const noexcept;
  rl_error* err_;
};

/// Copies text into a fixed field: cut at a character's border, control characters as '?', NUL-terminated.
void CopyText(std::string_view text, char* field, size_t field_size) noexcept;

/// Runs an entry point's body, which gets an ErrorOut and returns a status.
template <class Body>
rl_status Guard(rl_error* err, Body&& body) noexcept {
  const ErrorOut error(err);
  if (!error.usable()) return RL_E_ABI;
  try {
    return body(error);
  } catch (const std::bad_alloc&) {
    return error.Fail(RL_E_NO_MEMORY, "out of memory; nothing changed");
  } catch (const std::length_error&) {
    return error.Fail(RL_E_NO_MEMORY, "more memory asked for than there can be; nothing changed");
  } catch (const std::exception& failure) {
    return error.Fail(RL_E_INTERNAL, "unexpected: %s", failure.what());
  } catch (...) {
    return error.Fail(RL_E_INTERNAL, "unexpected failure");
  }
}

constexpr rl_status ToC(Status status) noexcept { return static_cast<rl_status>(status); }

}  // namespace ratel::capi
