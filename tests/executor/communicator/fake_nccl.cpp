#include "tests/executor/communicator/fake_nccl.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "tests/executor/communicator/host_gpu_streams.h"

namespace trainyard::executor {

namespace {

enum class Kind { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kReduce, kSend, kRecv };

struct Operation {
  Kind kind = Kind::kAllReduce;
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;  // bytes for kSend and kRecv
  DataType type = DataType::kFp32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;  // or peer
  bool point_to_point() const { return kind == Kind::kSend || kind == Kind::kRecv; }
  bool agrees(const Operation& other) const {
    return kind == other.kind && count == other.count && type == other.type && op == other.op && root == other.root;
  }
};

using Bytes = std::vector<std::byte>;

struct Sent {
  const void* data = nullptr;
  std::size_t bytes = 0;
  bool consumed = false;
};

struct Meeting {  // of a collective's members
  std::optional<Operation> first;
  std::vector<Bytes> inputs;
  int arrived = 0;
};

struct Comm;

struct SplitEntry {
  std::optional<int> colour;
  int key = 0;
  int rank = 0;
  NcclComm* made = nullptr;
};

struct Clique {
  explicit Clique(int size) : members(static_cast<std::size_t>(size), nullptr) {}
  std::vector<Comm*> members;
  int arrived = 0;
  std::map<std::uint64_t, Meeting> meetings;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Sent>>> mail;  // from, to
  std::map<int, std::vector<SplitEntry>> splits;
  std::vector<SplitEntry> shrinks;
  std::vector<int> without;  // of the first who shrinks
  int size() const { return static_cast<int>(members.size()); }
};

struct Launch {
  std::vector<Operation> operations;
  std::vector<std::uint64_t> meetings;  // of each; 0 for point to point
  HostStream* stream = nullptr;
  std::uint64_t ticket = 0;
};

struct Comm {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  NcclResult state = NcclResult::kInProgress;
  bool aborted = false;
  bool destroyed = false;
  bool finalizing = false;
  bool connected = false;        // an operation has run: later ones are enqueued at once
  std::vector<Launch> deferred;  // until state() is asked
  std::uint64_t next_meeting = 1;
  std::uint64_t next_ticket = 0;
  std::uint64_t done_tickets = 0;
  int splits = 0;
  bool shrunk = false;
  std::map<std::byte*, std::size_t> registered;  // first byte, bytes; the first is also the handle
  bool ended() const { return aborted || shrunk; }
  bool living() const { return !aborted && !destroyed; }
};

template <class T, class Load, class Store>
void reduce_values(const std::vector<Bytes>& inputs, std::byte* out, std::size_t first, std::size_t count, ReduceOp op,
                   Load load, Store store) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = [&](const Bytes& bytes) {
      T value;
      std::memcpy(&value, bytes.data() + (first + i) * sizeof(T), sizeof(T));
      return load(value);
    };
    auto sum = at(inputs[0]);
    for (std::size_t j = 1; j < inputs.size(); ++j) {
      const auto one = at(inputs[j]);
      sum = op == ReduceOp::kSum ? sum + one : std::max(sum, one);
    }
    const T result = store(sum);
    std::memcpy(out + i * sizeof(T), &result, sizeof(T));
  }
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

void reduce_into(const std::vector<Bytes>& inputs, void* out, std::size_t first, std::size_t count, DataType type,
                 ReduceOp op) {
  auto* bytes = static_cast<std::byte*>(out);
  const auto same = [](auto value) { return value; };
  switch (type) {
    case DataType::kFp32:
      return reduce_values<float>(inputs, bytes, first, count, op, same, same);
    case DataType::kInt64:
      return reduce_values<std::int64_t>(inputs, bytes, first, count, op, same, same);
    case DataType::kBf16:
      return reduce_values<std::uint16_t>(inputs, bytes, first, count, op, from_bf16, to_bf16);
    default:
      return;
  }
}

}  // namespace

class FakeNcclWorld {
 public:
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> violations;
  std::map<std::string, std::shared_ptr<Clique>> by_id;
  std::vector<std::unique_ptr<Comm>> comms;
  int ids = 0;

  Comm* add(std::shared_ptr<Clique> clique, int rank) {
    auto& comm = comms.emplace_back(std::make_unique<Comm>());
    comm->clique = std::move(clique);
    comm->rank = rank;
    comm->clique->members[static_cast<std::size_t>(rank)] = comm.get();
    return comm.get();
  }

