// Commands as RESP bytes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ratel::redis {

/// "*n\r\n": what a command of n arguments starts with.
void PutArrayHeader(std::string& out, size_t arguments);
void PutArgument(std::string& out, std::string_view bytes);
/// A whole command.
std::string MakeCommand(std::initializer_list<std::string_view> arguments);

}  // namespace ratel::redis
