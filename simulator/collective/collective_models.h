// The data that comes with Trainyard on collectives: models/collectives and models/published, compiled in, so that the
// command needs no folder beside it.
#pragma once

#include "simulator/collective/curve_table.h"
#include "simulator/collective/link_facts.h"
#include "simulator/collective/published_collectives.h"

namespace trainyard::simulator {

struct CollectiveModels {
  LinkFacts facts;
  CurveTable curves;
  Exclusions exclusions;
};

CollectiveModels shipped_collective_models();

}  // namespace trainyard::simulator
