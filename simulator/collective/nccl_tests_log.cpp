#include "simulator/collective/nccl_tests_log.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "core/error.h"

namespace trainyard::simulator {

namespace {

constexpr std::size_t kFewestColumns = 11;  // size, count, type, and four columns out of place and in place
constexpr std::size_t kLongestLine = 1000;
constexpr int kMostRanks = 1 << 20;

std::optional<double> number(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  std::string word;
  while (stream >> word) {
    words.push_back(word);
  }
  return words;
}

struct Columns {
  NcclTestsRow row;
  double algbw = 0.0;
  double busbw = 0.0;
  bool reduces = false;  // names a reduction
  bool rooted = false;   // names a root rank
};

std::optional<Columns> read_columns(const std::vector<std::string>& words) {
  if (words.size() < kFewestColumns) {
    return std::nullopt;
  }
  const std::size_t timing = words.size() - 8;
  const std::optional<double> size = number(words[0]);
  const std::optional<double> count = number(words[1]);
  const std::optional<double> time = number(words[timing]);
  const std::optional<double> algbw = number(words[timing + 1]);
  const std::optional<double> busbw = number(words[timing + 2]);
  const bool typed = !words[2].empty() && std::isalpha(static_cast<unsigned char>(words[2][0])) != 0;
  if (!size || !count || !time || !algbw || !busbw || !typed || *size < 0.0 || *time < 0.0) {
    return std::nullopt;
  }
  Columns columns;
  columns.row = {from_si<Bytes>(*size), from_si<Seconds>(*time * 1e-6)};
  columns.algbw = *algbw;
  columns.busbw = *busbw;
  for (std::size_t i = 3; i < timing; ++i) {
    const std::optional<double> root = number(words[i]);
    columns.rooted = columns.rooted || (root && *root >= 0.0);
    columns.reduces = columns.reduces || (!root && words[i] != "none" && words[i] != "None");
  }
  return columns;
}

// What the log says as a whole, gathered line by line.
struct Gathered {
  std::vector<Columns> rows;
  std::set<std::string> hosts;
  int rank_lines = 0;
  std::string device;
};

void read_rank_line(const std::string& line, Gathered& gathered) {
  const std::regex rank("Rank +([0-9]+) .*on +(\\S+) +device +[0-9]+ +\\[[^\\]]*\\] *(.*)");
  std::smatch match;
  if (std::regex_search(line, match, rank)) {
    ++gathered.rank_lines;
    gathered.hosts.insert(match[2].str());
    if (gathered.device.empty()) {
      gathered.device = match[3].str();
    }
  }
}

Gathered gather(const std::string& text) {
  Gathered gathered;
  std::istringstream stream(text);
  std::string line;
  while (std::getline(stream, line)) {
    if (line.size() > kLongestLine) {
      continue;
    }
    // mpirun --tag-output: "[1,0]<stdout>:".
    const std::size_t tag = line.find("<stdout>:");
    if (tag != std::string::npos) {
      line.erase(0, tag + 9);
    }
    if (line.find("Rank") != std::string::npos) {
      read_rank_line(line, gathered);
    } else if (const std::optional<Columns> columns = read_columns(words_of(line))) {
      gathered.rows.push_back(*columns);
    }
  }
  return gathered;
}

// busbw/algbw, where both have digits enough.
std::optional<double> factor_of(const std::vector<Columns>& rows) {
  const auto largest =
      std::max_element(rows.begin(), rows.end(), [](const Columns& a, const Columns& b) { return a.algbw < b.algbw; });
  if (largest == rows.end() || largest->algbw < 0.5) {
    return std::nullopt;
  }
  return largest->busbw / largest->algbw;
}

bool mentions(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

// Words in the log's first lines or its name.
std::optional<CollectiveOp> named_op(const std::string& text) {
  if (mentions(text, {"allreduce", "all_reduce", "AllReduce", "all-reduce"})) {
    return CollectiveOp::kAllReduce;
  }
  if (mentions(text, {"allgather", "all_gather", "AllGather", "all-gather"})) {
    return CollectiveOp::kAllGather;
  }
  if (mentions(text, {"reducescatter", "reduce_scatter", "ReduceScatter", "reduce-scatter"})) {
    return CollectiveOp::kReduceScatter;
  }
  if (mentions(text, {"alltoall", "all_to_all", "AlltoAll", "AllToAll", "all-to-all"})) {
    return CollectiveOp::kAllToAll;
  }
  if (mentions(text, {"sendrecv", "SendRecv", "send_recv"})) {
    return CollectiveOp::kSendRecv;
  }
  if (mentions(text, {"broadcast", "Broadcast"})) {
    return CollectiveOp::kBroadcast;
  }
  return mentions(text, {"reduce", "Reduce"}) ? std::optional(CollectiveOp::kReduce) : std::nullopt;
}

bool near(double a, double b) { return std::abs(a - b) < 0.01 * std::max(a, b); }

std::optional<CollectiveOp> deduced_op(const Columns& row, double factor, int ranks) {
  if (ranks > 2 && near(factor, bus_factor(CollectiveOp::kAllReduce, ranks))) {
    return CollectiveOp::kAllReduce;
  }
  if (near(factor, 1.0) && row.rooted) {
    return row.reduces ? CollectiveOp::kReduce : CollectiveOp::kBroadcast;
  }
  if (near(factor, bus_factor(CollectiveOp::kReduceScatter, ranks)) && row.reduces) {
    return CollectiveOp::kReduceScatter;
  }
  return std::nullopt;
}

}  // namespace

NcclTestsLog parse_nccl_tests_log(const std::string& text, const std::string& where) {
  const Gathered gathered = gather(text);
  if (gathered.rows.empty()) {
    throw Error("no row of nccl-tests in it", where, "expected the standard output of all_reduce_perf or its kin");
  }
  NcclTestsLog log;
  log.name = where.substr(where.find_last_of('/') + 1);
  log.device = gathered.device;
  if (!gathered.hosts.empty()) {
    log.nodes = static_cast<int>(gathered.hosts.size());
  }
  log.ranks = gathered.rank_lines;
  const std::optional<double> factor = factor_of(gathered.rows);
  std::optional<CollectiveOp> op = named_op(log.name);
  if (!op) {
    op = named_op(text.substr(0, 2000));
  }
  if (log.ranks == 0 && factor && *factor > 1.0 && *factor < 2.0) {
    op = CollectiveOp::kAllReduce;  // the only factor above 1
    log.ranks = static_cast<int>(std::min<double>(std::round(2.0 / (2.0 - *factor)), kMostRanks));
  } else if (log.ranks == 0 && factor && *factor < 1.0) {
    log.ranks = static_cast<int>(std::min<double>(std::round(1.0 / (1.0 - *factor)), kMostRanks));
  }
  if (log.ranks < 2) {
    throw Error("can't tell the number of ranks", where, "keep the lines '#  Rank  0 ... device' in the log");
  }
  if (!op && factor) {
    op = deduced_op(gathered.rows.back(), *factor, log.ranks);
  }
  if (!op) {
    throw Error("can't tell which collective it is of", where,
                "name the file after the program, for example all_gather_perf.log");
  }
  log.op = *op;
  for (const Columns& columns : gathered.rows) {
    if (columns.row.size.si() > 0.0 && columns.row.time.si() > 0.0) {
      log.rows.push_back(columns.row);
    }
  }
  std::stable_sort(log.rows.begin(), log.rows.end(), [](const auto& a, const auto& b) { return a.size < b.size; });
  return log;
}

}  // namespace trainyard::simulator
