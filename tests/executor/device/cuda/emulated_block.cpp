#include "tests/executor/device/cuda/emulated_block.h"

#include <cstring>
#include <string>
#include <utility>

#include "core/error.h"

namespace trainyard::executor {

namespace {

constexpr int kLanes = 32;
constexpr std::size_t kStackBytes = std::size_t{128} << 10;
constexpr std::uintptr_t kAlignment = 16;

std::uint16_t low(std::uint32_t pair) { return static_cast<std::uint16_t>(pair); }
std::uint16_t high(std::uint32_t pair) { return static_cast<std::uint16_t>(pair >> 16U); }

}  // namespace

int EmulatedBlock::threads() const { return emulator_.shape_.threads; }
std::int64_t EmulatedBlock::index() const { return emulator_.index_; }

void* EmulatedBlock::shared() const {
  const auto address = reinterpret_cast<std::uintptr_t>(emulator_.shared_.data());
  return emulator_.shared_.data() + (kAlignment - address % kAlignment) % kAlignment;
}

void EmulatedBlock::sync() { emulator_.arrive(emulator_.block_barrier_, threads()); }
void EmulatedBlock::sync_warp() {
  emulator_.arrive(emulator_.warp_barriers_[static_cast<std::size_t>(thread_ / kLanes)], kLanes);
}

void EmulatedBlock::exchange(const void* give, std::size_t bytes, int lane, void* take) {
  check(bytes <= Emulator::kExchangeBytes, "a lane's value fits its slot");
  std::memcpy(slot(thread_ % kLanes), give, bytes);
  sync_warp();
  std::memcpy(take, slot(lane), bytes);
  ++exchanges_;
}

unsigned EmulatedBlock::ballot(bool bit) {
  *slot(thread_ % kLanes) = static_cast<std::byte>(bit);
  sync_warp();
  unsigned bits = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    bits |= static_cast<unsigned>(*slot(lane)) << static_cast<unsigned>(lane);
  }
  ++exchanges_;
  return bits;
}

// PTX ISA, mma.m16n8k16 with .bf16 or .f16: lane 4 g + q holds
//   A  a0: [g][2q, 2q+1]  a1: [g+8][2q, ..]  a2: [g][2q+8, ..]  a3: [g+8][2q+8, ..]
//   B  b0: [2q, 2q+1][g]  b1: [2q+8, 2q+9][g]
//   C  c0, c1: [g][2q, 2q+1]  c2, c3: [g+8][2q, 2q+1]
void EmulatedBlock::multiply_pairs(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
                                   float (*element)(std::uint16_t bits)) {
  const std::uint32_t mine[6] = {a[0], a[1], a[2], a[3], b0, b1};
  const int lane = thread_ % kLanes;
  std::memcpy(slot(lane), mine, sizeof(mine));
  sync_warp();
  const auto word = [&](int from, int index) {
    std::uint32_t value = 0;
    std::memcpy(&value, slot(from) + static_cast<std::size_t>(index) * sizeof(value), sizeof(value));
    return value;
  };
  const int g = lane / 4;
  const int q = lane % 4;
  for (int k = 0; k < 16; k += 2) {
    const int holder = k % 8 / 2;  // of columns k, k + 1 of A and of rows k, k + 1 of B
    const int upper_half = k / 8;
    for (int row = 0; row < 2; ++row) {
      const std::uint32_t left = word(4 * g + holder, 2 * upper_half + row);
      for (int column = 0; column < 2; ++column) {
        const std::uint32_t right = word(4 * (2 * q + column) + holder, 4 + upper_half);
        c[2 * row + column] += element(low(left)) * element(low(right)) + element(high(left)) * element(high(right));
      }
    }
  }
  ++exchanges_;
}

// ldmatrix.x4: lane 8 j + i gives the address of row i of matrix j. Lane l gets of each the pair [l / 4][2 (l % 4),
// ..], transposed [2 (l % 4), ..][l / 4].
void EmulatedBlock::load_matrices(std::uint32_t (&r)[4], const void* row, bool transposed) {
  check(reinterpret_cast<std::uintptr_t>(row) % kAlignment == 0, "rows of ldmatrix are 16-byte aligned");
  const int lane = thread_ % kLanes;
  std::memcpy(slot(lane), &row, sizeof(row));
  sync_warp();
  const auto element = [&](int matrix, int i, int j) {
    const std::uint16_t* from = nullptr;
    std::memcpy(&from, slot(8 * matrix + i), sizeof(from));
    return static_cast<std::uint32_t>(from[j]);
  };
  for (int matrix = 0; matrix < 4; ++matrix) {
    const int major = lane / 4;
    const int minor = lane % 4 * 2;
    r[matrix] = transposed ? element(matrix, minor, major) | element(matrix, minor + 1, major) << 16U
                           : element(matrix, major, minor) | element(matrix, major, minor + 1) << 16U;
  }
  ++exchanges_;
}

