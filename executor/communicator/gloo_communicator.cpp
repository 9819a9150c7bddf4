#include "executor/communicator/gloo_communicator.h"

#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>
#include <signal.h>

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "executor/communicator/direct.h"
#include "executor/communicator/gloo_exchange.h"
#include "executor/communicator/gloo_link.h"
#include "executor/communicator/gloo_store.h"
#include "executor/communicator/message_slot.h"
#include "executor/communicator/reduction.h"
#include "executor/communicator/ring.h"
#include "executor/communicator/scratch.h"
#include "executor/communicator/tree.h"

namespace trainyard::executor {
namespace {

using Boundaries = std::vector<std::int64_t>;

class GlooCommunicator final : public Communicator {
 public:
  GlooCommunicator(PostToStream post, Rank rank, int size, std::shared_ptr<gloo::Context> context,
                   const GlooOptions& options)
      : post_(std::move(post)),
        rank_(rank),
        size_(size),
        slice_bytes_(options.slice_bytes),
        link_(rank.value(), std::move(context), options.timeout) {
    for (int i = 0; i < size; ++i) {
      world_.members.emplace_back(i);
    }
    world_.index = rank.value();
  }

  Rank rank() const override { return rank_; }
  int size() const override { return size_; }
  void join(const GroupHandle&) override {}
  void join_line(const GroupHandle&) override {}

  void all_reduce(Stream stream, const GroupHandle& group, CollectiveAlgorithm algorithm, void* data,
                  std::span<const std::int64_t> boundaries, DataType type, ReduceOp op) override {
    require_reducible(type);
    run_collective(stream, group, CommunicationKind::kAllReduce,
                   [=, this, cuts = copy(group, boundaries)](Exchange& e) {
                     const ChunkedTensor tensor = chunked(data, cuts, type);
                     switch (algorithm) {
                       case CollectiveAlgorithm::kRing:
                         return ring_all_reduce(e, tensor, op);
                       case CollectiveAlgorithm::kDirect:
                         return direct_all_reduce(e, tensor, op);
                       case CollectiveAlgorithm::kTree:
                         return tree_all_reduce(e, tensor, op);
                     }
                   });
  }

  void reduce_scatter(Stream stream, const GroupHandle& group, CollectiveAlgorithm algorithm, void* data,
                      std::span<const std::int64_t> boundaries, DataType type) override {
    require_reducible(type);
    check(algorithm != CollectiveAlgorithm::kTree, "reduce-scatter is by ring or direct");
    run_collective(stream, group, CommunicationKind::kReduceScatter,
                   [=, this, cuts = copy(group, boundaries)](Exchange& e) {
                     const ChunkedTensor tensor = chunked(data, cuts, type);
                     algorithm == CollectiveAlgorithm::kRing ? ring_reduce_scatter(e, tensor, ReduceOp::kSum)
                                                             : direct_reduce_scatter(e, tensor, ReduceOp::kSum);
                   });
  }

  void all_gather(Stream stream, const GroupHandle& group, CollectiveAlgorithm algorithm, void* data,
                  std::span<const std::int64_t> boundaries, DataType type) override {
    check(algorithm != CollectiveAlgorithm::kTree, "all-gather is by ring or direct");
    run_collective(
        stream, group, CommunicationKind::kAllGather, [=, this, cuts = copy(group, boundaries)](Exchange& e) {
          const ChunkedTensor tensor = chunked(data, cuts, type);
          algorithm == CollectiveAlgorithm::kRing ? ring_all_gather(e, tensor) : direct_all_gather(e, tensor);
        });
  }

  void broadcast(Stream stream, const GroupHandle& group, CollectiveAlgorithm algorithm, void* data,
                 std::int64_t elements, DataType type) override {
    check(algorithm != CollectiveAlgorithm::kRing, "broadcast is by tree or direct");
    run_collective(stream, group, CommunicationKind::kBroadcast, [=, this](Exchange& e) {
      const Boundaries whole{0, elements};
      const ChunkedTensor tensor = chunked(data, whole, type);
      algorithm == CollectiveAlgorithm::kTree ? tree_broadcast(e, tensor) : direct_broadcast(e, tensor);
    });
  }

  void all_to_all(Stream stream, const GroupHandle& group, const void* in, std::span<const std::int64_t> in_boundaries,
                  void* out, std::span<const std::int64_t> out_boundaries, DataType type) override {
    run_collective(
        stream, group, CommunicationKind::kAllToAll,
        [=, this, in_cuts = copy(group, in_boundaries), out_cuts = copy(group, out_boundaries)](Exchange& e) {
          direct_all_to_all(e, chunked(const_cast<void*>(in), in_cuts, type), chunked(out, out_cuts, type));
        });
  }

  void send(Stream stream, Rank to, std::uint64_t tag, const void* data, ByteCount bytes) override {
    run_point_to_point(
        stream, CommunicationKind::kSend, "send with tag", to, tag,
        [=](Exchange& e) { e.wait(e.post_send(1, 0, data, bytes.value(), MessagePart::kFirst)); }, bytes);
  }

  void recv(Stream stream, Rank from, std::uint64_t tag, void* data, ByteCount bytes) override {
    run_point_to_point(
        stream, CommunicationKind::kRecv, "receive with tag", from, tag,
        [=](Exchange& e) { e.wait(e.post_recv(1, 0, data, bytes.value())); }, bytes);
  }

