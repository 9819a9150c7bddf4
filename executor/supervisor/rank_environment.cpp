#include "executor/supervisor/rank_environment.h"

#include <charconv>
#include <cstdlib>

#include "core/error.h"

namespace trainyard::executor {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    throw Error(std::string(name) + " is not set", "environment", "start ranks through `trainyard run`");
  }
  return value;
}

int number(const char* name, const std::string& text, int lowest, int highest) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < lowest || value > highest) {
    throw Error(std::string(name) + " is '" + text + "', not a whole number from " + std::to_string(lowest) + " to " +
                    std::to_string(highest),
                "environment", "start ranks through `trainyard run`");
  }
  return value;
}

int number(const char* name, int lowest, int highest) { return number(name, variable(name), lowest, highest); }

}  // namespace

std::vector<std::string> to_environment(const RankEnvironment& rank) {
  return {"TRAINYARD_RANK=" + std::to_string(rank.rank),
          "TRAINYARD_SIZE=" + std::to_string(rank.size),
          "TRAINYARD_LOCAL_RANK=" + std::to_string(rank.local_rank),
          "TRAINYARD_LOCAL_SIZE=" + std::to_string(rank.local_size),
          "TRAINYARD_STORE=" + rank.store.host + ":" + std::to_string(rank.store.port),
          "TRAINYARD_TOKEN=" + rank.store.token,
          "TRAINYARD_PREFIX=" + rank.prefix};
}

std::optional<RankEnvironment> rank_environment() {
  if (std::getenv("TRAINYARD_RANK") == nullptr) {
    return std::nullopt;
  }
  constexpr int kMostRanks = 1 << 20;
  RankEnvironment result;
  result.size = number("TRAINYARD_SIZE", 1, kMostRanks);
  result.rank = number("TRAINYARD_RANK", 0, result.size - 1);
  result.local_size = number("TRAINYARD_LOCAL_SIZE", 1, result.size);
  result.local_rank = number("TRAINYARD_LOCAL_RANK", 0, result.local_size - 1);
  const std::string store = variable("TRAINYARD_STORE");
  const std::size_t colon = store.rfind(':');
  result.store.host = store.substr(0, colon);
  result.store.port = static_cast<std::uint16_t>(
      number("the port of TRAINYARD_STORE", colon == std::string::npos ? "" : store.substr(colon + 1), 1, 65535));
  result.store.token = variable("TRAINYARD_TOKEN");
  result.prefix = variable("TRAINYARD_PREFIX");
  return result;
}

}  // namespace trainyard::executor
