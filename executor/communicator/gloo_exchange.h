// GlooExchange: the messages of one collective over a rank's connections.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "executor/communicator/communicator.h"
#include "executor/communicator/exchange.h"
#include "executor/communicator/gloo_link.h"
#include "executor/communicator/scratch.h"

namespace trainyard::executor {

// One operation as posted.
struct Call {
  std::string_view operation;                   // a literal
  std::optional<CommunicationKind> counted_as;  // none: a barrier
  std::uint64_t group_or_tag = 0;
  std::uint64_t slot = 0;  // step 0's, see message_slot.h
};

class GlooExchange final : public Exchange {
 public:
  GlooExchange(GlooLink& link, Scratch& scratch, const GroupHandle& group, const Call& call);

  int index() const override { return group_.index; }
  int members() const override { return static_cast<int>(group_.members.size()); }
  Request post_send(int member, int step, const void* data, std::int64_t bytes, MessagePart part) override;
  Request post_recv(int member, int step, void* data, std::int64_t bytes) override;
  void wait(Request request) override;
  std::byte* scratch(std::int64_t bytes) override { return scratch_.reserve(bytes); }

 private:
  MessageName name(int step) const { return {call_.operation, call_.group_or_tag, step}; }
  int rank(int member) const { return group_.members[static_cast<std::size_t>(member)].value(); }
  Request keep(std::unique_ptr<GlooLink::Pending> pending);

  GlooLink& link_;
  Scratch& scratch_;
  const GroupHandle& group_;
  const Call& call_;
  std::vector<std::unique_ptr<GlooLink::Pending>> pending_;  // by request; null once waited for
};

}  // namespace trainyard::executor
