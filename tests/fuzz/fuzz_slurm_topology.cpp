#include "core/import/slurm_topology.h"
#include "tests/fuzz/fuzz_import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return trainyard::fuzz_import(trainyard::import_slurm_topology, data, size);
}
