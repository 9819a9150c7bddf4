#include "core/units/format_quantity.h"

#include <gtest/gtest.h>

#include "core/units/parse_quantity.h"

namespace trainyard {
namespace {

TEST(FormatQuantity, ShowsThreeDigitsAndAFittingUnit) {
  EXPECT_EQ(format_quantity(from_si<Bytes>(91.23 * 0x1p30)), "91.2 GiB");
  EXPECT_EQ(format_quantity(80_GiB), "80 GiB");
  EXPECT_EQ(format_quantity(0_B), "0 B");
  EXPECT_EQ(format_quantity(ByteCount(1500)), "1.46 KiB");  // 1500 / 1024 = 1.4648
  EXPECT_EQ(format_quantity(from_si<BytesPerSecond>(3.35e12)), "3.35 TB/s");
  EXPECT_EQ(format_quantity(989_TFLOPS), "989 TFLOP/s");
  EXPECT_EQ(format_quantity(from_si<Flops>(3.8e25)), "38 YFLOP");
  EXPECT_EQ(format_quantity(FlopCount(1234567)), "1.23 MFLOP");
  EXPECT_EQ(format_quantity(from_si<PerSecond>(0.5 / 3600)), "12 1/d");
}

TEST(FormatQuantity, ShowsTimesFromNanosecondsToDays) {
  EXPECT_EQ(format_quantity(0_s), "0 s");
  EXPECT_EQ(format_quantity(from_si<Seconds>(5e-9)), "5 ns");
  EXPECT_EQ(format_quantity(from_si<Seconds>(1.2449e-3)), "1.24 ms");
  EXPECT_EQ(format_quantity(90_s), "90 s");
  EXPECT_EQ(format_quantity(900_s), "15 min");
  EXPECT_EQ(format_quantity(from_si<Seconds>(54 * 86400.0)), "54 d");
}

TEST(FormatQuantity, MovesToTheNextUnitWhereRoundingReachesIt) {
  EXPECT_EQ(format_quantity(from_si<Seconds>(0.99996)), "1.00 s");
  EXPECT_EQ(format_quantity(from_si<BytesPerSecond>(999.9e9)), "1.00 TB/s");
  EXPECT_EQ(format_quantity(ByteCount((std::int64_t{1} << 30) - 1)), "1.00 GiB");
}

TEST(ExactText, ReadsBackAsTheSameCount) {
  EXPECT_EQ(exact_text(ByteCount(26214400)), "25 MiB");
  for (const std::int64_t bytes : {0L, 1L, 1023L, 1024L, 1025L, 26214401L, (1L << 40), (1L << 52) + 1}) {
    EXPECT_EQ(parse_byte_count(exact_text(ByteCount(bytes)), "").value(), bytes);
  }
}

}  // namespace
}  // namespace trainyard
