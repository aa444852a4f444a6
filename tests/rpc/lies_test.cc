// Ends that break the rules of rpc/FORMAT.md lose their connection; nobody else notices.

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rpc/channel/link.h"
#include "rpc/fast/greeting.h"
#include "rpc/fast/header.h"
#include "tests/rpc/fast/everything_server.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace {

using rpc::FrameType;
using rpc::Header;
using rpc::Kind;
using rpc::Link;

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kLongest = 1 << 20;

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}
template <typename Words>
Bytes raw(const Words& words) {
  const auto bytes = rpc::bytes_of(words);
  return {bytes.begin(), bytes.end()};
}

Bytes message(Kind kind, std::uint16_t procedure, std::uint32_t sequence, const Bytes& body = {}) {
  Header header;
  header.kind = kind;
  header.procedure = procedure;
  header.sequence = sequence;
  header.length = static_cast<std::uint32_t>(body.size());
  return raw(header) + body;
}

Bytes table_of_everything() {
  Bytes table;
  for (const rpc::TableEntry& entry : rpc::table_of(everything_one_interface)) table = table + raw(entry);
  return table;
}

Bytes hello() {
  rpc::Hello hello;
  hello.program = everything_one_interface.program;
  hello.version = everything_one_interface.version;
  return raw(hello);
}

// An end whose every frame is the test's own.
class RawEnd {
 public:
  explicit RawEnd(int socket) : socket_(socket) {
    BOOST_REQUIRE_EQUAL(
        exs_recv(socket_, in_.data(), in_.size(), 0, queue_.handle(), nullptr, EXS_MHANDLE_UNREGISTERED), 0);
  }
  explicit RawEnd(std::uint16_t port) : RawEnd(connected(port)) {}
  ~RawEnd() { exs_close(socket_); }
  RawEnd(const RawEnd&) = delete;
  RawEnd& operator=(const RawEnd&) = delete;

  void send_raw(const Bytes& bytes) {
    exs_send(socket_, bytes.data(), bytes.size(), EXS_NO_EVENT, queue_.handle(), nullptr,
             EXS_MHANDLE_UNREGISTERED);
  }
  void send(FrameType type, const Bytes& body) {
    Bytes frame(rpc::kFrameBytes);
    rpc::put_frame({type, static_cast<std::uint32_t>(body.size()), false}, frame.data());
    send_raw(frame + body);
  }
  void send_frame_alone(FrameType type, std::uint32_t length) {
    Bytes frame(rpc::kFrameBytes);
    rpc::put_frame({type, length, false}, frame.data());
    send_raw(frame);
  }
  // The next frame, header and all; none: the connection has ended.
  Bytes receive() {
    if (has_ended_) return {};
    exs_event_t event{};
    while (exs_qwait(queue_.handle(), &event, 1, 1, -1) != 1) continue;
    const std::size_t bytes = event.exs_evt_union.exs_evt_xfer.exs_evt_length;
    if (event.exs_evt_errno != 0 || (event.exs_evt_flags & EXS_EVF_EOF) != 0) return {};
    Bytes got(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(bytes));
    has_ended_ =
        exs_recv(socket_, in_.data(), in_.size(), 0, queue_.handle(), nullptr, EXS_MHANDLE_UNREGISTERED) != 0;
    return got;
  }
  void greet() {
    send(FrameType::kHello, hello());
    send(FrameType::kMessage, message(Kind::kTable, 0, 0, table_of_everything()));
    BOOST_REQUIRE(!receive().empty());
    BOOST_REQUIRE(!receive().empty());
  }

 private:
  static int connected(std::uint16_t port) {
    const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    exs_fcntl(socket, EXS_F_SET_SMALL_MAX, rpc::kFrameBytes + rpc::kInlineBytes);
    sockaddr_in address = address_of_host(port);
    BOOST_REQUIRE_EQUAL(exs_connect_sync(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address),
                        0);
    return socket;
  }

  Queue queue_{64};
  std::vector<std::byte> in_ = std::vector<std::byte>(rpc::kFrameBytes + rpc::kInlineBytes);
  int socket_;
  bool has_ended_ = false;
};

struct Lie {
  const char* what;
  std::function<void(RawEnd&)> tell;
};

Bytes words(std::initializer_list<std::uint32_t> numbers) {
  Bytes bytes;
  for (const std::uint32_t number : numbers) bytes = bytes + raw(number);
  return bytes;
}

constexpr std::uint16_t kMix = 1;
constexpr std::uint16_t kAdd = 9;
constexpr std::uint16_t kHold = 14;

