#include "core/forwarded.hpp"

#include <algorithm>
#include <cstddef>

namespace ratel {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

std::string_view Trim(std::string_view text) noexcept {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

/// Whether the quote at `at` is escaped: an odd number of backslashes stands before it.
bool IsEscaped(std::string_view text, size_t at) noexcept {
  size_t backslashes = 0;
  while (backslashes < at && text[at - backslashes - 1] == '\\') ++backslashes;
  return backslashes % 2 == 1;
}

/// Cuts the last piece off `list` at a separator outside quotes, looking from the right: a quote that is never closed further left does no harm to what
/// stands right of it.
std::string_view CutLast(std::string_view& list, char separator) noexcept {
  bool quoted = false;
  for (size_t i = list.size(); i > 0; --i) {
    const char c = list[i - 1];
    if (c == '"' && !(quoted && IsEscaped(list, i - 1))) quoted = !quoted;
    if (c != separator || quoted) continue;
    const std::string_view last = list.substr(i);
    list = list.substr(0, i - 1);
    return last;
  }
  const std::string_view last = list;
  list = {};
  return last;
}

bool IsFor(std::string_view name) noexcept {
  return name.size() == 3 && (name[0] | 0x20) == 'f' && (name[1] | 0x20) == 'o' && (name[2] | 0x20) == 'r';
}

/// The node that a Forwarded element names; nothing when it has no `for`, or two.
std::string_view ForValue(std::string_view element) noexcept {
  std::string_view value;
  bool found = false;
  while (!element.empty()) {
    const std::string_view pair = Trim(CutLast(element, ';'));
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || !IsFor(pair.substr(0, equals))) continue;
    if (found) return {};
    found = true;
    value = pair.substr(equals + 1);
  }
  return value;
}

enum class Hop { kTrusted, kClient, kUnreadable };

class HopWalk {
 public:
  HopWalk(const Address& peer, std::span<const Network> trusted) noexcept : client_(peer), trusted_(trusted) {}

  const Address& client() const noexcept { return client_; }

  bool IsTrusted(const Address& address) const noexcept {
    return std::any_of(trusted_.begin(), trusted_.end(), [&](const Network& n) { return n.Contains(address); });
  }

  /// Takes a line's hops from the right; false when the walk is over.
  template <class NodeOf>
  bool TakeLine(std::string_view line, NodeOf node_of) noexcept {
    while (!line.empty()) {
      const std::string_view element = Trim(CutLast(line, ','));
      if (!element.empty() && Take(node_of(element)) != Hop::kTrusted) return false;
    }
    return true;
  }

 private:
  Hop Take(std::string_view node) noexcept {
    const std::optional<Address> address = Address::Parse(node);
    if (!address) return Hop::kUnreadable;
    client_ = *address;
    return IsTrusted(*address) ? Hop::kTrusted : Hop::kClient;
  }

  Address client_;
  std::span<const Network> trusted_;
};

template <class NodeOf>
void TakeLines(std::span<const std::string_view> lines, HopWalk& walk, NodeOf node_of) noexcept {
  for (size_t i = lines.size(); i > 0; --i) {
    if (!walk.TakeLine(lines[i - 1], node_of)) return;
  }
}

}  // namespace

std::optional<Address> ClientAddress(std::string_view peer, std::span<const std::string_view> x_forwarded_for,
                                     std::span<const std::string_view> forwarded, std::span<const Network> trusted,
                                     ForwardedField field) noexcept {
  const std::optional<Address> address = Address::Parse(peer);
  if (!address) return std::nullopt;
  HopWalk walk(*address, trusted);
  if (!walk.IsTrusted(*address)) return address;
  const bool standard =
      field == ForwardedField::kForwarded || (field == ForwardedField::kAny && x_forwarded_for.empty());
  if (standard) {
    TakeLines(forwarded, walk, ForValue);
  } else {
    TakeLines(x_forwarded_for, walk, [](std::string_view element) noexcept { return element; });
  }
  return walk.client();
}

}  // namespace ratel
