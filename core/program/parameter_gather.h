// ParameterGather: under ZeRO 3 a layer's parameters lie in shards and are gathered for each of its passes.
//
// One bucket ahead is gathered while this one is at work (FSDP's prefetch); what a pass has left is freed, and gathered
// again for backward. Gathers run on the data stream; memory bounds how far ahead they get.
// Source: Rajbhandari et al. 2020 (ZeRO), section 5.3; Zhao et al. 2023 (PyTorch FSDP), section 3.3.2.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/program/stage_context.h"

namespace trainyard {

class ParameterGather {
 public:
  explicit ParameterGather(StageContext& stage) : stage_(stage) {}

  // The buckets that a pass of a chunk will use, in order; those that aren't sharded are skipped, and
  // neighbours that are the same. One that comes again later, a tied table, is gathered again unless it is still held.
  void begin_pass(const Place& place, const std::vector<const Bucket*>& order);
  // Before the first use of any of a unit's buckets: gathers them and the next unit's, frees the ones before.
  void use(const std::vector<const Bucket*>& unit);
  void end_pass();

 private:
  std::size_t end_of_unit(std::size_t position) const;
  void gather(std::size_t position);
  void free_before(std::size_t position);
  bool comes_again(const Bucket& bucket, std::size_t position) const;

  StageContext& stage_;
  Place place_;
  std::vector<const Bucket*> order_;
  std::size_t first_held_ = 0;  // positions [first_held_, next_) are gathered
  std::size_t next_ = 0;
};

}  // namespace trainyard