  // A rank is gone: those who have work with it learn so, as over a network.
  void leave(Comm& comm) {
    for (Comm* other : comm.clique->members) {
      // A shrink has ended what was under way on its parent (NCCL_SHRINK_ABORT).
      const bool waits = other != nullptr && other->done_tickets < other->next_ticket && !other->shrunk;
      if (waits && other != &comm && other->living()) {
        other->state = NcclResult::kRemoteError;
      }
    }
    changed.notify_all();
  }

  void do_splits(Clique& parent, std::vector<SplitEntry>& entries) {
    std::stable_sort(entries.begin(), entries.end(), [](const SplitEntry& a, const SplitEntry& b) {
      return std::tie(a.key, a.rank) < std::tie(b.key, b.rank);
    });
    std::map<int, std::vector<SplitEntry*>> by_colour;
    for (SplitEntry& entry : entries) {
      if (entry.colour) {
        by_colour[*entry.colour].push_back(&entry);
      }
    }
    for (auto& [colour, members] : by_colour) {
      auto clique = std::make_shared<Clique>(static_cast<int>(members.size()));
      for (std::size_t i = 0; i < members.size(); ++i) {
        Comm* made = add(clique, static_cast<int>(i));
        made->state = NcclResult::kSuccess;
        members[i]->made->value = made;
      }
    }
    for (Comm* member : parent.members) {
      member->state = member->living() ? NcclResult::kSuccess : member->state;
    }
  }

  void do_shrink(Clique& parent) {
    std::sort(parent.shrinks.begin(), parent.shrinks.end(),
              [](const SplitEntry& a, const SplitEntry& b) { return a.rank < b.rank; });
    auto clique = std::make_shared<Clique>(static_cast<int>(parent.shrinks.size()));
    for (std::size_t i = 0; i < parent.shrinks.size(); ++i) {
      Comm* made = add(clique, static_cast<int>(i));
      made->state = NcclResult::kSuccess;
      parent.shrinks[i].made->value = made;
      parent.members[static_cast<std::size_t>(parent.shrinks[i].rank)]->state = NcclResult::kSuccess;
    }
  }

  // An operation on memory that is registered in part reaches past what the network may touch.
  void check_registered(const Comm& comm, const void* data, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(data);
    auto after = comm.registered.upper_bound(const_cast<std::byte*>(first));
    if (after != comm.registered.begin()) {
      const auto& [begin, size] = *std::prev(after);
      if (first < begin + size) {
        if (first + bytes > begin + size) {
          violations.emplace_back("an operation reaches past registered memory");
        }
        registered_bytes += static_cast<std::int64_t>(bytes);
        return;
      }
    }
    if (after != comm.registered.end() && first + bytes > after->first) {
      violations.emplace_back("an operation begins before registered memory");
    }
    copied_bytes += static_cast<std::int64_t>(bytes);
  }

  std::int64_t registered_bytes = 0;
  std::int64_t copied_bytes = 0;

  void launch(Comm& comm, Launch launch);
  void run(Comm& comm, const Launch& launch);
  void meet(std::unique_lock<std::mutex>& lock, Comm& comm, const Operation& operation, std::uint64_t number);
};

void FakeNcclWorld::launch(Comm& comm, Launch launch) {
  launch.ticket = comm.next_ticket++;
  for (const Operation& operation : launch.operations) {
    launch.meetings.push_back(operation.point_to_point() ? 0 : comm.next_meeting++);
  }
  HostStream& stream = *launch.stream;
  stream([this, &comm, launch = std::move(launch)] { run(comm, launch); });
}

void FakeNcclWorld::run(Comm& comm, const Launch& launch) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return comm.ended() || comm.done_tickets == launch.ticket; });
  std::vector<std::shared_ptr<Sent>> sends;
  for (const Operation& operation : launch.operations) {
    if (operation.kind == Kind::kSend) {
      sends.push_back(std::make_shared<Sent>(Sent{operation.in, operation.count}));
      comm.clique->mail[{comm.rank, operation.root}].push_back(sends.back());
    }
  }
  changed.notify_all();
  for (std::size_t i = 0; i < launch.operations.size() && !comm.ended(); ++i) {
    const Operation& operation = launch.operations[i];
    if (operation.kind == Kind::kRecv) {
      auto& box = comm.clique->mail[{operation.root, comm.rank}];
      changed.wait(lock, [&] { return comm.ended() || !box.empty(); });
      if (comm.ended()) {
        break;
      }
      if (box.front()->bytes != operation.count) {
        violations.push_back("a receive of another size than its send");
      } else {
        std::memcpy(operation.out, box.front()->data, operation.count);
      }
      box.front()->consumed = true;
      box.pop_front();
      changed.notify_all();
    } else if (operation.kind != Kind::kSend) {
      meet(lock, comm, operation, launch.meetings[i]);
    }
  }
  changed.wait(lock, [&] {
    return comm.ended() || std::all_of(sends.begin(), sends.end(), [](const auto& sent) { return sent->consumed; });
  });
  ++comm.done_tickets;
  changed.notify_all();
}

