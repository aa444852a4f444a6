// Calls by a window: what goes by it and what does not, both ends asleep, and ends that do not keep to rpc/FORMAT.md.
// SPDX-License-Identifier: BSD-2-Clause
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "rpc/fast/window.h"
#include "tests/rpc/fast/everything_fixture.h"
#include "tests/rpc/fast/raw_end.h"

namespace exs::test {
namespace window_test {

using rpc::CallHeader;
using rpc::CallMessage;
using rpc::FrameType;

bool shares_memory() {
  const char* const provider = std::getenv("EXS_PROVIDER");
  return provider != nullptr && std::string_view(provider) == "shm";
}

exs_rpc_client_options_t mapped_options() {
  exs_rpc_client_options_t options{};
  options.struct_bytes = sizeof options;
  options.flags = EXS_RPC_MAPPED;
  return options;
}

std::string add_one(exs_rpc_client_t* client) {
  int sum = 0;
  const std::string told = outcome(add_1(client, 1, 2, &sum, nullptr));
  BOOST_TEST((told != "ok" || sum == 3));
  return told;
}

// How many of so many calls are answered as they should be.
int right_of(exs_rpc_client_t* client, int calls) {
  int right = 0;
  for (int i = 0; i < calls; ++i) {
    int sum = 0;
    if (add_1(client, i, 1, &sum, nullptr) == 0 && sum == i + 1) ++right;
  }
  return right;
}

std::uint64_t bytes_sent(exs_rpc_client_t* client) {
  exs_rpc_client_info_t info{};
  info.struct_bytes = sizeof info;
  BOOST_REQUIRE_EQUAL(exs_rpc_client_status(client, &info), 0);
  return info.bytes_sent;
}

struct Fixture {
  InitializedLibrary library;
  EverythingServer server;
  exs_rpc_client_options_t options = mapped_options();

  Client open() { return open_client(server, &options); }
};

// A client whose window is the test's own.
class RawWindow {
 public:
  explicit RawWindow(const EverythingServer& server, std::size_t bytes = rpc::window_bytes(kSlots),
                     int flags = EXS_MAPPABLE)
      : client(server.number()), window_(server.number(), RawEnd::Receiving::kNo) {
    client.greet();
    client.send(FrameType::kMessage, message(CallMessage::kWindow, 0, 0));
    const Bytes answer = client.receive();
    BOOST_REQUIRE(answer.size() >= rpc::kFrameBytes + rpc::kHeaderBytes + sizeof token);
    std::memcpy(&token, answer.data() + rpc::kFrameBytes + rpc::kHeaderBytes, sizeof token);
    memory_ = static_cast<std::byte*>(exs_alloc(bytes, &region_));
    BOOST_REQUIRE_EQUAL(exs_recv(window_.socket(), memory_, bytes, EXS_PERSISTENT | EXS_NOTIFY | flags,
                                 queue_.handle(), nullptr, region_),
                        0);
    offer(window_, token);
  }
  ~RawWindow() {
    window_.close();
    exs_free(memory_);
  }
  RawWindow(const RawWindow&) = delete;
  RawWindow& operator=(const RawWindow&) = delete;

  static void offer(RawEnd& end, std::uint64_t token) {
    rpc::WindowHello hello;
    hello.token = token;
    end.send(FrameType::kHello, raw(hello));
  }
  // Whether the server rang, which it does once it is there; else it has ended the connection.
  bool is_rung() { return queue_.next().exs_evt_type == EXS_EVT_PEER_WRITE; }
  void ring() { window_.send_raw(Bytes(1)); }
  // All of a call, and its flag apart.
  void call(std::uint32_t slot, std::uint32_t flag, Bytes message) {
    message.resize(std::max(message.size(), rpc::kLineBytes));
    std::memcpy(message.data(), &flag, sizeof flag);
    rpc::WindowPlaces(memory_).write_call(slot, message.data(), message.size());
    ring();
  }
  [[nodiscard]] std::uint32_t reply_flag(std::uint32_t slot) const {
    return rpc::WindowPlaces(memory_).reply_flag(slot);
  }

  static constexpr std::uint32_t kSlots = 8;
  RawEnd client;
  std::uint64_t token = 0;

