#include "executor/checkpoint/checkpoint_saver.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/document/json_document.h"
#include "core/error.h"
#include "executor/checkpoint/checkpoint_folder.h"

namespace trainyard::executor {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// What a rank says of its file, or why there is none.
struct Report {
  std::int64_t step = 0;
  CheckpointPart part;
  std::string failure;
  double blocking = 0;
};

std::string to_text(const Report& report) {
  return ordered_json{{"step", report.step},
                      {"file", report.part.file},
                      {"bytes", report.part.bytes.value()},
                      {"checksum", report.part.checksum},
                      {"failure", report.failure},
                      {"blocking_s", report.blocking}}
      .dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Report read_report(const std::string& text) {
  ObjectReader reader = parse_json_object(text, "a rank's report");
  Report report;
  report.step = reader.integer("step");
  report.part.file = reader.text("file");
  report.part.bytes = ByteCount(reader.integer("bytes"));
  report.part.checksum = reader.text("checksum");
  report.failure = reader.text("failure");
  report.blocking = reader.number("blocking_s");
  reader.finish();
  return report;
}

}  // namespace

CheckpointSaver::CheckpointSaver(Device& device, const RankEnvironment& environment,
                                 const std::vector<StateSlice>& state, CheckpointSaverOptions options)
    : device_(device), environment_(environment), options_(std::move(options)), store_(environment.store) {
  std::int64_t elements = 0;
  for (const StateSlice& slice : state) {
    if (slice.saved.size() > 0) {
      snapshot_.slices.push_back(slice);
      elements += slice.saved.size();
    }
  }
  // Of the device's, so that a GPU copies at the bus's speed.
  void* memory = device_.allocate_host(ByteCount(elements * static_cast<std::int64_t>(sizeof(float))));
  snapshot_.values = {static_cast<float*>(memory), static_cast<std::size_t>(elements)};
}

CheckpointSaver::~CheckpointSaver() {
  stopping_ = true;
  store_.interrupt();
  if (thread_.joinable()) {
    thread_.join();
  }
  device_.free_host(snapshot_.values.data());
}

fs::path CheckpointSaver::folder() const { return checkpoint_path(options_.checkpoints, snapshot_.step); }

std::string CheckpointSaver::report_key(int rank) const {
  return environment_.prefix + "saved/" + std::to_string(rank);
}

void CheckpointSaver::begin(std::int64_t step, const std::optional<LossScaleState>& loss_scale) {
  check(!busy_, "one save at a time");
  wait();
  const auto begin = Clock::now();
  snapshot_.step = step;
  options_.manifest.loss_scale = loss_scale;
  float* to = snapshot_.values.data();
  for (const StateSlice& slice : snapshot_.slices) {
    device_.copy_out(Stream::kHostCopy, to, (slice.memory + (slice.saved.begin - slice.held.begin)).data,
                     ByteCount(slice.saved.size() * static_cast<std::int64_t>(sizeof(float))));
    to += slice.saved.size();
  }
  device_.synchronize();
  blocking_ = seconds_since(begin);
  busy_ = true;
  thread_ = std::thread([this] { save(); });
}

void CheckpointSaver::wait() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

void CheckpointSaver::save() {
  const auto begin = Clock::now();
  Report report{.step = snapshot_.step, .part = {}, .failure = {}, .blocking = blocking_};
  try {
    fs::create_directories(folder());
    report.part = write_shard(snapshot_, folder() / ("rank-" + std::to_string(environment_.rank) + ".safetensors"));
  } catch (const Error& failure) {
    report.failure = failure.where() + " " + failure.problem();
  } catch (const std::exception& failure) {
    report.failure = failure.what();
  }
  try {
    store_.set(report_key(environment_.rank), to_text(report));
    if (environment_.rank == 0) {
      SaveRecord save;
      save.step = snapshot_.step;
      complete(save);
      save.save_time = from_si<Seconds>(seconds_since(begin));
      save.blocking_time += options_.asynchronous ? Seconds() : save.save_time;
      if (!stopping_) {
        options_.on_end(save);
      }
    }
  } catch (const std::exception& failure) {
    if (!stopping_) {  // else the store is gone because the job ends, and the watcher says why
      fmt::print(stderr, "nothing is known of the checkpoint after step {}: {}\n", snapshot_.step, failure.what());
    }
  }
  busy_ = false;
}

// Waits for the rank's report of this step; earlier saves' are passed over.
CheckpointPart CheckpointSaver::take_report(int rank, SaveRecord& save) {
  constexpr auto kPoll = std::chrono::milliseconds(5);
  while (true) {
    if (const auto text = store_.get(report_key(rank))) {
      const Report report = read_report(*text);
      if (report.step == snapshot_.step) {
        if (!report.failure.empty() && save.failure.empty()) {
          save.failure = "rank " + std::to_string(rank) + ": " + report.failure;
        }
        save.blocking_time = std::max(save.blocking_time, from_si<Seconds>(report.blocking));
        save.bytes += report.part.bytes;
        return report.part;
      }
    }
    std::this_thread::sleep_for(kPoll);
  }
}

void CheckpointSaver::complete(SaveRecord& save) {
  CheckpointManifest manifest = options_.manifest;
  manifest.step = snapshot_.step;
  for (int rank = 0; rank < environment_.size; ++rank) {
    manifest.parts.push_back(take_report(rank, save));
  }
  if (save.failure.empty()) {
    try {
      flush_folder(options_.checkpoints);
      write_manifest(manifest, folder());
    } catch (const std::exception& failure) {
      save.failure = failure.what();
    }
  }
  if (save.failure.empty()) {
    remove_old_checkpoints(options_.checkpoints, options_.keep);
  } else {
    std::error_code ignored;
    fs::remove_all(folder(), ignored);
  }
}

}  // namespace trainyard::executor
