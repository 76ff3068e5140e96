// Writing JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace ratel {

/// Appends a JSON string of any bytes; a byte that is not UTF-8 becomes U+FFFD.
void AppendJsonString(std::string& out, std::string_view text);

/// Objects and lists, piece by piece. A name is given exactly inside an object: Name("limit").Number(5).
class JsonWriter {
 public:
  JsonWriter& Name(std::string_view name);
  JsonWriter& Text(std::string_view value);
  JsonWriter& Number(uint64_t value);
  JsonWriter& Bool(bool value);
  JsonWriter& Null();
  JsonWriter& Begin(char bracket);  ///< '{' or '['
  JsonWriter& End(char bracket);    ///< '}' or ']'
  std::string Take() { return std::move(out_); }

 private:
  void Separate();
  std::string out_;
};

}  // namespace ratel
