// CPU time of the calling thread: what a frame costs, however busy the machine is.
#pragma once

namespace trainyard::gui {

double thread_cpu_ms();

}  // namespace trainyard::gui
