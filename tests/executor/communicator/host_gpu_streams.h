// GpuStreams over the streams of a CPU device, or of StreamThreads: host memory stands for the GPU's.
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "executor/communicator/gloo_communicator.h"
#include "executor/device/gpu_streams.h"

namespace trainyard::executor {

// What a "cudaStream_t" points to.
struct HostStream {
  PostToStream post;
  Stream stream = Stream::kCompute;
  void operator()(std::function<void()> work) const { post(stream, std::move(work)); }
};

class HostGpuStreams final : public GpuStreams {
 public:
  explicit HostGpuStreams(const PostToStream& post) {
    for (int i = 0; i < kStreams; ++i) {
      streams_[static_cast<std::size_t>(i)] = {post, static_cast<Stream>(i)};
    }
  }

  void* native(Stream stream) override { return &of(stream); }
  std::shared_ptr<GpuMark> mark(Stream stream) override {
    auto mark = std::make_shared<Mark>();
    of(stream)([mark] { mark->passed = true; });
    return mark;
  }
  void copy(Stream stream, void* to, const void* from, ByteCount bytes) override {
    of(stream)([=] { std::memcpy(to, from, static_cast<std::size_t>(bytes.value())); });
  }
  std::int64_t* word() override { return &word_; }
  void fail(std::exception_ptr error) override {
    of(Stream::kHostCopy)([error] { std::rethrow_exception(error); });
  }

 private:
  struct Mark final : GpuMark {
    std::atomic<bool> passed{false};
    bool reached() const override { return passed; }
  };
  HostStream& of(Stream stream) { return streams_[static_cast<std::size_t>(stream)]; }

  std::array<HostStream, kStreams> streams_;
  std::int64_t word_ = 0;
};

}  // namespace trainyard::executor
