// What the command reads and writes: text for people, colours only where somebody sees them, JSON for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ratel::tool {

using Json = nlohmann::ordered_json;

enum ExitCode { kOk = 0, kFaults = 1, kUsage = 2 };

/// One thing that is wrong with a rule file.
struct Fault {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string path;
  std::string message;
};

enum class Stream { kOut, kError };

/// The text with control characters, except line breaks where `lines` says so, written as \xNN: a log or a file's name
/// must not command the reader's terminal.
std::string Visible(std::string_view text, bool lines = false);

/// To standard output, as it is. A reader that went away ends the program quietly.
void Print(std::string_view text);
void PrintJson(const Json& value);

/// "file:line:column: path: message", one line each.
void PrintFaults(const std::vector<Fault>& faults, Stream stream);
Json ToJson(const std::vector<Fault>& faults);

/// "ratel: message" to standard error.
void PrintError(std::string_view message);

/// The text in bold when standard output is a terminal and NO_COLOR is not set.
std::string Bold(std::string_view text);

/// Rows of text in columns as wide as their longest cell; the first row is the heading.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) { rows_.push_back(std::move(heading)); }
  void Add(std::vector<std::string> row);
  /// Columns that hold numbers stand to the right.
  void AlignRight(size_t first_column) { right_from_ = first_column; }
  /// Columns that say nothing in any row are left out.
  std::string ToText() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  size_t right_from_ = SIZE_MAX;
};

/// 1234567 as "1,234,567".
std::string Grouped(uint64_t number);

/// All of a regular file, or of standard input for "-". Throws std::runtime_error, with the path in its text.
std::string ReadFile(const std::string& path);

/// Flushes standard output; false when it could not be written.
bool Flush();

}  // namespace ratel::tool
