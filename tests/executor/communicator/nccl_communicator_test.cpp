// What NCCL's communicator does beyond the contract of all, over FakeNccl.
#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>
#include <bit>
#include <thread>

#include "core/error.h"
#include "executor/communicator/nccl/flight_recorder.h"
#include "executor/communicator/nccl/nccl_communicator.h"
#include "executor/communicator/nccl/nccl_environment.h"
#include "executor/communicator/nccl/nccl_library.h"
#include "executor/communicator/nccl/nccl_version.h"
#include "executor/communicator/peer_lost.h"
#include "executor/device/host_memory.h"
#include "tests/executor/communicator/communicator_contract.h"
#include "tests/executor/communicator/fake_nccl.h"
#include "tests/executor/communicator/host_gpu_streams.h"
#include "tests/executor/communicator/memory_store.h"

namespace trainyard::executor {
namespace {

TEST(Nccl, versions_whose_abort_hangs_are_refused_by_name) {
  for (const int good : {22700, 22703, 22803 - 1, 22809, 22900, 23007}) {
    EXPECT_NO_THROW(require_nccl_version(good, "libnccl.so.2")) << good;
  }
  for (const int bad : {22203, 22501, 22605, 22803, 22806, 22808}) {
    try {
      require_nccl_version(bad, "libnccl.so.2");
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_NE(error.problem().find(nccl_version_text(bad)), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
}

TEST(Nccl, a_bad_version_ends_the_rendezvous_and_one_rank_needs_none) {
  MemoryStore store;
  StreamThreads threads;
  HostGpuStreams streams(threads.post());
  const auto old = make_fake_nccl(make_fake_nccl_world(), 22805);
  EXPECT_THROW(make_nccl_communicator(old, streams, store, Rank(0), 2, {}), Error);
  const auto alone = make_nccl_communicator(nullptr, streams, store, Rank(0), 1, {});
  EXPECT_NO_THROW(alone->barrier());
}

TEST(Nccl, sums_of_bf16_are_bf16) {
  as_ranks(nccl_backend, 3, [](TestRank& self) {
    // 1 + 2 + 3, exact in bf16.
    const auto bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(self.rank + 1)) >> 16);
    std::vector<std::uint16_t> data(7, bits);
    self.communicator.all_reduce(Stream::kData, self.group, CollectiveAlgorithm::kRing, data.data(),
                                 std::vector<std::int64_t>{0, 2, 4, 7}, DataType::kBf16, ReduceOp::kSum);
    self.streams.synchronize();
    EXPECT_EQ(data, std::vector<std::uint16_t>(7, 0x40C0));  // 6
    EXPECT_EQ(self.communicator.counters().messages[static_cast<std::size_t>(CommunicationKind::kAllReduce)], 4);
    self.communicator.barrier();
  });
}

TEST(Nccl, a_collective_that_a_peer_has_not_posted_shows_as_waiting_and_its_timeout_says_who) {
  ContractOptions options;
  options.timeout = std::chrono::milliseconds(300);
  as_ranks(
      nccl_backend, 3,
      [](TestRank& self) {
        std::vector<float> data(30);
        const std::vector<std::int64_t> cuts{0, 10, 20, 30};
        const auto all_reduce = [&] {
          self.communicator.all_reduce(Stream::kTensor, self.group, CollectiveAlgorithm::kRing, data.data(), cuts,
                                       DataType::kFp32, ReduceOp::kSum);
        };
        all_reduce();
        self.streams.synchronize();
        if (self.rank == 2) {
          std::this_thread::sleep_for(std::chrono::milliseconds(800));
          return;
        }
        all_reduce();
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        EXPECT_TRUE(self.communicator.waiting());
        try {
          self.streams.synchronize();
          ADD_FAILURE() << "rank 2 never posted it";
        } catch (const PeerLost& error) {
          // The first of the two to notice says who is missing; the other one's kernel is then told by its network.
          const bool names = error.problem().find("rank 2 has not come to it (1 of 2 there)") != std::string::npos;
          const bool told = error.problem().find("remote error") != std::string::npos;
          EXPECT_TRUE(names || told) << error.what();
          EXPECT_NE(error.problem().find("all_reduce in group 1"), std::string::npos) << error.what();
        }
        EXPECT_FALSE(self.communicator.waiting());
      },
      options);
}

// What a restart does: the same ranks again, under the next generation's prefix.
TEST(Nccl, ranks_meet_again_after_an_abort) {
  const auto world = make_fake_nccl_world();
  MemoryStore store;
  const auto life = [&](int rank, const std::string& prefix, bool fails) {
    StreamThreads threads;
    HostGpuStreams streams(threads.post());
    NcclOptions options;
    options.prefix = prefix;
    const auto communicator = make_nccl_communicator(make_fake_nccl(world), streams, store, Rank(rank), 2, options);
    std::int64_t sum = rank + 1;
    const auto all_reduce = [&] {
      communicator->all_reduce(Stream::kData, everyone(rank, 2), CollectiveAlgorithm::kRing, &sum,
                               std::vector<std::int64_t>{0, 1, 1}, DataType::kInt64, ReduceOp::kSum);
    };
    if (fails) {
      const auto fail = [&] {
        if (rank == 0) {
          all_reduce();
        }
        communicator->abort("the generation is abandoned");
        threads.synchronize();
      };
      EXPECT_THROW(fail(), PeerLost);
      return;
    }
    all_reduce();
    threads.synchronize();
    EXPECT_EQ(sum, 3);
    communicator->barrier();
  };
  for (const bool fails : {true, false}) {
    std::thread other([&] { life(1, fails ? "job/0/" : "job/1/", fails); });
    life(0, fails ? "job/0/" : "job/1/", fails);
    other.join();
  }
  EXPECT_EQ(violations(*world), std::vector<std::string>{});
  EXPECT_EQ(living_communicators(*world), 0);
}

// --- Registered memory --------------------------------------------------------------------------------------

namespace {

// One rank's communicator over the fake, for what its rules say.
struct Alone {
  std::shared_ptr<FakeNcclWorld> world = make_fake_nccl_world();
  std::shared_ptr<NcclApi> api = make_fake_nccl(world);
  StreamThreads threads;
  HostGpuStreams streams{threads.post()};
  NcclComm comm;
  Alone() {
    NcclUniqueId id;
    api->unique_id(id);
    api->init(comm, 1, id, 0);
    api->state(comm);
  }
  void all_reduce(std::int64_t* data, std::size_t count) {
    api->group_start();
    api->all_reduce(data, data, count, DataType::kInt64, ReduceOp::kSum, comm, streams.native(Stream::kData));
    api->group_end();
    api->state(comm);
    threads.synchronize();
  }
};

std::string first_violation(Alone& alone) {
  const std::vector<std::string> all = violations(*alone.world);
  return all.empty() ? "" : all.front();
}

}  // namespace

TEST(FakeNccl, sees_memory_registered_too_short_or_kept_too_long) {
  constexpr std::size_t kWords = 1 << 19;  // a mapping of its own
  const auto with_memory = [](const auto& use) {
    Alone alone;
    HostMemory memory;
    auto* data = static_cast<std::int64_t*>(memory.allocate(ByteCount(kWords * 8)));
    void* handle = nullptr;
    use(alone, memory, data, handle);
    return first_violation(alone);
  };
  EXPECT_EQ(with_memory([](Alone& alone, HostMemory& memory, std::int64_t* data, void*& handle) {
              alone.api->register_memory(alone.comm, data, kWords * 8, handle);
              alone.all_reduce(data + 5, 100);
              EXPECT_EQ(registered_traffic(*alone.world).registered, 1600);  // in and out
              EXPECT_EQ(registered_traffic(*alone.world).others, 0);
              alone.api->unregister_memory(alone.comm, handle);
              memory.free(data);
              alone.api->destroy(alone.comm);
            }),
            "");
  EXPECT_EQ(with_memory([](Alone& alone, HostMemory&, std::int64_t* data, void*& handle) {
              alone.api->register_memory(alone.comm, data, 800, handle);
              alone.all_reduce(data + 99, 2);
            }),
            "an operation reaches past registered memory");
  EXPECT_EQ(with_memory([](Alone& alone, HostMemory& memory, std::int64_t* data, void*& handle) {
              alone.api->register_memory(alone.comm, data, kWords * 8, handle);
              memory.free(data);
              alone.api->unregister_memory(alone.comm, handle);
            }),
            "memory freed before it is unregistered");
  EXPECT_EQ(with_memory([](Alone& alone, HostMemory&, std::int64_t* data, void*& handle) {
              alone.api->register_memory(alone.comm, data, kWords * 8, handle);
              alone.api->destroy(alone.comm);
            }),
            "a communicator destroyed before its memory is unregistered");
}

TEST(Nccl, memory_in_use_is_registered_with_every_communicator_until_it_is_forgotten) {
  as_ranks(nccl_backend, 4, [](TestRank& self) {
    const std::vector<std::vector<int>> halves{{0, 1}, {2, 3}};
    GroupHandle half{.members = {}, .index = self.rank % 2, .key = static_cast<std::uint32_t>(10 + self.rank / 2)};
    for (const int member : halves[static_cast<std::size_t>(self.rank / 2)]) {
      half.members.emplace_back(member);
    }
    self.communicator.join(half);
    std::vector<std::int64_t> data(64, 1);
    self.communicator.use_memory(data.data(), ByteCount(64 * 8));
    self.communicator.all_reduce(Stream::kData, half, CollectiveAlgorithm::kRing, data.data(),
                                 std::vector<std::int64_t>{0, 32, 64}, DataType::kInt64, ReduceOp::kSum);
    self.communicator.all_reduce(Stream::kData, self.group, CollectiveAlgorithm::kRing, data.data(),
                                 std::vector<std::int64_t>{0, 16, 32, 48, 64}, DataType::kInt64, ReduceOp::kSum);
    self.streams.synchronize();
    EXPECT_EQ(data, std::vector<std::int64_t>(64, 8));
    self.communicator.forget_memory(data.data());
    self.communicator.barrier();
  });
}

// --- The way back -------------------------------------------------------------------------------------------

namespace {

struct WayBack {
  bool keeps = false;
  bool shrinks = true;
  int lost = -1;  // none: all come again
  int ranks = 3;
};

std::int64_t sum_of_ranks(Communicator& communicator, StreamThreads& threads) {
  std::int64_t sum = communicator.rank().value() + 1;
  const int size = communicator.size();
  std::vector<std::int64_t> cuts(static_cast<std::size_t>(size) + 1, 1);
  cuts.front() = 0;
  communicator.all_reduce(Stream::kData, everyone(communicator.rank().value(), size), CollectiveAlgorithm::kRing, &sum,
                          cuts, DataType::kInt64, ReduceOp::kSum);
  threads.synchronize();
  return sum;
}

// One rank hangs up in the middle of a collective, and the others go on without it.
void lose_and_go_on(const WayBack& way) {
  const int ranks = way.ranks;
  std::vector<std::int64_t> cuts(static_cast<std::size_t>(ranks) + 1, 1);
  cuts.front() = 0;
  const auto world = make_fake_nccl_world();
  MemoryStore store;
  const auto life = [&](int rank) {
    StreamThreads threads;
    HostGpuStreams streams(threads.post());
    NcclOptions options;
    options.prefix = "job/0/";
    options.keeps_way_back = way.keeps && rank != way.lost;
    const auto failed =
        make_nccl_communicator(make_fake_nccl(world, 22809, way.shrinks), streams, store, Rank(rank), ranks, options);
    EXPECT_EQ(sum_of_ranks(*failed, threads), ranks * (ranks + 1) / 2);
    failed->barrier();  // who aborts ends what a slower one still waits for
    std::int64_t word = 0;
    if (rank != way.lost) {
      failed->all_reduce(Stream::kData, everyone(rank, ranks), CollectiveAlgorithm::kRing, &word, cuts,
                         DataType::kInt64, ReduceOp::kSum);
    }
    failed->abort("the generation is abandoned");
    std::unique_ptr<Communicator> communicator;
    StreamThreads new_threads;
    HostGpuStreams new_streams(new_threads.post());
    if (rank != way.lost) {
      options.prefix = "job/1/";
      const std::vector<Rank> lost = way.lost < 0 ? std::vector<Rank>() : std::vector<Rank>{Rank(way.lost)};
      communicator = make_surviving_communicator(*failed, lost, new_streams, store, options);
    }
    EXPECT_THROW(threads.synchronize(), PeerLost);  // the collective ended with the communicator that it was on
    EXPECT_THROW(failed->barrier(), PeerLost);
    if (communicator) {
      const int size = way.lost < 0 ? ranks : ranks - 1;
      EXPECT_EQ(communicator->size(), size);
      EXPECT_EQ(communicator->rank().value(), way.lost >= 0 && rank > way.lost ? rank - 1 : rank);
      communicator->join(everyone(communicator->rank().value(), size));
      EXPECT_EQ(sum_of_ranks(*communicator, new_threads), size * (size + 1) / 2);
      communicator->barrier();
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        life(rank);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(violations(*world), std::vector<std::string>{});
  EXPECT_EQ(living_communicators(*world), 0);
}

}  // namespace

TEST(NcclWayBack, survivors_shrink_the_communicator_that_was_kept) {
  for (const int lost : {0, 1, 2}) {
    lose_and_go_on({.keeps = true, .shrinks = true, .lost = lost});
  }
}

// The kernel that waits for the lost rank ends though nothing is made from the communicator that it is on.
TEST(NcclWayBack, the_last_one_goes_on_alone) {
  for (const int lost : {0, 1}) {
    lose_and_go_on({.keeps = true, .shrinks = true, .lost = lost, .ranks = 2});
  }
}

TEST(NcclWayBack, survivors_meet_anew_where_nccl_cannot_shrink_or_nothing_was_kept) {
  lose_and_go_on({.keeps = true, .shrinks = false, .lost = 1});
  lose_and_go_on({.keeps = false, .shrinks = true, .lost = 2});
}

TEST(NcclWayBack, all_ranks_come_again_where_none_is_lost) {
  lose_and_go_on({.keeps = false});
  lose_and_go_on({.keeps = true});
}

// Needs no GPU: NCCL answers what it is, and finds no device to make a communicator on.
TEST(NcclLibrary, the_one_we_compile_against_has_all_we_call) {
  if (!nccl_header_version()) {
    EXPECT_THROW(open_nccl(), Error);
    GTEST_SKIP() << "built without NCCL";
  }
  std::shared_ptr<NcclApi> nccl;
  try {
    nccl = open_nccl();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_GE(nccl->version(), 22700);
  EXPECT_NE(nccl->where().find("libnccl"), std::string::npos);
}

TEST(NcclEnvironment, says_why_of_each_and_leaves_what_the_user_set) {
  const NcclEnvironmentOptions all{.one_host = true, .fixed_order = true, .several_per_gpu = true};
  for (const NcclVariable& variable : nccl_environment(all)) {
    EXPECT_FALSE(variable.why.empty()) << variable.name;
  }
  ::setenv("NCCL_ALGO", "Tree", 1);
  const std::vector<std::string> set = nccl_assignments(all);
  ::unsetenv("NCCL_ALGO");
  EXPECT_EQ(std::count(set.begin(), set.end(), "NCCL_SOCKET_IFNAME=lo"), 1);
  EXPECT_TRUE(
      std::none_of(set.begin(), set.end(), [](const std::string& one) { return one.starts_with("NCCL_ALGO"); }));
}

TEST(FlightRecorder, positions_survive_their_text_and_say_who_is_behind) {
  FlightPosition position;
  position.keys["group 7"] = {41, "all_gather in group 7"};
  position.keys["0 to 1"] = {3, "send with tag 12"};
  const FlightPosition read = parse_flight_position(to_text(position) + "no position\n\t\t\n");
  EXPECT_EQ(to_text(read), to_text(position));
  const Flight flight{
      .name = "all_gather in group 7", .key = "group 7", .others = {Rank(1), Rank(2), Rank(3)}, .number = 42};
  FlightPosition there = position;
  there.keys["group 7"].number = 42;
  const std::string text = who_is_behind(flight, {{Rank(1), position}, {Rank(2), there}, {Rank(3), std::nullopt}});
  EXPECT_EQ(text, "rank 1 has not come to it (41 of 42 there)");
}

}  // namespace
}  // namespace trainyard::executor
