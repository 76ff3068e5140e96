// A text to a key of a Redis. Apart from the commands because it reads src/, whose class names would meet those of rl.hpp.
#pragma once

#include <string>

namespace ratel::tool {

/// Empty, or why it was not done. `shown` becomes where it is, without credentials.
std::string Put(const std::string& url, const std::string& key, const std::string& text, std::string& shown);

}  // namespace ratel::tool