  // Dissemination (Hensgen, Finkel and Manber 1988): in round k, a byte to the rank 2^k further on.
  void barrier() override {
    const Call call{"barrier", std::nullopt, barriers_, barrier_slot(barriers_)};
    ++barriers_;
    Scratch scratch;
    GlooExchange exchange(link_, scratch, world_, call);
    const char out = 0;
    char in = 0;
    for (int distance = 1, round = 0; distance < size_; distance *= 2, ++round) {
      const int me = rank_.value();
      const Request arrival = exchange.post_recv((me - distance + size_) % size_, round, &in, 1);
      exchange.wait(exchange.post_send((me + distance) % size_, round, &out, 1, MessagePart::kFirst));
      exchange.wait(arrival);
    }
  }

  void use_memory(void*, ByteCount) override {}
  void forget_memory(void*) override {}
  void abort(const std::string& why) override { link_.abort(why); }
  bool waiting() const override { return link_.waiting(); }
  CommunicatorCounters counters() const override { return link_.counters(); }

 private:
  static Boundaries copy(const GroupHandle& group, std::span<const std::int64_t> boundaries) {
    check(boundaries.size() == group.members.size() + 1, "a boundary more than the group has members");
    return {boundaries.begin(), boundaries.end()};
  }

  ChunkedTensor chunked(void* data, const Boundaries& boundaries, DataType type) const {
    return {static_cast<std::byte*>(data), boundaries, type, std::max<std::int64_t>(1, slice_bytes_ / size_of(type))};
  }

  template <class Function>
  void run_collective(Stream stream, const GroupHandle& group, CommunicationKind kind, Function function) {
    const std::uint64_t sequence = sequences_[group.key]++;
    const Call call{to_string(kind), kind, group.key, collective_slot(group.key, sequence)};
    post(stream, group, call, std::move(function));
  }

  template <class Function>
  void run_point_to_point(Stream stream, CommunicationKind kind, const char* name, Rank peer, std::uint64_t tag,
                          Function function, ByteCount bytes) {
    check(peer != rank_ && peer.value() >= 0 && peer.value() < size_, "a message goes to another rank");
    check(tag <= kMaxTag, "tags have 62 bits");
    if (bytes.value() > 0) {
      const GroupHandle pair{.members = {rank_, peer}, .index = 0, .key = 0};
      post(stream, pair, {name, kind, tag, point_to_point_slot(tag)}, std::move(function));
    }
  }

  template <class Function>
  void post(Stream stream, const GroupHandle& group, const Call& call, Function function) {
    link_.require_alive(call.operation);
    Scratch& scratch = scratch_[static_cast<std::size_t>(stream)];
    post_(stream, [this, group, call, &scratch, run = std::move(function)]() {
      GlooExchange exchange(link_, scratch, group, call);
      run(exchange);
    });
  }

  PostToStream post_;
  Rank rank_;
  int size_;
  std::int64_t slice_bytes_;
  GroupHandle world_;
  std::map<std::uint32_t, std::uint64_t> sequences_;  // by group key; advance as work is posted
  std::uint64_t barriers_ = 0;
  std::array<Scratch, kStreams> scratch_;  // a stream runs one collective at a time
  GlooLink link_;
};

// Gloo writes to sockets without MSG_NOSIGNAL: a peer's death would end this process without a word.
void ignore_broken_pipes() {
  struct sigaction current {};
  if (::sigaction(SIGPIPE, nullptr, &current) == 0 && (current.sa_flags & SA_SIGINFO) == 0 &&
      current.sa_handler == SIG_DFL) {
    ::signal(SIGPIPE, SIG_IGN);
  }
}

std::shared_ptr<gloo::Context> connect(Store& store, int rank, int size, const GlooOptions& options) {
  ignore_broken_pipes();
  try {
    gloo::transport::tcp::attr attributes;
    if (options.interface.empty()) {
      attributes.hostname = options.hostname;
    } else {
      attributes.iface = options.interface;
    }
    std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(attributes);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    context->setTimeout(options.connect_timeout);
    GlooStore gloo_store(store, options.prefix + "gloo/", options.connect_timeout);
    context->connectFullMesh(gloo_store, device);
    return context;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error("rank " + std::to_string(rank) + " can't connect to its peers: " + error.what(), "communicator",
                "the address to listen at must be reachable from the other ranks");
  }
}

}  // namespace

std::unique_ptr<Communicator> make_gloo_communicator(PostToStream post, Store& store, Rank rank, int size,
                                                     const GlooOptions& options) {
  check(size >= 1 && rank.value() >= 0 && rank.value() < size, "rank must be below size");
  std::shared_ptr<gloo::Context> context = size > 1 ? connect(store, rank.value(), size, options) : nullptr;
  return std::make_unique<GlooCommunicator>(std::move(post), rank, size, std::move(context), options);
}

std::unique_ptr<Communicator> make_gloo_communicator(Device& device, Store& store, Rank rank, int size,
                                                     const GlooOptions& options) {
  return make_gloo_communicator(
      [&device](Stream stream, std::function<void()> work) { device.host_function(stream, std::move(work)); }, store,
      rank, size, options);
}

}  // namespace trainyard::executor
