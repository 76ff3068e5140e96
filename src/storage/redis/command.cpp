#include "storage/redis/command.hpp"

#include <array>
#include <charconv>

namespace ratel::redis {
namespace {

void PutHeader(std::string& out, char kind, size_t number) {
  std::array<char, 24> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  out.push_back(kind);
  out.append(text.data(), end);
  out.append("\r\n");
}

}  // namespace

void PutArrayHeader(std::string& out, size_t arguments) { PutHeader(out, '*', arguments); }

void PutArgument(std::string& out, std::string_view bytes) {
  PutHeader(out, '$', bytes.size());
  out.append(bytes);
  out.append("\r\n");
}

std::string MakeCommand(std::initializer_list<std::string_view> arguments) {
  std::string out;
  PutArrayHeader(out, arguments.size());
  for (const std::string_view argument : arguments) PutArgument(out, argument);
  return out;
}

}  // namespace ratel::redis
