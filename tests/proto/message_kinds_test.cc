// Which messages may come on each kind of connection, all of them, and which spend a credit without being data.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/message_kinds.h"

#include <algorithm>
#include <initializer_list>

#include <boost/test/unit_test.hpp>

namespace exs::proto {
namespace message_kinds_test {

using wire::MessageType;
using Types = std::initializer_list<MessageType>;

constexpr int kLastType = static_cast<int>(MessageType::kFetched);
constexpr SocketKind kKinds[] = {SocketKind::kMessage, SocketKind::kStream, SocketKind::kTagged};

bool has(const Types& types, MessageType type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

constexpr Types kOfWindows = {MessageType::kOffer, MessageType::kNotice, MessageType::kRevoke,
                              MessageType::kRelease};
constexpr Types kOfTags = {MessageType::kTagged, MessageType::kTaggedAdvert, MessageType::kReturn,
                           MessageType::kHeld,   MessageType::kWant,         MessageType::kFetch,
                           MessageType::kFetched};
constexpr Types kOfData = {MessageType::kAdvert, MessageType::kImmediate, MessageType::kRecall,
                           MessageType::kRecallAck};

// As FORMAT.md has it: ordered messages have windows, and adverts with flags; only tagged ones have labels.
bool expected(SocketKind kind, const wire::Header& header) {
  if (has(kOfTags, header.type)) return kind == SocketKind::kTagged;
  if (has(kOfWindows, header.type)) return kind == SocketKind::kMessage;
  if (header.type == MessageType::kAdvert && header.flags != 0) return kind == SocketKind::kMessage;
  if (has(kOfData, header.type)) return kind != SocketKind::kTagged;
  return true;
}

}  // namespace message_kinds_test

BOOST_AUTO_TEST_SUITE(message_kinds_test)

BOOST_AUTO_TEST_CASE(each_message_comes_on_the_connections_that_have_a_use_for_it) {
  for (const SocketKind kind : kKinds) {
    for (int type = static_cast<int>(MessageType::kReady); type <= kLastType; ++type) {
      for (const std::uint8_t flags : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{16}}) {
        const wire::Header header{static_cast<MessageType>(type), flags, 0, 0};
        BOOST_TEST(
            may_come(kind, header) == expected(kind, header),
            "kind " << static_cast<int>(kind) << ", type " << type << ", flags " << static_cast<int>(flags));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(nothing_comes_on_a_connection_of_no_kind) {
  for (int type = 1; type <= kLastType; ++type)
    BOOST_TEST(!may_come(static_cast<SocketKind>(77), {static_cast<MessageType>(type), 0, 0, 0}));
}

BOOST_AUTO_TEST_CASE(few_messages_without_data_spend_a_credit) {
  const Types always = {MessageType::kNotice, MessageType::kWant, MessageType::kFetch};
  for (const SocketKind kind : kKinds) {
    for (int number = static_cast<int>(MessageType::kReady); number <= kLastType; ++number) {
      const auto type = static_cast<MessageType>(number);
      const bool spends = has(always, type) || (type == MessageType::kAck && kind == SocketKind::kTagged);
      BOOST_TEST(spends_credit(kind, type) == spends,
                 "kind " << static_cast<int>(kind) << ", type " << number);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::proto
