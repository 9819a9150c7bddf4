// The rendezvous store as Gloo wants it. Internal to the communicator: the only place, with gloo_link.h,
// gloo_exchange.h and their sources, that sees Gloo's headers.
#pragma once

#include <gloo/rendezvous/store.h>

#include <chrono>
#include <string>
#include <vector>

#include "executor/supervisor/store.h"

namespace trainyard::executor {

class GlooStore final : public gloo::rendezvous::Store {
 public:
  GlooStore(trainyard::executor::Store& store, std::string prefix, std::chrono::milliseconds timeout);

  void set(const std::string& key, const std::vector<char>& data) override;
  std::vector<char> get(const std::string& key) override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;

 private:
  trainyard::executor::Store& store_;
  std::string prefix_;
  std::chrono::milliseconds timeout_;
};

}  // namespace trainyard::executor