 private:
  Queue queue_{64};
  RawEnd window_;
  std::byte* memory_ = nullptr;
  exs_mhandle_t region_ = EXS_MHANDLE_INVALID;
};

constexpr std::uint16_t kAdd = 9;
constexpr std::uint16_t kHold = 14;

struct WindowLie {
  const char* what;
  std::function<void(RawWindow&)> tell;
};

const std::vector<WindowLie> kLies = {
    {"the flag of another slot",
     [](RawWindow& w) {
       w.call(0, 65, message(CallMessage::kCall, kAdd, 0, words({1, 2})));
     }},
    {"a length that is too long",
     [](RawWindow& w) {
       Bytes call = message(CallMessage::kCall, kAdd, 0, words({1, 2}));
       const std::uint32_t length = rpc::kInlineBytes;
       std::memcpy(call.data() + offsetof(CallHeader, length), &length, sizeof length);
       w.call(0, 64, call);
     }},
    {"an argument that is too short",
     [](RawWindow& w) { w.call(0, 64, message(CallMessage::kCall, kAdd, 0, words({1}))); }},
    {"a procedure that is not in the table",
     [](RawWindow& w) { w.call(0, 64, message(CallMessage::kCall, 999, 0)); }},
    {"a reply", [](RawWindow& w) { w.call(0, 64, message(CallMessage::kReply, 0, 0)); }},
    {"a table", [](RawWindow& w) { w.call(0, 64, message(CallMessage::kTable, 0, 0)); }},
    {"a second wish for a window", [](RawWindow& w) { w.call(0, 64, message(CallMessage::kWindow, 0, 0)); }},
    {"a slot that is taken",
     [](RawWindow& w) {
       w.call(0, 64, message(CallMessage::kCall, kHold, 0));
       EverythingServer::wait_for_held(1);
       w.call(0, 128, message(CallMessage::kCall, kHold, 0));
     }},
    {"a slot that a message has taken",
     [](RawWindow& w) {
       w.client.send(FrameType::kMessage, message(CallMessage::kCall, kHold, 0));
       EverythingServer::wait_for_held(1);
       w.call(0, 64, message(CallMessage::kCall, kAdd, 0, words({1, 2})));
     }},
};

// A server that maps a window and answers the one call there with something.
struct FalseReply {
  const char* what;
  std::function<Bytes(const CallHeader& call)> reply;
  const char* error;
};

const std::vector<FalseReply> kFalseReplies = {
    {"another sequence",
     [](const CallHeader& call) { return message(CallMessage::kReply, 0, call.sequence + 64, words({3})); },
     "EPROTO"},
    {"another slot",
     [](const CallHeader& call) { return message(CallMessage::kReply, 0, call.sequence + 1, words({3})); },
     "EPROTO"},
    {"a length that is too long",
     [](const CallHeader& call) {
       Bytes reply = message(CallMessage::kReply, 0, call.sequence, words({3}));
       reply[offsetof(CallHeader, length) + 3] = std::byte{1};
       return reply;
     },
     "EPROTO"},
    {"a call",
     [](const CallHeader& call) { return message(CallMessage::kCall, 0, call.sequence, words({3})); },
     "EPROTO"},
    {"a result that is too long",
     [](const CallHeader& call) {
       return message(CallMessage::kReply, 0, call.sequence, words({3, 4}));
     },
     "EPROTO"},
    {"what is right",
     [](const CallHeader& call) { return message(CallMessage::kReply, 0, call.sequence, words({3})); }, "ok"},
};

// The client's thread tests.
void answer_by_window(FalseServer& server, const FalseReply& lie) {
  constexpr std::uint64_t kToken = 77;
  const auto client = server.accept();
  FalseServer::greet(*client);
  client->receive();  // the wish
  client->send(FrameType::kMessage, message(CallMessage::kWindow, 0, 0, raw(kToken)));
  const auto end = server.accept();
  end->receive();
  Queue queue;
  if (exs_window_map(end->socket(), queue.handle(), nullptr) != 0) return;
  const exs_event_t event = queue.next();
  if (event.exs_evt_errno != 0) return;
  const exs_evt_map_t& map = event.exs_evt_union.exs_evt_map;
  const rpc::WindowPlaces places(static_cast<std::byte*>(map.exs_evt_address));
  const auto ring = [&] {
    static constexpr std::uint32_t kBell = 1;
    exs_send_offset(end->socket(), &kBell, sizeof kBell, EXS_NO_EVENT, queue.handle(), nullptr,
                    EXS_MHANDLE_UNREGISTERED, rpc::kBellOffset);
  };
  ring();
  while (places.call_flag(0) == 0) std::this_thread::yield();
  CallHeader header;
  header.sequence = places.call_flag(0);
  Bytes reply = lie.reply(header);
  reply.resize(rpc::kLineBytes);
  places.write_reply(0, reply.data(), reply.size());
  ring();
  while (!client->receive().empty()) continue;
}

}  // namespace window_test

BOOST_FIXTURE_TEST_SUITE(window_test, Fixture)

BOOST_AUTO_TEST_CASE(is_there_where_memory_is_shared) {
  const Client client = open();
  BOOST_TEST(is_mapped(client.get()) == shares_memory());
  for (int i = 0; i < 1000; ++i) BOOST_TEST(add_one(client.get()) == "ok");
}

BOOST_AUTO_TEST_CASE(is_not_for_a_client_on_a_queue_of_the_program) {
  Queue queue;
  options.flags = EXS_RPC_MAPPED | EXS_RPC_ON_QUEUE;
  options.queue = queue.handle();
  BOOST_TEST(everything_one_open(host(), server.port().c_str(), &options) == nullptr);
  BOOST_TEST(errno_name(errno) == "EINVAL");
}

// At and around the length of a place, there and back.
BOOST_AUTO_TEST_CASE(carries_what_fits_and_leaves_the_rest_to_messages) {
  const Client client = open();
  for (const std::size_t size :
       {0, 1, 39, 40, 41, 63, 64, 65, 4000, 4071, 4072, 4073, 4080, 4096, 5000, 70'000}) {
    std::vector<char> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + size);
    const blob argument{static_cast<unsigned>(size), bytes.data()};
    blob got{};
    BOOST_REQUIRE_EQUAL(outcome(copy_1(client.get(), &argument, &got, nullptr)), "ok");
    BOOST_TEST(got.blob_len == size);
    BOOST_TEST((size == 0 || std::memcmp(got.blob_val, bytes.data(), size) == 0));
    blob_free(&got);
    unsigned length = 0;
    BOOST_REQUIRE_EQUAL(outcome(length_1(client.get(), &argument, &length, nullptr)), "ok");
    BOOST_TEST(length == size);
    blob made{};
    BOOST_REQUIRE_EQUAL(outcome(make_1(client.get(), static_cast<unsigned>(size), &made, nullptr)), "ok");
    BOOST_TEST(made.blob_len == size);
    blob_free(&made);
  }
}

BOOST_AUTO_TEST_CASE(both_ends_sleep_and_are_rung) {
  const Client client = open();
  const Client other = open();
  for (int round = 0; round < 20; ++round) {
    exs_rpc_call_t* const held = hold_1_begin(client.get(), nullptr);
    BOOST_REQUIRE(held != nullptr);
    EverythingServer::wait_for_held(1);
    int released = 0;
    WaitingThread releasing(
        [&] { released = release_1(other.get(), &released, nullptr) == 0 ? released : -1; });
    int told = 0;
    BOOST_TEST(outcome(hold_1_end(held, &told)) == "ok");
    releasing.join();
    BOOST_TEST(released == 1);
  }
}

BOOST_AUTO_TEST_CASE(is_made_anew_with_the_connection) {
  const auto own = std::make_unique<EverythingServer>();
  const std::uint16_t port = own->number();
  auto first = std::make_unique<EverythingServer>(nullptr, 0);
  const Client client = open_client(*first, &options);
  const std::uint16_t its_port = first->number();
  BOOST_TEST(add_one(client.get()) == "ok");
  first.reset();
  BOOST_TEST(add_one(client.get()) != "ok");
  const EverythingServer second(nullptr, its_port);
  BOOST_TEST(add_one(client.get()) == "ok");
  BOOST_TEST(is_mapped(client.get()) == shares_memory());
  BOOST_TEST(port != its_port);
}

BOOST_AUTO_TEST_CASE(counts_its_bytes) {
  const Client client = open();
  const std::uint64_t before = bytes_sent(client.get());
  BOOST_TEST(add_one(client.get()) == "ok");
  BOOST_TEST(bytes_sent(client.get()) == before + rpc::kHeaderBytes + 8);
}

BOOST_AUTO_TEST_CASE(servers_of_several_threads_look_at_each) {
  exs_rpc_server_options_t threads{};
  threads.struct_bytes = sizeof threads;
  threads.threads = 3;
  const EverythingServer threaded(&threads);
  std::vector<Client> clients;
  for (int i = 0; i < 6; ++i) clients.push_back(open_client(threaded, &options));
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (const Client& client : clients) callers.emplace_back([&] { right += right_of(client.get(), 300); });
  for (std::thread& caller : callers) caller.join();
  BOOST_TEST(right == 6 * 300);
}

BOOST_AUTO_TEST_CASE(one_client_is_used_by_several_threads) {
  const Client client = open();
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i) callers.emplace_back([&] { right += right_of(client.get(), 300); });
  for (std::thread& caller : callers) caller.join();
  BOOST_TEST(right == 6 * 300);
}