const std::vector<Lie> kLiesOfStrangers = {
    {"no frame at all", [](RawEnd& end) { end.send_raw(Bytes(3)); }},
    {"a frame of another type", [](RawEnd& end) { end.send_raw(Bytes(8, std::byte{9})); }},
    {"a call before all", [](RawEnd& end) { end.send(FrameType::kMessage, message(Kind::kCall, 0, 0)); }},
    {"a greeting of another kind", [](RawEnd& end) { end.send(FrameType::kHello, Bytes(16)); }},
    {"a greeting that is too short", [](RawEnd& end) { end.send(FrameType::kHello, Bytes(8)); }},
    {"a length that is not that of the frame",
     [](RawEnd& end) { end.send_frame_alone(FrameType::kHello, 16); }},
    {"a body longer than may be", [](RawEnd& end) { end.send_frame_alone(FrameType::kLong, UINT32_MAX); }},
    {"a long body that is short", [](RawEnd& end) { end.send_frame_alone(FrameType::kLong, 100); }},
    {"a table that is none",
     [](RawEnd& end) {
       end.send(FrameType::kHello, hello());
       end.receive();
       end.send(FrameType::kMessage, message(Kind::kTable, 0, 0, Bytes(17)));
     }},
    {"two greetings",
     [](RawEnd& end) {
       end.send(FrameType::kHello, hello());
       end.receive();
       end.send(FrameType::kHello, hello());
     }},
};

const std::vector<Lie> kLiesOfClients = {
    {"no header", [](RawEnd& end) { end.send(FrameType::kMessage, Bytes(15)); }},
    {"a length that is not that of the message",
     [](RawEnd& end) {
       Bytes call = message(Kind::kCall, kAdd, 0, words({1, 2}));
       call.pop_back();
       end.send(FrameType::kMessage, call);
     }},
    {"a reply", [](RawEnd& end) { end.send(FrameType::kMessage, message(Kind::kReply, 0, 0)); }},
    {"another table",
     [](RawEnd& end) { end.send(FrameType::kMessage, message(Kind::kTable, 0, 0, table_of_everything())); }},
    {"a procedure that is not in the table",
     [](RawEnd& end) { end.send(FrameType::kMessage, message(Kind::kCall, 999, 0)); }},
    {"a slot that there is not",
     [](RawEnd& end) { end.send(FrameType::kMessage, message(Kind::kCall, 0, 8)); }},
    {"a slot that is taken",
     [](RawEnd& end) {
       end.send(FrameType::kMessage, message(Kind::kCall, kHold, 64));
       end.send(FrameType::kMessage, message(Kind::kCall, kHold, 128));
     }},
    {"an argument that is too short",
     [](RawEnd& end) { end.send(FrameType::kMessage, message(Kind::kCall, kAdd, 0, words({1}))); }},
    {"an argument where there is none",
     [](RawEnd& end) { end.send(FrameType::kMessage, message(Kind::kCall, 0, 0, words({1}))); }},
    {"references that lead anywhere",
     [](RawEnd& end) {
       end.send(FrameType::kMessage, message(Kind::kCall, kMix, 0, Bytes(400, std::byte{0x7f})));
     }},
    {"a cancel with something behind it",
     [](RawEnd& end) { end.send(FrameType::kMessage, message(Kind::kCancel, 0, 0, words({1}))); }},
};

// What a server answers that keeps to nothing, and with what its client's call fails.
struct FalseAnswer {
  const char* what;
  std::function<Bytes(const Header& call)> answer;
  const char* error;
};

const std::vector<FalseAnswer> kFalseAnswers = {
    {"no header", [](const Header&) { return Bytes(7); }, "EPROTO"},
    {"a call", [](const Header& call) { return message(Kind::kCall, 0, call.sequence); }, "EPROTO"},
    {"another sequence",
     [](const Header& call) { return message(Kind::kReply, 0, call.sequence + 64, words({3})); }, "EPROTO"},
    {"another slot",
     [](const Header& call) { return message(Kind::kReply, 0, call.sequence + 1, words({3})); }, "EPROTO"},
    {"a slot that there is not",
     [](const Header& call) { return message(Kind::kReply, 0, call.sequence | 63U, words({3})); }, "EPROTO"},
    {"a status that there is not",
     [](const Header& call) { return message(Kind::kReply, 77, call.sequence, words({3})); }, "EPROTO"},
    {"a result that is too long",
     [](const Header& call) {
       return message(Kind::kReply, 0, call.sequence, words({3, 4}));
     },
     "EPROTO"},
    {"a failure without its number",
     [](const Header& call) { return message(Kind::kReply, 1, call.sequence); }, "EPROTO"},
    {"what is right", [](const Header& call) { return message(Kind::kReply, 0, call.sequence, words({3})); },
     "ok"},
};

// Listens as a server would, and greets one client.
class FalseServer {
 public:
  FalseServer() {
    sockaddr_in address = address_of_host(0);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    exs_fcntl(socket_, EXS_F_SET_SMALL_MAX, rpc::kFrameBytes + rpc::kInlineBytes);
    BOOST_REQUIRE_EQUAL(exs_bind(socket_, generic, length), 0);
    BOOST_REQUIRE_EQUAL(exs_listen(socket_, 1), 0);
    BOOST_REQUIRE_EQUAL(exs_getsockname(socket_, generic, &length), 0);
    port_ = ntohs(address.sin_port);
  }
  ~FalseServer() { exs_close(socket_); }
  FalseServer(const FalseServer&) = delete;
  FalseServer& operator=(const FalseServer&) = delete;

