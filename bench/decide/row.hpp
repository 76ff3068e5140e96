// One line of JSON for each thing measured: run.py makes medians, ratios and tables of them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

class Row {
 public:
  Row(std::string_view section, std::string_view name) { Add("section", section).Add("name", name); }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  ~Row() {
    std::printf("{%s}\n", text_.c_str());
    std::fflush(stdout);
  }

  /// Text is ours: it holds nothing that JSON would have to escape.
  Row& Add(std::string_view key, std::string_view value) { return Put(key, '"' + std::string(value) + '"'); }
  Row& Add(std::string_view key, const char* value) { return Add(key, std::string_view(value)); }
  Row& Add(std::string_view key, uint64_t value) { return Put(key, std::to_string(value)); }
  Row& Add(std::string_view key, int value) { return Put(key, std::to_string(value)); }
  Row& Add(std::string_view key, double value) { return Put(key, Number(value)); }
  Row& Add(std::string_view key, const std::vector<double>& values) {
    std::string list = "[";
    for (const double value : values) list += (list.size() > 1 ? ", " : "") + Number(value);
    return Put(key, list + "]");
  }

 private:
  static std::string Number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return text;
  }
  Row& Put(std::string_view key, const std::string& value) {
    text_ += (text_.empty() ? "\"" : ", \"") + std::string(key) + "\": " + value;
    return *this;
  }

  std::string text_;
};

}  // namespace bench
