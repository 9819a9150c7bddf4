#include "core/units/parse_quantity.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace trainyard {
namespace {

template <class Q>
std::string failure(std::string_view text) {
  try {
    parse_quantity<Q>(text, "plan.json#/x");
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "plan.json#/x");
    EXPECT_NE(error.hint().find("units"), std::string::npos) << "the hint lists units";
    return error.problem();
  }
  return "accepted";
}

TEST(ParseQuantity, ReadsEachKindInItsUsualUnits) {
  EXPECT_DOUBLE_EQ(parse_quantity<BytesPerSecond>("400 Gbit/s", "").si(), 50e9);  // 400e9 / 8
  EXPECT_DOUBLE_EQ(parse_quantity<BytesPerSecond>("3.35 TB/s", "").si(), 3.35e12);
  EXPECT_DOUBLE_EQ(parse_quantity<Bytes>("80 GiB", "").si(), 80.0 * 1073741824.0);
  EXPECT_DOUBLE_EQ(parse_quantity<Bytes>("80GB", "").si(), 80e9);
  EXPECT_DOUBLE_EQ(parse_quantity<Seconds>("15 min", "").si(), 900.0);
  EXPECT_DOUBLE_EQ(parse_quantity<Seconds>("2.5 us", "").si(), 2.5e-6);
  EXPECT_DOUBLE_EQ(parse_quantity<Seconds>("2.5 \xC2\xB5s", "").si(), 2.5e-6);
  EXPECT_DOUBLE_EQ(parse_quantity<Seconds>("1e3 d", "").si(), 86400e3);
  EXPECT_DOUBLE_EQ(parse_quantity<FlopsPerSecond>("989 TFLOP/s", "").si(), 989e12);
  EXPECT_DOUBLE_EQ(parse_quantity<Flops>("3.8e25 FLOP", "").si(), 3.8e25);
  EXPECT_DOUBLE_EQ(parse_quantity<PerSecond>("2 1/h", "").si(), 2.0 / 3600.0);
}

TEST(ParseQuantity, AgreesWithTheLiterals) {
  EXPECT_EQ(parse_quantity<BytesPerSecond>("400 Gbit/s", "").si(), (400_Gbps).si());
  EXPECT_EQ(parse_quantity<Bytes>("25 MiB", "").si(), (25_MiB).si());
  EXPECT_EQ(parse_quantity<Seconds>("7 us", "").si(), (7_us).si());
}

TEST(ParseQuantity, RejectsWhatHasNoUnitOrADisputedOne) {
  EXPECT_NE(failure<Bytes>("80").find("no unit"), std::string::npos);
  EXPECT_NE(failure<Bytes>("80 KB").find("unknown unit"), std::string::npos);
  EXPECT_NE(failure<BytesPerSecond>("400 Gb/s").find("unknown unit"), std::string::npos);
  EXPECT_NE(failure<FlopsPerSecond>("989 TFLOPS").find("unknown unit"), std::string::npos);
  EXPECT_NE(failure<Seconds>("5 ks").find("unknown unit"), std::string::npos);
  EXPECT_NE(failure<BytesPerSecond>("5 GB/").find("unknown unit"), std::string::npos);
  EXPECT_NE(failure<PerSecond>("5 s/s").find("unknown unit"), std::string::npos);
}

TEST(ParseQuantity, RejectsAnotherDimension) {
  EXPECT_NE(failure<Bytes>("400 Gbit/s").find("another kind"), std::string::npos);
  EXPECT_NE(failure<FlopsPerSecond>("989 TFLOP").find("another kind"), std::string::npos);
}

TEST(ParseQuantity, RejectsWhatIsNoFinitePositiveNumber) {
  for (const char* text : {"", " ", "GiB", "nan s", "inf s", "-inf s", "1e999 s", "--1 s", ".", "0x10 s"}) {
    EXPECT_NE(failure<Seconds>(text), "accepted") << text;
  }
  EXPECT_NE(failure<Seconds>("-1 s").find("negative"), std::string::npos);
  EXPECT_NE(failure<Bytes>("1e308 EB").find("too large"), std::string::npos);
}

TEST(ParseByteCount, TakesWholeBytesOnly) {
  EXPECT_EQ(parse_byte_count("25 MiB", "").value(), 26214400);
  EXPECT_EQ(parse_byte_count("0.5 KiB", "").value(), 512);
  EXPECT_EQ(parse_byte_count("8 bit", "").value(), 1);
  EXPECT_THROW(parse_byte_count("4 bit", ""), Error);
  EXPECT_THROW(parse_byte_count("16 EiB", ""), Error);
}

}  // namespace
}  // namespace trainyard
