// RankHosts: on which hosts a job's ranks run, and how they are started there.
//
// Ranks lie in blocks: of R ranks on H hosts, rank r is on host r / (R / H). A rank of another host is started by a
// command of this one that ends with it and takes its environment along, such as Slurm's srun; in its words "{host}"
// stands for the host's name. With no hosts, all ranks are processes of this one.
#pragma once

#include <string>
#include <vector>

namespace trainyard::executor {

struct RankHosts {
  std::vector<std::string> names;
  std::vector<std::string> start_on;  // "srun", "--nodes=1", "--ntasks=1", "--overlap", "--nodelist={host}"
  std::string address = "127.0.0.1";  // IPv4, of this host, where the ranks reach the store

  int count() const { return names.empty() ? 1 : static_cast<int>(names.size()); }
  int per_host(int ranks) const { return ranks / count(); }
};

// Throws Error where the ranks can't be shared out evenly, or nothing says how to start them.
void check_hosts(const RankHosts& hosts, int ranks);

// `command` with what starts it on the rank's host in front.
std::vector<std::string> command_on_host(const RankHosts& hosts, int rank, int ranks,
                                         const std::vector<std::string>& command);

// The IPv4 address that this host talks to `host` from; `host` is a name or an address. Throws Error for an unknown
// one.
std::string address_towards(const std::string& host);

}  // namespace trainyard::executor
