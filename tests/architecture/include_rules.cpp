#include "tests/architecture/include_rules.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace trainyard {

namespace {

using Names = std::vector<std::string_view>;

struct FolderRule {
  std::string_view folder;
  Names may_include;
};

// The rule of the deepest folder that contains a file applies.
std::vector<FolderRule> folder_rules() {
  return {
      {"core", {"core"}},
      {"simulator", {"core", "simulator"}},
      {"executor", {"core", "executor"}},
      {"cli", {"core", "simulator", "executor", "cli"}},
      {"gui", {"core", "simulator", "executor", "gui"}},
      {"tests", {"core", "simulator", "executor", "cli", "tests"}},
      {"tests/support", {"core", "tests/support"}},
      {"tests/core", {"core", "tests"}},
      {"tests/simulator", {"core", "simulator", "tests"}},
      {"tests/executor", {"core", "executor", "tests"}},
      {"tests/gpu", {"core", "executor", "tests"}},
      {"tests/gui", {"core", "simulator", "executor", "gui", "tests"}},
  };
}

struct LibraryRule {
  std::string_view library;
  Names prefixes;  // of the included path; one that ends in '>' is the whole path
  Names folders;   // that may include it
};

std::vector<LibraryRule> library_rules() {
  return {
      {"Qt", {"Q", "qt", "qobject", "qglobal", "qwidget", "qapplication"}, {"gui", "tests/gui"}},
      {"CUDA and NCCL",
       {"cuda",
        "cublas",
        "cudnn",
        "curand",
        "cusolver",
        "cusparse",
        "cufft",
        "cufile",
        "cupti",
        "cub/",
        "cute/",
        "thrust/",
        "cutlass/",
        "nccl",
        "nvml",
        "nvrtc",
        "nvToolsExt",
        "nvtx3/",
        "cooperative_groups",
        "mma.h>"},
       {"executor", "tests/executor", "tests/gpu"}},
      {"Boost.Graph", {"boost/graph/", "boost/property_map/"}, {"core/cluster", "tests/core/cluster"}},
      {"Boost.Math", {"boost/math/"}, {"simulator/failure", "tests/simulator/failure"}},
      {"Gloo", {"gloo/"}, {"executor/communicator", "executor/bench", "tests/executor/communicator"}},
      {"a thread or a clock",
       {"thread>", "mutex>", "shared_mutex>", "atomic>", "future>", "condition_variable>", "semaphore>", "latch>",
        "barrier>", "stop_token>", "chrono>", "ctime>", "time.h>", "sys/time.h>", "pthread.h>"},
       {"simulator", "executor", "cli", "gui", "tests"}},
  };
}

bool lies_in(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.substr(0, folder.size()) == folder && path[folder.size()] == '/';
}

bool lies_in_any(std::string_view path, const Names& folders) {
  return std::any_of(folders.begin(), folders.end(), [&](std::string_view folder) { return lies_in(path, folder); });
}

bool begins_with_any(std::string_view path, const Names& prefixes) {
  const std::string whole = std::string(path) + '>';
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return whole.rfind(prefix, 0) == 0; });
}

std::string joined(const Names& names) {
  std::string text;
  for (const std::string_view name : names) {
    text += text.empty() ? "" : ", ";
    text += name;
  }
  return text;
}

std::optional<FolderRule> rule_for(std::string_view file) {
  std::optional<FolderRule> deepest;
  for (FolderRule& rule : folder_rules()) {
    if (lies_in(file, rule.folder) && (!deepest || rule.folder.size() > deepest->folder.size())) {
      deepest = std::move(rule);
    }
  }
  return deepest;
}

bool is_ours(std::string_view path) {
  const std::vector<FolderRule> rules = folder_rules();
  return std::any_of(rules.begin(), rules.end(), [&](const FolderRule& rule) { return lies_in(path, rule.folder); });
}

std::optional<std::string> broken_library_rule(std::string_view file, const Include& include) {
  for (const LibraryRule& rule : library_rules()) {
    if (begins_with_any(include.path, rule.prefixes) && !lies_in_any(file, rule.folders)) {
      return std::string(rule.library) + " is for " + joined(rule.folders) + " alone";
    }
  }
  return std::nullopt;
}

// The source with comments blanked, line ends kept. Quoted text is left alone.
std::string without_comments(std::string_view source) {
  std::string text(source);
  enum class State { kCode, kLine, kBlock, kString, kCharacter };
  State state = State::kCode;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view two = std::string_view(text).substr(i, 2);
    if (text[i] == '\n') {
      state = state == State::kBlock ? state : State::kCode;
    } else if (state == State::kLine) {
      text[i] = ' ';
    } else if (state == State::kBlock) {
      if (two == "*/") {
        text[i + 1] = ' ';
        state = State::kCode;
      }
      text[i] = ' ';
    } else if (state != State::kCode) {
      const char end = state == State::kString ? '"' : '\'';
      if (text[i] == '\\') {
        ++i;
      } else if (text[i] == end) {
        state = State::kCode;
      }
    } else if (two == "//" || two == "/*") {
      state = two == "//" ? State::kLine : State::kBlock;
      text[i] = text[i + 1] = ' ';
      ++i;
    } else if (text[i] == '"') {
      state = State::kString;
    } else if (text[i] == '\'' && (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0)) {
      state = State::kCharacter;  // not the separator in 1'000
    }
  }
  return text;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

// Removes `word` from the front.
bool take(std::string_view& text, std::string_view word) {
  text = without_blanks(text);
  if (text.substr(0, word.size()) != word) {
    return false;
  }
  text.remove_prefix(word.size());
  return true;
}

std::optional<Include> include_on(std::string_view line) {
  if (!take(line, "#") || !take(line, "include")) {
    return std::nullopt;
  }
  line = without_blanks(line);
  if (line.empty() || (line.front() != '"' && line.front() != '<')) {
    return std::nullopt;
  }
  const bool quoted = line.front() == '"';
  const std::size_t end = line.find(quoted ? '"' : '>', 1);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  return Include{0, std::string(line.substr(1, end - 1)), quoted};
}

}  // namespace

std::vector<Include> includes_of(std::string_view source) {
  const std::string text = without_comments(source);
  std::vector<Include> includes;
  int number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (std::optional<Include> include = include_on(std::string_view(text).substr(begin, end - begin))) {
      include->line = number;
      includes.push_back(std::move(*include));
    }
    begin = end + 1;
  }
  return includes;
}

std::optional<std::string> broken_rule(std::string_view file, const Include& include) {
  const std::optional<FolderRule> rule = rule_for(file);
  if (!rule) {
    return "the file lies in no folder that the include rules know";
  }
  if (is_ours(include.path)) {
    if (!lies_in_any(include.path, rule->may_include)) {
      return std::string(rule->folder) + " may include " + joined(rule->may_include) + " only";
    }
    return std::nullopt;
  }
  if (include.quoted) {
    return "our own headers are included by their path from the repository's root, others in angle brackets";
  }
  return broken_library_rule(file, include);
}

std::vector<std::string> ruled_folders() {
  std::vector<std::string> folders;
  for (const FolderRule& rule : folder_rules()) {
    if (rule.folder.find('/') == std::string_view::npos) {
      folders.emplace_back(rule.folder);
    }
  }
  return folders;
}

}  // namespace trainyard
