#include "tests/executor/worker/thread_ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "core/document/read_file.h"
#include "core/error.h"
#include "core/random/philox.h"
#include "executor/checkpoint/save_model.h"
#include "executor/communicator/gloo_communicator.h"
#include "executor/communicator/nccl/nccl_communicator.h"
#include "executor/data/sampler.h"
#include "executor/device/cpu_device.h"
#include "executor/worker/weight_initializer.h"
#include "tests/executor/communicator/fake_nccl.h"
#include "tests/executor/communicator/host_gpu_streams.h"
#include "tests/executor/communicator/memory_store.h"
#include "tests/support/temporary_folder.h"

namespace trainyard::executor {

namespace {

// Ends the other ranks' waits when one fails.
class Job {
 public:
  void add(Communicator* communicator) {
    const std::scoped_lock lock(mutex_);
    communicators_.push_back(communicator);
    if (error_) {
      communicator->abort("another rank failed");
    }
  }
  void fail(std::exception_ptr error) {
    const std::scoped_lock lock(mutex_);
    if (!error_) {
      error_ = error;
    }
    for (Communicator* communicator : communicators_) {
      communicator->abort("another rank failed");
    }
  }
  void remove(Communicator* communicator) {
    const std::scoped_lock lock(mutex_);
    std::erase(communicators_, communicator);
  }
  void rethrow() const {
    if (error_) {
      std::rethrow_exception(error_);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<Communicator*> communicators_;
  std::exception_ptr error_;
};

RankResult train(Worker& worker, std::int64_t steps, const std::vector<std::uint8_t>& text) {
  const Plan& plan = worker.plan();
  const int data = worker.coordinates().data;
  RankResult result;
  result.planned = volumes(worker.role());
  result.allocated = worker.buffers_allocated();
  result.planned_bytes = worker.role().arena_bytes + worker.role().persistent_bytes;
  worker.set_parameters(random_weights(plan.model, plan.training));
  for (std::int64_t step = 0; step < steps; ++step) {
    const StepResult done = worker.train(step, training_tokens(text, plan, step, data));
    result.losses.push_back(done.loss);
    result.gradient_norms.push_back(done.gradient_norm);
    if (done.loss_scale) {
      result.loss_scales.push_back(*done.loss_scale);
      EXPECT_EQ(done.skipped, !std::isfinite(done.gradient_norm));
    }
    result.counted.push_back(done.counted);
    result.replays = result.replays || done.replayed;
    if (step == 0) {
      result.gradients = worker.gradients();
    }
  }
  result.parameters = worker.parameters();
  result.evaluation = worker.evaluate(training_tokens(text, plan, 0, data));
  return result;
}

}  // namespace

std::vector<std::uint8_t> sample_text(std::size_t bytes) {
  constexpr std::string_view kWords = "in the beginning was a word and it was with all of them that came after ";
  std::vector<std::uint8_t> text;
  for (std::uint64_t draw = 0; text.size() < bytes; ++draw) {
    const auto begin = static_cast<std::size_t>(random_below(7, 0, draw, kWords.size() - 8));
    for (const char letter : kWords.substr(begin, 8)) {
      text.push_back(static_cast<std::uint8_t>(letter));
    }
  }
  text.resize(bytes);
  return text;
}

std::vector<RankResult> run_as_threads(const Plan& plan, std::int64_t steps, const ThreadRunOptions& options) {
  const auto ranks = static_cast<int>(plan.layout.ranks());
  const std::vector<std::uint8_t> text = sample_text(std::size_t{1} << 14);
  MemoryStore store;
  Job job;
  const auto nccl = make_fake_nccl_world();
  std::vector<RankResult> results(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto device =
            options.make_device({.threads = options.threads_per_rank, .on_failure = [&] { job.fail(nullptr); }});
        HostGpuStreams streams(
            [&](Stream stream, std::function<void()> work) { device->host_function(stream, std::move(work)); });
        const auto communicator =
            options.nccl ? make_nccl_communicator(make_fake_nccl(nccl), streams, store, Rank(rank), ranks, {})
                         : make_gloo_communicator(*device, store, Rank(rank), ranks, {});
        job.add(communicator.get());
        try {
          Worker worker(plan, *device, *communicator, {.fault = options.fault, .captures = options.captures});
          results[static_cast<std::size_t>(rank)] = train(worker, steps, text);
          if (options.save_to) {
            save_model(worker, *communicator, *options.save_to);
          }
          communicator->barrier();
        } catch (...) {
          job.fail(std::current_exception());
        }
        job.remove(communicator.get());
      } catch (...) {
        job.fail(std::current_exception());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  job.rethrow();
  const std::vector<std::string> broken = violations(*nccl);
  check(broken.empty(), broken.empty() ? "" : broken.front());
  if (options.nccl && ranks > 1) {
    // All that a program sends lies in registered memory; a barrier's word doesn't, in and out.
    constexpr std::int64_t kMostBarriers = 8;
    const RegisteredTraffic traffic = registered_traffic(*nccl);
    check(traffic.registered > 0 && traffic.others <= kMostBarriers * 16 * ranks,
          "a program's messages are registered");
  }
  return results;
}

namespace {
WholeTensors assembled(const std::vector<RankResult>& ranks, std::vector<TensorSlice> RankResult::*what) {
  std::vector<const std::vector<TensorSlice>*> slices;
  for (const RankResult& rank : ranks) {
    slices.push_back(&(rank.*what));
  }
  return assemble(slices);
}
}  // namespace

WholeTensors whole_gradients(const std::vector<RankResult>& ranks) { return assembled(ranks, &RankResult::gradients); }

WholeTensors whole_parameters(const std::vector<RankResult>& ranks) {
  return assembled(ranks, &RankResult::parameters);
}

std::string saved_weights(const Plan& plan) {
  const TemporaryFolder folder;
  run_as_threads(plan, 0, {.save_to = folder.path()});
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "config.json"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "model.safetensors.partial"));
  return read_text_file(folder.path() / "model.safetensors");
}

}  // namespace trainyard::executor
