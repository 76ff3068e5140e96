// Rule files on disk.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"

namespace ratel {

/// The bytes of a regular file (symbolic links are followed) of at most 64 MiB.
Result<std::string> ReadFile(const std::string& path);

/// The file itself, or every *.yaml, *.yml and *.json of a folder in name order; names that start with a dot are left out.
Result<std::vector<std::string>> ListRuleFiles(const std::string& path);

}  // namespace ratel
