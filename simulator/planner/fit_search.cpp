#include "simulator/planner/fit_search.h"

#include "simulator/memory/memory_model.h"

namespace trainyard::simulator {

namespace {

class FitSearch {
 public:
  explicit FitSearch(const SearchRequest& request)
      : request_(request), memory_(request.space.workload, request.machine, request.habits) {}

  Fit run(const std::stop_token& stop) {
    for (const LayoutBlock& block : layout_blocks(request_.space).blocks) {
      for (const LayoutVariant& variant : block_variants(request_.space, block)) {
        for_each_layout(request_.space, block, variant, [this](const Layout& layout, std::int64_t) { look(layout); });
        if (fit_.fits || stop.stop_requested()) {
          return fit_;
        }
      }
    }
    if (least_) {
      fit_.lacks = exceeds_memory(*least_, fit_.layout, memory_.available());
    }
    return fit_;
  }

 private:
  void look(const Layout& layout) {
    if (fit_.fits || (request_.wanted && !request_.wanted(layout))) {
      return;
    }
    const MemoryPrice price = memory_.price(layout);
    fit_.fits = price.total <= memory_.available();
    if (fit_.fits || !least_ || price.total < least_->total) {
      least_ = price;
      fit_.layout = layout;
    }
  }

  const SearchRequest& request_;
  MemoryModel memory_;
  std::optional<MemoryPrice> least_;
  Fit fit_;
};

}  // namespace

Fit any_fit(const SearchRequest& request, const std::stop_token& stop) { return FitSearch(request).run(stop); }

}  // namespace trainyard::simulator
