#include "executor/supervisor/store_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "core/error.h"

namespace trainyard::executor {
namespace {

constexpr auto kAnswerTimeout = std::chrono::seconds(10);  // beyond what a request itself may wait

std::uint8_t code(StoreOperation operation) { return static_cast<std::uint8_t>(operation); }

}  // namespace

StoreClient::StoreClient(StoreAddress address) : address_(std::move(address)) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(address_.port);
  if (::inet_pton(AF_INET, address_.host.c_str(), &name.sin_addr) != 1) {
    lost("not an IPv4 address");
  }
  socket_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket_.open() || ::connect(socket_.number(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) {
    lost(std::strerror(errno));
  }
  const int on = 1;
  ::setsockopt(socket_.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  try {
    request(FrameWriter(code(StoreOperation::kHello)).text(address_.token));
  } catch (const Error&) {
    throw Error("the store at " + address_.host + ":" + std::to_string(address_.port) + " refuses this token",
                "store client", "start ranks through the launcher; it gives them the job's token");
  }
}

void StoreClient::lost(const std::string& why) const {
  throw Error("lost the store at " + address_.host + ":" + std::to_string(address_.port) + ": " + why, "store client",
              "the launcher serves it; look whether it still runs");
}

void StoreClient::send_all(const std::string& data) {
  for (std::size_t sent = 0; sent < data.size();) {
    const ssize_t count = ::send(socket_.number(), data.data() + sent, data.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) {
      lost(std::strerror(errno));
    }
    sent += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  }
}

std::string StoreClient::receive(std::size_t bytes, std::chrono::steady_clock::time_point deadline) {
  std::string data(bytes, '\0');
  for (std::size_t got = 0; got < bytes;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd polled{socket_.number(), POLLIN, 0};
    const int ready = ::poll(&polled, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000)));
    if (ready == 0 && left.count() <= 0) {
      lost("no answer");
    }
    if (ready <= 0) {
      continue;
    }
    const ssize_t count = ::recv(socket_.number(), data.data() + got, bytes - got, 0);
    if (count == 0) {
      lost("it closed the connection");
    }
    if (count < 0 && errno != EINTR) {
      lost(std::strerror(errno));
    }
    got += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  }
  return data;
}

StoreClient::Response StoreClient::request(const FrameWriter& request, std::chrono::milliseconds patience) {
  const std::scoped_lock lock(mutex_);
  send_all(request.frame());
  const auto deadline = std::chrono::steady_clock::now() + patience + kAnswerTimeout;
  const std::size_t length = frame_length(receive(kStoreFrameHeaderBytes, deadline));
  if (length > kMaxStoreFrameBytes) {
    lost("its answer is too long");
  }
  const std::string body = receive(length, deadline);
  FrameReader reader(body);
  Response response;
  response.status = static_cast<StoreStatus>(reader.byte());
  response.text = reader.text();
  if (!reader.finished()) {
    lost("its answer can't be read");
  }
  if (response.status == StoreStatus::kRefused) {
    throw Error(response.text, "store client");
  }
  return response;
}

void StoreClient::set(const std::string& key, const std::string& value) {
  request(FrameWriter(code(StoreOperation::kSet)).text(key).text(value));
}

std::optional<std::string> StoreClient::get(const std::string& key) {
  Response response = request(FrameWriter(code(StoreOperation::kGet)).text(key));
  return response.status == StoreStatus::kOk ? std::optional(std::move(response.text)) : std::nullopt;
}

bool StoreClient::wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) {
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();  // 24 days
  const auto bounded = std::chrono::milliseconds(std::clamp<std::int64_t>(timeout.count(), 0, most));
  FrameWriter frame(code(StoreOperation::kWait));
  frame.number(static_cast<std::uint32_t>(bounded.count())).number(static_cast<std::uint32_t>(keys.size()));
  for (const std::string& key : keys) {
    frame.text(key);
  }
  return request(frame, bounded).status == StoreStatus::kOk;
}

std::int64_t StoreClient::add(const std::string& key, std::int64_t amount) {
  return std::stoll(request(FrameWriter(code(StoreOperation::kAdd)).text(key).number(amount)).text);
}

void StoreClient::interrupt() { ::shutdown(socket_.number(), SHUT_RDWR); }

}  // namespace trainyard::executor
