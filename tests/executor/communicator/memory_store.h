// A Store within one process, for ranks that are threads.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>

#include "executor/supervisor/store.h"

namespace trainyard::executor {

class MemoryStore final : public Store {
 public:
  void set(const std::string& key, const std::string& value) override {
    const std::scoped_lock lock(mutex_);
    values_[key] = value;
    changed_.notify_all();
  }
  std::optional<std::string> get(const std::string& key) override {
    const std::scoped_lock lock(mutex_);
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  bool wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) override {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] {
      for (const std::string& key : keys) {
        if (!values_.contains(key)) {
          return false;
        }
      }
      return true;
    });
  }
  std::int64_t add(const std::string& key, std::int64_t amount) override {
    const std::scoped_lock lock(mutex_);
    const std::int64_t sum = (values_.contains(key) ? std::stoll(values_[key]) : 0) + amount;
    values_[key] = std::to_string(sum);
    changed_.notify_all();
    return sum;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

}  // namespace trainyard::executor
