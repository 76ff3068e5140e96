// Keys of texts against what they stand for: byte by byte, every length around a word's and two words' end.
#include "rules/text_key.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <string_view>

namespace ratel::test {
namespace {

constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

std::string FoldedByBytes(std::string_view text) {
  std::string folded;
  for (const char c : text) folded += kCapitals.find(c) == kCapitals.npos ? c : static_cast<char>(c + 32);
  return folded;
}

class TextKeys : public testing::Test {
 protected:
  size_t Below(size_t end) { return random_() % end; }

  /// Mostly what is next to a letter's or a slash's code, so that texts that are nearly equal are no rarity.
  char Byte() {
    static constexpr std::string_view kNear = "@AZ[`az{.0/Mm\x7f\x80\xaf\xc1\xe1\xff";
    return Below(8) == 0 ? static_cast<char>(Below(256)) : kNear[Below(kNear.size())];
  }
  std::string Text(size_t size) {
    std::string text;
    while (text.size() < size) text += Byte();
    return text;
  }
  std::string Segment(size_t size) {
    std::string text = Text(size);
    for (char& c : text) c = c == '/' ? '0' : c;
    return text;
  }
  static size_t EndOfSegment(std::string_view path, size_t at) { return std::min(path.find('/', at), path.size()); }

 private:
  std::mt19937 random_{5};
};

TEST_F(TextKeys, LettersAreFoldedAndNothingElse) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    EXPECT_EQ(FoldCase(c), FoldedByBytes({&c, 1})[0]) << byte;
    for (size_t place = 0; place < 8; ++place) {
      std::string word = Text(8);
      word[place] = c;
      EXPECT_EQ(FoldCase(detail::LoadWord(word.data())), detail::LoadWord(FoldedByBytes(word).data())) << byte;
    }
  }
}

TEST_F(TextKeys, AreEqualForEqualTextsAlone) {
  for (int round = 0; round < 20'000; ++round) {
    const std::string text = Text(Below(40));
    const TextKey key = KeyOfText(text, false);
    EXPECT_EQ(key.size, text.size());
    EXPECT_EQ(key.is_whole(), text.size() <= 16);
    const std::string among_others = "x" + text + "/";
    EXPECT_EQ(KeyOfText(std::string_view(among_others).substr(1, text.size()), false), key);
    EXPECT_EQ(KeyOfText(text, true), KeyOfText(FoldedByBytes(text), false));
    if (text.empty()) continue;
    std::string other = text;
    const size_t place = Below(text.size());
    other[place] = static_cast<char>(other[place] ^ 1 << Below(8));
    EXPECT_NE(KeyOfText(other, false), key) << "byte " << place << " of " << text.size();
    EXPECT_EQ(KeyOfText(other, true) == KeyOfText(text, true), FoldedByBytes(other) == FoldedByBytes(text));
  }
}

TEST_F(TextKeys, OfASegmentEndWithIt) {
  for (int round = 0; round < 50'000; ++round) {
    std::string path = "/";
    for (size_t left = 1 + Below(3); left > 0; --left) path += Segment(Below(27)) + "/";
    if (Below(2) == 0) path += Segment(1 + Below(20));
    const size_t at = Below(path.size());
    const size_t end = EndOfSegment(path, at);
    for (const bool fold : {false, true})
      ASSERT_EQ(KeyOfSegment(path, at, fold), KeyOfText(std::string_view(path).substr(at, end - at), fold))
          << testing::PrintToString(path) << " at " << at;
  }
}

TEST_F(TextKeys, AreFoundWhereTheirTextIs) {
  size_t found = 0;
  for (int round = 0; round < 50'000; ++round) {
    const size_t size = 1 + Below(TextKey::kWhole);
    const std::string path = Text(size + Below(30));
    const size_t at = Below(path.size() - size + 1);
    std::string text = path.substr(at, size);
    if (Below(2) == 0) text[Below(size)] = Byte();
    for (const bool fold : {false, true}) {
      const bool is_there =
          fold ? FoldedByBytes(path.substr(at, size)) == FoldedByBytes(text) : path.substr(at, size) == text;
      found += is_there;
      ASSERT_EQ(HasKeyAt(path, at, KeyOfText(text, fold), fold), is_there)
          << testing::PrintToString(path) << " at " << at;
      ASSERT_EQ(SameText(path.substr(at, size), fold ? FoldedByBytes(text) : text, fold), is_there);
    }
  }
  EXPECT_GT(found, 50'000u);
  EXPECT_FALSE(SameText("ab", "a", true));
  EXPECT_FALSE(SameText("a", "ab", true));
}

TEST_F(TextKeys, HashApartByTextSizeAndSeed) {
  std::set<uint32_t> hashes;
  size_t count = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (size_t size = 0; size < 30; ++size, ++count)
      hashes.insert(HashOfKey(KeyOfText(std::string(size, '\0'), false), seed));
    for (int i = 0; i < 100; ++i, ++count) hashes.insert(HashOfKey(KeyOfText("s" + std::to_string(i), false), seed));
  }
  EXPECT_GE(hashes.size() + 3, count);
}

}  // namespace
}  // namespace ratel::test
