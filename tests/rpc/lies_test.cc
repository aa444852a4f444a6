// Ends that break the rules of rpc/FORMAT.md lose their connection; nobody else notices.
// SPDX-License-Identifier: BSD-2-Clause

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/rpc/fast/raw_end.h"

namespace exs::test {
namespace lies_test {

using rpc::CallHeader;
using rpc::CallMessage;
using rpc::FrameType;

struct Lie {
  const char* what;
  std::function<void(RawEnd&)> tell;
};

constexpr std::uint16_t kMix = 1;
constexpr std::uint16_t kAdd = 9;
constexpr std::uint16_t kHold = 14;

const std::vector<Lie> kLiesOfStrangers = {
    {"no frame at all", [](RawEnd& end) { end.send_raw(Bytes(3)); }},
    {"a frame of another type", [](RawEnd& end) { end.send_raw(Bytes(8, std::byte{9})); }},
    {"a call before all",
     [](RawEnd& end) { end.send(FrameType::kMessage, message(CallMessage::kCall, 0, 0)); }},
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
       end.send(FrameType::kMessage, message(CallMessage::kTable, 0, 0, Bytes(17)));
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
       Bytes call = message(CallMessage::kCall, kAdd, 0, words({1, 2}));
       call.pop_back();
       end.send(FrameType::kMessage, call);
     }},
    {"a reply", [](RawEnd& end) { end.send(FrameType::kMessage, message(CallMessage::kReply, 0, 0)); }},
    {"another table",
     [](RawEnd& end) {
       end.send(FrameType::kMessage, message(CallMessage::kTable, 0, 0, table_of_everything()));
     }},
    {"a procedure that is not in the table",
     [](RawEnd& end) { end.send(FrameType::kMessage, message(CallMessage::kCall, 999, 0)); }},
    {"a slot that there is not",
     [](RawEnd& end) { end.send(FrameType::kMessage, message(CallMessage::kCall, 0, 8)); }},
    {"a slot that is taken",
     [](RawEnd& end) {
       end.send(FrameType::kMessage, message(CallMessage::kCall, kHold, 64));
       end.send(FrameType::kMessage, message(CallMessage::kCall, kHold, 128));
     }},
    {"an argument that is too short",
     [](RawEnd& end) { end.send(FrameType::kMessage, message(CallMessage::kCall, kAdd, 0, words({1}))); }},
    {"an argument where there is none",
     [](RawEnd& end) { end.send(FrameType::kMessage, message(CallMessage::kCall, 0, 0, words({1}))); }},
    {"references that lead anywhere",
     [](RawEnd& end) {
       end.send(FrameType::kMessage, message(CallMessage::kCall, kMix, 0, Bytes(400, std::byte{0x7f})));
     }},
    {"a cancel with something behind it",
     [](RawEnd& end) { end.send(FrameType::kMessage, message(CallMessage::kCancel, 0, 0, words({1}))); }},
};

// What a server answers that keeps to nothing, and with what its client's call fails.
struct FalseAnswer {
  const char* what;
  std::function<Bytes(const CallHeader& call)> answer;
  const char* error;
};

const std::vector<FalseAnswer> kFalseAnswers = {
    {"no header", [](const CallHeader&) { return Bytes(7); }, "EPROTO"},
    {"a call", [](const CallHeader& call) { return message(CallMessage::kCall, 0, call.sequence); },
     "EPROTO"},
    {"another sequence",
     [](const CallHeader& call) { return message(CallMessage::kReply, 0, call.sequence + 64, words({3})); },
     "EPROTO"},
    {"another slot",
     [](const CallHeader& call) { return message(CallMessage::kReply, 0, call.sequence + 1, words({3})); },
     "EPROTO"},
    {"a slot that there is not",
     [](const CallHeader& call) { return message(CallMessage::kReply, 0, call.sequence | 63U, words({3})); },
     "EPROTO"},
    {"a status that there is not",
     [](const CallHeader& call) { return message(CallMessage::kReply, 77, call.sequence, words({3})); },
     "EPROTO"},
    {"a result that is too long",
     [](const CallHeader& call) {
       return message(CallMessage::kReply, 0, call.sequence, words({3, 4}));
     },
     "EPROTO"},
    {"a failure without its number",
     [](const CallHeader& call) { return message(CallMessage::kReply, 1, call.sequence); }, "EPROTO"},
    {"what is right",
     [](const CallHeader& call) { return message(CallMessage::kReply, 0, call.sequence, words({3})); }, "ok"},
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

}  // namespace lies_test

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

// shows: exs_rpc_invoke EPROTO
BOOST_AUTO_TEST_CASE(clients_refuse_what_is_no_answer) {
  for (const FalseAnswer& lie : kFalseAnswers) {
    BOOST_TEST_CONTEXT(lie.what) {
      FalseServer false_server;
      std::thread answering([&] {
        const auto end = false_server.accept();
        FalseServer::greet(*end);
        const Bytes call = end->receive();
        CallHeader header;
        if (!rpc::get_header(std::span(call).subspan(rpc::kFrameBytes), header)) return;
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

// shows: exs_rpc_open EPROTO
BOOST_AUTO_TEST_CASE(clients_refuse_what_is_no_welcome) {
  const std::vector<std::function<void(RawEnd&)>> welcomes = {
      [](RawEnd& end) { end.send(FrameType::kWelcome, Bytes(3)); },
      [](RawEnd& end) {
        end.send(FrameType::kWelcome, words({0, 0, kLongest, 0}));
      },
      [](RawEnd& end) {
        end.send(FrameType::kWelcome, words({0, 8, 5, 0}));
      },
      [](RawEnd& end) { end.send(FrameType::kMessage, message(CallMessage::kReply, 0, 0)); },
      [](RawEnd& end) {
        end.send(FrameType::kWelcome, words({0, 8, kLongest, 0}));
        end.send(FrameType::kMessage, message(CallMessage::kTable, 0, 0, Bytes(3)));
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

// shows: exs_rpc_open ETIMEDOUT
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
