#include "core/document/object_reader.h"

#include <gtest/gtest.h>

#include "core/document/json_document.h"
#include "core/program/data_type.h"
#include "tests/support/error_of.h"

namespace trainyard {
namespace {

ObjectReader reader(const std::string& text) { return parse_json_object(text, "plan.json"); }

TEST(ObjectReader, ReadsEveryKindOfValue) {
  ObjectReader root = reader(R"({"n": 3, "x": 2.5, "b": true, "t": "word", "q": "400 Gbit/s", "size": "25 MiB",
    "step_time_s": 0.5, "type": "bf16", "o": {"k": 1}, "a": [1, 2.5], "i": [1, 2], "s": ["x"], "r": [[1], [2, 3]],
    "seed": 18446744073709551615, "m": {"model": "h"}, "lost": null})");
  EXPECT_EQ(root.integer("n"), 3);
  EXPECT_EQ(root.number("n"), 3.0);
  EXPECT_EQ(root.number("x"), 2.5);
  EXPECT_TRUE(root.boolean("b"));
  EXPECT_EQ(root.text("t"), "word");
  EXPECT_DOUBLE_EQ(root.quantity<BytesPerSecond>("q").si(), 50e9);
  EXPECT_EQ(root.byte_count("size").value(), 26214400);
  EXPECT_EQ(root.si<Seconds>("step_time_s").si(), 0.5);
  EXPECT_EQ(root.one_of("type", {DataType::kFp32, DataType::kBf16}), DataType::kBf16);
  EXPECT_EQ(root.object("o").integer("k"), 1);
  EXPECT_EQ(root.numbers("a"), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(root.integers("i"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(root.texts("s"), (std::vector<std::string>{"x"}));
  EXPECT_EQ(root.number_rows("r"), (std::vector<std::vector<double>>{{1}, {2, 3}}));
  EXPECT_EQ(root.seed("seed"), 18446744073709551615ULL);
  EXPECT_EQ(root.text_map("m").at("model"), "h");
  EXPECT_TRUE(std::isnan(root.number_or_nan("lost")));
  EXPECT_NO_THROW(root.finish());
}

TEST(ObjectReader, TakesAbsentAndNullAsNothingWhereAValueIsOptional) {
  ObjectReader root = reader(R"({"n": null})");
  EXPECT_EQ(root.optional_integer("n"), std::nullopt);
  EXPECT_EQ(root.optional_number("x"), std::nullopt);
  EXPECT_EQ(root.optional_text("t"), std::nullopt);
  EXPECT_EQ(root.optional_boolean("b"), std::nullopt);
  EXPECT_EQ(root.optional_quantity<Seconds>("q"), std::nullopt);
  EXPECT_EQ(root.optional_byte_count("s"), std::nullopt);
  EXPECT_FALSE(root.optional_object("o").has_value());
  EXPECT_EQ(root.optional_one_of("e", {DataType::kFp32}), std::nullopt);
  EXPECT_TRUE(contains(error_of([&] { root.integer("n"); }).problem(), "null"));
  EXPECT_TRUE(contains(error_of([&] { root.integer("k"); }).problem(), "\"k\" is missing"));
}

TEST(ObjectReader, SuggestsTheKnownKeyNearestToAnUnknownOne) {
  ObjectReader layout = reader(R"({"layout": {"tenosr": 2}})").object("layout");
  layout.optional_integer("tensor");
  layout.optional_integer("pipeline");
  const Error error = error_of([&] { layout.finish(); });
  EXPECT_EQ(error.where(), "plan.json#/layout/tenosr");
  EXPECT_EQ(error.hint(), "did you mean \"tensor\"?");
}

TEST(ObjectReader, ListsTheKnownKeysWhereNoneIsNear) {
  ObjectReader root = reader(R"({"colour": 2})");
  root.optional_integer("tensor");
  EXPECT_EQ(error_of([&] { root.finish(); }).hint(), "known: tensor");
}

TEST(ObjectReader, AsksForAUnitWhereTheNumberIsBare) {
  ObjectReader root = reader(R"({"bucket": 25, "rate": true})");
  const Error bare = error_of([&] { root.byte_count("bucket"); });
  EXPECT_EQ(bare.where(), "plan.json#/bucket");
  EXPECT_TRUE(contains(bare.problem(), "bare number")) << bare.what();
  EXPECT_TRUE(contains(bare.hint(), "GiB"));
  EXPECT_TRUE(contains(error_of([&] { root.quantity<BytesPerSecond>("rate"); }).problem(), "not a string"));
}

TEST(ObjectReader, NamesTheTypeFoundAndTheTypeExpected) {
  ObjectReader root = reader(R"({"a/b": {"x": "1"}, "f": 3.0, "l": [1, "2"], "o": [3]})");
  const Error error = error_of([&] { root.object("a/b").number("x"); });
  EXPECT_EQ(error.where(), "plan.json#/a~1b/x");
  EXPECT_EQ(error.problem(), "is a string, not a number");
  EXPECT_TRUE(contains(error_of([&] { root.integer("f"); }).problem(), "not a whole number"));
  EXPECT_EQ(error_of([&] { root.numbers("l"); }).where(), "plan.json#/l/1");
  EXPECT_EQ(error_of([&] { root.for_each_object("o", [](ObjectReader&) {}); }).where(), "plan.json#/o/0");
  EXPECT_THROW(root.boolean("f"), Error);
  EXPECT_THROW(root.text("f"), Error);
  EXPECT_THROW(root.object("l"), Error);
  EXPECT_THROW(root.numbers("a/b"), Error);
}

TEST(ObjectReader, KeepsNumbersInTheirRange) {
  ObjectReader root = reader(R"({"n": 101, "big": 9223372036854775808, "x": -1, "neg": -5})");
  EXPECT_EQ(error_of([&] { root.integer("n", 1, 100); }).hint(), "must be from 1 to 100");
  EXPECT_THROW(root.integer("big"), Error);  // 2^63
  EXPECT_THROW(root.integer("neg"), Error);
  EXPECT_THROW(root.seed("neg"), Error);
  EXPECT_THROW(root.number("x", 0.0, 1.0), Error);
}

TEST(ObjectReader, ListsTheValuesOfAnEnumeration) {
  ObjectReader root = reader(R"({"type": "int4"})");
  const Error error = error_of([&] { root.one_of("type", {DataType::kFp32, DataType::kBf16}); });
  EXPECT_EQ(error.hint(), "one of: fp32, bf16");
}

TEST(ObjectReader, ChecksKindAndSchemaOfADocument) {
  reader(R"({"document": "plan", "schema": 1})").document("plan", 1);
  EXPECT_TRUE(contains(error_of([] { reader(R"({"document": "trace", "schema": 1})").document("plan", 1); }).problem(),
                       "\"trace\", not \"plan\""));
  const Error newer = error_of([] { reader(R"({"document": "plan", "schema": 2})").document("plan", 1); });
  EXPECT_EQ(newer.where(), "plan.json#/schema");
  EXPECT_THROW(reader("{}").document("plan", 1), Error);
}

TEST(ObjectReader, FinishesEachObjectOfAnArray) {
  ObjectReader root = reader(R"({"steps": [{"n": 1}, {"n": 2, "m": 3}]})");
  std::vector<std::int64_t> seen;
  const Error error =
      error_of([&] { root.for_each_object("steps", [&](ObjectReader& step) { seen.push_back(step.integer("n")); }); });
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(error.where(), "plan.json#/steps/1/m");
}

TEST(ObjectReader, OutlivesTheReaderItCameFrom) {
  const auto inner = [] { return reader(R"({"a": {"b": {"c": 7}}})").object("a").object("b"); };
  EXPECT_EQ(inner().integer("c"), 7);
}

}  // namespace
}  // namespace trainyard
