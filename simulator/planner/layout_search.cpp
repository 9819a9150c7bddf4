#include "simulator/planner/layout_search.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <numeric>
#include <thread>
#include <tuple>
#include <utility>

#include "simulator/memory/memory_model.h"
#include "simulator/planner/best_layouts.h"
#include "simulator/planner/step_bound.h"

namespace trainyard::simulator {
namespace {

constexpr std::size_t kBatch = 32;  // blocks whose findings the next batch prunes with

struct LayoutMemory {
  Layout layout;
  MemoryPrice memory;
};

bool lacks_less(const LayoutMiss& a, const LayoutMiss& b) {
  return std::tuple(a.memory.total, a.block, a.variant, a.ordinal) <
         std::tuple(b.memory.total, b.block, b.variant, b.ordinal);
}

// The few that lack least, in no order until sorted(). The same in whatever order they are added.
class NearestMisses {
 public:
  explicit NearestMisses(std::size_t keep) : keep_(keep) {}

  // Of equal ones the first in the space stays, so that a place doesn't matter to what is worth adding.
  bool takes(ByteCount memory) const {
    return keep_ > 0 && (heap_.size() < keep_ || memory <= heap_.front().memory.total);
  }
  void add(LayoutMiss miss) {
    heap_.push_back(std::move(miss));
    std::push_heap(heap_.begin(), heap_.end(), lacks_less);
    if (heap_.size() > keep_) {
      std::pop_heap(heap_.begin(), heap_.end(), lacks_less);
      heap_.pop_back();
    }
  }
  const std::vector<LayoutMiss>& all() const { return heap_; }
  std::vector<LayoutMiss> sorted() const {
    std::vector<LayoutMiss> misses = heap_;
    std::sort(misses.begin(), misses.end(), lacks_less);
    return misses;
  }

 private:
  std::size_t keep_;
  std::vector<LayoutMiss> heap_;  // what lacks most in front
};

// What a block gave.
struct BlockFindings {
  BestLayouts best;
  NearestMisses misses;
  ParetoFront pareto;
  std::int64_t considered = 0;
  std::int64_t feasible = 0;
  std::int64_t pruned = 0;
  std::int64_t too_large = 0;
  std::optional<MemoryPrice> nearest;
  Layout nearest_layout;
  std::optional<LayoutMemory> last;  // of the variant at hand
};

class Search {
 public:
  Search(const SearchRequest& request, const PricerFactory& pricers)
      : request_(request),
        memory_(request.space.workload, request.machine, request.habits),
        bound_(request.space.workload, request.machine, request.space.base),
        best_(request.keep),
        misses_(request.keep_misses) {
    for (int i = 0; i < std::max(1, request.threads); ++i) {
      pricers_.push_back(pricers());
    }
  }

  SearchResult run(const std::function<void(const SearchProgress&)>& progress, const std::stop_token& stop) {
    LayoutBlocks blocks = layout_blocks(request_.space);
    result_.impossible = std::move(blocks.impossible);
    result_.available = memory_.available();
    blocks_ = std::move(blocks.blocks);
    order_by_bound();
    for (std::size_t begin = 0; begin < order_.size(); begin += kBatch) {
      if (stop.stop_requested()) {
        result_.stopped = true;
        break;
      }
      const std::size_t end = std::min(begin + kBatch, order_.size());
      run_batch(begin, end);
      if (progress) {
        progress(
            {static_cast<std::int64_t>(order_.size()), static_cast<std::int64_t>(end), result_.considered, &best_});
      }
    }
    result_.best = best_.sorted();
    result_.pareto = pareto_.points();
    result_.misses = misses_.sorted();
    return std::move(result_);
  }

 private:
  void order_by_bound() {
    order_.resize(blocks_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::vector<double> bounds;
    for (const LayoutBlock& block : blocks_) {
      Layout best = block;  // no bubble, nothing again
      best.recompute = Recompute::kNone;
      best.chunks_per_stage = std::max(1, request_.space.limits.max_chunks);
      bounds.push_back(bound_.of(best).si());
    }
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return bounds[a] < bounds[b]; });
  }

