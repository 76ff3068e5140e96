// Every text of tests/data/config: the good ones load, the bad ones give exactly the report that lies beside them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/reader.hpp"

namespace ratel {
namespace {

namespace fs = std::filesystem;

const fs::path kData = fs::path(RATEL_SOURCE_DIR) / "tests/data/config";

std::vector<std::string> Entries(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".expected" && extension != ".txt") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The texts are read under names without the machine's folders.
std::string WithoutFolder(std::string text) {
  const std::string folder = (kData / "bad").string() + "/";
  for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) text.erase(at, folder.size());
  return text;
}

/// "line:column path: message", with the file before it where there are several.
std::string Report(const std::vector<Error>& faults, bool with_files) {
  std::string report;
  for (const Error& fault : faults) {
    if (with_files) report += fault.file + ":";
    report += std::to_string(fault.position.line) + ":" + std::to_string(fault.position.column) + " " + fault.path +
              ": " + fault.message + "\n";
  }
  return WithoutFolder(report);
}

class GoodText : public testing::TestWithParam<std::string> {};

TEST_P(GoodText, Loads) {
  RuleSetBuilder builder;
  EXPECT_TRUE(builder.AddPath((kData / "good" / GetParam()).string())) << Report(builder.faults(), true);
  EXPECT_TRUE(builder.Check());
}

class BadText : public testing::TestWithParam<std::string> {};

TEST_P(BadText, GivesTheReportBesideIt) {
  const fs::path path = kData / "bad" / GetParam();
  RuleSetBuilder builder;
  EXPECT_FALSE(builder.AddPath(path.string()));
  EXPECT_TRUE(builder.rules().rules.empty());
  const std::string report = Report(builder.faults(), fs::is_directory(path));
  const fs::path expected = path.string() + ".expected";
  if (std::getenv("RATEL_WRITE_EXPECTED") != nullptr) std::ofstream(expected, std::ios::binary) << report;
  EXPECT_EQ(report, ReadAll(expected));
  EXPECT_NE(report, "");
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Corpus, GoodText, testing::ValuesIn(Entries(kData / "good")), TestName);
INSTANTIATE_TEST_SUITE_P(Corpus, BadText, testing::ValuesIn(Entries(kData / "bad")), TestName);

}  // namespace
}  // namespace ratel
