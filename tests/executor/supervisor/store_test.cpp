// The store over TCP: its operations, its limits, and what it does with strangers.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <thread>

#include "core/error.h"
#include "executor/supervisor/store_client.h"
#include "executor/supervisor/store_server.h"

namespace trainyard::executor {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

StoreAddress address_of(const StoreServer& server) { return {"127.0.0.1", server.port(), server.token()}; }

// Sends raw bytes and tells whether the server then closes the connection within 2 s.
bool is_hung_up_on(const StoreServer& server, const std::string& bytes) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(server.port());
  ::inet_pton(AF_INET, "127.0.0.1", &name.sin_addr);
  EXPECT_EQ(::connect(socket.number(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  EXPECT_EQ(::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  const auto deadline = Clock::now() + std::chrono::seconds(2);
  while (Clock::now() < deadline) {
    pollfd polled{socket.number(), POLLIN, 0};
    char block[256];
    if (::poll(&polled, 1, 100) > 0 && ::recv(socket.number(), block, sizeof block, 0) <= 0) {
      return true;
    }
  }
  return false;
}

std::string hello(const std::string& token) {
  return FrameWriter(static_cast<std::uint8_t>(StoreOperation::kHello)).text(token).frame();
}

TEST(Store, a_value_set_by_one_client_is_read_by_another_and_by_the_launcher) {
  StoreServer server(random_token());
  StoreClient a(address_of(server));
  StoreClient b(address_of(server));
  const std::string bytes("zero \0 and high \xff", 17);
  EXPECT_EQ(b.get("job/0/key"), std::nullopt);
  a.set("job/0/key", bytes);
  EXPECT_EQ(b.get("job/0/key"), bytes);
  EXPECT_EQ(server.get("job/0/key"), bytes);
  a.set("job/0/key", "");
  EXPECT_EQ(b.get("job/0/key"), "");
}

TEST(Store, add_counts_across_clients) {
  StoreServer server(random_token());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      StoreClient client(address_of(server));
      for (int j = 0; j < 50; ++j) {
        client.add("count", 2);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(server.get("count"), "400");
  server.set("word", "seven");
  StoreClient client(address_of(server));
  EXPECT_THROW(client.add("word", 1), Error);
  EXPECT_EQ(client.get("word"), "seven");  // the connection is still good
}

TEST(Store, wait_ends_when_all_keys_are_there_or_the_time_is_up) {
  StoreServer server(random_token());
  StoreClient waiting(address_of(server));
  EXPECT_FALSE(waiting.wait({"a", "b"}, milliseconds(30)));
  std::thread setter([&] {
    StoreClient client(address_of(server));
    std::this_thread::sleep_for(milliseconds(50));
    client.set("a", "1");
    std::this_thread::sleep_for(milliseconds(50));
    server.set("b", "2");
  });
  const auto begin = Clock::now();
  EXPECT_TRUE(waiting.wait({"a", "b"}, milliseconds(5000)));
  EXPECT_GE(Clock::now() - begin, milliseconds(90));
  EXPECT_LT(Clock::now() - begin, milliseconds(2000));
  setter.join();
  EXPECT_TRUE(server.wait({"a", "b"}, milliseconds(0)));
}

TEST(Store, a_client_with_another_token_is_refused) {
  StoreServer server(random_token());
  StoreAddress address = address_of(server);
  address.token.back() = address.token.back() == '0' ? '1' : '0';
  try {
    StoreClient client(address);
    FAIL() << "let in";
  } catch (const Error& error) {
    EXPECT_NE(error.problem().find("token"), std::string::npos) << error.what();
  }
  StoreClient good(address_of(server));
  EXPECT_EQ(good.get("x"), std::nullopt);
}

TEST(Store, tokens_differ) { EXPECT_NE(random_token(), random_token()); }

// Its thread may be awake for the value when it is told to end: neither wake may take the other's place.
TEST(Store, a_server_ends_whatever_its_thread_is_at) {
  constexpr int kServers = 20000;
  for (int i = 0; i < kServers; ++i) {
    StoreServer server("token");
    const auto until = Clock::now() + std::chrono::nanoseconds(500 * (i % 100));
    server.set("key", "value");
    while (Clock::now() < until) {
    }
  }
}

TEST(Store, malformed_input_closes_the_connection_and_changes_nothing) {
  StoreServer server(random_token());
  const std::string good = hello(server.token());
  const auto set = static_cast<std::uint8_t>(StoreOperation::kSet);
  const std::string whole_set = FrameWriter(set).text("k").text("v").frame();
  EXPECT_TRUE(is_hung_up_on(server, whole_set)) << "a request before the token";
  EXPECT_TRUE(is_hung_up_on(server, std::string("\xff\xff\xff\x7f", 4))) << "a huge frame before the token";
  EXPECT_TRUE(is_hung_up_on(server, good + std::string("\xff\xff\xff\x7f", 4))) << "a huge frame";
  EXPECT_TRUE(is_hung_up_on(server, good + FrameWriter(std::uint8_t{99}).frame())) << "an unknown operation";
  EXPECT_TRUE(is_hung_up_on(server, good + FrameWriter(set).text("k").frame())) << "no value";
  EXPECT_TRUE(is_hung_up_on(server, good + FrameWriter(set).text("k").text("v").text("w").frame())) << "too much";
  EXPECT_TRUE(is_hung_up_on(server, good + FrameWriter(set).number(std::uint32_t{0xffffffff}).frame()))
      << "a string longer than its frame";
  EXPECT_TRUE(is_hung_up_on(server, good + good)) << "the token twice";
  EXPECT_FALSE(is_hung_up_on(server, good + whole_set)) << "the same by the rules";
  EXPECT_EQ(server.get("k"), "v");
}

TEST(Store, oversized_keys_and_values_are_refused_by_name) {
  StoreServer server(random_token());
  StoreClient client(address_of(server));
  EXPECT_THROW(client.set(std::string(kMaxStoreKeyBytes + 1, 'k'), "v"), Error);
  EXPECT_THROW(client.set("k", std::string(kMaxStoreValueBytes + 1, 'v')), Error);
  client.set("k", std::string(kMaxStoreValueBytes, 'v'));
  EXPECT_EQ(client.get("k")->size(), kMaxStoreValueBytes);
}

TEST(Store, a_lost_server_and_an_interrupt_are_errors) {
  auto server = std::make_unique<StoreServer>(random_token());
  StoreClient interrupted(address_of(*server));
  std::thread interrupter([&] {
    std::this_thread::sleep_for(milliseconds(50));
    interrupted.interrupt();
  });
  EXPECT_THROW(interrupted.wait({"never"}, milliseconds(10'000)), Error);
  interrupter.join();
  StoreClient client(address_of(*server));
  const StoreAddress address = address_of(*server);
  server.reset();
  EXPECT_THROW(client.get("x"), Error);
  EXPECT_THROW(StoreClient late(address), Error);
}

}  // namespace
}  // namespace trainyard::executor
