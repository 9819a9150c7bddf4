// PeerLost: a rank can't go on because another rank ended or the job was aborted. The cause lies elsewhere.
#pragma once

#include "core/error.h"

namespace trainyard::executor {

class PeerLost : public Error {
 public:
  using Error::Error;
};

// What a rank exits with then: the launcher looks for the cause among the others.
constexpr int kPeerLostExit = 3;

}  // namespace trainyard::executor
