#include "executor/checkpoint/save_model.h"

#include <system_error>

#include "core/document/write_file.h"
#include "core/error.h"
#include "core/model/huggingface.h"
#include "executor/checkpoint/checkpoint_folder.h"
#include "executor/checkpoint/safetensors_file.h"
#include "executor/communicator/peer_lost.h"
#include "executor/worker/parameter_table.h"

namespace trainyard::executor {

namespace {

namespace fs = std::filesystem;

void create(const fs::path& folder, const fs::path& temporary, const ModelSpec& model, DataType type) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) {
    throw Error("can't be made: " + failure.message(), folder.string());
  }
  std::vector<NamedShape> shapes;
  for (const Parameter& parameter : parameters(model)) {
    shapes.push_back({parameter.name, parameter.shape});
  }
  create_safetensors(temporary, place_back_to_back(shapes, type));
}

// Replicas hold the same bytes: one of them writes.
bool writes(const TensorSlice& slice, const BucketParameter& placed, const Coordinates& at) {
  return !slice.values.empty() && at.data == 0 && (at.tensor == 0 || !placed.tensor_replicated) &&
         !is_copy(placed.parameter, at);
}

void write_slices(Worker& worker, const fs::path& temporary) {
  SafetensorsWriter writer(temporary);
  const std::vector<TensorSlice> slices = worker.parameters();
  std::size_t next = 0;
  for (const Bucket& bucket : worker.role().buckets) {
    for (const BucketParameter& placed : bucket.parameters) {
      const TensorSlice& slice = slices[next++];
      if (writes(slice, placed, worker.coordinates())) {
        writer.write(slice.parameter.name, slice.ranges, slice.values, parts_of(slice.parameter));
      }
    }
  }
  writer.flush();
}

void publish(const fs::path& folder, const fs::path& temporary, const ModelSpec& model, DataType type) {
  std::error_code failure;
  fs::rename(temporary, folder / "model.safetensors", failure);
  if (failure) {
    throw Error("can't be given its name: " + failure.message(), temporary.string());
  }
  const char* name = type == DataType::kBf16 ? "bfloat16" : type == DataType::kFp16 ? "float16" : "float32";
  write_file(folder / "config.json", huggingface_config(model, name));
  flush_folder(folder);
}

void save(Worker& worker, Communicator& communicator, const fs::path& folder, const fs::path& temporary) {
  const DataType type = worker.plan().layout.parameter_type;
  const bool first = communicator.rank() == Rank(0);
  if (first) {
    create(folder, temporary, worker.plan().model, type);
  }
  communicator.barrier();
  write_slices(worker, temporary);
  communicator.barrier();
  if (first) {
    publish(folder, temporary, worker.plan().model, type);
  }
  communicator.barrier();
}

}  // namespace

void save_model(Worker& worker, Communicator& communicator, const fs::path& folder) {
  const fs::path temporary = folder / "model.safetensors.partial";
  std::error_code ignored;
  try {
    save(worker, communicator, folder, temporary);
  } catch (const PeerLost&) {  // another rank has the cause; nothing cut short stays
    fs::remove(temporary, ignored);
    throw;
  } catch (const Error& error) {
    fs::remove(temporary, ignored);
    throw Error(error.problem(), error.where(),
                error.hint().empty() ? "make room there, or leave the weights out with --no-model" : error.hint());
  }
}

}  // namespace trainyard::executor
