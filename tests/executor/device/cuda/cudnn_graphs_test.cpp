// Whether cuDNN takes the graphs that we build for our layouts: it answers for GPUs that it is told of.
//
// Skipped where cuDNN can't be opened, has no driver's library to look at, or doesn't read these descriptions of GPUs.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "executor/device/cuda/cudnn_module.h"
#include "tests/support/error_of.h"

namespace trainyard::executor {
namespace {

// From the data sheets, and for the rest what CUDA's programming guide lists for the compute capability.
AbsentGpu gpu(const std::string& name, int capability, int processors, int shared_bytes) {
  const std::string version = std::to_string(10 * capability);
  return {R"({"deviceName": ")" + name + R"(", "deviceVer": )" + version + R"(, "deviceVersion": )" + version +
              R"(, "driverVer": 13000, "driverVersion": 13000, "cudaDeviceId": 0, "pciDeviceId": 0, "isTccDriver": 0,)"
              R"( "supportCoopLaunch": 1, "warpSize": 32, "maxGridSize": [2147483647, 65535, 65535],)"
              R"( "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,)"
              R"( "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536, "l2CacheSize": 52428800,)"
              R"( "smClockRateKHz": 1980000, "memClockRateKHz": 2619000, "totalGlobalMem": 85899345920,)"
              R"( "maxSharedMemoryPerBlock": 49152, "reservedSharedMemoryPerBlock": 1024,)"
              R"( "maxSharedMemoryPerBlockOptin": )" +
              std::to_string(shared_bytes) + R"(, "multiProcessorCount": )" + std::to_string(processors) + "}",
          capability};
}
const AbsentGpu kA100 = gpu("NVIDIA A100-SXM4-80GB", 80, 108, 163 << 10);
const AbsentGpu kH100 = gpu("NVIDIA H100 80GB HBM3", 90, 132, 227 << 10);
const AbsentGpu kB200 = gpu("NVIDIA B200", 100, 148, 227 << 10);

Attention shape(std::int64_t sequences, std::int64_t heads, std::int64_t key_heads, std::int64_t length,
                std::int64_t size) {
  return {.sequences = sequences,
          .query_heads = heads,
          .key_heads = key_heads,
          .queries = length,
          .keys = length,
          .head_size = size};
}

class CudnnGraphs : public testing::Test {
 protected:
  void SetUp() override {
    if (dlopen("libcuda.so.1", RTLD_NOW) == nullptr && dlopen(TRAINYARD_CUDA_STUB, RTLD_NOW) == nullptr) {
      GTEST_SKIP() << "no libcuda.so.1, nor its stub";
    }
    void* handle = dlopen(TRAINYARD_CUDNN_MODULE, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      GTEST_SKIP() << dlerror();
    }
    using Entry = const CudnnModule* (*)();
    const auto entry = reinterpret_cast<Entry>(dlsym(handle, kCudnnModuleEntry));
    ASSERT_NE(entry, nullptr);
    module_ = entry();
    ASSERT_EQ(module_->version, kCudnnModuleVersion);
    if (const std::string problem = module_->problem(); !problem.empty()) {
      GTEST_SKIP() << problem;
    }
    try {
      refusal(shape(1, 1, 1, 64, 64), AttentionPass::kForward, kH100);
    } catch (const Error& error) {
      GTEST_SKIP() << error.problem();
    }
  }

  std::string refusal(Attention attention, AttentionPass pass, const AbsentGpu& on,
                      DataType type = DataType::kBf16) const {
    attention.pass = pass;
    return module_->refusal(fused_shape(attention, type).value(), on);
  }
  void expect_both_taken(const Attention& attention, const AbsentGpu& on, DataType type = DataType::kBf16) const {
    EXPECT_EQ(refusal(attention, AttentionPass::kForward, on, type), "");
    EXPECT_EQ(refusal(attention, AttentionPass::kBackward, on, type), "");
  }

  const CudnnModule* module_ = nullptr;
};

TEST_F(CudnnGraphs, OurLayoutsAreTaken) {
  EXPECT_TRUE(contains(module_->name(), "cuDNN "));
  Attention unmasked = shape(1, 2, 1, 130, 64), windowed = shape(1, 4, 2, 300, 64);
  unmasked.mask = AttentionMask::kNone;
  windowed.window = 100;
  Attention narrow_values = shape(2, 4, 4, 256, 128);
  narrow_values.value_size = 64;
  for (const AbsentGpu* on : {&kA100, &kH100, &kB200}) {
    for (const DataType type : {DataType::kBf16, DataType::kFp16}) {
      // GPT-2, and Llama's 1B and 8B: 2 bytes * 2 * 32 * 2048^2 of scores' gradients are half of the GiB allowed.
      for (const Attention& a :
           {shape(8, 12, 12, 1024, 64), shape(2, 32, 8, 2048, 64), shape(2, 32, 8, 2048, 128), shape(2, 2, 2, 32, 8),
            shape(1, 4, 2, 37, 16), shape(2, 6, 1, 77, 32), unmasked, windowed, narrow_values}) {
        SCOPED_TRACE(testing::Message() << "GPU " << on->compute_capability << ", length " << a.queries << ", heads of "
                                        << a.head_size);
        expect_both_taken(a, *on, type);
      }
    }
  }
}

TEST_F(CudnnGraphs, BackwardOfLongSequencesIsOursWhereItWouldKeepScores) {
  // 2 bytes * 32 * 8192^2 are 4 GiB.
  const Attention a = shape(1, 32, 8, 8192, 128);
  for (const AbsentGpu* on : {&kA100, &kH100}) {
    EXPECT_EQ(refusal(a, AttentionPass::kForward, *on), "");
    EXPECT_TRUE(contains(refusal(a, AttentionPass::kBackward, *on), "workspace"));
  }
  expect_both_taken(a, kB200);  // whose deterministic backward keeps none
}

// The front end throws while such a graph is described, or answers when it is validated: either is a refusal.
TEST_F(CudnnGraphs, WhatTheFrontEndHasNoImplementationOfIsRefused) {
  for (const AttentionPass pass : {AttentionPass::kForward, AttentionPass::kBackward}) {
    Attention a = shape(1, 2, 2, 64, 64);
    a.pass = pass;
    FusedShape odd = fused_shape(a, DataType::kBf16).value();
    odd.head_size = odd.value_size = 20;  // rows of 40 bytes, no multiple of the 16 that its loads take
    EXPECT_NE(module_->refusal(odd, kH100), "");
  }
}

TEST_F(CudnnGraphs, AGpuThatItCannotReadIsAnErrorAndNoRefusal) {
  const Attention a = shape(1, 2, 2, 64, 64);
  ASSERT_EQ(refusal(a, AttentionPass::kForward, kH100), "");
  const Error error = error_of([&] { refusal(a, AttentionPass::kForward, {"no properties", 90}); });
  EXPECT_TRUE(contains(error.hint(), "TRAINYARD_ATTENTION=own")) << error.hint();
}

}  // namespace
}  // namespace trainyard::executor
