#include "io.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>

namespace ratel::tool {
namespace {

constexpr std::string_view kBold = "\033[1m";
constexpr std::string_view kRed = "\033[1;31m";
constexpr std::string_view kPlain = "\033[0m";

bool HasColours(Stream stream) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::strcmp(term, "dumb") == 0) return false;
  return isatty(stream == Stream::kOut ? STDOUT_FILENO : STDERR_FILENO) == 1;
}

std::string Coloured(std::string_view text, std::string_view colour, Stream stream) {
  if (!HasColours(stream)) return std::string(text);
  return std::string(colour).append(text).append(kPlain);
}

void Write(std::string_view text, Stream stream) {
  std::fwrite(text.data(), 1, text.size(), stream == Stream::kOut ? stdout : stderr);
}

/// How many columns a UTF-8 text takes, near enough: its code points.
size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string Place(const Fault& fault) {
  if (fault.line == 0) return fault.file;
  return fault.file + ":" + std::to_string(fault.line) + ":" + std::to_string(fault.column);
}

std::string ReadAll(std::istream& in) {
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

}  // namespace

void Print(std::string_view text) { Write(text, Stream::kOut); }

void PrintJson(const Json& value) { Print(value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"); }

void PrintFaults(const std::vector<Fault>& faults, Stream stream) {
  for (const Fault& fault : faults) {
    std::string line = Coloured(Place(fault) + ":", kBold, stream) + " ";
    if (!fault.path.empty()) line += Coloured(fault.path, kRed, stream) + ": ";
    Write(line + fault.message + "\n", stream);
  }
}

Json ToJson(const std::vector<Fault>& faults) {
  Json list = Json::array();
  for (const Fault& fault : faults) {
    list.push_back({{"file", fault.file},
                    {"line", fault.line},
                    {"column", fault.column},
                    {"path", fault.path},
                    {"message", fault.message}});
  }
  return list;
}

void PrintError(std::string_view message) {
  Write(Coloured("ratel:", kRed, Stream::kError) + " " + std::string(message) + "\n", Stream::kError);
}

std::string Bold(std::string_view text) { return Coloured(text, kBold, Stream::kOut); }

std::string Table::ToText() const {
  const size_t columns = rows_.front().size();
  std::vector<size_t> width(columns, 0);
  std::vector<bool> used(columns, false);
  for (size_t row = 0; row < rows_.size(); ++row) {
    for (size_t column = 0; column < columns; ++column) {
      width[column] = std::max(width[column], Width(rows_[row][column]));
      if (row > 0 && !rows_[row][column].empty()) used[column] = true;
    }
  }
  std::string text;
  for (size_t row = 0; row < rows_.size(); ++row) {
    std::string line;
    for (size_t column = 0; column < columns; ++column) {
      if (!used[column]) continue;
      const std::string padding(width[column] - Width(rows_[row][column]), ' ');
      if (!line.empty()) line += "  ";
      line += column >= right_from_ ? padding + rows_[row][column] : rows_[row][column] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += (row == 0 ? Bold(line) : line) + "\n";
  }
  return text;
}

std::string Grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string ReadFile(const std::string& path) {
  if (path == "-") return ReadAll(std::cin);
  std::ifstream file(path, std::ios::binary);
  std::string text = file ? ReadAll(file) : std::string();
  if (!file || file.bad()) throw std::system_error(errno, std::generic_category(), path);
  return text;
}

bool Flush() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

}  // namespace ratel::tool