void EmulatedBlock::commit_copies() { groups_.push_back(std::exchange(open_copies_, {})); }

void EmulatedBlock::finish_copies(std::size_t under_way) {
  while (groups_.size() > under_way) {
    for (const Copy& copy : groups_.front()) {
      check(reinterpret_cast<std::uintptr_t>(copy.to) % kAlignment == 0 &&
                reinterpret_cast<std::uintptr_t>(copy.from) % kAlignment == 0,
            "both ends of an asynchronous copy are 16-byte aligned");
      std::memcpy(copy.to, copy.from, kAlignment);
    }
    groups_.erase(groups_.begin());
  }
}

bool EmulatedBlock::copies_under_way() const {
  bool any = !open_copies_.empty();
  for (const auto& group : groups_) {
    any = any || !group.empty();
  }
  return any;
}

std::byte* EmulatedBlock::slot(int lane) {
  const int thread = thread_ / kLanes * kLanes + lane;
  const int bank = static_cast<int>(exchanges_ % 2);
  return emulator_.exchange_.data() +
         static_cast<std::size_t>(bank * emulator_.shape_.threads + thread) * Emulator::kExchangeBytes;
}

void Emulator::run(const LaunchShape& shape, const std::function<void(EmulatedBlock&)>& work) {
  check(shape.threads > 0 && shape.threads % kLanes == 0 && shape.threads <= 1024, "a block has whole warps");
  check(shape.blocks > 0 && shape.blocks < (std::int64_t{1} << 31), "a grid's blocks");
  check(shape.shared_bytes <= 227 << 10, "shared memory of a block on Hopper");
  shape_ = shape;
  work_ = &work;
  if (fibers_.size() < static_cast<std::size_t>(shape.threads)) {
    fibers_ = std::vector<Fiber>(static_cast<std::size_t>(shape.threads));
  }
  warp_barriers_.assign(static_cast<std::size_t>(shape.threads / kLanes), {});
  exchange_.resize(static_cast<std::size_t>(2 * shape.threads) * kExchangeBytes);
  for (index_ = 0; index_ < shape.blocks; ++index_) {
    shared_.assign(static_cast<std::size_t>(shape.shared_bytes) + kAlignment, std::byte{0xff});
    run_block();
  }
}

void Emulator::run_block() {
  const int threads = shape_.threads;
  for (int thread = 0; thread < threads; ++thread) {
    Fiber& fiber = fibers_[static_cast<std::size_t>(thread)];
    fiber.block = std::make_unique<EmulatedBlock>(*this, thread);
    fiber.awaited = nullptr;
    fiber.done = false;
    start(fiber);
  }
  int left = threads;
  while (left > 0) {
    bool moved = false;
    for (int turn = 0; turn < threads; ++turn) {
      const int thread = order_ == ThreadOrder::kAscending ? turn : threads - 1 - turn;
      Fiber& fiber = fibers_[static_cast<std::size_t>(thread)];
      if (fiber.done || (fiber.awaited != nullptr && *fiber.awaited == fiber.seen)) {
        continue;
      }
      running_ = &fiber;
      ::swapcontext(&scheduler_, &fiber.context);
      moved = true;
      if (fiber.done) {
        check(!fiber.block->copies_under_way(), "a thread ends with its copies done");
        --left;
      }
    }
    check(moved, "every thread of a block reaches its barriers");
  }
}

void Emulator::start(Fiber& fiber) {
  fiber.stack.resize(kStackBytes);
  ::getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.data();
  fiber.context.uc_stack.ss_size = fiber.stack.size();
  fiber.context.uc_link = &scheduler_;
  const auto address = reinterpret_cast<std::uint64_t>(this);
  // makecontext passes ints only.
  ::makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Emulator::enter), 2,
                static_cast<unsigned>(address >> 32U), static_cast<unsigned>(address));
}

void Emulator::enter(unsigned high_half, unsigned low_half) {
  auto* emulator = reinterpret_cast<Emulator*>(static_cast<std::uint64_t>(high_half) << 32U | low_half);
  Fiber& fiber = *emulator->running_;
  (*emulator->work_)(*fiber.block);
  fiber.done = true;
}

void Emulator::arrive(Barrier& barrier, int expected) {
  Fiber& fiber = *running_;
  if (++barrier.arrived == expected) {
    barrier.arrived = 0;
    ++barrier.generation;
    return;
  }
  fiber.awaited = &barrier.generation;
  fiber.seen = barrier.generation;
  ::swapcontext(&fiber.context, &scheduler_);
  fiber.awaited = nullptr;
}

}  // namespace trainyard::executor