void FakeNcclWorld::meet(std::unique_lock<std::mutex>& lock, Comm& comm, const Operation& operation,
                         std::uint64_t number) {
  Meeting& meeting = comm.clique->meetings[number];
  const auto n = static_cast<std::size_t>(comm.clique->size());
  const auto width = static_cast<std::size_t>(size_of(operation.type));
  const auto own = static_cast<std::size_t>(comm.rank);
  meeting.inputs.resize(n);
  if (meeting.first && !meeting.first->agrees(operation)) {
    violations.push_back("members post different collectives");
  }
  meeting.first = operation;
  const std::size_t given = operation.count * width * (operation.kind == Kind::kReduceScatter ? n : 1);
  const auto* bytes = static_cast<const std::byte*>(operation.in);
  meeting.inputs[own].assign(bytes, bytes + given);
  ++meeting.arrived;
  changed.notify_all();
  changed.wait(lock, [&] { return comm.ended() || meeting.arrived == static_cast<int>(n); });
  if (comm.ended()) {
    return;
  }
  switch (operation.kind) {
    case Kind::kAllReduce:
      return reduce_into(meeting.inputs, operation.out, 0, operation.count, operation.type, operation.op);
    case Kind::kReduceScatter:
      return reduce_into(meeting.inputs, operation.out, own * operation.count, operation.count, operation.type,
                         operation.op);
    case Kind::kReduce:
      if (comm.rank == operation.root) {
        reduce_into(meeting.inputs, operation.out, 0, operation.count, operation.type, operation.op);
      }
      return;
    case Kind::kAllGather:
      for (std::size_t j = 0; j < n; ++j) {
        std::memcpy(static_cast<std::byte*>(operation.out) + j * operation.count * width, meeting.inputs[j].data(),
                    operation.count * width);
      }
      return;
    case Kind::kBroadcast:
      std::memcpy(operation.out, meeting.inputs[static_cast<std::size_t>(operation.root)].data(),
                  operation.count * width);
      return;
    case Kind::kSend:
    case Kind::kRecv:
      return;
  }
}

namespace {

// Big blocks of the CPU device are mappings of their own, gone once they are freed.
bool is_freed(const std::pair<std::byte* const, std::size_t>& range) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(range.first) / page * page;
  unsigned char resident = 0;
  return ::mincore(reinterpret_cast<void*>(first), 1, &resident) != 0 && errno == ENOMEM;
}

Comm& as_comm(NcclComm comm) { return *static_cast<Comm*>(comm.value); }

class FakeNccl final : public NcclApi {
 public:
  FakeNccl(std::shared_ptr<FakeNcclWorld> world, int version, bool shrinks)
      : world_(std::move(world)), version_(version), shrinks_(shrinks) {}

  int version() override { return version_; }
  std::string where() const override { return "the fake"; }

  NcclResult unique_id(NcclUniqueId& id) override {
    const Call call(*this);
    const std::string name = "id " + std::to_string(world_->ids++);
    std::copy(name.begin(), name.end(), id.bytes.begin());
    return NcclResult::kSuccess;
  }

  NcclResult init(NcclComm& made, int size, const NcclUniqueId& id, int rank) override {
    const Call call(*this);
    auto& clique = world_->by_id[{id.bytes.data(), id.bytes.size()}];
    if (clique == nullptr) {
      clique = std::make_shared<Clique>(size);
    }
    made.value = world_->add(clique, rank);
    if (++clique->arrived == size) {
      for (Comm* member : clique->members) {
        member->state = NcclResult::kSuccess;
      }
    }
    return NcclResult::kInProgress;
  }

  NcclResult split(NcclComm parent, std::optional<int> colour, int key, NcclComm& made) override {
    const Call call(*this);
    Comm& comm = used(parent);
    const int number = comm.splits++;
    comm.state = NcclResult::kInProgress;
    auto& entries = comm.clique->splits[number];
    entries.push_back({colour, key, comm.rank, &made});
    if (static_cast<int>(entries.size()) == comm.clique->size()) {
      world_->do_splits(*comm.clique, entries);
    }
    return NcclResult::kInProgress;
  }

