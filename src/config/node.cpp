#include "config/node.hpp"

#include <yaml.h>

#include <algorithm>
#include <new>

namespace ratel {
namespace {

struct Parser {
  Parser() {
    if (yaml_parser_initialize(&raw) == 0) throw std::bad_alloc();
  }
  ~Parser() { yaml_parser_delete(&raw); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  yaml_parser_t raw{};
};

struct Event {
  Event() = default;
  ~Event() { yaml_event_delete(&raw); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  yaml_event_t raw{};
};

Position ToPosition(const yaml_mark_t& mark) {
  return {static_cast<uint32_t>(mark.line + 1), static_cast<uint32_t>(mark.column + 1)};
}

/// The place of a byte: columns count characters, as libyaml's do.
Position PositionOfByte(std::string_view text, size_t offset) {
  Position position{1, 1};
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++position.line;
      position.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
      ++position.column;
    }
  }
  return position;
}

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view CutSign(std::string_view text) {
  return !text.empty() && (text[0] == '-' || text[0] == '+') ? text.substr(1) : text;
}

/// "1.5", ".5", "1e3", "1.", ".inf": what the YAML 1.2 core schema takes as a float.
bool IsFloat(std::string_view text) {
  text = CutSign(text);
  if (text == ".inf" || text == ".Inf" || text == ".INF") return true;
  const size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos) {
    if (!IsDigits(CutSign(text.substr(exponent + 1)))) return false;
    text = text.substr(0, exponent);
  }
  const size_t point = text.find('.');
  if (point == std::string_view::npos) return IsDigits(text);
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = text.substr(point + 1);
  if (whole.empty()) return IsDigits(fraction);
  return IsDigits(whole) && (fraction.empty() || IsDigits(fraction));
}

bool IsPrefixedInteger(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return false;
  const std::string_view digits = text.substr(2);
  if (text[1] == 'o') return digits.find_first_not_of("01234567") == std::string_view::npos;
  return text[1] == 'x' && digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

/// The YAML 1.2 core schema, which is JSON's for JSON: `off`, `yes`, `1_000` and `12:30` are texts.
Node::Scalar Classify(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return Node::Scalar::kNull;
  for (const std::string_view word : {"true", "True", "TRUE", "false", "False", "FALSE"}) {
    if (text == word) return Node::Scalar::kBool;
  }
  if (IsDigits(CutSign(text)) || IsPrefixedInteger(text)) return Node::Scalar::kInteger;
  if (IsFloat(text) || text == ".nan" || text == ".NaN" || text == ".NAN") return Node::Scalar::kNumber;
  return Node::Scalar::kText;
}

bool IsHex(std::string_view text) { return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos; }

uint32_t FromHex(std::string_view digits) {
  uint32_t value = 0;
  for (const char c : digits) {
    const auto digit = static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    value = value * 16 + digit;
  }
  return value;
}

/// The code point of a JSON pair of escapes ("\ud83d\ude00") at the start of `text`, or 0.
uint32_t SurrogatePair(std::string_view text) {
  if (text.size() < 12 || text[1] != 'u' || text[6] != '\\' || text[7] != 'u') return 0;
  if (!IsHex(text.substr(2, 4)) || !IsHex(text.substr(8, 4))) return 0;
  const uint32_t high = FromHex(text.substr(2, 4));
  const uint32_t low = FromHex(text.substr(8, 4));
  if ((high & 0xFC00) != 0xD800 || (low & 0xFC00) != 0xDC00) return 0;
  return 0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF);
}

bool IsJsonObject(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

/// JSON writes characters beyond U+FFFF as two \u escapes, which YAML does not know: they become one \U escape each.
/// Empty when nothing had to be rewritten.
std::string JoinSurrogates(std::string_view text) {
  std::string joined;
  size_t copied = 0;
  for (size_t i = text.find('\\'); i != std::string_view::npos; i = text.find('\\', i)) {
    const uint32_t code_point = SurrogatePair(text.substr(i));
    if (code_point == 0) {
      i += 2;
      continue;
    }
    static constexpr char kDigits[] = "0123456789ABCDEF";
    joined.append(text, copied, i - copied).append("\\U");
    for (int shift = 28; shift >= 0; shift -= 4) joined += kDigits[(code_point >> shift) & 15];
    i += 12;
    copied = i;
  }
  if (copied != 0) joined.append(text, copied);
  return joined;
}

class TreeParser {
 public:
  explicit TreeParser(std::string_view text) : text_(Begin(text)) {
    yaml_parser_set_encoding(&parser_.raw, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_.raw, reinterpret_cast<const unsigned char*>(text_.data()), text_.size());
  }

  Result<Node> Parse() {
    Node root;
    if (Document(root)) return root;
    return error_;
  }

 private:
  /// libyaml counts a byte order mark as a column, and takes no null pointer, not even for an empty text.
  static std::string_view Begin(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    return text.empty() ? std::string_view("") : text;
  }

  bool Document(Node& root) {
    Event event;
    if (!Next(event) || !Next(event)) return false;
    if (event.raw.type == YAML_STREAM_END_EVENT) {
      return Fail({1, 1}, "the text is empty: write `rules: []` where no rule is meant");
    }
    if (event.raw.data.document_start.version_directive != nullptr ||
        event.raw.data.document_start.tag_directives.start != event.raw.data.document_start.tag_directives.end) {
      return Fail(event, "%YAML and %TAG lines are not used in rule files: leave them out");
    }
    if (!Next(event) || !Value(event, root, 0)) return false;
    if (!Next(event) || !Next(event)) return false;
    if (event.raw.type != YAML_STREAM_END_EVENT) {
      return Fail(event, "a second document starts here: one file holds one document (use a folder of files)");
    }
    return true;
  }

  bool Next(Event& event) {
    yaml_event_delete(&event.raw);
    if (yaml_parser_parse(&parser_.raw, &event.raw) != 0) return true;
    if (parser_.raw.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
    if (parser_.raw.error == YAML_READER_ERROR) {
      return Fail(PositionOfByte(text_, StartOfCharacter(parser_.raw.problem_offset)), ReaderProblem());
    }
    const size_t index = ByteOf(parser_.raw.problem_mark);
    const size_t key = KeyBefore(index);
    if (index - key > kMaxKey) {
      return Fail(
          PositionOfByte(text_, key),
          "a key is longer than 1,024 characters, which YAML takes only in the form `? key` and `: value`, each on a "
          "line of its own");
    }
    return Fail(ToPosition(parser_.raw.problem_mark), SyntaxProblem(index));
  }

  /// Where the key begins that a colon at `index` ends; `index` when there is none.
  size_t KeyBefore(size_t index) const {
    if (index >= text_.size() || text_[index] != ':') return index;
    const size_t last = text_.find_last_not_of(' ', index - 1);
    if (index == 0 || last == std::string_view::npos) return index;
    const char quote = text_[last];
    if (quote != '"' && quote != '\'') return text_.find_first_not_of(' ', text_.find_last_of("\n{,[", last) + 1);
    size_t begin = last;
    do {
      begin = begin == 0 ? std::string_view::npos : text_.rfind(quote, begin - 1);
      if (begin == std::string_view::npos) return index;
    } while (IsEscaped(begin));
    return begin;
  }

  bool IsEscaped(size_t quote) const {
    size_t backslashes = 0;
    while (backslashes < quote && text_[quote - 1 - backslashes] == '\\') ++backslashes;
    return backslashes % 2 != 0;
  }

  /// libyaml points behind the first byte of a character that is cut short.
  size_t StartOfCharacter(size_t offset) const {
    if (std::string_view(parser_.raw.problem).find("trailing") == std::string_view::npos) return offset;
    while (offset > 0 && static_cast<unsigned char>(text_[offset - 1]) >= 0x80) {
      if (static_cast<unsigned char>(text_[--offset]) >= 0xC0) break;
    }
    return offset;
  }

  std::string ReaderProblem() const {
    const std::string problem = parser_.raw.problem;
    if (problem.find("UTF-8") != std::string::npos || problem.find("Unicode") != std::string::npos) {
      return "the text is not valid UTF-8 (" + problem + ")";
    }
    return "the text holds a byte that YAML does not allow (" + problem + ")";
  }

  std::string SyntaxProblem(size_t index) const {
    if (index < text_.size() && text_[index] == '\t') return "a tab cannot indent here: use spaces";
    std::string message = "not valid YAML: ";
    if (parser_.raw.context != nullptr) {
      message.append(parser_.raw.context).append(" from line ");
      message.append(std::to_string(parser_.raw.context_mark.line + 1)).append(" on, ");
    }
    return message + parser_.raw.problem;
  }

  /// A mark's index counts characters.
  size_t ByteOf(const yaml_mark_t& mark) const {
    size_t characters = 0;
    for (size_t i = 0; i < text_.size(); ++i) {
      if ((static_cast<unsigned char>(text_[i]) & 0xC0) == 0x80) continue;
      if (characters++ == mark.index) return i;
    }
    return text_.size();
  }

  bool Value(const Event& event, Node& node, size_t depth) {
    node.position = ToPosition(event.raw.start_mark);
    if (++nodes_ > kMaxNodes) return Fail(event, "the text has more than 8 million values");
    switch (event.raw.type) {
      case YAML_SCALAR_EVENT:
        return Scalar(event, node);
      case YAML_SEQUENCE_START_EVENT:
        node.kind = Node::Kind::kSequence;
        return CheckProperties(event, event.raw.data.sequence_start.anchor, event.raw.data.sequence_start.tag) &&
               Items(event, node, depth + 1);
      case YAML_MAPPING_START_EVENT:
        node.kind = Node::Kind::kMapping;
        return CheckProperties(event, event.raw.data.mapping_start.anchor, event.raw.data.mapping_start.tag) &&
               Items(event, node, depth + 1);
      default:
        return Fail(event, "aliases (*name) are not used in rule files: write the value out");
    }
  }

  bool Scalar(const Event& event, Node& node) {
    const auto& scalar = event.raw.data.scalar;
    if (!CheckProperties(event, scalar.anchor, scalar.tag)) return false;
    node.text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
    if (scalar.style == YAML_PLAIN_SCALAR_STYLE) node.scalar = Classify(node.text);
    return true;
  }

  bool Items(const Event& start, Node& node, size_t depth) {
    if (depth > kMaxDepth) return Fail(start, "the text is nested more than 32 levels deep");
    Event event;
    while (true) {
      if (!Next(event)) return false;
      if (event.raw.type == YAML_SEQUENCE_END_EVENT || event.raw.type == YAML_MAPPING_END_EVENT) return true;
      const bool is_key = node.IsMapping() && node.items.size() % 2 == 0;
      if (!Value(event, node.items.emplace_back(), depth)) return false;
      if (is_key && !node.items.back().IsScalar()) return Fail(event, "a key has to be a plain text");
    }
  }

  bool CheckProperties(const Event& event, const yaml_char_t* anchor, const yaml_char_t* tag) {
    if (anchor != nullptr) return Fail(event, "anchors (&name) are not used in rule files: write the value out");
    if (tag != nullptr) return Fail(event, "tags (such as !!str) are not used in rule files: leave it out");
    return true;
  }

  bool Fail(const Event& event, std::string message) {
    return Fail(ToPosition(event.raw.start_mark), std::move(message));
  }
  bool Fail(Position position, std::string message) {
    error_ = {Status::kConfig, std::move(message), {}, {}, position};
    return false;
  }

  static constexpr size_t kMaxKey = 1024;  ///< of libyaml's

  std::string_view text_;
  Parser parser_;
  size_t nodes_ = 0;
  Error error_;
};

}  // namespace

const Node* Node::Find(std::string_view key) const {
  if (!IsMapping()) return nullptr;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].text == key) return &items[i + 1];
  }
  return nullptr;
}

Result<Node> ParseTree(std::string_view text) {
  if (text.size() > kMaxTextBytes) return Error{Status::kConfig, "the text is larger than 64 MiB", {}, {}, {1, 1}};
  const std::string joined = IsJsonObject(text) ? JoinSurrogates(text) : std::string();
  return TreeParser(joined.empty() ? text : joined).Parse();
}

}  // namespace ratel
