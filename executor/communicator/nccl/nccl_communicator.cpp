#include "executor/communicator/nccl/nccl_communicator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/program/wire.h"
#include "executor/communicator/nccl/flight_recorder.h"
#include "executor/communicator/nccl/nccl_comms.h"
#include "executor/communicator/nccl/nccl_watch.h"
#include "executor/communicator/peer_lost.h"

namespace trainyard::executor {

namespace {

using Boundaries = std::span<const std::int64_t>;
using Clock = std::chrono::steady_clock;

// A tensor cut into a chunk per member.
class Chunks {
 public:
  Chunks(void* data, Boundaries boundaries, DataType type)
      : data_(static_cast<std::byte*>(data)), boundaries_(boundaries), type_(type) {}
  int members() const { return static_cast<int>(boundaries_.size()) - 1; }
  std::int64_t elements() const { return boundaries_.back(); }
  std::int64_t size(int member) const { return boundaries_[at(member) + 1] - boundaries_[at(member)]; }
  std::byte* chunk(int member) const { return data_ + boundaries_[at(member)] * size_of(type_); }
  std::size_t bytes(int member) const { return static_cast<std::size_t>(size(member) * size_of(type_)); }
  std::size_t count(int member) const { return static_cast<std::size_t>(size(member)); }
  bool equal() const {
    for (int member = 1; member < members(); ++member) {
      if (size(member) != size(0)) {
        return false;
      }
    }
    return true;
  }

 private:
  static std::size_t at(int member) { return static_cast<std::size_t>(member); }
  std::byte* data_;
  Boundaries boundaries_;
  DataType type_;
};

// The first result that is neither done nor under way stops the group.
class InGroup {
 public:
  template <class Function>
  void add(const Function& function) {
    if (result_ == NcclResult::kSuccess) {
      const NcclResult one = function();
      result_ = one == NcclResult::kInProgress ? NcclResult::kSuccess : one;
    }
  }
  NcclResult result() const { return result_; }

 private:
  NcclResult result_ = NcclResult::kSuccess;
};

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(const std::shared_ptr<NcclApi>& api, GpuStreams& streams, Store& store, Rank rank, int size,
                   const NcclOptions& options)
      : NcclCommunicator(api, streams, store, rank, size, options,
                         std::make_unique<NcclComms>(api.get(), store, rank, size, options)) {}
  NcclCommunicator(std::shared_ptr<NcclApi> api, GpuStreams& streams, Store& store, Rank rank, int size,
                   const NcclOptions& options, std::unique_ptr<NcclComms> comms)
      : api_(std::move(api)), streams_(streams), rank_(rank), size_(size), options_(options), comms_(std::move(comms)) {
    for (int i = 0; i < size; ++i) {
      world_.members.emplace_back(i);
    }
    world_.index = rank.value();
    if (size_ > 1) {
      watch_ = std::make_unique<NcclWatch>(*comms_, recorder_, store, rank, options,
                                           [this](const std::string& why) { abort(why); });
    }
  }

  Rank rank() const override { return rank_; }
  int size() const override { return size_; }
  void join(const GroupHandle& group) override { comms_->join(group); }
  void join_line(const GroupHandle& line) override { comms_->join_line(line); }

  void all_reduce(Stream stream, const GroupHandle& group, CollectiveAlgorithm algorithm, void* data,
                  Boundaries boundaries, DataType type, ReduceOp op) override {
    const auto count = static_cast<std::size_t>(boundaries.back());
    collective(stream, group, CommunicationKind::kAllReduce, algorithm, boundaries, type,
               [&](NcclApi& api, NcclComm comm, void* native) {
                 return api.all_reduce(data, data, count, type, op, comm, native);
               });
  }

  void reduce_scatter(Stream stream, const GroupHandle& group, CollectiveAlgorithm algorithm, void* data,
                      Boundaries boundaries, DataType type) override {
    const Chunks chunks(data, boundaries, type);
    collective(stream, group, CommunicationKind::kReduceScatter, algorithm, boundaries, type,
               [&](NcclApi& api, NcclComm comm, void* native) {
                 if (chunks.equal()) {
                   return api.reduce_scatter(data, chunks.chunk(group.index), chunks.count(0), type, ReduceOp::kSum,
                                             comm, native);
                 }
                 InGroup all;
                 for (int root = 0; root < chunks.members(); ++root) {
                   if (chunks.size(root) > 0) {
                     all.add([&] {
                       return api.reduce(chunks.chunk(root), chunks.chunk(root), chunks.count(root), type,
                                         ReduceOp::kSum, root, comm, native);
                     });
                   }
                 }
                 return all.result();
               });
  }