  [[nodiscard]] std::string port() const { return std::to_string(port_); }
  std::unique_ptr<RawEnd> accept() {
    return std::make_unique<RawEnd>(exs_accept_sync(socket_, nullptr, nullptr));
  }
  static void greet(RawEnd& end) {
    end.receive();
    end.receive();
    end.send(FrameType::kWelcome, words({0, 8, kLongest, 0}));
    end.send(FrameType::kMessage,
             message(Kind::kTable, 0, 0, Bytes(everything_one_interface.procedures_count)));
  }

 private:
  int socket_ = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  std::uint16_t port_ = 0;
};

exs_rpc_server_options_t small_options() {
  exs_rpc_server_options_t options{};
  options.struct_bytes = sizeof options;
  options.slots = 8;
  options.message_bytes_max = kLongest;
  return options;
}

struct Fixture {
  InitializedLibrary library;
  exs_rpc_server_options_t options = small_options();
  EverythingServer server{&options};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(lies_test, Fixture)

BOOST_AUTO_TEST_CASE(servers_end_who_lies_and_serve_all_others) {
  exs_rpc_client_t* const good = everything_one_open(host(), server.port().c_str(), nullptr);
  BOOST_REQUIRE(good != nullptr);
  const auto expect_end = [&](const Lie& lie, bool is_greeted) {
    BOOST_TEST_CONTEXT(lie.what) {
      RawEnd end(server.number());
      if (is_greeted) end.greet();
      lie.tell(end);
      while (!end.receive().empty()) continue;
      BOOST_TEST(nothing_1(good, nullptr) == 0);
    }
  };
  for (const Lie& lie : kLiesOfStrangers) expect_end(lie, false);
  for (const Lie& lie : kLiesOfClients) expect_end(lie, true);
  int released = 0;
  BOOST_TEST(outcome(release_1(good, &released, nullptr)) == "ok");
  exs_rpc_close(good);
}

BOOST_AUTO_TEST_CASE(clients_refuse_what_is_no_answer) {
  for (const FalseAnswer& lie : kFalseAnswers) {
    BOOST_TEST_CONTEXT(lie.what) {
      FalseServer false_server;
      std::thread answering([&] {
        const auto end = false_server.accept();
        FalseServer::greet(*end);
        const Bytes call = end->receive();
        Header header;
        rpc::get_header(std::span(call).subspan(rpc::kFrameBytes), header);
        end->send(FrameType::kMessage, lie.answer(header));
        while (!end->receive().empty()) continue;
      });
      exs_rpc_client_t* const client = everything_one_open(host(), false_server.port().c_str(), nullptr);
      BOOST_REQUIRE_MESSAGE(client != nullptr, exs_rpc_errtext());
      int sum = 0;
      BOOST_TEST(outcome(add_1(client, 1, 2, &sum, nullptr)) == lie.error);
      exs_rpc_close(client);
      answering.join();
    }
  }
}

BOOST_AUTO_TEST_CASE(clients_refuse_what_is_no_welcome) {
  const std::vector<std::function<void(RawEnd&)>> welcomes = {
      [](RawEnd& end) { end.send(FrameType::kWelcome, Bytes(3)); },
      [](RawEnd& end) {
        end.send(FrameType::kWelcome, words({0, 0, kLongest, 0}));
      },
      [](RawEnd& end) {
        end.send(FrameType::kWelcome, words({0, 8, 5, 0}));
      },
      [](RawEnd& end) { end.send(FrameType::kMessage, message(Kind::kReply, 0, 0)); },
      [](RawEnd& end) {
        end.send(FrameType::kWelcome, words({0, 8, kLongest, 0}));
        end.send(FrameType::kMessage, message(Kind::kTable, 0, 0, Bytes(3)));
      },
      [](RawEnd& end) { end.send_raw(Bytes(100, std::byte{0xee})); },
  };
  for (const auto& welcome : welcomes) {
    FalseServer false_server;
    std::thread answering([&] {
      const auto end = false_server.accept();
      welcome(*end);
      while (!end->receive().empty()) continue;
    });
    BOOST_TEST(everything_one_open(host(), false_server.port().c_str(), nullptr) == nullptr);
    BOOST_TEST(errno == EPROTO);
    answering.join();
  }
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_greet) {
  FalseServer false_server;
  exs_rpc_client_options_t wishes{};
  wishes.struct_bytes = sizeof wishes;
  wishes.connect_timeout_ns = 50'000'000;
  BOOST_TEST(everything_one_open(host(), false_server.port().c_str(), &wishes) == nullptr);
  BOOST_TEST(errno == ETIMEDOUT);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