// ---------------------------------------------------------------- those who do not keep to the rules

BOOST_AUTO_TEST_CASE(a_server_serves_a_window_that_keeps_to_the_rules) {
  if (!shares_memory()) return;
  RawWindow window(server);
  BOOST_REQUIRE(window.is_rung());
  window.call(0, 64, message(CallMessage::kCall, kAdd, 0, words({1, 2})));
  while (window.reply_flag(0) != 64) std::this_thread::yield();
}

BOOST_AUTO_TEST_CASE(a_server_ends_a_window_that_lies_and_serves_all_others) {
  if (!shares_memory()) return;
  const Client good = open();
  for (const WindowLie& lie : kLies) {
    BOOST_TEST_CONTEXT(lie.what) {
      RawWindow window(server);
      BOOST_REQUIRE(window.is_rung());
      lie.tell(window);
      BOOST_TEST(!window.is_rung());
      BOOST_TEST(add_one(good.get()) == "ok");
      int released = 0;
      BOOST_TEST(outcome(release_1(good.get(), &released, nullptr)) == "ok");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_server_refuses_memory_that_is_no_window) {
  if (!shares_memory()) return;
  RawWindow small(server, rpc::window_bytes(1) - 1);
  BOOST_TEST(!small.is_rung());
  RawWindow forbidden(server, rpc::window_bytes(8), 0);
  BOOST_TEST(!forbidden.is_rung());
}

BOOST_AUTO_TEST_CASE(a_server_refuses_a_token_of_nobody_and_one_that_was_used) {
  if (!shares_memory()) return;
  RawWindow window(server);
  BOOST_REQUIRE(window.is_rung());
  for (const std::uint64_t token : {std::uint64_t{1}, window.token}) {
    RawEnd stranger(server.number());
    RawWindow::offer(stranger, token);
    BOOST_TEST(stranger.receive().empty());
  }
}

BOOST_AUTO_TEST_CASE(a_client_refuses_what_is_no_reply) {
  if (!shares_memory()) return;
  for (const FalseReply& lie : kFalseReplies) {
    BOOST_TEST_CONTEXT(lie.what) {
      FalseServer false_server;
      std::thread answering([&] { answer_by_window(false_server, lie); });
      Client client(everything_one_open(host(), false_server.port().c_str(), &options));
      BOOST_REQUIRE_MESSAGE(client != nullptr, exs_rpc_errtext());
      BOOST_TEST(is_mapped(client.get()));
      BOOST_TEST(add_one(client.get()) == lie.error);
      client.reset();
      answering.join();
    }
  }
}

// Whatever bytes the client's window has for flags and messages.
BOOST_AUTO_TEST_CASE(a_server_lives_with_any_bytes) {
  if (!shares_memory()) return;
  const Client good = open();
  std::uint32_t chance = 12345;
  for (int round = 0; round < 200; ++round) {
    RawWindow window(server);
    BOOST_REQUIRE(window.is_rung());
    Bytes noise(rpc::kInlineBytes);
    for (std::byte& one : noise) {
      chance = chance * 1'664'525 + 1'013'904'223;
      one = static_cast<std::byte>(chance >> 24U);
    }
    noise[offsetof(CallHeader, kind)] = static_cast<std::byte>(chance % 7);
    noise[offsetof(CallHeader, length) + 1] &= std::byte{0x0f};
    noise[offsetof(CallHeader, length) + 2] = noise[offsetof(CallHeader, length) + 3] = std::byte{0};
    noise[offsetof(CallHeader, procedure)] = static_cast<std::byte>(chance % 20);
    noise[offsetof(CallHeader, procedure) + 1] = noise[offsetof(CallHeader, is_timed)] = std::byte{0};
    window.call(0, 64, noise);
    BOOST_TEST(add_one(good.get()) == "ok");
  }
  int released = 0;
  BOOST_TEST(outcome(release_1(good.get(), &released, nullptr)) == "ok");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
