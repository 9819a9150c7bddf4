#include "cli/layout_legend.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

namespace trainyard::cli {

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
    Meaning{"zero", "zero1", "optimizer state shared out over the replicas"},
    Meaning{"gpipe", "gpipe", "all forwards, then all backwards"},
    Meaning{"1f1b", "1f1b", "forwards and backwards take turns"},
    Meaning{"interleaved", "interleaved vN", "1f1b with N runs of layers a stage"},
    Meaning{"mbs", "mbsN", "N samples a micro-batch"},
    Meaning{"ga", "gaN", "N micro-batches a step"},
    Meaning{"recompute-full", "recompute-full", "activations computed again in the backward"},
    Meaning{"no-overlap", "no-overlap", "gradients reduced after the backward, not during it"},
};

// "tp8" -> "tp"; "1f1b" and the like end in no number.
std::string without_number(const std::string& word) { return word.substr(0, word.find_last_not_of("0123456789") + 1); }

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

}  // namespace trainyard::cli
