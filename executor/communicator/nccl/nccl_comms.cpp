#include "executor/communicator/nccl/nccl_comms.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>

#include "core/error.h"
#include "executor/communicator/nccl/nccl_version.h"
#include "executor/communicator/peer_lost.h"

namespace trainyard::executor {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPatience{3000};  // with the lock, and with peers at the end

std::string here_key(const std::string& prefix, int rank) { return prefix + "nccl/here/" + std::to_string(rank); }

// Waits a little longer each time: a connected communicator answers in microseconds, a first use takes up to seconds.
class Backoff {
 public:
  void wait() {
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(pause_ * 2, std::chrono::microseconds(1000));
  }

 private:
  std::chrono::microseconds pause_{5};
};

bool is_peers(NcclResult result) { return result == NcclResult::kRemoteError || result == NcclResult::kSystemError; }

std::string listed(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  return text;
}

}  // namespace

std::string_view to_string(NcclResult result) {
  switch (result) {
    case NcclResult::kSuccess:
      return "success";
    case NcclResult::kInProgress:
      return "in progress";
    case NcclResult::kCudaError:
      return "CUDA error";
    case NcclResult::kSystemError:
      return "system error";
    case NcclResult::kInternalError:
      return "internal error";
    case NcclResult::kInvalidArgument:
      return "invalid argument";
    case NcclResult::kInvalidUsage:
      return "invalid usage";
    case NcclResult::kRemoteError:
      return "remote error";
  }
  return "?";
}

NcclComms::NcclComms(NcclApi* api, Rank rank, int size, const NcclOptions& options)
    : api_(api), rank_(rank), size_(size), options_(options) {
  check(size >= 1 && rank.value() >= 0 && rank.value() < size, "rank must be below size");
}

NcclComms::NcclComms(NcclApi* api, Store& store, Rank rank, int size, const NcclOptions& options)
    : NcclComms(api, rank, size, options) {
  if (size_ > 1) {
    check(api_ != nullptr, "several ranks need NCCL");
    require_nccl_version(api_->version(), api_->where());
    connect(store);
  }
}

void NcclComms::connect(Store& store) {
  NcclUniqueId id;
  const std::string id_key = options_.prefix + "nccl/id";
  if (rank_.value() == 0) {
    settle("ncclGetUniqueId", {}, locked([&] { return api_->unique_id(id); }));
    store.set(id_key, {id.bytes.data(), id.bytes.size()});
  } else {
    if (!store.wait({id_key}, options_.connect_timeout)) {
      throw Error("rank 0 has not come: no NCCL id within " + std::to_string(options_.connect_timeout.count()) + " ms",
                  "communicator", "look at the output of rank 0");
    }
    const std::string bytes = store.get(id_key).value_or("");
    check(bytes.size() == id.bytes.size(), "an id is 128 bytes");
    std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
  }
  store.set(here_key(options_.prefix, rank_.value()), "1");
  // NCCL itself waits for its peers without saying for whom.
  std::vector<std::string> keys;
  for (int rank = 0; rank < size_; ++rank) {
    keys.push_back(here_key(options_.prefix, rank));
  }
  if (!store.wait(keys, options_.connect_timeout)) {
    std::vector<int> missing;
    for (int rank = 0; rank < size_; ++rank) {
      if (!store.get(keys[static_cast<std::size_t>(rank)])) {
        missing.push_back(rank);
      }
    }
    throw Error(listed(missing) + (missing.size() == 1 ? " has" : " have") +
                    " not come to the NCCL communicator within " + std::to_string(options_.connect_timeout.count()) +
                    " ms",
                "communicator", "look at the output of " + listed(missing));
  }
  NcclComm& comm = slots_.emplace_back();
  const NcclResult result = locked([&] { return api_->init(comm, size_, id, rank_.value()); });
  if (comm) {
    all_.push_back(comm);
  }
  settle("ncclCommInitRankConfig", comm, result);
  begin_with(comm);
}

void NcclComms::begin_with(NcclComm everyone) {
  std::vector<Rank> ranks;
  for (int i = 0; i < size_; ++i) {
    ranks.emplace_back(i);
  }
  groups_[ranks] = everyone;
}

std::unique_ptr<NcclComms> NcclComms::survivors(Store& store, const std::vector<Rank>& lost,
                                                const NcclOptions& options) {
  check(aborted_, "the way back begins with an abort");
  // Another thread may have begun it and be at it still.
  const auto deadline = Clock::now() + 2 * kPatience;
  for (Backoff backoff; !abort_done_ && Clock::now() < deadline;) {
    backoff.wait();
  }
  if (!abort_done_) {
    throw PeerLost("the abort of NCCL's communicators is not done", "rank " + std::to_string(rank_.value()),
                   "a call of NCCL's doesn't return: start this process again");
  }
  check(std::find(lost.begin(), lost.end(), rank_) == lost.end(), "a lost rank doesn't survive");
  const auto before = std::count_if(lost.begin(), lost.end(), [&](Rank one) { return one < rank_; });
  const Rank rank(rank_.value() - static_cast<int>(before));
  const int size = size_ - static_cast<int>(lost.size());
  check(size >= 1, "some rank is left");
  if (size == 1 || size_ == 1) {
    abort_kept();  // nothing is made from it, and an operation on it would keep the failed device busy
    return std::unique_ptr<NcclComms>(new NcclComms(api_, rank, size, options));
  }
  std::unique_ptr<NcclComms> made(new NcclComms(api_, rank, size, options));
  if (!shrink_into(*made, lost)) {
    made->connect(store);
  }
  return made;
}

