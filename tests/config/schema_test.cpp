// The schema knows the same keys and words as the reader, no more and no fewer.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "config/check.hpp"
#include "config/keys.hpp"

namespace ratel {
namespace {

using Json = nlohmann::json;

Json Schema() { return Json::parse(std::ifstream(std::string(RATEL_SOURCE_DIR) + "/schema/rules.schema.json")); }

std::set<std::string> SetOf(std::span<const std::string_view> words) { return {words.begin(), words.end()}; }

std::set<std::string> KeysOf(const Json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.at("properties").items()) keys.insert(key);
  EXPECT_EQ(object.at("additionalProperties"), false);
  return keys;
}

std::set<std::string> WordsOf(const Json& value) { return value.at("enum").get<std::set<std::string>>(); }

TEST(Schema, HasTheReadersKeys) {
  const Json schema = Schema();
  const Json& definitions = schema.at("definitions");
  EXPECT_EQ(KeysOf(schema), SetOf(kTopKeys));
  EXPECT_EQ(KeysOf(definitions.at("headers")), SetOf(kHeaderKeys));
  EXPECT_EQ(KeysOf(definitions.at("rule")), SetOf(kRuleKeys));
  EXPECT_EQ(KeysOf(definitions.at("default")), SetOf(kDefaultKeys));
  EXPECT_EQ(KeysOf(definitions.at("limit")), SetOf(kLimitKeys));
  EXPECT_EQ(KeysOf(definitions.at("override")), SetOf(kOverrideKeys));
}

TEST(Schema, HasTheReadersWords) {
  const Json schema = Schema();
  const Json& definitions = schema.at("definitions");
  EXPECT_EQ(WordsOf(schema.at("properties").at("match")), SetOf(kMatchWords));
  EXPECT_EQ(WordsOf(definitions.at("headers").at("properties").at("reset")), SetOf(kResetWords));
  EXPECT_EQ(WordsOf(definitions.at("headers").at("properties").at("ietf")), SetOf(kIetfWords));
  EXPECT_EQ(WordsOf(definitions.at("algorithm")), SetOf(kAlgorithmWords));
  EXPECT_EQ(WordsOf(definitions.at("path_match")), SetOf(kPathMatchWords));
  EXPECT_EQ(WordsOf(definitions.at("on_store_error")), SetOf(kOnStoreErrorWords));
  EXPECT_EQ(WordsOf(definitions.at("local_tier")), SetOf(kLocalTierWords));
  EXPECT_EQ(WordsOf(definitions.at("action")), SetOf(kActionWords));
  EXPECT_EQ(WordsOf(definitions.at("region")), SetOf(kRegionWords));
}

TEST(Schema, HasTheReadersBounds) {
  const Json definitions = Schema().at("definitions");
  for (const char* key : {"units", "burst", "cost"}) EXPECT_EQ(definitions.at(key).at("maximum"), kMaxUnits) << key;
  EXPECT_EQ(definitions.at("limits").at("maxItems"), kMaxLimits);
  EXPECT_EQ(definitions.at("when").at("maxProperties"), kMaxConditions);
  EXPECT_EQ(definitions.at("method").at("oneOf").at(3).at("maxItems"), kMaxMethods);
  EXPECT_EQ(definitions.at("path").at("maxLength"), kMaxPath);
  EXPECT_EQ(definitions.at("scope").at("oneOf").at(1).at("maxItems"), kMaxScopeParts);
}

/// What the two may be, besides tables and words, is compared by schema.py on the corpus.
TEST(Schema, DescribesEverySetting) {
  const Json properties = Schema().at("properties");
  for (const std::string_view key : kTopKeys) {
    if (key == "default") continue;
    EXPECT_FALSE(properties.at(std::string(key)).at("description").get<std::string>().empty()) << key;
  }
}

}  // namespace
}  // namespace ratel
