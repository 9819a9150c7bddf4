// NcclComms: the NCCL communicators of one rank, and the lock that every call into NCCL takes.
//
// The first has all ranks; the others are split from it, one per group that the rank is in and one per direction of a
// line of ranks. A group whose members an earlier one has gets that one's. All are nonblocking: a call that NCCL
// answers with "in progress" is polled until it is done, failed, aborted or past connect_timeout. abort() may come from
// any thread while another polls; it aborts all communicators in one NCCL group, because peers that abort theirs one by
// one in different orders wait for each other.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units/index.h"
#include "executor/communicator/communicator.h"
#include "executor/communicator/nccl/nccl_api.h"
#include "executor/communicator/nccl/nccl_options.h"
#include "executor/supervisor/store.h"

namespace trainyard::executor {

class NcclComms {
 public:
  // Blocks until all ranks are connected; their id goes through the store. With one rank nothing of NCCL is called and
  // `api` may be null. Throws Error that names the ranks that have not come.
  NcclComms(NcclApi* api, Store& store, Rank rank, int size, const NcclOptions& options);
  // Finalizes, for a few seconds at most; aborts what then is left.
  ~NcclComms();
  // After abort(): the communicator of the ranks that are not `lost`, renumbered in their order. By ncclCommShrink
  // where this one was kept for it and NCCL has it, otherwise by a new id under the new options' prefix. All survivors
  // call it; groups are to be joined, and memory registered, anew. The one kept is aborted, whether or not it is
  // needed. Throws PeerLost where a call into NCCL keeps abort() from its end.
  std::unique_ptr<NcclComms> survivors(Store& store, const std::vector<Rank>& lost, const NcclOptions& options);
  NcclComms(const NcclComms&) = delete;
  NcclComms& operator=(const NcclComms&) = delete;

  Rank rank() const { return rank_; }
  int size() const { return size_; }

  // See Communicator.
  void join(const GroupHandle& group);
  void join_line(const GroupHandle& line);

  // check() that the group was joined.
  NcclComm of(const GroupHandle& group) const;
  struct Edge {
    NcclComm comm;
    int peer = 0;  // its rank in comm
  };
  // What carries messages from one rank to the other: that of a line, otherwise that of all ranks.
  Edge edge(Rank from, Rank to) const;

  // Posts what `call` posts, as one NCCL group. PeerLost or Error, as for all failures below, has the operation's name.
  using Post = std::function<NcclResult(NcclApi& api, NcclComm comm)>;
  void post(std::string_view operation, NcclComm comm, const Post& call);

  // What has failed since, by the communicators' own account.
  std::optional<std::string> failure();

  // The first reason given stays.
  void abort(const std::string& why);
  bool aborted() const { return aborted_; }
  void require_alive(std::string_view operation);  // throws PeerLost once aborted

  // Memory that operations on the communicators made so far will use, until it is unregistered, before it is freed.
  // Where NCCL can't register it, they copy.
  void register_memory(void* data, ByteCount bytes);
  void unregister_memory(void* data);

 private:
  using Call = std::function<NcclResult()>;
  NcclComms(NcclApi* api, Rank rank, int size, const NcclOptions& options);  // not connected yet
  void begin_with(NcclComm everyone);
  void abort_kept();
  bool shrink_into(NcclComms& survivors, const std::vector<Rank>& lost);
  NcclResult locked(const Call& call);
  void connect(Store& store);
  NcclComm split(std::string_view operation, std::optional<int> colour, int key);
  void settle(std::string_view operation, NcclComm comm, NcclResult result);
  [[noreturn]] void fail(std::string_view operation, NcclResult result);

  NcclApi* api_;
  Rank rank_;
  int size_;
  NcclOptions options_;
  std::timed_mutex calls_;  // held during every call into NCCL
  std::atomic<bool> aborted_{false};
  mutable std::mutex reason_mutex_;
  std::string why_;
  bool keeps_ = false;  // abort() has left the first communicator
  std::atomic<bool> abort_done_{false};
  std::deque<NcclComm> slots_;  // NCCL writes a split's result when the split is done, so it must stay where it is
  std::vector<NcclComm> all_;   // in the order made; the first has all ranks
  std::map<std::vector<Rank>, NcclComm> groups_;
  struct Pair {
    NcclComm comm;
    Rank low;  // rank 0 of comm
  };
  std::map<std::pair<Rank, Rank>, Pair> edges_;  // from, to
  struct Registration {
    NcclComm comm;
    void* handle = nullptr;
  };
  std::map<void*, std::vector<Registration>> registered_;
};

}  // namespace trainyard::executor
