#include "core/document/json_document.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace trainyard {
namespace {

Error parse_error(const std::string& text) {
  return error_of([&] { parse_json_object(text, "plan.json"); });
}

TEST(JsonDocument, ReportsATextCutShortWithLineAndColumn) {
  const Error error = parse_error("{\n  \"layout\": {\n    \"tensor\": ");
  EXPECT_TRUE(contains(error.problem(), "ends in the middle, at line 3, column 15")) << error.what();
  EXPECT_EQ(error.where(), "plan.json#/layout/tensor");
  for (const char* text : {"", "{", "{\"a\": \"unfinished", "{\"a\": [1, 2", "{\"a\": tru"}) {
    EXPECT_TRUE(contains(parse_error(text).problem(), "ends in the middle")) << text;
  }
}

TEST(JsonDocument, CutAtEveryByteGivesAnErrorAndNeverAValue) {
  const std::string whole = R"({"a": [1, -2.5e3, true, null, {"b": "\u00e9\n"}], "c": "x"})";
  EXPECT_NO_THROW(parse_json_object(whole, "plan.json"));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(parse_json_object(whole.substr(0, length), "plan.json"), Error) << length;
  }
}

TEST(JsonDocument, ReportsMalformedTextWhereItIs) {
  const Error error = parse_error("{\"a\": 1,\n \"b\": [1, 2; 3]}");
  EXPECT_TRUE(contains(error.problem(), "line 2, column 12")) << error.what();
  EXPECT_EQ(error.where(), "plan.json#/b/2");
  EXPECT_TRUE(contains(parse_error("{\"a\": 1} x").problem(), "not JSON"));
}

TEST(JsonDocument, RejectsAKeyGivenTwice) {
  const Error error = parse_error(R"({"layout": {"tensor": 1, "tensor": 2}})");
  EXPECT_TRUE(contains(error.problem(), "\"tensor\" is given twice")) << error.what();
  EXPECT_EQ(error.where(), "plan.json#/layout/tensor");
}

TEST(JsonDocument, RejectsNumbersThatAreNotFinite) {
  for (const char* text : {"{\"a\": NaN}", "{\"a\": Infinity}", "{\"a\": -Infinity}", "{\"a\": 1e999}"}) {
    const Error error = parse_error(text);
    EXPECT_EQ(error.where(), "plan.json#/a") << text;
    EXPECT_TRUE(contains(error.problem(), "number")) << error.what();
  }
}

TEST(JsonDocument, AcceptsAHundredLevelsAndRejectsMoreWithoutRecursion) {
  const auto nested = [](int arrays) { return "{\"a\": " + std::string(arrays, '[') + std::string(arrays, ']') + "}"; };
  EXPECT_NO_THROW(parse_json_object(nested(99), "plan.json"));  // the object is a level too
  EXPECT_TRUE(contains(parse_error(nested(100)).problem(), "deeper than 100"));
  // 4 million levels would overflow an 8 MiB stack at two bytes a level.
  EXPECT_TRUE(contains(parse_error(nested(4000000)).problem(), "deeper than 100"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_TRUE(contains(parse_error(objects).problem(), "deeper than 100"));
}

TEST(JsonDocument, RejectsBytesThatAreNotUtf8) {
  const Error error = parse_error("{\"name\": \"caf\xE9\"}");  // Latin-1
  EXPECT_TRUE(contains(error.problem(), "UTF-8")) << error.what();
  EXPECT_EQ(error.where(), "plan.json#/name");
}

TEST(JsonDocument, NeedsAnObjectAtTheTop) {
  EXPECT_TRUE(contains(parse_error("[1, 2]").problem(), "an array"));
  EXPECT_TRUE(contains(parse_error("3").problem(), "a whole number"));
}

TEST(JsonDocument, NamesTheFileItReads) {
  const TemporaryFolder folder;
  const auto file = folder.write("plan.json", "{\"a\": ");
  EXPECT_TRUE(error_of([&] { read_json_object(file); }).where().starts_with(file.string()));
}

}  // namespace
}  // namespace trainyard
