// The words of fault messages: where something is, quoted excerpts, and what may have been meant.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ratel {

/// A step on the way to a value. Lives on the stack; `Text` is built only when there is something to say.
struct Where {
  enum class Step : uint8_t { kRoot, kKey, kIndex, kEntry };

  static Where Root(std::string_view text = {}) { return {nullptr, Step::kRoot, text, 0}; }
  Where Key(std::string_view name) const { return {this, Step::kKey, name, 0}; }
  Where At(size_t i) const { return {this, Step::kIndex, {}, i}; }
  Where Entry(std::string_view name) const { return {this, Step::kEntry, name, 0}; }  ///< a key that is the user's own

  /// "rules[2].limits[0].overrides["alice"].window"
  std::string Text() const;

  const Where* parent;
  Step step;
  std::string_view key;
  size_t index;
};

/// In double quotes, one line, cut after 48 bytes; bytes that cannot be shown as \xNN.
std::string Quote(std::string_view text);

/// ` (did you mean "x"?)` for the nearest of `words` when one is near enough, else nothing.
std::string DidYouMean(std::string_view text, std::span<const std::string_view> words);

/// "a, b or c"
std::string OneOf(std::span<const std::string_view> words);

/// "a, b, c"
std::string List(std::span<const std::string_view> words);

}  // namespace ratel
