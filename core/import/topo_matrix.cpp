#include "core/import/topo_matrix.h"

#include <algorithm>

#include "core/document/text_match.h"
#include "core/error.h"
#include "core/import/text_lines.h"

namespace trainyard {

namespace {

constexpr std::size_t kMostDevices = 512;
constexpr std::int64_t kMostNvlinks = 1024;

// Without terminal colours: nvidia-smi underlines the header even into a file.
std::string plain(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      const std::size_t end = line.find('m', i);
      i = end == std::string_view::npos ? line.size() : end;
    } else {
      text += line[i];
    }
  }
  return text;
}

bool is_numbered(std::string_view word, std::string_view prefix) {
  return word.starts_with(prefix) && whole_number(word.substr(prefix.size()), 0, 1'000'000).has_value();
}

class MatrixReader {
 public:
  MatrixReader(std::string_view text, const std::string& where) : lines_(text), where_(where) {}

  TopoMatrix read() {
    std::string_view raw;
    while (lines_.next(raw)) {
      const std::string line = plain(raw);
      read_line(words(line), line);
    }
    if (matrix_.devices.empty()) {
      throw Error("holds no matrix of nvidia-smi topo -m", where_, "its first column and row are GPU0, GPU1, ...");
    }
    if (rows_ < matrix_.devices.size()) {
      throw Error("the matrix ends before the row of " + columns_[rows_], where_, "was the text cut short?");
    }
    check_symmetry();
    return std::move(matrix_);
  }

 private:
  void read_line(const std::vector<std::string_view>& found, std::string_view line) {
    if (found.empty()) {
      return;
    }
    if (columns_.empty()) {
      if (found.front() == "GPU0") {
        read_header(found);
      } else if (found.front() == "GPU" && found.size() > 2 && matrix_.gpu_model.empty()) {
        read_model(line);
      }
    } else if (rows_ < columns_.size()) {
      read_row(found);
    } else if (found.size() == 2 && found.front().ends_with(':')) {
      read_legend(found.front().substr(0, found.front().size() - 1), found.back());
    }
  }

  // GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)
  void read_model(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
      matrix_.gpu_model = trimmed(line.substr(colon + 1, line.find('(') - colon - 1));
    }
  }

  void read_header(const std::vector<std::string_view>& found) {
    for (const std::string_view word : found) {
      if (word == "CPU" || word == "NUMA") {
        break;
      }
      columns_.emplace_back(word);
    }
    if (columns_.size() > kMostDevices) {
      fail("more than " + std::to_string(kMostDevices) + " devices in one node");
    }
    for (const std::string& column : columns_) {
      const bool is_gpu = is_numbered(column, "GPU");
      matrix_.devices.push_back({.name = is_gpu ? "gpu" + column.substr(3) : lower_case(column), .is_gpu = is_gpu});
    }
    matrix_.cells.reserve(columns_.size() * columns_.size());
  }

  void read_row(const std::vector<std::string_view>& found) {
    const std::size_t n = columns_.size();
    if (found.front() != columns_[rows_]) {
      fail("expected the row of " + columns_[rows_] + ", found " + quote(found.front()));
    }
    if (found.size() < n + 1) {
      fail("the row of " + columns_[rows_] + " has " + std::to_string(found.size() - 1) + " cells of " +
           std::to_string(n));
    }
    for (std::size_t i = 0; i < n; ++i) {
      const TopoCell cell = read_cell(found[1 + i]);
      if ((cell.relation == TopoRelation::kSelf) != (i == rows_)) {
        fail("X stands for the device itself, at " + columns_[rows_] + ", " + columns_[i]);
      }
      matrix_.cells.push_back(cell);
    }
    TopoDevice& device = matrix_.devices[rows_];
    if (found.size() > n + 1 && found[n + 1] != "N/A") {
      device.cpu_affinity = found[n + 1];
    }
    if (found.size() > n + 2) {
      if (const auto numa = whole_number(found[n + 2], 0, 65535)) {
        device.numa = static_cast<std::int32_t>(*numa);
      }
    }
    ++rows_;
  }

  TopoCell read_cell(std::string_view word) const {
    if (word.starts_with("NV")) {
      if (const auto links = whole_number(word.substr(2), 1, kMostNvlinks)) {
        return {TopoRelation::kNvlink, static_cast<std::int32_t>(*links)};
      }
    }
    struct Word {
      const char* word;
      TopoRelation relation;
    };
    for (const Word& known :
         {Word{"X", TopoRelation::kSelf}, Word{"PIX", TopoRelation::kSameSwitch}, Word{"PXB", TopoRelation::kSwitches},
          Word{"PHB", TopoRelation::kSameCpu}, Word{"NODE", TopoRelation::kSameCpu},
          Word{"SYS", TopoRelation::kOtherCpu}, Word{"SOC", TopoRelation::kOtherCpu}}) {
      if (word == known.word) {
        return {known.relation, 0};
      }
    }
    fail(quote(word) + " is not a relation", "one of X, NV#, PIX, PXB, PHB, NODE, SYS");
  }

  void read_legend(std::string_view column, std::string_view name) {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    if (found != columns_.end() && column.starts_with("NIC")) {
      matrix_.devices[static_cast<std::size_t>(found - columns_.begin())].name = name;
    }
  }

  void check_symmetry() const {
    for (std::size_t a = 0; a < columns_.size(); ++a) {
      for (std::size_t b = a + 1; b < columns_.size(); ++b) {
        if (!(matrix_.cell(a, b) == matrix_.cell(b, a))) {
          throw Error("the row of " + columns_[a] + " and the row of " + columns_[b] + " disagree about the two",
                      where_);
        }
      }
    }
  }

  [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const {
    throw Error(what, at_line(where_, lines_.number()), hint);
  }

  TextLines lines_;
  std::string where_;
  TopoMatrix matrix_;
  std::vector<std::string> columns_;
  std::size_t rows_ = 0;
};

}  // namespace

TopoMatrix read_topo_matrix(std::string_view text, const std::string& where) {
  return MatrixReader(text, where).read();
}

}  // namespace trainyard