  std::optional<NcclResult> shrink(NcclComm parent, const std::vector<int>& without, NcclComm& made) override {
    if (!shrinks_) {
      return std::nullopt;
    }
    const Call call(*this);
    Comm& comm = used(parent);
    Clique& clique = *comm.clique;
    if (std::find(without.begin(), without.end(), comm.rank) != without.end()) {
      world_->violations.emplace_back("a rank that is left out shrinks");
    }
    if (!clique.shrinks.empty() && clique.without != without) {
      world_->violations.emplace_back("ranks shrink to different ones");
    }
    clique.without = without;
    comm.shrunk = true;
    comm.state = NcclResult::kInProgress;
    clique.shrinks.push_back({std::nullopt, 0, comm.rank, &made});
    if (clique.shrinks.size() + without.size() == clique.members.size()) {
      world_->do_shrink(clique);
    }
    return NcclResult::kInProgress;
  }

  NcclResult state(NcclComm handle) override {
    const Call call(*this);
    Comm& comm = used(handle);
    for (Launch& launch : comm.deferred) {
      world_->launch(comm, std::move(launch));
    }
    comm.deferred.clear();
    if (comm.finalizing && comm.done_tickets < comm.next_ticket) {
      return NcclResult::kInProgress;
    }
    return comm.state;
  }

  std::string last_error(NcclComm) override {
    const Call call(*this);
    return "the fake's last error";
  }

  NcclResult finalize(NcclComm handle) override {
    const Call call(*this);
    used(handle).finalizing = true;
    return NcclResult::kInProgress;
  }

  NcclResult destroy(NcclComm handle) override {
    const Call call(*this);
    Comm& comm = used(handle);
    comm.destroyed = true;
    if (!comm.registered.empty()) {
      world_->violations.emplace_back("a communicator destroyed before its memory is unregistered");
    }
    world_->leave(comm);
    return NcclResult::kSuccess;
  }

  NcclResult abort(NcclComm handle) override {
    const Call call(*this);
    Comm& comm = used(handle);
    if (!grouped_) {
      world_->violations.emplace_back("an abort outside a group");
    }
    comm.aborted = true;
    world_->leave(comm);
    return NcclResult::kSuccess;
  }

  NcclResult group_start() override {
    const Call call(*this);
    grouped_ = true;
    return NcclResult::kSuccess;
  }

  NcclResult group_end() override {
    const Call call(*this);
    grouped_ = false;
    if (launch_.operations.empty()) {
      return NcclResult::kSuccess;
    }
    Launch launch = std::exchange(launch_, {});
    Comm& comm = *std::exchange(launching_, nullptr);
    if (comm.connected) {
      world_->launch(comm, std::move(launch));
      return NcclResult::kSuccess;
    }
    comm.connected = true;
    comm.deferred.push_back(std::move(launch));
    return NcclResult::kInProgress;
  }

  NcclResult all_reduce(const void* in, void* out, std::size_t count, DataType type, ReduceOp op, NcclComm comm,
                        void* stream) override {
    return add({Kind::kAllReduce, in, out, count, type, op, 0}, comm, stream);
  }
  NcclResult reduce_scatter(const void* in, void* out, std::size_t count, DataType type, ReduceOp op, NcclComm comm,
                            void* stream) override {
    return add({Kind::kReduceScatter, in, out, count, type, op, 0}, comm, stream);
  }
  NcclResult all_gather(const void* in, void* out, std::size_t count, DataType type, NcclComm comm,
                        void* stream) override {
    return add({Kind::kAllGather, in, out, count, type, ReduceOp::kSum, 0}, comm, stream);
  }
  NcclResult broadcast(const void* in, void* out, std::size_t count, DataType type, int root, NcclComm comm,
                       void* stream) override {
    return add({Kind::kBroadcast, in, out, count, type, ReduceOp::kSum, root}, comm, stream);
  }
  NcclResult reduce(const void* in, void* out, std::size_t count, DataType type, ReduceOp op, int root, NcclComm comm,
                    void* stream) override {
    return add({Kind::kReduce, in, out, count, type, op, root}, comm, stream);
  }
  NcclResult send(const void* data, std::size_t bytes, int peer, NcclComm comm, void* stream) override {
    return add({.kind = Kind::kSend, .in = data, .count = bytes, .root = peer}, comm, stream);
  }
  NcclResult recv(void* data, std::size_t bytes, int peer, NcclComm comm, void* stream) override {
    return add({.kind = Kind::kRecv, .out = data, .count = bytes, .root = peer}, comm, stream);
  }

