#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/program/wire.h"
#include "core/units/format_quantity.h"
#include "executor/communicator/gloo_communicator.h"
#include "executor/machine/self_test.h"
#include "executor/supervisor/store.h"

namespace trainyard::executor {

namespace {

constexpr int kRanks = 2;
constexpr std::int64_t kElements = std::int64_t{1} << 20;  // 4 MiB
constexpr std::chrono::seconds kPatience{10};

// The ranks are threads of this process, so a map will do where a job has a server.
class SharedStore final : public Store {
 public:
  void set(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    values_[key] = value;
    changed_.notify_all();
  }
  std::optional<std::string> get(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  bool wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) override {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] {
      return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) { return values_.contains(key); });
    });
  }
  std::int64_t add(const std::string& key, std::int64_t amount) override {
    const std::lock_guard lock(mutex_);
    std::string& value = values_[key];
    value = std::to_string((value.empty() ? 0 : std::stoll(value)) + amount);
    changed_.notify_all();
    return std::stoll(value);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

struct RankResult {
  std::exception_ptr failure;
  Seconds time;
  bool right = false;
};

// Rank r contributes r + 1 everywhere; the sum of two ranks is 3.
void sum_on_rank(SharedStore& store, Rank rank, RankResult& result) {
  GlooOptions options;
  options.prefix = "doctor/";
  options.connect_timeout = kPatience;
  options.timeout = kPatience;
  const auto communicator = make_gloo_communicator([](Stream, const std::function<void()>& function) { function(); },
                                                   store, rank, kRanks, options);
  GroupHandle group;
  group.members = {Rank(0), Rank(1)};
  group.index = rank.value();
  std::vector<float> data(static_cast<std::size_t>(kElements), static_cast<float>(rank.value() + 1));
  const std::vector<std::int64_t> boundaries = even_boundaries(kElements, kRanks);
  communicator->barrier();
  const auto begin = std::chrono::steady_clock::now();
  communicator->all_reduce(Stream::kData, group, CollectiveAlgorithm::kRing, data.data(), boundaries, DataType::kFp32,
                           ReduceOp::kSum);
  result.time = from_si<Seconds>(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  result.right = std::all_of(data.begin(), data.end(), [](float value) { return value == 3.0F; });
  communicator->barrier();
}

}  // namespace

SelfTest test_loopback_collective() {
  SharedStore store;
  std::vector<RankResult> results(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&store, rank, &result = results[static_cast<std::size_t>(rank)]] {
      try {
        sum_on_rank(store, Rank(rank), result);
      } catch (...) {
        result.failure = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const RankResult& result : results) {
    if (result.failure) {
      try {
        std::rethrow_exception(result.failure);
      } catch (const std::exception& error) {
        return {false, error.what()};
      }
    }
    if (!result.right) {
      return {false, "wrong sum"};
    }
  }
  const Bytes bytes = ByteCount(kElements * size_of(DataType::kFp32)).quantity();
  return {true,
          fmt::format("2 ranks sum {} over 127.0.0.1 in {}", format_quantity(bytes), format_quantity(results[0].time))};
}

}  // namespace trainyard::executor
