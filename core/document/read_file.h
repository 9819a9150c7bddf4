// A whole file as text, up to a limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/units/count.h"

namespace trainyard {

constexpr ByteCount kFileLimit = ByteCount(std::int64_t{64} << 20);

// Throws Error naming the file: missing, not readable, a folder, larger than the limit.
std::string read_text_file(const std::filesystem::path& file, ByteCount limit = kFileLimit);

}  // namespace trainyard
