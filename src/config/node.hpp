// A YAML text as a tree in which every node knows its place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ratel {

inline constexpr size_t kMaxTextBytes = size_t{64} << 20;
inline constexpr size_t kMaxNodes = 8'000'000;
inline constexpr size_t kMaxDepth = 32;

struct Node {
  enum class Kind : uint8_t { kScalar, kSequence, kMapping };
  /// What a scalar is to every reader of YAML 1.2 and JSON.
  enum class Scalar : uint8_t { kText, kInteger, kNumber, kBool, kNull };

  Kind kind = Kind::kScalar;
  Scalar scalar = Scalar::kText;
  Position position;
  std::string text;         ///< of a scalar
  std::vector<Node> items;  ///< a sequence's elements; a mapping's keys and values in turn

  bool IsMapping() const { return kind == Kind::kMapping; }
  bool IsSequence() const { return kind == Kind::kSequence; }
  bool IsScalar() const { return kind == Kind::kScalar; }
  /// The value under a key of a mapping, or nullptr.
  const Node* Find(std::string_view key) const;
};

/// Reads one document. Anchors, aliases, tags, a second document, texts that are not UTF-8, and anything above the bounds are
/// refused, so the time and memory it takes are proportional to the text. The error has a position and a message only.
Result<Node> ParseTree(std::string_view text);

}  // namespace ratel
