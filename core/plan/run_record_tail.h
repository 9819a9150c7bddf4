// How far a run is, by the end of its record alone.
//
// A launcher asks at every failure; a record has a line a step, of which reading all takes as long as the run is old.
// Cost: the lines behind the last step's, whatever came before.
#pragma once

#include <cstdint>
#include <filesystem>

namespace trainyard {

// As many as read_run_record() keeps: to the last step line, or back to where the last restart line goes on. 0 for no
// such line, and where there is no file. A line that was cut short doesn't count. Throws Error for a file that can't be
// read.
std::int64_t steps_done(const std::filesystem::path& record);

}  // namespace trainyard
