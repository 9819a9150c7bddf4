// Exchange: point-to-point messages among the members of one group, during one collective.
//
// The collective algorithms (ring.h, direct.h, tree.h) are written against this, so they can be tested
// without a network. A message (what wire.h counts) may travel in several slices, so that adding one slice
// overlaps the arrival of the next; slices with the same sender, receiver and step arrive in the order
// posted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trainyard::executor {

enum class MessagePart : std::uint8_t { kFirst, kLater };  // a message is counted at its first slice

struct Request {
  std::int64_t number = -1;
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual int index() const = 0;    // of this rank in the group
  virtual int members() const = 0;  // n

  // Memory must stay valid until wait() returns; bytes > 0. Requests are waited for once each, in any
  // order. Errors: a lost peer, a timeout or an abort throw Error from any of the three.
  virtual Request post_send(int member, int step, const void* data, std::int64_t bytes, MessagePart part) = 0;
  virtual Request post_recv(int member, int step, void* data, std::int64_t bytes) = 0;
  virtual void wait(Request request) = 0;

  // Room for received slices, 64-byte aligned; the same memory at every call, kept between collectives.
  virtual std::byte* scratch(std::int64_t bytes) = 0;
};

}  // namespace trainyard::executor
