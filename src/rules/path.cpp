#include "rules/path.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ratel {
namespace {

constexpr bool IsAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsUnreserved(char c) { return IsAlpha(c) || IsDigit(c) || c == '-' || c == '.' || c == '_' || c == '~'; }
constexpr bool EndsPath(char c) { return c == '?' || c == '#'; }

constexpr int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

enum class Look : uint8_t { kPlain, kSlash, kEnd, kRewrite };

constexpr std::array<Look, 256> kLooks = [] {
  std::array<Look, 256> looks{};
  looks['/'] = Look::kSlash;
  looks['?'] = looks['#'] = Look::kEnd;
  looks['%'] = looks[';'] = Look::kRewrite;
  return looks;
}();

/// "http://host/p" -> "/p"; anything that is not in absolute form stays.
std::string_view CutAuthority(std::string_view target) noexcept {
  size_t i = 0;
  while (i < target.size() && (IsAlpha(target[i]) || (i > 0 && (IsDigit(target[i]) || target[i] == '+' ||
                                                                target[i] == '-' || target[i] == '.')))) {
    ++i;
  }
  if (i == 0 || target.substr(i, 3) != "://") return target;
  i += 3;
  while (i < target.size() && target[i] != '/' && !EndsPath(target[i])) ++i;
  return target.substr(i);
}

/// Sixteen characters at once; comparing gives 0xff in each that is equal.
typedef unsigned char Block __attribute__((vector_size(16)));

Block LoadBlock(const char* from) noexcept {
  Block block;
  std::memcpy(&block, from, sizeof(block));
  return block;
}

/// Whether a block may hold something that NormalSize has to look at more closely. Reads one character more than the block.
bool NeedsLook(const char* from) noexcept {
  const Block block = LoadBlock(from);
  const Block next = LoadBlock(from + 1);
  const auto marks = (block == '%') | (block == ';') | (block == '?') | (block == '#') |
                     ((block == '/') & ((next == '/') | (next == '.')));
  uint64_t halves[2];
  std::memcpy(halves, &marks, sizeof(halves));
  return (halves[0] | halves[1]) != 0;
}

/// Whether a target of more than a block that starts with '/' is in normal form as a whole.
bool IsPlain(std::string_view target) noexcept {
  const size_t last = target.size() - 1 - sizeof(Block);
  for (size_t i = 0; i < last; i += sizeof(Block)) {
    if (NeedsLook(target.data() + i)) return false;
  }
  return !NeedsLook(target.data() + last) && kLooks[static_cast<unsigned char>(target.back())] <= Look::kSlash;
}

/// How much of a target that starts with '/' can be used as it stands; npos when something has to be rewritten.
size_t NormalSize(std::string_view target) noexcept {
  size_t i = 0;
  while (target.size() - i > sizeof(Block) && !NeedsLook(target.data() + i)) i += sizeof(Block);
  for (; i < target.size(); ++i) {
    switch (kLooks[static_cast<unsigned char>(target[i])]) {
      case Look::kPlain:
        break;
      case Look::kSlash:
        // "/.well-known" is normal too, but rare: the rewriting finds that out.
        if (i + 1 < target.size() && (target[i + 1] == '/' || target[i + 1] == '.')) return std::string_view::npos;
        break;
      case Look::kEnd:
        return i;
      case Look::kRewrite:
        return std::string_view::npos;
    }
  }
  return target.size();
}

/// Rewrites a target that starts with '/' segment by segment. The output never gets ahead of the input, so both may be the same memory.
class Rewriter {
 public:
  Rewriter(std::string_view target, char* out) noexcept : in_(target), out_(out) {}

  size_t Run() noexcept {
    bool slash_at_end = false;
    while (next_ < in_.size() && !EndsPath(in_[next_])) slash_at_end = !Segment();
    if (slash_at_end) out_[size_++] = '/';
    return size_;
  }

 private:
  /// Takes "/segment;parameters". True when a segment was written, false when it was empty or a dot segment.
  bool Segment() noexcept {
    const size_t start = size_;
    ++next_;
    out_[size_++] = '/';
    while (next_ < in_.size() && in_[next_] != '/' && in_[next_] != ';' && !EndsPath(in_[next_])) Character();
    while (next_ < in_.size() && in_[next_] != '/' && !EndsPath(in_[next_])) ++next_;
    const std::string_view segment(out_ + start + 1, size_ - start - 1);
    if (!segment.empty() && segment != "." && segment != "..") return true;
    const bool parent = segment == "..";
    size_ = start;
    if (parent) DropSegment();
    return false;
  }

  void Character() noexcept {
    const char c = in_[next_];
    const int high = c == '%' && next_ + 2 < in_.size() ? HexValue(in_[next_ + 1]) : -1;
    const int low = high >= 0 ? HexValue(in_[next_ + 2]) : -1;
    if (low < 0) {
      out_[size_++] = c;
      ++next_;
      return;
    }
    next_ += 3;
    const char decoded = static_cast<char>(high * 16 + low);
    if (IsUnreserved(decoded)) {
      out_[size_++] = decoded;
      return;
    }
    static constexpr char kDigits[] = "0123456789ABCDEF";
    out_[size_++] = '%';
    out_[size_++] = kDigits[high];
    out_[size_++] = kDigits[low];
  }

  void DropSegment() noexcept {
    while (size_ > 0 && out_[--size_] != '/') {
    }
  }

  std::string_view in_;
  size_t next_ = 0;
  char* out_;
  size_t size_ = 0;
};

/// NormalizePath for any path.
[[gnu::noinline]] std::string_view NormalizeAny(std::string_view raw, std::span<char> buffer) noexcept {
  std::string_view target = raw.empty() || raw.front() == '/' ? raw : CutAuthority(raw);
  if (target.empty() || EndsPath(target.front())) return "/";
  const bool rooted = target.front() == '/';
  if (rooted) {
    const size_t normal = NormalSize(target);
    if (normal != std::string_view::npos) return target.substr(0, normal);
  }
  if (buffer.size() < target.size() + 1) return {};
  if (!rooted) {
    std::memmove(buffer.data() + 1, target.data(), target.size());
    buffer[0] = '/';
    target = {buffer.data(), target.size() + 1};
  }
  return {buffer.data(), Rewriter(target, buffer.data()).Run()};
}

}  // namespace

std::string_view NormalizePath(std::string_view raw, std::span<char> buffer) noexcept {
  if (raw.size() > sizeof(Block) && raw.front() == '/' && IsPlain(raw)) return raw;
  return NormalizeAny(raw, buffer);
}

std::string NormalizePath(std::string_view raw) {
  std::string buffer(raw.size() + 1, '\0');
  return std::string(NormalizePath(raw, std::span<char>(buffer)));
}

}  // namespace ratel
