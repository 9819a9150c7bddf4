#include "executor/supervisor/store_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "core/error.h"
#include "executor/supervisor/store_server.h"

namespace trainyard::executor {
namespace {

constexpr auto kHelloTimeout = std::chrono::seconds(5);

// Takes as long for a wrong guess as for a near one.
bool same_token(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

}  // namespace

StoreConnection::StoreConnection(StoreServer& server, FileDescriptor socket)
    : server_(server), socket_(std::move(socket)), hello_deadline_(Clock::now() + kHelloTimeout) {}

short StoreConnection::poll_events() const {
  const bool room = output_.empty() && input_.size() <= kMaxStoreFrameBytes;
  return static_cast<short>((room ? POLLIN : 0) | (output_.empty() ? 0 : POLLOUT));
}

std::optional<StoreConnection::Clock::time_point> StoreConnection::deadline() const {
  if (!authenticated_) {
    return hello_deadline_;
  }
  return wait_ ? std::optional(wait_->deadline) : std::nullopt;
}

void StoreConnection::progress() {
  const bool ended = !read_some();
  if (wait_) {
    finish_wait();
  }
  while (!closed_ && take_frame()) {
  }
  write_some();
  if (ended || (!authenticated_ && Clock::now() >= hello_deadline_)) {
    close();
  }
}

bool StoreConnection::read_some() {
  std::array<char, 16384> block;
  while (input_.size() <= kMaxStoreFrameBytes) {
    const ssize_t count = ::recv(socket(), block.data(), block.size(), MSG_DONTWAIT);
    if (count > 0) {
      input_.append(block.data(), static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else {
      return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    }
  }
  return true;
}

void StoreConnection::write_some() {
  while (!output_.empty()) {
    const ssize_t count = ::send(socket(), output_.data(), output_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) {
      output_.erase(0, static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else {
      if (errno != EAGAIN && errno != EWOULDBLOCK) {
        close();
      }
      return;
    }
  }
}

bool StoreConnection::take_frame() {
  if (wait_ || !output_.empty() || input_.size() < kStoreFrameHeaderBytes) {
    return false;
  }
  const std::size_t length = frame_length(input_);
  if (length > (authenticated_ ? kMaxStoreFrameBytes : kMaxStoreTokenBytes)) {
    close();
    return false;
  }
  if (input_.size() < kStoreFrameHeaderBytes + length) {
    return false;
  }
  const std::string body = input_.substr(kStoreFrameHeaderBytes, length);
  input_.erase(0, kStoreFrameHeaderBytes + length);
  answer(FrameReader(body));
  write_some();
  return true;
}

void StoreConnection::answer(FrameReader request) {
  const auto operation = static_cast<StoreOperation>(request.byte());
  if (!authenticated_ || operation == StoreOperation::kHello) {
    return !authenticated_ && operation == StoreOperation::kHello ? answer_hello(request) : close();
  }
  try {
    switch (operation) {
      case StoreOperation::kSet:
        return answer_set(request);
      case StoreOperation::kGet:
        return answer_get(request);
      case StoreOperation::kWait:
        return begin_wait(request);
      case StoreOperation::kAdd:
        return answer_add(request);
      case StoreOperation::kHello:
        break;
    }
    close();
  } catch (const Error& error) {
    reply(StoreStatus::kRefused, error.problem());
  }
}

void StoreConnection::answer_hello(FrameReader& request) {
  const std::string token = request.text();
  authenticated_ = request.finished() && same_token(token, server_.token());
  authenticated_ ? reply(StoreStatus::kOk) : close();
}

void StoreConnection::answer_set(FrameReader& request) {
  const std::string key = request.text();
  const std::string value = request.text();
  if (!request.finished()) {
    return close();
  }
  server_.set(key, value);
  reply(StoreStatus::kOk);
}

void StoreConnection::answer_get(FrameReader& request) {
  const std::string key = request.text();
  if (!request.finished()) {
    return close();
  }
  const std::optional<std::string> value = server_.get(key);
  value ? reply(StoreStatus::kOk, *value) : reply(StoreStatus::kMissing);
}

void StoreConnection::answer_add(FrameReader& request) {
  const std::string key = request.text();
  const std::int64_t amount = request.integer();
  if (!request.finished()) {
    return close();
  }
  reply(StoreStatus::kOk, std::to_string(server_.add(key, amount)));
}

void StoreConnection::begin_wait(FrameReader& request) {
  const auto timeout = std::chrono::milliseconds(request.count());
  const std::uint32_t count = request.count();
  Wait wait{.keys = {}, .deadline = Clock::now() + timeout};
  for (std::uint32_t i = 0; i < count && request.good(); ++i) {
    wait.keys.push_back(request.text());
  }
  if (!request.finished()) {
    return close();
  }
  wait_ = std::move(wait);
  finish_wait();
}

void StoreConnection::finish_wait() {
  bool found = false;
  {
    const std::scoped_lock lock(server_.mutex_);
    found = server_.has_all(wait_->keys);
  }
  if (found || Clock::now() >= wait_->deadline) {
    wait_.reset();
    reply(found ? StoreStatus::kOk : StoreStatus::kMissing);
  }
}

void StoreConnection::reply(StoreStatus status, const std::string& text) {
  output_ += FrameWriter(static_cast<std::uint8_t>(status)).text(text).frame();
}

}  // namespace trainyard::executor
