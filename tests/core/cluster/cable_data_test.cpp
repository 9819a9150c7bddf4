#include "core/cluster/cable_data.h"

#include <gtest/gtest.h>

#include "core/cluster/builtin_data.h"
#include "core/document/read_file.h"
#include "tests/support/error_of.h"

namespace trainyard {
namespace {

TEST(CableData, AddsLengthModulesAndErrorCorrection) {
  // 50 m x 4.9 ns + 100 ns + 100 ns.
  const CableTable table = builtin_cables();
  EXPECT_NEAR(table.latency({CableType::kSingleMode, 50.0}).si(), 445e-9, 1e-12);
  // 3 m of copper: 14.7 ns + 100 ns.
  EXPECT_NEAR(table.latency({CableType::kPassiveCopper, 3.0}).si(), 114.7e-9, 1e-12);
}

TEST(CableData, RangesHoldTheValueAndNameTheirSources) {
  const CableTable table = builtin_cables();
  for (const CableFigures& cable : table.cables) {
    const RangedSeconds range = table.latency_range({cable.type, 10.0});
    EXPECT_LE(range.low, range.value);
    EXPECT_LE(range.value, range.high);
    EXPECT_FALSE(range.source.empty());
  }
  EXPECT_EQ(table.cables.size(), static_cast<std::size_t>(kCableTypes));
}

TEST(CableData, TheProgramHoldsTheFilesOfTheRepository) {
  const std::string folder = std::string(TRAINYARD_SOURCE_DIR) + "/models/cables/";
  EXPECT_EQ(builtin_cables_text(), read_text_file(folder + "cables.json"));
  EXPECT_EQ(builtin_devices_text(), read_text_file(folder + "devices.json"));
}

TEST(CableData, DeviceFiguresCarryTheirSources) {
  const DeviceTable table = builtin_devices();
  const DeviceType& chassis = table.find("Jericho2 chassis");
  EXPECT_TRUE(chassis.deep_buffer.value());
  EXPECT_EQ(chassis.buffer.value().value(), 8'000'000'000);
  EXPECT_NE(chassis.source.find("HBM"), std::string::npos);
  EXPECT_NE(error_of([&] { table.find("Tomahawk 6"); }).hint().find("Tomahawk"), std::string::npos);
}

TEST(CableData, RejectsAValueOutsideItsRange) {
  std::string text(builtin_cables_text());
  text.replace(text.find("\"4.9 ns\""), 8, "\"9.9 ns\"");
  const Error error = error_of([&] { parse_cables(text, "cables.json"); });
  EXPECT_EQ(error.where(), "cables.json#/types/0/per_metre/value");
}

}  // namespace
}  // namespace trainyard
