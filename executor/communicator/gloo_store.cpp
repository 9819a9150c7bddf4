#include "executor/communicator/gloo_store.h"

#include <utility>

#include "core/error.h"

namespace trainyard::executor {

GlooStore::GlooStore(trainyard::executor::Store& store, std::string prefix, std::chrono::milliseconds timeout)
    : store_(store), prefix_(std::move(prefix)), timeout_(timeout) {}

void GlooStore::set(const std::string& key, const std::vector<char>& data) {
  store_.set(prefix_ + key, std::string(data.begin(), data.end()));
}

std::vector<char> GlooStore::get(const std::string& key) {
  wait({key});
  const std::string value = store_.get(prefix_ + key).value_or("");
  return {value.begin(), value.end()};
}

void GlooStore::wait(const std::vector<std::string>& keys) { wait(keys, timeout_); }

void GlooStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) {
  std::vector<std::string> prefixed;
  for (const std::string& key : keys) {
    prefixed.push_back(prefix_ + key);
  }
  if (!store_.wait(prefixed, timeout)) {
    std::string missing;
    for (const std::string& key : keys) {
      if (!store_.get(prefix_ + key)) {
        missing += (missing.empty() ? "" : ", ") + key;
      }
    }
    throw Error("rank " + missing + " did not come to the rendezvous", "communicator",
                "look at that rank's output; it may not have started");
  }
}

}  // namespace trainyard::executor