// Whether NCCL has made the smaller communicator from the one of all ranks. That one is aborted either way.
bool NcclComms::shrink_into(NcclComms& survivors, const std::vector<Rank>& lost) {
  NcclComm& comm = survivors.slots_.emplace_back();
  std::optional<NcclResult> result;
  if (keeps_ && !lost.empty()) {
    std::vector<int> without;
    std::transform(lost.begin(), lost.end(), std::back_inserter(without), [](Rank one) { return one.value(); });
    std::sort(without.begin(), without.end());
    const auto call = [&](const auto& function) {
      const std::scoped_lock lock(calls_);
      return function();
    };
    result = call([&] { return api_->shrink(all_.front(), without, comm); });
    const auto deadline = Clock::now() + options_.connect_timeout;
    for (Backoff backoff; result == NcclResult::kInProgress && Clock::now() < deadline;) {
      backoff.wait();
      result = call([&] { return api_->state(all_.front()); });
    }
  }
  abort_kept();
  if (!result) {
    return false;
  }
  if (result == NcclResult::kInProgress) {
    throw PeerLost("ncclCommShrink is not done after " + std::to_string(options_.connect_timeout.count()) + " ms",
                   "rank " + std::to_string(rank_.value()), "look whether another survivor hangs or has ended");
  }
  if (comm) {
    survivors.all_.push_back(comm);
    result = survivors.locked([&] { return api_->state(comm); });
  }
  survivors.settle("ncclCommShrink", comm, *result);
  survivors.begin_with(comm);
  return true;
}

void NcclComms::register_memory(void* data, ByteCount bytes) {
  const std::scoped_lock lock(calls_);
  for (const NcclComm comm : all_) {
    void* handle = nullptr;
    if (!aborted_ &&
        api_->register_memory(comm, data, static_cast<std::size_t>(bytes.value()), handle) == NcclResult::kSuccess) {
      registered_[data].push_back({comm, handle});
    }
  }
}

void NcclComms::unregister_memory(void* data) {
  const std::scoped_lock lock(calls_);
  for (const Registration& registration : registered_[data]) {
    if (!aborted_) {
      api_->unregister_memory(registration.comm, registration.handle);
    }
  }
  registered_.erase(data);
}

NcclComms::~NcclComms() {
  if (aborted_) {
    abort_kept();
  }
  if (all_.empty() || aborted_) {
    return;
  }
  const auto deadline = Clock::now() + kPatience;
  bool quiet = true;
  for (auto comm = all_.rbegin(); comm != all_.rend() && quiet; ++comm) {
    NcclResult result = locked([&] { return api_->finalize(*comm); });
    for (Backoff backoff; result == NcclResult::kInProgress && Clock::now() < deadline;) {
      backoff.wait();
      result = locked([&] { return api_->state(*comm); });
    }
    quiet = result == NcclResult::kSuccess;
  }
  if (!quiet) {
    abort("a peer is gone");
    return;
  }
  for (auto comm = all_.rbegin(); comm != all_.rend(); ++comm) {
    locked([&] { return api_->destroy(*comm); });
  }
}

NcclResult NcclComms::locked(const Call& call) {
  const std::scoped_lock lock(calls_);
  return aborted_ ? NcclResult::kInvalidUsage : call();
}

void NcclComms::settle(std::string_view operation, NcclComm comm, NcclResult result) {
  const auto deadline = Clock::now() + options_.connect_timeout;
  for (Backoff backoff; result == NcclResult::kInProgress;) {
    backoff.wait();
    result = locked([&] { return api_->state(comm); });
    if (result == NcclResult::kInProgress && Clock::now() > deadline) {
      const std::string text =
          std::string(operation) + " is not done after " + std::to_string(options_.connect_timeout.count()) + " ms";
      abort(text);
      throw PeerLost(text, "rank " + std::to_string(rank_.value()), "look whether another rank hangs or has ended");
    }
  }
  if (result != NcclResult::kSuccess) {
    fail(operation, result);
  }
}

void NcclComms::fail(std::string_view operation, NcclResult result) {
  require_alive(operation);  // an abort makes calls fail; that is not NCCL's failure
  std::string detail;
  {
    const std::scoped_lock lock(calls_);
    detail = api_->last_error(all_.empty() ? NcclComm{} : all_.front());
  }
  const std::string text = std::string(operation) + ": NCCL " + std::string(to_string(result)) +
                           (detail.empty() ? std::string() : " (" + detail + ")");
  abort(text);
  const std::string where = "rank " + std::to_string(rank_.value());
  if (is_peers(result)) {
    throw PeerLost(text, where, "look at the output of the other ranks");
  }
  throw Error(text, where, "NCCL_DEBUG=INFO says more");
}