  // Threads take blocks of the batch as they come; what they find is put together in the blocks' order.
  void run_batch(std::size_t begin, std::size_t end) {
    std::vector<BlockFindings> findings;
    for (std::size_t i = begin; i < end; ++i) {
      findings.push_back(
          BlockFindings{.best = BestLayouts(request_.keep), .misses = NearestMisses(request_.keep_misses)});
    }
    std::atomic<std::size_t> next{begin};
    std::vector<std::exception_ptr> failures(pricers_.size());
    const auto work = [&](std::size_t worker) {
      try {
        for (std::size_t i = next++; i < end; i = next++) {
          search_block(order_[i], *pricers_[worker], findings[i - begin]);
        }
      } catch (...) {
        failures[worker] = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> threads;
      for (std::size_t worker = 1; worker < pricers_.size(); ++worker) {
        threads.emplace_back(work, worker);
      }
      work(0);
    }
    for (const std::exception_ptr& failure : failures) {
      if (failure) {
        std::rethrow_exception(failure);
      }
    }
    for (BlockFindings& found : findings) {
      merge(found);
    }
  }

  void search_block(std::size_t block, LayoutPricer& pricer, BlockFindings& found) const {
    const LayoutBlock& degrees = blocks_[block];
    const std::vector<LayoutVariant> variants = block_variants(request_.space, degrees);
    for (std::size_t variant = 0; variant < variants.size(); ++variant) {
      found.last.reset();
      for_each_layout(request_.space, degrees, variants[variant], [&](const Layout& layout, std::int64_t ordinal) {
        if (request_.wanted && !request_.wanted(layout)) {
          return;
        }
        consider(layout, {static_cast<std::int64_t>(block), static_cast<std::int64_t>(variant), ordinal}, pricer,
                 found);
      });
    }
  }

  struct Place {
    std::int64_t block, variant, ordinal;
  };

  void consider(const Layout& layout, const Place& place, LayoutPricer& pricer, BlockFindings& found) const {
    ++found.considered;
    const MemoryPrice& memory = memory_of(layout, found);
    if (memory.total > memory_.available()) {
      ++found.too_large;
      if (!found.nearest || memory.total < found.nearest->total) {
        found.nearest = memory;
        found.nearest_layout = layout;
      }
      if (found.misses.takes(memory.total)) {
        found.misses.add({layout, memory, place.block, place.variant, place.ordinal});
      }
      return;
    }
    ++found.feasible;
    if (request_.prune && hopeless(bound_.of(layout), memory.total, found)) {
      ++found.pruned;
      return;
    }
    const StepPrice step = pricer.price(layout);
    if (!found.best.takes(step.step_time) && !found.pareto.takes(step.step_time, memory.total)) {
      return;
    }
    RankedLayout ranked{layout, step, memory, place.block, place.variant, place.ordinal};
    found.pareto.add(ranked);
    found.best.add(std::move(ranked));
  }

  // Overlaps don't change memory, and layouts that differ in them alone follow each other.
  const MemoryPrice& memory_of(const Layout& layout, BlockFindings& found) const {
    const auto same = [&layout](const Layout& last) {
      return last.zero_stage == layout.zero_stage && last.shard_group == layout.shard_group &&
             last.sequence_parallel == layout.sequence_parallel && last.context_kind == layout.context_kind &&
             last.offload == layout.offload;
    };
    if (!found.last || !same(found.last->layout)) {
      found.last = LayoutMemory{layout, memory_.price(layout)};
    }
    return found.last->memory;
  }

  // Neither among the best nor on the front, by what earlier batches and this block have shown.
  bool hopeless(Seconds bound, ByteCount memory, const BlockFindings& found) const {
    return (!best_.takes(bound) || !found.best.takes(bound)) &&
           (pareto_.beats(bound, memory) || found.pareto.beats(bound, memory));
  }

  void merge(BlockFindings& found) {
    result_.considered += found.considered;
    result_.feasible += found.feasible;
    result_.pruned += found.pruned;
    result_.too_large += found.too_large;
    if (found.nearest && (!result_.nearest_miss || found.nearest->total < *result_.nearest_miss->needed)) {
      result_.nearest_miss = exceeds_memory(*found.nearest, found.nearest_layout, memory_.available());
      result_.nearest_layout = found.nearest_layout;
    }
    for (const LayoutMiss& miss : found.misses.all()) {
      misses_.add(miss);
    }
    for (RankedLayout& ranked : found.best.sorted()) {
      best_.add(std::move(ranked));
    }
    for (const RankedLayout& ranked : found.pareto.points()) {
      pareto_.add(ranked);
    }
  }

  const SearchRequest& request_;
  MemoryModel memory_;
  StepBound bound_;
  std::vector<std::unique_ptr<LayoutPricer>> pricers_;
  std::vector<LayoutBlock> blocks_;
  std::vector<std::size_t> order_;
  BestLayouts best_;
  NearestMisses misses_;
  ParetoFront pareto_;
  SearchResult result_;
};

}  // namespace

SearchResult search_layouts(const SearchRequest& request, const PricerFactory& pricers,
                            const std::function<void(const SearchProgress&)>& progress, const std::stop_token& stop) {
  return Search(request, pricers).run(progress, stop);
}

}  // namespace trainyard::simulator
