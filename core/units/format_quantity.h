// Quantity -> text for people: three significant digits and the unit that keeps the number short.
//
//   "91.2 GiB", "80 GiB", "1.24 ms", "3.35 TB/s", "989 TFLOP/s"
//
// Whole numbers are shown without a fraction. Sizes in binary units; rates and work in decimal ones.
#pragma once

#include <string>

#include "core/units/count.h"
#include "core/units/quantity.h"

namespace trainyard {

std::string format_quantity(Bytes bytes);
std::string format_quantity(ByteCount bytes);
std::string format_quantity(Seconds time);  // ns, us, ms, s; from two minutes on: min, h, d
std::string format_quantity(BytesPerSecond rate);
std::string format_quantity(Flops work);
std::string format_quantity(FlopCount work);
std::string format_quantity(FlopsPerSecond rate);
std::string format_quantity(PerSecond frequency);

// Text that parse_byte_count reads back as the same count: "25 MiB", "26214401 B".
std::string exact_text(ByteCount bytes);

}  // namespace trainyard
