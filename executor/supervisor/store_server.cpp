#include "executor/supervisor/store_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "executor/supervisor/store_connection.h"

namespace trainyard::executor {
namespace {

constexpr std::size_t kMaxStoreBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxConnections = 16384;

FileDescriptor listen_at(const std::string& address) {
  const auto fail = [&](const std::string& what) {
    throw Error("can't listen at " + address + ": " + what, "store server",
                "give an IPv4 address of this host, such as 127.0.0.1");
  };
  sockaddr_in name{};
  name.sin_family = AF_INET;
  if (::inet_pton(AF_INET, address.c_str(), &name.sin_addr) != 1) {
    fail("not an IPv4 address");
  }
  FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.open() || ::bind(listener.number(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(listener.number(), SOMAXCONN) != 0) {
    fail(std::strerror(errno));
  }
  return listener;
}

std::uint16_t port_of(const FileDescriptor& listener) {
  sockaddr_in name{};
  socklen_t size = sizeof name;
  check(::getsockname(listener.number(), reinterpret_cast<sockaddr*>(&name), &size) == 0, "a bound socket has a port");
  return ntohs(name.sin_port);
}

}  // namespace

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  check(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
        "the kernel gives 16 random bytes");
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

StoreServer::StoreServer(std::string token, const std::string& address)
    : token_(std::move(token)), listener_(listen_at(address)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  port_ = port_of(listener_);
  check(wake_.open(), "an eventfd");
  thread_ = std::thread([this] { serve(); });
}

StoreServer::~StoreServer() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
}

void StoreServer::wake() {
  const std::uint64_t one = 1;
  // Can only fail when the counter is full, and then the thread is awake.
  [[maybe_unused]] const ssize_t written = ::write(wake_.number(), &one, sizeof one);
}

bool StoreServer::has_all(const std::vector<std::string>& keys) {
  return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) { return values_.contains(key); });
}

void StoreServer::set_locked(const std::string& key, const std::string& value) {
  const auto refuse = [&](const std::string& why) {
    throw Error("the store refuses '" + key.substr(0, 80) + "': " + why, "store server");
  };
  if (key.size() > kMaxStoreKeyBytes || value.size() > kMaxStoreValueBytes) {
    refuse("key or value too long");
  }
  const auto found = values_.find(key);
  const std::size_t old_bytes = found == values_.end() ? 0 : key.size() + found->second.size();
  const std::size_t new_bytes = value_bytes_ - old_bytes + key.size() + value.size();
  if (new_bytes > kMaxStoreBytes) {
    refuse("the store is full");
  }
  value_bytes_ = new_bytes;
  values_[key] = value;
  changed_.notify_all();
  wake();
}

void StoreServer::set(const std::string& key, const std::string& value) {
  const std::scoped_lock lock(mutex_);
  set_locked(key, value);
}

std::optional<std::string> StoreServer::get(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

bool StoreServer::wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [&] { return has_all(keys); });
}

std::int64_t StoreServer::add(const std::string& key, std::int64_t amount) {
  const std::scoped_lock lock(mutex_);
  std::int64_t value = 0;
  if (const auto found = values_.find(key); found != values_.end()) {
    const char* end = found->second.data() + found->second.size();
    if (std::from_chars(found->second.data(), end, value).ptr != end) {
      throw Error("the store's '" + key + "' is not an integer", "store server");
    }
  }
  std::int64_t sum = 0;
  if (__builtin_add_overflow(value, amount, &sum)) {
    throw Error("the store's '" + key + "' would overflow", "store server");
  }
  set_locked(key, std::to_string(sum));
  return sum;
}

void StoreServer::serve() {
  while (true) {
    std::vector<pollfd> polled{{listener_.number(), POLLIN, 0}, {wake_.number(), POLLIN, 0}};
    for (const StoreConnection& connection : connections_) {
      polled.push_back({connection.socket(), connection.poll_events(), 0});
    }
    ::poll(polled.data(), polled.size(), milliseconds_to_next_deadline());
    // Emptied before what it stands for is looked at: the other way round a wake between the two would be lost.
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t read = ::read(wake_.number(), &count, sizeof count);
    {
      const std::scoped_lock lock(mutex_);
      if (stopping_) {
        break;
      }
    }
    for (StoreConnection& connection : connections_) {
      connection.progress();
    }
    connections_.remove_if([](const StoreConnection& connection) { return connection.closed(); });
    if ((polled[0].revents & POLLIN) != 0) {
      accept_connection();
    }
  }
  connections_.clear();
}

int StoreServer::milliseconds_to_next_deadline() const {
  std::int64_t result = -1;
  const auto now = StoreConnection::Clock::now();
  for (const StoreConnection& connection : connections_) {
    if (const auto deadline = connection.deadline()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - now).count();
      const std::int64_t bounded = std::clamp<std::int64_t>(left, 0, 60'000);
      result = result < 0 ? bounded : std::min(result, bounded);
    }
  }
  return static_cast<int>(result);
}

void StoreServer::accept_connection() {
  FileDescriptor socket(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.open() && connections_.size() < kMaxConnections) {
    const int on = 1;
    ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connections_.emplace_back(*this, std::move(socket));
  }
}

}  // namespace trainyard::executor
