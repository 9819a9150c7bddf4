#include "core/layout/layout_legend.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

namespace trainyard {

namespace {

struct Meaning {
  const char* word;  // a number that follows is left off
  const char* shown;
  const char* meaning;
};

constexpr std::array kMeanings = {
    Meaning{"tp", "tpN", "each layer cut over N ranks"},
    Meaning{"pp", "ppN", "layers cut into N pipeline stages"},
    Meaning{"dp", "dpN", "N replicas, each with its share of the batch"},
    Meaning{"sp", "sp", "what lies between those cuts is cut along the sequence"},
    Meaning{"cp", "cpN", "each sequence cut over N ranks"},
    Meaning{"ep", "epN", "experts dealt out over N ranks"},
    Meaning{"etp", "etpN", "each expert cut over N ranks"},
    Meaning{"cp-all-gather", "cp-all-gather", "keys and values gathered first, not passed around a ring"},
    Meaning{"cp-ulysses", "cp-ulysses", "tokens exchanged for heads, and back"},
    Meaning{"zero", "zeroN", "shared out over the replicas: optimizer state (1), gradients (2), parameters (3)"},
    Meaning{"shard", "shardN", "shared out over N ranks only, with copies"},
    Meaning{"gpipe", "gpipe", "all forwards, then all backwards"},
    Meaning{"1f1b", "1f1b", "forwards and backwards take turns"},
    Meaning{"interleaved", "interleaved", "forwards and backwards take turns, a stage's runs of layers too"},
    Meaning{"zb-h", "zb-hN", "weight gradients fill the bubble (zero bubble); 2: at twice the memory"},
    Meaning{"zb-v", "zb-v", "weight gradients fill the bubble, the second run of layers goes back through the stages"},
    Meaning{"dualpipe", "dualpipe", "micro-batches from both ends, two copies of the parameters"},
    Meaning{"v", "vN", "N runs of layers a stage"},
    Meaning{"layers-", "layers-N,...", "layers of each stage, or each of its runs; 2x3: 2 layers, 3 times"},
    Meaning{"mbs", "mbsN", "N samples a micro-batch"},
    Meaning{"ga", "gaN", "N micro-batches a step"},
    Meaning{"recompute-full", "recompute-full", "activations computed again in the backward"},
    Meaning{"recompute-selective", "recompute-selective", "attention's scores computed again in the backward"},
    Meaning{"every", "everyN", "of one layer in N"},
    Meaning{"offload-optimizer", "offload-optimizer", "its state in host memory"},
    Meaning{"offload-activations", "offload-activations", "in host memory from forward to backward"},
    Meaning{"offload-parameters", "offload-parameters", "of layers not at work in host memory"},
    Meaning{"overlap-gather", "overlap-gather", "updated parameters gathered behind the next forward"},
    Meaning{"overlap-tp", "overlap-tp", "tensor-parallel communication behind the products beside it"},
    Meaning{"overlap-pp", "overlap-pp", "transfers between stages behind compute"},
    Meaning{"overlap-ep", "overlap-ep", "tokens to experts behind another micro-batch's compute"},
    Meaning{"strict", "strict", "gradients summed in rank order"},
    Meaning{"no-overlap", "no-overlap", "gradients reduced after the backward, not during it"},
};

// "tp8" -> "tp"; "1f1b" and the like end in no number.
std::string without_number(const std::string& word) {
  return word.starts_with("layers-") ? "layers-" : word.substr(0, word.find_last_not_of("0123456789") + 1);
}

}  // namespace

std::string layout_legend(const std::vector<std::string>& layouts) {
  std::set<std::string> used;
  for (const std::string& layout : layouts) {
    std::istringstream words(layout);
    for (std::string word; words >> word;) {
      used.insert(without_number(word));
    }
  }
  std::string text;
  for (const Meaning& entry : kMeanings) {
    if (used.contains(entry.word)) {
      text += (text.empty() ? "" : "; ") + std::string(entry.shown) + ": " + entry.meaning;
    }
  }
  return text;
}

}  // namespace trainyard