  void all_gather(Stream stream, const GroupHandle& group, CollectiveAlgorithm algorithm, void* data,
                  Boundaries boundaries, DataType type) override {
    const Chunks chunks(data, boundaries, type);
    collective(stream, group, CommunicationKind::kAllGather, algorithm, boundaries, type,
               [&](NcclApi& api, NcclComm comm, void* native) {
                 if (chunks.equal()) {
                   return api.all_gather(chunks.chunk(group.index), data, chunks.count(0), type, comm, native);
                 }
                 InGroup all;
                 for (int root = 0; root < chunks.members(); ++root) {
                   if (chunks.size(root) > 0) {
                     all.add([&] {
                       return api.broadcast(chunks.chunk(root), chunks.chunk(root), chunks.count(root), type, root,
                                            comm, native);
                     });
                   }
                 }
                 return all.result();
               });
  }

  void broadcast(Stream stream, const GroupHandle& group, CollectiveAlgorithm algorithm, void* data,
                 std::int64_t elements, DataType type) override {
    // wire.h takes the group's size from the boundaries; where they lie doesn't matter to a broadcast.
    const std::vector<std::int64_t> cuts = even_boundaries(elements, static_cast<int>(group.members.size()));
    collective(stream, group, CommunicationKind::kBroadcast, algorithm, cuts, type,
               [&](NcclApi& api, NcclComm comm, void* native) {
                 return api.broadcast(data, data, static_cast<std::size_t>(elements), type, 0, comm, native);
               });
  }

  void all_to_all(Stream stream, const GroupHandle& group, const void* in, Boundaries in_boundaries, void* out,
                  Boundaries out_boundaries, DataType type) override {
    const Chunks from(const_cast<void*>(in), in_boundaries, type);
    const Chunks to(out, out_boundaries, type);
    if (from.size(group.index) > 0) {
      streams_.copy(stream, to.chunk(group.index), from.chunk(group.index),
                    ByteCount(static_cast<std::int64_t>(from.bytes(group.index))));
    }
    collective(
        stream, group, CommunicationKind::kAllToAll, CollectiveAlgorithm::kDirect, in_boundaries, type,
        [&](NcclApi& api, NcclComm comm, void* native) {
          InGroup all;
          for (int member = 0; member < from.members(); ++member) {
            if (member != group.index && from.size(member) > 0) {
              all.add([&] { return api.send(from.chunk(member), from.bytes(member), member, comm, native); });
            }
            if (member != group.index && to.size(member) > 0) {
              all.add([&] { return api.recv(to.chunk(member), to.bytes(member), member, comm, native); });
            }
          }
          return all.result();
        },
        to.elements());
  }

  void send(Stream stream, Rank to, std::uint64_t tag, const void* data, ByteCount bytes) override {
    transfer(stream, CommunicationKind::kSend, "send with tag " + std::to_string(tag), rank_, to, bytes,
             [&](NcclApi& api, NcclComms::Edge edge, void* native) {
               return api.send(data, static_cast<std::size_t>(bytes.value()), edge.peer, edge.comm, native);
             });
  }

  void recv(Stream stream, Rank from, std::uint64_t tag, void* data, ByteCount bytes) override {
    transfer(stream, CommunicationKind::kRecv, "receive with tag " + std::to_string(tag), from, rank_, bytes,
             [&](NcclApi& api, NcclComms::Edge edge, void* native) {
               return api.recv(data, static_cast<std::size_t>(bytes.value()), edge.peer, edge.comm, native);
             });
  }

  void barrier() override {
    comms_->require_alive("barrier");
    if (size_ == 1) {
      return;
    }
    constexpr Stream kStream = Stream::kHostCopy;
    std::int64_t* word = streams_.word();
    const auto passed = fly(kStream, world_, "barrier", [&](NcclApi& api, NcclComm comm, void* native) {
      return api.all_reduce(word, word, 1, DataType::kInt64, ReduceOp::kMax, comm, native);
    });
    while (!passed->reached()) {  // an aborted kernel ends too
      std::this_thread::yield();
      comms_->require_alive("barrier");
    }
    comms_->require_alive("barrier");
  }

  void abort(const std::string& why) override {
    if (aborting_.exchange(true) || comms_->aborted()) {
      return;
    }
    recorder_.update(Clock::now());
    const std::optional<Flight> flight = recorder_.longest();
    // The device first: once the communicators are aborted, its streams run empty, and synchronize() must know why.
    streams_.fail(std::make_exception_ptr(
        PeerLost((flight ? flight->name : std::string("communication")) + " was aborted: " + why,
                 "rank " + std::to_string(rank_.value()), "the rank that failed first has the cause")));
    comms_->abort(why);
  }

  void use_memory(void* data, ByteCount bytes) override { comms_->register_memory(data, bytes); }
  void forget_memory(void* data) override { comms_->unregister_memory(data); }

