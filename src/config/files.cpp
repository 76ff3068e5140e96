#include "config/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>

#include "config/node.hpp"

namespace ratel {
namespace {

namespace fs = std::filesystem;

/// Throws std::bad_alloc when it is memory that was missing.
Error CannotRead(const std::string& path, const std::error_code& reason) {
  if (reason == std::errc::not_enough_memory) throw std::bad_alloc();
  return {Status::kIo, "cannot read it: " + reason.message(), path, {}, {}};
}

bool IsRuleFile(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::string extension = path.extension().string();
  return name[0] != '.' && (extension == ".yaml" || extension == ".yml" || extension == ".json");
}

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  std::error_code failure;
  // Opening a pipe or a device could block for ever.
  const fs::file_status status = fs::status(path, failure);
  if (!fs::exists(status))
    return CannotRead(path, failure ? failure : std::make_error_code(std::errc::no_such_file_or_directory));
  if (!fs::is_regular_file(status)) return Error{Status::kIo, "not a regular file", path, {}, {}};
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (!file) return CannotRead(path, {errno, std::generic_category()});
  std::string text;
  char buffer[65536];
  while (const size_t count = std::fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, count);
    if (text.size() > kMaxTextBytes) return Error{Status::kConfig, "the file is larger than 64 MiB", path, {}, {}};
  }
  if (std::ferror(file.get()) != 0) return CannotRead(path, {errno, std::generic_category()});
  return text;
}

Result<std::vector<std::string>> ListRuleFiles(const std::string& path) {
  std::error_code failure;
  if (!fs::is_directory(path, failure)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  fs::directory_iterator entry(path, failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    std::error_code ignored;
    if (IsRuleFile(entry->path()) && !fs::is_directory(entry->path(), ignored)) files.push_back(entry->path().string());
  }
  if (failure) return CannotRead(path, failure);
  if (files.empty()) return Error{Status::kIo, "the folder has no *.yaml, *.yml or *.json file", path, {}, {}};
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace ratel
