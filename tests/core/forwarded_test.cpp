#include "core/forwarded.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace ratel {
namespace {

using Lines = std::vector<std::string_view>;

std::vector<Network> Networks(std::initializer_list<const char*> texts) {
  std::vector<Network> networks;
  for (const char* text : texts) networks.push_back(*Network::Parse(text));
  return networks;
}

const std::vector<Network>& Trusted() {
  static const std::vector<Network> networks = Networks({"10.0.0.0/8", "2001:db8:1::/48"});
  return networks;
}

std::string Client(std::string_view peer, const Lines& x_forwarded_for, const Lines& forwarded = {}) {
  const std::optional<Address> client = ClientAddress(peer, x_forwarded_for, forwarded, Trusted());
  return client ? client->ToText() : "-";
}

std::string ForwardedClient(const Lines& lines) { return Client("10.0.0.1", {}, lines); }

TEST(Semantics8Proxies, NobodyIsTrustedByDefault) {
  const Lines lines = {"198.51.100.7"};
  const std::optional<Address> client = ClientAddress("192.0.2.1:4711", lines, lines, {});
  ASSERT_TRUE(client);
  EXPECT_EQ(client->ToText(), "192.0.2.1");
}

TEST(Semantics8Proxies, AnUntrustedPeerIsTheClient) {
  EXPECT_EQ(Client("192.0.2.1", {"198.51.100.7"}, {"for=198.51.100.8"}), "192.0.2.1");
  EXPECT_EQ(Client("2001:db8:2::1", {"198.51.100.7"}), "2001:db8:2::1");
}

TEST(Semantics8Proxies, APeerThatIsNoAddressGivesNothing) {
  for (const char* peer : {"", "unix:", "@", "/run/socket", "localhost"})
    EXPECT_EQ(Client(peer, {"198.51.100.7"}), "-");
}

// B141
TEST(Semantics8Proxies, TheFirstUntrustedFromTheRightIsTheClient) {
  EXPECT_EQ(Client("10.0.0.1", {"198.51.100.7"}), "198.51.100.7");
  EXPECT_EQ(Client("10.0.0.1", {"1.1.1.1, 198.51.100.7"}), "198.51.100.7");
  EXPECT_EQ(Client("10.0.0.1", {"1.1.1.1, 198.51.100.7, 10.0.0.2,10.0.0.3"}), "198.51.100.7");
  EXPECT_EQ(Client("2001:db8:1::9", {"1.1.1.1, 2001:db8:2::5, 2001:db8:1::2"}), "2001:db8:2::5");
  EXPECT_EQ(Client("::ffff:10.0.0.1", {"[2001:db8:2::5]:99"}), "2001:db8:2::5");
  for (int i = 0; i < 12; ++i) {
    const std::string line = "203.0.113." + std::to_string(i) + ", 198.51.100.7";
    EXPECT_EQ(Client("10.0.0.1", {line}), "198.51.100.7");
  }
}

TEST(Semantics8Proxies, LinesStandInTheOrderOfTheMessage) {
  EXPECT_EQ(Client("10.0.0.1", {"1.1.1.1", "198.51.100.7, 10.0.0.2", "10.0.0.3"}), "198.51.100.7");
  EXPECT_EQ(Client("10.0.0.1", {"198.51.100.7", "", "10.0.0.3"}), "198.51.100.7");
}

TEST(Semantics8Proxies, AllTrustedGivesTheLeftMost) {
  EXPECT_EQ(Client("10.0.0.1", {}), "10.0.0.1");
  EXPECT_EQ(Client("10.0.0.1", {""}), "10.0.0.1");
  EXPECT_EQ(Client("10.0.0.1", {"10.0.0.4", "10.0.0.3, 10.0.0.2"}), "10.0.0.4");
}

// B144
TEST(Semantics8Proxies, AHopThatIsNoAddressEndsTheWalk) {
  EXPECT_EQ(Client("10.0.0.1", {"23189987"}), "10.0.0.1");
  EXPECT_EQ(Client("10.0.0.1", {"unknown"}), "10.0.0.1");
  EXPECT_EQ(Client("10.0.0.1", {"198.51.100.7, unknown, 10.0.0.3"}), "10.0.0.3");
  EXPECT_EQ(Client("10.0.0.1", {"198.51.100.7, 10.0.0.256, 10.0.0.3, 10.0.0.2"}), "10.0.0.3");
  EXPECT_EQ(Client("10.0.0.1", {"198.51.100.7 10.0.0.3"}), "10.0.0.1");
}

TEST(Semantics8Proxies, EmptyElementsCountForNothing) {
  EXPECT_EQ(Client("10.0.0.1", {",, 198.51.100.7 , ,\t,"}), "198.51.100.7");
  EXPECT_EQ(ForwardedClient({" , for=198.51.100.7,,"}), "198.51.100.7");
}

TEST(Semantics8Proxies, ForwardedIsReadAsInRfc7239) {
  EXPECT_EQ(ForwardedClient({"for=198.51.100.7"}), "198.51.100.7");
  EXPECT_EQ(ForwardedClient({"For=\"198.51.100.7:4711\""}), "198.51.100.7");
  EXPECT_EQ(ForwardedClient({"for=\"[2001:db8:2::5]:80\";proto=https;by=10.0.0.1"}), "2001:db8:2::5");
  EXPECT_EQ(ForwardedClient({"proto=http; by=203.0.113.43 ;FOR=\"[2001:DB8:2::5]\""}), "2001:db8:2::5");
  EXPECT_EQ(ForwardedClient({"for=198.51.100.7:_port"}), "198.51.100.7");
  EXPECT_EQ(ForwardedClient({"for=1.1.1.1, for=198.51.100.7, for=10.0.0.2"}), "198.51.100.7");
  EXPECT_EQ(ForwardedClient({"for=1.1.1.1, for=198.51.100.7", "for=10.0.0.2"}), "198.51.100.7");
}

// A proxy that writes X-Forwarded-For adds to it always, so a Forwarded beside it is the client's unless the rules say otherwise.
TEST(Semantics8Proxies, OneFieldIsBelieved) {
  const Lines x_forwarded_for = {"198.51.100.7"};
  const Lines forwarded = {"for=198.51.100.8"};
  const auto client = [&](const Lines& x, const Lines& standard, ForwardedField field) {
    return ClientAddress("10.0.0.1", x, standard, Trusted(), field)->ToText();
  };
  EXPECT_EQ(client(x_forwarded_for, forwarded, ForwardedField::kAny), "198.51.100.7");
  EXPECT_EQ(client({}, forwarded, ForwardedField::kAny), "198.51.100.8");
  EXPECT_EQ(client({""}, forwarded, ForwardedField::kAny), "10.0.0.1");
  EXPECT_EQ(client(x_forwarded_for, forwarded, ForwardedField::kXForwardedFor), "198.51.100.7");
  EXPECT_EQ(client({}, forwarded, ForwardedField::kXForwardedFor), "10.0.0.1");
  EXPECT_EQ(client(x_forwarded_for, forwarded, ForwardedField::kForwarded), "198.51.100.8");
  EXPECT_EQ(client(x_forwarded_for, {}, ForwardedField::kForwarded), "10.0.0.1");
}

TEST(Semantics8Proxies, ForwardedNodesThatAreNoAddressEndTheWalk) {
  for (const char* element :
       {"for=unknown", "for=_hidden", "for=\"_SEVKISEK\"", "proto=https", "for", "for=", "for=\"\"",
        "for =198.51.100.7", "for=198.51.100.7;for=198.51.100.8", "for=;for=198.51.100.8", "for=\"198.51.100\\.7\"",
        "=198.51.100.7", ";", "xfor=198.51.100.7", "for=\"198.51.100.7", "\"for=198.51.100.7\""}) {
    const std::string line = "for=1.1.1.1, " + std::string(element) + ", for=10.0.0.2";
    EXPECT_EQ(ForwardedClient({line}), "10.0.0.2") << line;
  }
}

TEST(Semantics8Proxies, QuotedStringsHideSeparators) {
  EXPECT_EQ(ForwardedClient({"for=198.51.100.7;host=\"a,b;for=1.1.1.1\""}), "198.51.100.7");
  EXPECT_EQ(ForwardedClient({R"(for=198.51.100.7;host="a\",for=1.1.1.1,\"b";proto=http)"}), "198.51.100.7");
  EXPECT_EQ(ForwardedClient({R"(for=198.51.100.7;host="a\\", for=10.0.0.2)"}), "198.51.100.7");
}

TEST(Semantics8Proxies, WhatAClientSendsCannotHideWhatProxiesAdd) {
  EXPECT_EQ(ForwardedClient({"for=\"1.1.1.1, for=198.51.100.7"}), "198.51.100.7");
  EXPECT_EQ(ForwardedClient({"for=\"1.1.1.1\\\", for=198.51.100.7, for=10.0.0.2"}), "198.51.100.7");
  EXPECT_EQ(ForwardedClient({"for=\"", "for=198.51.100.7"}), "198.51.100.7");
  EXPECT_EQ(Client("10.0.0.1", {"\"1.1.1.1, 198.51.100.7"}), "198.51.100.7");
}

TEST(Semantics8Proxies, HostileLines) {
  std::string hops;
  for (int i = 0; i < 100'000; ++i) hops += "10.0.0.2, ";
  EXPECT_EQ(Client("10.0.0.1", {"198.51.100.7, " + hops}), "198.51.100.7");
  for (const char* piece : {",", "\"", "\\", "\\\"", "for=\"", ";", ";,", "=", "for=10.0.0.2;", "\",\"", " "}) {
    std::string line;
    while (line.size() < 1'000'000) line += piece;
    EXPECT_EQ(ForwardedClient({line + ", for=198.51.100.7"}), "198.51.100.7") << piece;
    EXPECT_NE(ForwardedClient({line}), "-") << piece;
    EXPECT_NE(Client("10.0.0.1", {line}), "-") << piece;
  }
}

}  // namespace
}  // namespace ratel
