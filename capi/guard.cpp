#include "guard.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "structs.hpp"

namespace ratel::capi {

static_assert(ToC(Status::kOk) == RL_OK && ToC(Status::kInvalidArgument) == RL_E_INVALID_ARGUMENT);
static_assert(ToC(Status::kNoMemory) == RL_E_NO_MEMORY && ToC(Status::kConfig) == RL_E_CONFIG);
static_assert(ToC(Status::kIo) == RL_E_IO && ToC(Status::kNotFound) == RL_E_NOT_FOUND);
static_assert(ToC(Status::kUnsupported) == RL_E_UNSUPPORTED && ToC(Status::kStore) == RL_E_STORE);
static_assert(ToC(Status::kBufferTooSmall) == RL_E_BUFFER_TOO_SMALL && ToC(Status::kAbi) == RL_E_ABI);
static_assert(ToC(Status::kState) == RL_E_STATE && ToC(Status::kCancelled) == RL_E_CANCELLED);
static_assert(ToC(Status::kInternal) == RL_E_INTERNAL);

namespace {

bool ContinuesCharacter(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u; }

/// The most bytes of `text`, at most `room`, that do not end inside a UTF-8 character.
size_t CutLength(std::string_view text, size_t room) noexcept {
  if (text.size() <= room) return text.size();
  size_t length = room;
  while (length > 0 && room - length < 4 && ContinuesCharacter(text[length])) --length;
  return length;
}

}  // namespace

void CopyText(std::string_view text, char* field, size_t field_size) noexcept {
  const size_t length = CutLength(text, field_size - 1);
  for (size_t i = 0; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    field[i] = byte < 0x20 || byte == 0x7F ? '?' : text[i];
  }
  field[length] = '\0';
}

bool ErrorOut::usable() const noexcept { return err_ == nullptr || SizeProblem(err_) == nullptr; }

void ErrorOut::Reset(rl_status status) const noexcept {
  const uint32_t size = err_->struct_size;
  std::memset(err_, 0, size);
  err_->struct_size = size;
  err_->status = status;
}

rl_status ErrorOut::Fail(rl_status status, const char* format, ...) const noexcept {
  if (err_ == nullptr) return status;
  char text[sizeof err_->message];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  Reset(status);
  CopyText(text, err_->message, sizeof err_->message);
  return status;
}

rl_status ErrorOut::Fail(const std::vector<Error>& faults) const noexcept {
  return Fail(faults.front(), faults.size());
}

rl_status ErrorOut::Fail(const Error& fault, size_t count) const noexcept {
  const rl_status status = fault.status == Status::kOk ? RL_E_CONFIG : ToC(fault.status);
  if (err_ == nullptr) return status;
  Reset(status);
  err_->line = fault.position.line;
  err_->column = fault.position.column;
  err_->fault_count = static_cast<uint32_t>(std::min<size_t>(count, UINT32_MAX));
  CopyText(fault.file, err_->file, sizeof err_->file);
  CopyText(fault.path, err_->path, sizeof err_->path);
  CopyText(fault.message, err_->message, sizeof err_->message);
  return status;
}

}  // namespace ratel::capi