  std::unique_ptr<Communicator> survivors(const std::vector<Rank>& lost, GpuStreams& streams, Store& store,
                                          const NcclOptions& options) {
    std::unique_ptr<NcclComms> made = comms_->survivors(store, lost, options);
    const Rank rank = made->rank();
    const int size = made->size();
    return std::make_unique<NcclCommunicator>(api_, streams, store, rank, size, options, std::move(made));
  }

  bool waiting() const override { return recorder_.under_way(); }

  CommunicatorCounters counters() const override { return counters_; }

 private:
  // `received`: where some members receive without sending, the elements that this one gets.
  template <class Post>
  void collective(Stream stream, const GroupHandle& group, CommunicationKind kind, CollectiveAlgorithm algorithm,
                  Boundaries boundaries, DataType type, const Post& post, std::int64_t received = 0) {
    check(boundaries.size() == group.members.size() + 1, "a boundary more than the group has members");
    comms_->require_alive(to_string(kind));
    if (group.members.size() == 1 || (boundaries.back() == 0 && received == 0)) {
      return;
    }
    const WireTraffic traffic = wire_traffic(kind, algorithm, boundaries, group.index);
    count(kind, traffic.sent_elements * size_of(type), traffic.messages);
    fly(stream, group, std::string(to_string(kind)) + " in group " + std::to_string(group.key), post);
  }

  template <class Post>
  std::shared_ptr<GpuMark> fly(Stream stream, const GroupHandle& group, const std::string& name, const Post& post) {
    Flight flight{.name = name, .key = "group " + std::to_string(group.key), .others = {}};
    std::copy_if(group.members.begin(), group.members.end(), std::back_inserter(flight.others),
                 [&](Rank member) { return member != rank_; });
    void* native = streams_.native(stream);
    return enqueue(stream, std::move(flight), comms_->of(group),
                   [&](NcclApi& api, NcclComm comm) { return post(api, comm, native); });
  }

  template <class Post>
  void transfer(Stream stream, CommunicationKind kind, const std::string& name, Rank from, Rank to, ByteCount bytes,
                const Post& post) {
    const Rank peer = from == rank_ ? to : from;
    check(peer != rank_ && peer.value() >= 0 && peer.value() < size_, "a message goes to another rank");
    comms_->require_alive(name);
    if (bytes.value() == 0) {
      return;
    }
    if (kind == CommunicationKind::kSend) {
      count(kind, bytes.value(), 1);
    }
    Flight flight{
        .name = name, .key = std::to_string(from.value()) + " to " + std::to_string(to.value()), .others = {peer}};
    const NcclComms::Edge edge = comms_->edge(from, to);
    void* native = streams_.native(stream);
    enqueue(stream, std::move(flight), edge.comm, [&](NcclApi& api, NcclComm) { return post(api, edge, native); });
  }

  std::shared_ptr<GpuMark> enqueue(Stream stream, Flight flight, NcclComm comm, const NcclComms::Post& post) {
    const std::string name = flight.name;
    flight.begin = streams_.mark(stream);
    recorder_.take_off(std::move(flight));
    comms_->post(name, comm, post);
    std::shared_ptr<GpuMark> end = streams_.mark(stream);
    recorder_.set_end(end);
    return end;
  }

  void count(CommunicationKind kind, std::int64_t bytes, std::int64_t messages) {
    const auto at = static_cast<std::size_t>(kind);
    counters_.sent[at] = counters_.sent[at] + ByteCount(bytes);
    counters_.messages[at] += messages;
  }

  std::shared_ptr<NcclApi> api_;
  GpuStreams& streams_;
  Rank rank_;
  int size_;
  NcclOptions options_;
  GroupHandle world_;
  CommunicatorCounters counters_;  // of what has been posted, by the thread that posts
  mutable FlightRecorder recorder_;
  std::atomic<bool> aborting_{false};
  std::unique_ptr<NcclComms> comms_;
  std::unique_ptr<NcclWatch> watch_;  // stops first
};

}  // namespace

std::unique_ptr<Communicator> make_nccl_communicator(const std::shared_ptr<NcclApi>& api, GpuStreams& streams,
                                                     Store& store, Rank rank, int size, const NcclOptions& options) {
  return std::make_unique<NcclCommunicator>(api, streams, store, rank, size, options);
}

std::unique_ptr<Communicator> make_surviving_communicator(Communicator& failed, const std::vector<Rank>& lost,
                                                          GpuStreams& streams, Store& store,
                                                          const NcclOptions& options) {
  auto* nccl = dynamic_cast<NcclCommunicator*>(&failed);
  check(nccl != nullptr, "the way back of an NCCL communicator");
  return nccl->survivors(lost, streams, store, options);
}

}  // namespace trainyard::executor
