#include "core/json.hpp"

#include <charconv>

namespace ratel {
namespace {

/// How many bytes at the start of `text` are one well-formed UTF-8 character; 0 when they are none.
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second > 0x9F;
  const bool too_large = lead == 0xF4 && second > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

void AppendEscaped(std::string& out, char c) {
  constexpr char kHex[] = "0123456789abcdef";
  if (c == '"' || c == '\\') {
    out.push_back('\\');
    out.push_back(c);
  } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
    out.append("\\u00");
    out.push_back(kHex[(c >> 4) & 0xF]);
    out.push_back(kHex[c & 0xF]);
  } else {
    out.push_back(c);
  }
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  out.push_back('"');
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    if (length == 1) {
      AppendEscaped(out, text[0]);
    } else if (length == 0) {
      out.append("\xEF\xBF\xBD");
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out.push_back('"');
}

void JsonWriter::Separate() {
  if (!out_.empty() && out_.back() != '{' && out_.back() != '[' && out_.back() != ':') out_.push_back(',');
}

JsonWriter& JsonWriter::Name(std::string_view name) {
  Separate();
  AppendJsonString(out_, name);
  out_.push_back(':');
  return *this;
}

JsonWriter& JsonWriter::Text(std::string_view value) {
  Separate();
  AppendJsonString(out_, value);
  return *this;
}

JsonWriter& JsonWriter::Number(uint64_t value) {
  Separate();
  char digits[20];
  out_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  Separate();
  out_.append(value ? "true" : "false");
  return *this;
}

JsonWriter& JsonWriter::Null() {
  Separate();
  out_.append("null");
  return *this;
}

JsonWriter& JsonWriter::Begin(char bracket) {
  Separate();
  out_.push_back(bracket);
  return *this;
}

JsonWriter& JsonWriter::End(char bracket) {
  out_.push_back(bracket);
  return *this;
}

}  // namespace ratel
