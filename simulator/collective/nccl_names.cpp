#include "simulator/collective/nccl_names.h"

#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "core/error.h"

namespace trainyard::simulator {

std::string_view to_string(CollectiveOp op) {
  constexpr std::array<std::string_view, kCollectiveOps> kNames = {
      "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "send_recv"};
  return kNames.at(static_cast<std::size_t>(op));
}

std::string_view to_string(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, kNcclAlgorithms> kNames = {
      "ring", "tree", "nvls", "nvls_tree", "collnet_direct", "collnet_chain", "pat", "direct"};
  return kNames.at(static_cast<std::size_t>(algorithm));
}

std::string_view to_string(NcclProtocol protocol) {
  constexpr std::array<std::string_view, kNcclProtocols> kNames = {"LL", "LL128", "Simple"};
  return kNames.at(static_cast<std::size_t>(protocol));
}

std::optional<CollectiveOp> collective_op(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      letters.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    }
  }
  if (letters.size() > 4 && letters.ends_with("perf")) {
    letters.resize(letters.size() - 4);
  }
  constexpr std::array<std::pair<std::string_view, CollectiveOp>, 13> kWords = {{
      {"allreduce", CollectiveOp::kAllReduce},
      {"allgather", CollectiveOp::kAllGather},
      {"reducescatter", CollectiveOp::kReduceScatter},
      {"broadcast", CollectiveOp::kBroadcast},
      {"bcast", CollectiveOp::kBroadcast},
      {"reduce", CollectiveOp::kReduce},
      {"alltoall", CollectiveOp::kAllToAll},
      {"sendrecv", CollectiveOp::kSendRecv},
      {"sendreceive", CollectiveOp::kSendRecv},
      {"send", CollectiveOp::kSendRecv},
      {"recv", CollectiveOp::kSendRecv},
      {"pointtopoint", CollectiveOp::kSendRecv},
      {"pp", CollectiveOp::kSendRecv},
  }};
  for (const auto& [word, op] : kWords) {
    if (letters == word) {
      return op;
    }
  }
  return std::nullopt;
}

double bus_factor(CollectiveOp op, int ranks) {
  check(ranks >= 1, "a collective has ranks");
  const double n = ranks;
  switch (op) {
    case CollectiveOp::kAllReduce:
      return 2.0 * (n - 1.0) / n;
    case CollectiveOp::kAllGather:
    case CollectiveOp::kReduceScatter:
    case CollectiveOp::kAllToAll:
      return (n - 1.0) / n;
    case CollectiveOp::kBroadcast:
    case CollectiveOp::kReduce:
    case CollectiveOp::kSendRecv:
      return 1.0;
  }
  check_failed("unknown operation", std::source_location::current());
}

}  // namespace trainyard::simulator
