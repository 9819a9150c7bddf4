// Whether a published row's numbers can be priced at all: sizes that a network, a cluster and a batch can have.
//
// Rows come from tables typed by hand and from programs; one that holds a zero or a slip of the keyboard gets its
// reason and leaves the others alone.
#pragma once

#include <string>

#include "simulator/throughput/published_throughput.h"

namespace trainyard::simulator {

// What is wrong with it, naming the key; empty if nothing is.
std::string why_unusable(const PublishedRun& run);

}  // namespace trainyard::simulator
