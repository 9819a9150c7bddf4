// The layouts that a published row's words may mean.
#pragma once

#include <string>

namespace trainyard::simulator {

struct PublishedRun;
struct ThroughputCase;

// Fills layouts, global batch and flags of `made`, whose model and machine are there; returns why it can't.
std::string row_layouts(const PublishedRun& run, ThroughputCase& made);

}  // namespace trainyard::simulator
