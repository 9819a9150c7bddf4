#include "gui/app/docks.h"

#include "gui/views/explore_view.h"
#include "gui/views/inputs_dock.h"
#include "gui/views/jobs_dock.h"
#include "gui/views/memory_view.h"
#include "gui/views/plans_dock.h"
#include "gui/views/reliability_view.h"
#include "gui/views/runs_dock.h"
#include "gui/views/timeline_view.h"
#include "gui/views/topology_view.h"
#include "gui/views/why_view.h"

namespace trainyard::gui {

Docks make_docks(Session& session) {
  Docks docks;
  docks.plans = new PlansDock(session);
  docks.runs = new RunsDock(session);
  docks.views = {
      {new InputsDock(session), DockPlace::kLeft},
      {docks.plans, DockPlace::kTop},
      {new ExploreView(session), DockPlace::kTop},
      {new WhyView(session), DockPlace::kBottom},
      {new MemoryView(session), DockPlace::kBottom},
      {new TimelineView(session), DockPlace::kBottom},
      {new TopologyView(session), DockPlace::kBottom},
      {new ReliabilityView(session), DockPlace::kBottom},
      {docks.runs, DockPlace::kBottom},
      {new JobsDock(session), DockPlace::kBottom},
  };
  return docks;
}

}  // namespace trainyard::gui