NcclComm NcclComms::split(std::string_view operation, std::optional<int> colour, int key) {
  NcclComm& made = slots_.emplace_back();
  const NcclResult result = locked([&] { return api_->split(all_.front(), colour, key, made); });
  settle(operation, all_.front(), result);  // the parent is busy meanwhile
  if (made) {
    {
      const std::scoped_lock lock(calls_);
      all_.push_back(made);
    }
    settle(operation, made, locked([&] { return api_->state(made); }));
  }
  return made;
}

void NcclComms::join(const GroupHandle& group) {
  if (size_ == 1) {
    return;
  }
  require_alive("join");
  const bool wanted = group.members.size() > 1 && !groups_.contains(group.members);
  const auto colour = wanted ? std::optional(group.members.front().value()) : std::nullopt;
  if (const NcclComm made = split("join of a group", colour, group.index)) {
    groups_[group.members] = made;
  }
}

void NcclComms::join_line(const GroupHandle& line) {
  if (size_ == 1) {
    return;
  }
  require_alive("join_line");
  const int members = static_cast<int>(line.members.size());
  // Pairs that begin at even places, then those that begin at odd ones; a communicator for each direction.
  for (int parity = 0; parity < 2; ++parity) {
    const int first = line.index % 2 == parity ? line.index : line.index - 1;
    const bool inside = first >= 0 && first + 1 < members;
    for (const bool forward : {true, false}) {
      std::optional<int> colour;
      std::pair<Rank, Rank> edge;
      Rank low;
      if (inside) {
        low = line.members[static_cast<std::size_t>(first)];
        const Rank high = line.members[static_cast<std::size_t>(first) + 1];
        edge = forward ? std::pair(low, high) : std::pair(high, low);
        colour = edges_.contains(edge) ? std::nullopt : std::optional(low.value());
      }
      if (const NcclComm made = split("join of a line", colour, line.index)) {
        edges_[edge] = {made, low};
      }
    }
  }
}

NcclComm NcclComms::of(const GroupHandle& group) const {
  const auto found = groups_.find(group.members);
  check(found != groups_.end(), "a group is joined before its first collective");
  return found->second;
}

NcclComms::Edge NcclComms::edge(Rank from, Rank to) const {
  const Rank peer = from == rank_ ? to : from;
  const auto found = edges_.find({from, to});
  if (found == edges_.end()) {
    return {all_.front(), peer.value()};
  }
  return {found->second.comm, peer == found->second.low ? 0 : 1};
}

void NcclComms::post(std::string_view operation, NcclComm comm, const Post& call) {
  require_alive(operation);
  const NcclResult result = locked([&] {
    NcclResult first = api_->group_start();
    if (first == NcclResult::kSuccess) {
      try {
        first = call(*api_, comm);
      } catch (...) {  // a type that NCCL hasn't
        api_->group_end();
        throw;
      }
      const NcclResult last = api_->group_end();
      first = first == NcclResult::kSuccess || first == NcclResult::kInProgress ? last : first;
    }
    return first;
  });
  settle(operation, comm, result);
}

std::optional<std::string> NcclComms::failure() {
  const std::scoped_lock lock(calls_);
  if (aborted_) {
    return std::nullopt;
  }
  for (const NcclComm comm : all_) {
    const NcclResult state = api_->state(comm);
    if (state != NcclResult::kSuccess && state != NcclResult::kInProgress) {
      const std::string detail = api_->last_error(comm);
      return "NCCL " + std::string(to_string(state)) + (detail.empty() ? std::string() : " (" + detail + ")");
    }
  }
  return std::nullopt;
}

void NcclComms::abort(const std::string& why) {
  {
    const std::scoped_lock lock(reason_mutex_);
    if (aborted_) {
      return;
    }
    why_ = why;
    aborted_ = true;
  }
  // A call that NCCL never returns from keeps the lock. Then nothing can be aborted, and the launcher's kill ends it.
  const std::unique_lock lock(calls_, kPatience);
  if (!lock || all_.empty()) {
    abort_done_ = true;
    return;
  }
  api_->group_start();
  for (std::size_t i = options_.keeps_way_back ? 1 : 0; i < all_.size(); ++i) {
    api_->abort(all_[i]);
  }
  api_->group_end();
  keeps_ = options_.keeps_way_back;
  abort_done_ = true;
}

void NcclComms::abort_kept() {
  const std::unique_lock lock(calls_, kPatience);
  if (!lock || !keeps_) {
    return;
  }
  keeps_ = false;
  api_->group_start();
  api_->abort(all_.front());
  api_->group_end();
}

void NcclComms::require_alive(std::string_view operation) {
  if (!aborted_) {
    return;
  }
  std::string why;
  {
    const std::scoped_lock lock(reason_mutex_);
    why = why_;
  }
  throw PeerLost(std::string(operation) + " was aborted: " + why, "rank " + std::to_string(rank_.value()),
                 "the rank that failed first has the cause");
}

}  // namespace trainyard::executor
