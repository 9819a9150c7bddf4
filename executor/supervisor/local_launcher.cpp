#include "executor/supervisor/local_launcher.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "executor/supervisor/job_keys.h"
#include "executor/supervisor/line_tail.h"
#include "executor/supervisor/rank_environment.h"
#include "executor/supervisor/rank_progress.h"
#include "executor/supervisor/signal_relay.h"
#include "executor/supervisor/store_server.h"

namespace trainyard::executor {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct LocalRank {
  ChildProcess process;
  LineTail tail;
  std::optional<std::string> last_beat;
  Clock::time_point beat_at;
  RankProgress progress;
  Clock::time_point progress_at;
  std::optional<Clock::time_point> killed_at;  // on purpose
};

int due_in(Clock::time_point when) {
  return static_cast<int>(
      std::clamp<std::int64_t>(std::chrono::ceil<milliseconds>(when - Clock::now()).count(), 0, 60'000));
}

class LocalLauncher {
 public:
  explicit LocalLauncher(const LaunchOptions& options)
      : options_(options),
        prefix_(options.job + "/" + std::to_string(options.generation) + "/"),
        store_(random_token(), options.hosts.address) {
    check(options.ranks > 0, "a job has ranks");
    check_hosts(options.hosts, options.ranks);
    result_.exits.resize(static_cast<std::size_t>(options.ranks), "not started");
    for (int rank = 0; rank < options.ranks; ++rank) {
      ranks_.push_back(
          {ChildProcess(command_on_host(options.hosts, rank, options.ranks, options.command), environment(rank)),
           {},
           {},
           Clock::now(),
           {},
           Clock::now(),
           std::nullopt});
    }
  }

  LaunchResult run() {
    while (running()) {
      wait_for_something();
      take_signals();
      take_output();
      take_exits();
      take_heartbeats();
      take_progress();
      kill_on_purpose();
      stop_in_stages();
    }
    if (stopping_since_) {
      result_.ending = std::chrono::duration_cast<milliseconds>(Clock::now() - *stopping_since_);
    }
    return std::move(result_);
  }

 private:
  std::vector<std::string> environment(int rank) const {
    const int per_host = options_.hosts.per_host(options_.ranks);
    const RankEnvironment own{.rank = rank,
                              .size = options_.ranks,
                              .local_rank = rank % per_host,
                              .local_size = per_host,
                              .store = {options_.hosts.address, store_.port(), store_.token()},
                              .prefix = prefix_};
    std::vector<std::string> result = to_environment(own);
    result.insert(result.end(), options_.environment.begin(), options_.environment.end());
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string_view text(*variable);
      const std::string_view name = text.substr(0, text.find('=') + 1);
      if (std::none_of(result.begin(), result.end(), [&](const std::string& set) { return set.starts_with(name); })) {
        result.emplace_back(text);
      }
    }
    return result;
  }

  bool running() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const LocalRank& rank) { return rank.process.running(); });
  }

  void wait_for_something() {
    std::vector<pollfd> polled{{signals_.readable().number(), POLLIN, 0}};
    for (const LocalRank& rank : ranks_) {
      if (rank.process.running()) {
        for (const FileDescriptor* descriptor : {&rank.process.ended(), &rank.process.output(OutputStream::kOut),
                                                 &rank.process.output(OutputStream::kErr)}) {
          if (descriptor->open()) {
            polled.push_back({descriptor->number(), POLLIN, 0});
          }
        }
      }
    }
    ::poll(polled.data(), polled.size(), patience());
  }

  // Milliseconds until there is something to look at that no descriptor tells; -1: never.
  int patience() const {
    if (stopping_since_) {
      return 10;
    }
    std::vector<int> limits;
    for (const auto& timeout : {options_.heartbeat_timeout, options_.hang_timeout}) {
      if (timeout) {
        limits.push_back(static_cast<int>(std::clamp<std::int64_t>(timeout->count() / 4, 10, 500)));
      }
    }
    if (options_.kills != nullptr && options_.kills->next()) {
      limits.push_back(due_in(*options_.kills->next()));
    }
    return limits.empty() ? -1 : *std::min_element(limits.begin(), limits.end());
  }

  void take_signals() {
    while (const std::optional<int> signal = signals_.take()) {
      if (result_.interrupted_by) {
        kill_at_ = terminate_at_ = Clock::now();  // the second time
      } else if (!stopping_since_) {
        result_.interrupted_by = signal;
        stop(std::string("interrupted by SIG") + ::sigabbrev_np(*signal), options_.interrupt_patience);
      }
    }
  }

  void take_output() {
    for (std::size_t at = 0; at < ranks_.size(); ++at) {
      drain(at);
    }
  }

  void drain(std::size_t at) {
    for (const OutputStream stream : {OutputStream::kOut, OutputStream::kErr}) {
      ranks_[at].process.drain(stream, [&](std::string_view bytes) {
        if (stream == OutputStream::kErr) {  // what it printed for programs to read explains nothing
          ranks_[at].tail.append(bytes);
        }
        if (options_.on_output) {
          options_.on_output(static_cast<int>(at), stream, bytes);
        }
      });
    }
  }

  // How far an exit may be the cause of the job's end: one by a signal before one that gave up by itself,
  // which may be a consequence, before one that says it is.
  int weight(int status) const {
    if (status == 0) {
      return 0;
    }
    const bool consequence = WIFEXITED(status) && options_.consequence_exit == WEXITSTATUS(status);
    return WIFSIGNALED(status) ? 3 : consequence ? 1 : 2;
  }

  void take_exits() {
    std::optional<std::pair<std::size_t, int>> failed;
    for (std::size_t at = 0; at < ranks_.size(); ++at) {
      if (const std::optional<int> status = ranks_[at].process.reap()) {
        drain(at);
        result_.exits[at] = describe_wait_status(*status);
        if (weight(*status) > (failed ? weight(failed->second) : 0)) {
          failed = {at, *status};
        }
      }
    }
    if (failed && is_only_consequence_ && !terminated_ && weight(failed->second) > 1) {
      result_.failure = failure(failed->first, describe_wait_status(failed->second));  // the cause, at last
      is_only_consequence_ = false;
    } else if (failed) {
      is_only_consequence_ = is_only_consequence_ || (!stopping_since_ && weight(failed->second) == 1);
      fail(failed->first, describe_wait_status(failed->second));
    }
  }

  void take_heartbeats() {
    if (!options_.heartbeat_timeout || stopping_since_) {
      return;
    }
    for (std::size_t at = 0; at < ranks_.size(); ++at) {
      LocalRank& rank = ranks_[at];
      const std::optional<std::string> beat = store_.get(heartbeat_key(prefix_, static_cast<int>(at)));
      if (beat != rank.last_beat) {
        rank.last_beat = beat;
        rank.beat_at = Clock::now();
      }
      if (rank.process.running() && beat && Clock::now() - rank.beat_at > *options_.heartbeat_timeout) {
        fail(at, "no heartbeat for " + std::to_string(options_.heartbeat_timeout->count()) + " ms");
      }
    }
  }

  void take_progress() {
    if (!options_.hang_timeout || stopping_since_) {
      return;
    }
    bool stalled = false;
    for (std::size_t at = 0; at < ranks_.size(); ++at) {
      LocalRank& rank = ranks_[at];
      read_progress(at);
      stalled = stalled || (rank.process.running() && Clock::now() - rank.progress_at > *options_.hang_timeout);
    }
    if (stalled) {
      fail(least_advanced(),
           "no progress for " + std::to_string(options_.hang_timeout->count()) + " ms, though its process is alive");
    }
  }

  void read_progress(std::size_t at) {
    LocalRank& rank = ranks_[at];
    const std::optional<std::string> text = store_.get(progress_key(prefix_, static_cast<int>(at)));
    const std::optional<RankProgress> progress = text ? parse_rank_progress(*text) : std::nullopt;
    if (progress && progress->ticks != rank.progress.ticks) {
      rank.progress_at = Clock::now();
    }
    rank.progress = progress.value_or(rank.progress);
  }

  // Of those that stand still together, the one behind the others, or the one that waits for none.
  std::size_t least_advanced() const {
    std::optional<std::size_t> least;
    const auto order = [](const LocalRank& rank) { return std::pair(rank.progress.ticks, rank.progress.waiting); };
    for (std::size_t at = 0; at < ranks_.size(); ++at) {
      if (ranks_[at].process.running() && (!least || order(ranks_[at]) < order(ranks_[*least]))) {
        least = at;
      }
    }
    return least.value();
  }

  void kill_on_purpose() {
    if (options_.kills == nullptr || stopping_since_) {
      return;  // the next generation will have it
    }
    const std::optional<Clock::time_point> due = options_.kills->next();
    if (!due || *due > Clock::now()) {
      return;
    }
    const int victim = options_.kills->take(options_.ranks);
    LocalRank& rank = ranks_[static_cast<std::size_t>(victim)];
    if (rank.process.running()) {
      rank.killed_at = Clock::now();
      if (options_.on_kill) {
        options_.on_kill(victim);
      }
      rank.process.signal_group(SIGKILL);
    }
  }

  LaunchFailure failure(std::size_t at, const std::string& cause) {
    LaunchFailure result{static_cast<int>(at), cause,        ranks_[at].tail.lines(),
                         std::nullopt,         std::nullopt, Clock::now()};
    read_progress(at);
    const LocalRank& rank = ranks_[at];
    const bool published = rank.progress != RankProgress{};
    if (published) {
      result.step = rank.progress.step;
    }
    const auto since = [](Clock::time_point then) {
      return std::chrono::duration_cast<milliseconds>(Clock::now() - then);
    };
    if (rank.killed_at) {
      result.detection = since(*rank.killed_at);
    } else if (rank.process.running()) {  // found by what it didn't say
      result.detection = since(options_.hang_timeout ? std::min(rank.beat_at, rank.progress_at) : rank.beat_at);
    }
    return result;
  }

  void fail(std::size_t at, const std::string& cause) {
    if (stopping_since_) {
      return;  // a consequence
    }
    result_.failure = failure(at, cause);
    stop("rank " + std::to_string(at) + " " + cause, options_.kill_after);
  }

  void stop(const std::string& why, milliseconds kill_after) {
    stopping_since_ = Clock::now();
    terminate_at_ = *stopping_since_ + options_.terminate_after;
    kill_at_ = terminate_at_ + kill_after;
    store_.set(abort_key(prefix_), why);
  }

  void stop_in_stages() {
    if (!stopping_since_ || killed_) {
      return;
    }
    const Clock::time_point now = Clock::now();
    if (now >= kill_at_) {
      killed_ = true;
      signal_all(SIGKILL);
    } else if (now >= terminate_at_ && !terminated_) {
      terminated_ = true;
      signal_all(SIGTERM);
    }
  }

  void signal_all(int signal) const {
    for (const LocalRank& rank : ranks_) {
      rank.process.signal_group(signal);
    }
  }

  const LaunchOptions& options_;
  std::string prefix_;
  SignalRelay signals_;
  StoreServer store_;
  std::vector<LocalRank> ranks_;
  LaunchResult result_;
  std::optional<Clock::time_point> stopping_since_;
  Clock::time_point terminate_at_;
  Clock::time_point kill_at_;
  bool is_only_consequence_ = false;  // the failure noted so far
  bool terminated_ = false;
  bool killed_ = false;
};

}  // namespace

LaunchResult launch_local(const LaunchOptions& options) { return LocalLauncher(options).run(); }

}  // namespace trainyard::executor
