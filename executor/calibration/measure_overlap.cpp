#include <algorithm>
#include <array>
#include <functional>

#include "executor/calibration/collective_timer.h"
#include "executor/calibration/measure_communication.h"

namespace trainyard::executor {
namespace {

constexpr std::int64_t kSide = 512;  // of the matrices: 3 MiB in all, a product of a few milliseconds
constexpr int kRepeats = 3;
constexpr double kForeground = 0.04;                // seconds of work whose slowdown is measured
constexpr ByteCount kPayload = ByteCount(4 << 20);  // of an all-reduce, about a gradient bucket

class Overlap {
 public:
  Overlap(Device& device, Communicator& communicator, int group_size)
      : device_(device), timer_(device, communicator, kPayload), groups_(partition(communicator, group_size)) {
    for (void*& matrix : matrices_) {
      matrix = device.allocate(ByteCount(kSide * kSide * 4));
    }
  }
  ~Overlap() {
    for (void* matrix : matrices_) {
      device_.free(matrix);
    }
  }
  Overlap(const Overlap&) = delete;
  Overlap& operator=(const Overlap&) = delete;

  OverlapSlowdown measure() {
    const auto multiply = [this] { post_product(); };
    const auto reduce = [this] { post_reduction(); };
    OverlapSlowdown result{.group_size = groups_.group_size, .compute = 1.0, .communication = 1.0};
    result.compute = slowdown(Stream::kCompute, multiply, Stream::kData, reduce);
    result.communication = slowdown(Stream::kData, reduce, Stream::kCompute, multiply);
    return result;
  }

 private:
  using Post = std::function<void()>;

  void post_product() {
    const Gemm gemm{.batch = 1,
                    .m = kSide,
                    .n = kSide,
                    .k = kSide,
                    .type = DataType::kFp32,
                    .transpose = Transpose::kNT,
                    .accumulate = false};
    device_.matmul(Stream::kCompute, gemm, static_cast<const float*>(matrices_[0]),
                   static_cast<const float*>(matrices_[1]), static_cast<float*>(matrices_[2]), {});
  }

  void post_reduction() {
    if (groups_.own < groups_.groups) {
      timer_.post(Stream::kData, groups_.handle,
                  {CommunicationKind::kAllReduce, CollectiveAlgorithm::kRing, groups_.group_size, kPayload, {}});
    }
  }

  static Post times(int count, const Post& post) {
    return [count, &post] {
      for (int i = 0; i < count; ++i) {
        post();
      }
    };
  }

  // Times the foreground alone, then beside so much of the background that it outlasts the foreground.
  double slowdown(Stream front_stream, const Post& front_one, Stream back_stream, const Post& back_one) {
    const int front_count = count_for(kForeground, front_stream, front_one);
    const Post front = times(front_count, front_one);
    const double alone = timer_.time(front_stream, kRepeats, front).si();
    double margin = 3.0;  // both slow down, the foreground maybe more
    for (int attempt = 0;; ++attempt, margin *= 2) {
      const Post back = times(count_for(kForeground * margin, back_stream, back_one), back_one);
      SliceClock background;
      const double beside = timer_
                                .time(front_stream, kRepeats,
                                      [&] {
                                        front();
                                        device_.begin_slice(back_stream, &background);
                                        back();
                                        device_.end_slice(back_stream, &background);
                                      })
                                .si();
      std::vector<std::int64_t> shortest{background.begin - background.end};  // the minimum, as a maximum
      timer_.maximize(shortest);
      const double background_lasted = static_cast<double>(-shortest[0]) * 1e-9;
      if (background_lasted >= beside || attempt == 3) {
        return std::max(1.0, beside / alone);
      }
    }
  }

  int count_for(double seconds, Stream stream, const Post& one) {
    timer_.time(stream, 1, one);
    const double once = timer_.time(stream, 3, one).si();
    return static_cast<int>(std::clamp(seconds / std::max(once, 1e-6), 2.0, 1000.0));
  }

  Device& device_;
  CollectiveTimer timer_;
  GroupPartition groups_;
  std::array<void*, 3> matrices_{};
};

}  // namespace

std::vector<OverlapSlowdown> measure_overlap(Device& device, Communicator& communicator) {
  std::vector<OverlapSlowdown> result;
  for (int group_size = 2; group_size <= communicator.size(); ++group_size) {
    communicator.join(partition(communicator, group_size).handle);
    result.push_back(Overlap(device, communicator, group_size).measure());
  }
  return result;
}

}  // namespace trainyard::executor