  NcclResult register_memory(NcclComm handle, void* data, std::size_t bytes, void*& made) override {
    const Call call(*this);
    Comm& comm = used(handle);
    if (!comm.registered.emplace(static_cast<std::byte*>(data), bytes).second) {
      world_->violations.emplace_back("memory registered twice");
    }
    made = data;
    return NcclResult::kSuccess;
  }
  NcclResult unregister_memory(NcclComm handle, void* registered) override {
    const Call call(*this);
    Comm& comm = used(handle);
    const auto found = comm.registered.find(static_cast<std::byte*>(registered));
    if (found == comm.registered.end()) {
      world_->violations.emplace_back("memory unregistered that is not registered");
      return NcclResult::kInvalidArgument;
    }
    if (comm.done_tickets < comm.next_ticket && !comm.ended()) {
      world_->violations.emplace_back("memory unregistered under an operation");
    }
    if (is_freed(*found)) {
      world_->violations.emplace_back("memory freed before it is unregistered");
    }
    comm.registered.erase(found);
    return NcclResult::kSuccess;
  }

 private:
  // The world's lock, and a check that no other thread of the rank is inside.
  class Call {
   public:
    explicit Call(FakeNccl& self) : self_(self), first_(self.inside_++ == 0), lock_(self.world_->mutex) {
      if (!first_) {
        self.world_->violations.emplace_back("two threads inside NCCL");
      }
    }
    ~Call() {
      self_.world_->changed.notify_all();
      --self_.inside_;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    FakeNccl& self_;
    bool first_;
    std::unique_lock<std::mutex> lock_;
  };

  Comm& used(NcclComm handle) {
    Comm& comm = as_comm(handle);
    if (!comm.living()) {
      world_->violations.emplace_back("a communicator used after its end");
    }
    return comm;
  }

  NcclResult add(Operation operation, NcclComm handle, void* stream) {
    const Call call(*this);
    Comm& comm = used(handle);
    if (!grouped_ || (launching_ != nullptr && launching_ != &comm)) {
      world_->violations.emplace_back("operations come in a group of one communicator");
    }
    if (comm.shrunk) {
      world_->violations.emplace_back("an operation on a communicator that was shrunk");
    }
    check_memory(comm, operation);
    launching_ = &comm;
    launch_.stream = static_cast<HostStream*>(stream);
    launch_.operations.push_back(operation);
    return NcclResult::kSuccess;
  }

  void check_memory(const Comm& comm, const Operation& operation) {
    const std::size_t width = operation.point_to_point() ? 1 : static_cast<std::size_t>(size_of(operation.type));
    const std::size_t bytes = operation.count * width;
    const auto members = static_cast<std::size_t>(comm.clique->size());
    if (operation.in != nullptr) {
      world_->check_registered(comm, operation.in, bytes * (operation.kind == Kind::kReduceScatter ? members : 1));
    }
    if (operation.out != nullptr) {
      world_->check_registered(comm, operation.out, bytes * (operation.kind == Kind::kAllGather ? members : 1));
    }
  }

  std::shared_ptr<FakeNcclWorld> world_;
  int version_;
  bool shrinks_;
  std::atomic<int> inside_{0};
  bool grouped_ = false;
  Launch launch_;
  Comm* launching_ = nullptr;
};

}  // namespace

std::shared_ptr<FakeNcclWorld> make_fake_nccl_world() { return std::make_shared<FakeNcclWorld>(); }

std::shared_ptr<NcclApi> make_fake_nccl(std::shared_ptr<FakeNcclWorld> world, int version, bool shrinks) {
  return std::make_shared<FakeNccl>(std::move(world), version, shrinks);
}

RegisteredTraffic registered_traffic(FakeNcclWorld& world) {
  const std::scoped_lock lock(world.mutex);
  return {world.registered_bytes, world.copied_bytes};
}

std::vector<std::string> violations(FakeNcclWorld& world) {
  const std::scoped_lock lock(world.mutex);
  return world.violations;
}

int living_communicators(FakeNcclWorld& world) {
  const std::scoped_lock lock(world.mutex);
  return static_cast<int>(
      std::count_if(world.comms.begin(), world.comms.end(), [](const auto& comm) { return comm->living(); }));
}

}  // namespace trainyard::executor
