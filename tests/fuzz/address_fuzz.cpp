// Any bytes as an address, a network, and the lines of a proxy walk. Lines are separated by newlines; the first is the peer.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/address.hpp"
#include "core/forwarded.hpp"

namespace {

using ratel::Address;
using ratel::Network;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void CheckAddress(std::string_view text) {
  const std::optional<Address> address = Address::Parse(text);
  if (!address) return;
  Require(Address::Parse(address->ToText()) == address, "text and back again");
  for (const unsigned bits : {32u, 57u, 64u, 128u}) {
    const Address cut = address->Cut(bits);
    Require(cut.Cut(bits) == cut, "cut once is cut");
    const std::optional<Network> network =
        Network::Parse(cut.ToText() + (cut.is_v4() ? "/32" : "/" + std::to_string(bits)));
    Require(network && network->Contains(*address), "an address is in its own network");
  }
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (;;) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    if (end == text.size()) return lines;
    text.remove_prefix(end + 1);
  }
}

bool IsTrusted(const std::optional<Address>& address, const std::vector<Network>& trusted) {
  return address && std::any_of(trusted.begin(), trusted.end(), [&](const Network& n) { return n.Contains(*address); });
}

void CheckWalk(const std::vector<std::string_view>& lines) {
  static const std::vector<Network> trusted = {*Network::Parse("10.0.0.0/8"), *Network::Parse("fd00::/8")};
  const std::optional<Address> peer = Address::Parse(lines.front());
  const std::span<const std::string_view> headers = std::span(lines).subspan(1);
  for (const bool forwarded : {false, true}) {
    const std::span<const std::string_view> none;
    const auto walk = [&](std::string_view from) {
      return forwarded ? ratel::ClientAddress(from, none, headers, trusted)
                       : ratel::ClientAddress(from, headers, none, trusted);
    };
    Require(walk(lines.front()).has_value() == peer.has_value(), "a client exactly when the peer is an address");
    if (!IsTrusted(peer, trusted)) Require(walk(lines.front()) == peer, "an untrusted peer is the client");
    Require(walk("10.0.0.1").has_value(), "a trusted peer always leads to a client");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckAddress(text);
  Network::Parse(text);
  CheckWalk(Lines(text));
  return 0;
}
