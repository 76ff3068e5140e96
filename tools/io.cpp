#include "io.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
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

std::string Visible(std::string_view text, bool lines) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string visible;
  visible.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto next = static_cast<unsigned char>(at + 1 < text.size() ? text[at + 1] : 0);
    const auto last = static_cast<unsigned char>(at > 0 ? text[at - 1] : 0);
    // U+0080 to U+009F are control characters, too: C2 80 to C2 9F in UTF-8.
    const bool wide = (byte == 0xC2 && next >= 0x80 && next < 0xA0) || (last == 0xC2 && byte >= 0x80 && byte < 0xA0);
    if (wide || byte == 0x7F || (byte < 0x20 && !(lines && byte == '\n'))) {
      visible.append("\\x").append({kDigits[byte >> 4], kDigits[byte & 15]});
    } else {
      visible += text[at];
    }
  }
  return visible;
}

void Print(std::string_view text) { Write(text, Stream::kOut); }

void PrintJson(const Json& value) { Print(value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"); }

void PrintFaults(const std::vector<Fault>& faults, Stream stream) {
  for (const Fault& fault : faults) {
    std::string line = Coloured(Visible(Place(fault)) + ":", kBold, stream) + " ";
    if (!fault.path.empty()) line += Coloured(Visible(fault.path), kRed, stream) + ": ";
    Write(line + Visible(fault.message) + "\n", stream);
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
  Write(Coloured("ratel:", kRed, Stream::kError) + " " + Visible(message) + "\n", Stream::kError);
}

std::string Bold(std::string_view text) { return Coloured(text, kBold, Stream::kOut); }

void Table::Add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = Visible(cell);
  rows_.push_back(std::move(row));
}

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
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error) throw std::runtime_error(path + ": cannot read it: " + error.message());
  if (std::filesystem::is_directory(status)) throw std::runtime_error(path + ": is a folder, not a file");
  if (!std::filesystem::is_regular_file(status)) throw std::runtime_error(path + ": is not a regular file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text = file ? ReadAll(file) : std::string();
  if (!file || file.bad()) throw std::runtime_error(path + ": cannot read it: " + std::strerror(errno));
  return text;
}

bool Flush() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

}  // namespace ratel::tool
