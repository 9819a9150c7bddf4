#include "executor/communicator/gloo_exchange.h"

#include <utility>

#include "executor/communicator/message_slot.h"

namespace trainyard::executor {

GlooExchange::GlooExchange(GlooLink& link, Scratch& scratch, const GroupHandle& group, const Call& call)
    : link_(link), scratch_(scratch), group_(group), call_(call) {
  link_.require_alive(call.operation);
}

Request GlooExchange::keep(std::unique_ptr<GlooLink::Pending> pending) {
  pending_.push_back(std::move(pending));
  return {static_cast<std::int64_t>(pending_.size()) - 1};
}

Request GlooExchange::post_send(int member, int step, const void* data, std::int64_t bytes, MessagePart part) {
  if (call_.counted_as) {
    link_.count(*call_.counted_as, bytes, part == MessagePart::kFirst);
  }
  return keep(link_.send(rank(member), step_slot(call_.slot, step), data, bytes, name(step)));
}

Request GlooExchange::post_recv(int member, int step, void* data, std::int64_t bytes) {
  return keep(link_.recv(rank(member), step_slot(call_.slot, step), data, bytes, name(step)));
}

void GlooExchange::wait(Request request) {
  std::unique_ptr<GlooLink::Pending>& pending = pending_[static_cast<std::size_t>(request.number)];
  pending->wait();
  pending.reset();
}

}  // namespace trainyard::executor
