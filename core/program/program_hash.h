// The identity of a program: prediction and measurement are compared only when their programs are the same.
#pragma once

#include <string>

#include "core/program/program.h"

namespace trainyard {

// Over every role's instructions, buffers and waits, the segments, and the rank -> role table.
std::string program_hash(const Program& program);

}  // namespace trainyard
