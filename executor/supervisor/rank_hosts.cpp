#include "executor/supervisor/rank_hosts.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

#include "core/error.h"
#include "executor/supervisor/file_descriptor.h"

namespace trainyard::executor {

namespace {

constexpr std::string_view kHost = "{host}";

std::string with_host(std::string word, const std::string& host) {
  for (std::size_t at = word.find(kHost); at != std::string::npos; at = word.find(kHost, at + host.size())) {
    word.replace(at, kHost.size(), host);
  }
  return word;
}

}  // namespace

void check_hosts(const RankHosts& hosts, int ranks) {
  if (hosts.names.empty()) {
    return;
  }
  if (ranks % hosts.count() != 0) {
    throw Error(
        std::to_string(ranks) + " ranks can't be shared out evenly over " + std::to_string(hosts.count()) + " hosts",
        "--hosts", "give as many hosts as divide the plan's ranks");
  }
  if (hosts.start_on.empty()) {
    throw Error("nothing says how to start ranks on other hosts", "--start-on",
                "for example \"srun --nodes=1 --ntasks=1 --overlap --nodelist={host}\"");
  }
}

std::vector<std::string> command_on_host(const RankHosts& hosts, int rank, int ranks,
                                         const std::vector<std::string>& command) {
  std::vector<std::string> words;
  if (!hosts.names.empty()) {
    for (const std::string& word : hosts.start_on) {
      words.push_back(with_host(word, hosts.names[static_cast<std::size_t>(rank / hosts.per_host(ranks))]));
    }
  }
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::string address_towards(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0 || found == nullptr) {
    throw Error("there is no host '" + host + "'", "--hosts", "names or IPv4 addresses, separated by commas");
  }
  // Connecting a datagram socket sends nothing: it only chooses the way, and so our address on it.
  const FileDescriptor probe(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{};
  socklen_t size = sizeof own;
  const bool known = probe.open() && ::connect(probe.number(), found->ai_addr, found->ai_addrlen) == 0 &&
                     ::getsockname(probe.number(), reinterpret_cast<sockaddr*>(&own), &size) == 0;
  ::freeaddrinfo(found);
  std::array<char, INET_ADDRSTRLEN> text{};
  if (!known || ::inet_ntop(AF_INET, &own.sin_addr, text.data(), text.size()) == nullptr) {
    throw Error("no way leads to host '" + host + "'", "--hosts", "give this host's address with --address");
  }
  return text.data();
}

}  // namespace trainyard::executor
