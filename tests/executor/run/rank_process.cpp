// The process of one rank, as launch_run() starts it: rank_process rank ARGUMENTS.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "executor/communicator/peer_lost.h"
#include "executor/run/launch_run.h"

int main(int argc, char** argv) {
  try {
    trainyard::executor::rank_main(std::vector<std::string>(argv + 2, argv + argc));
    return 0;
  } catch (const trainyard::executor::PeerLost& lost) {
    std::fprintf(stderr, "%s\n", lost.what());
    return trainyard::executor::kPeerLostExit;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 2;
  }
}
