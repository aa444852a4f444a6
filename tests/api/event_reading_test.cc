// exs/event.h: what an event carries is read from events of every type, and what it does not carry is 0, NULL or -1.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>

#include "exs/exs.h"

namespace exs::test {
namespace event_reading_test {

constexpr std::array kTypes = {EXS_EVT_NONE,     EXS_EVT_POLL,        EXS_EVT_CONNECT,     EXS_EVT_ACCEPT,
                               EXS_EVT_SEND,     EXS_EVT_RECV,        EXS_EVT_SENDMSG,     EXS_EVT_RECVMSG,
                               EXS_EVT_SENDFILE, EXS_EVT_SENDTIMEOUT, EXS_EVT_RECVTIMEOUT, EXS_EVT_SHUTDOWN,
                               EXS_EVT_CLOSE,    EXS_EVT_PEER_READ,   EXS_EVT_PEER_WRITE,  EXS_EVT_USER,
                               EXS_EVT_MAP};
const std::set<int> kTransfers = {EXS_EVT_SEND, EXS_EVT_RECV, EXS_EVT_PEER_READ, EXS_EVT_PEER_WRITE};

// Nothing in it is 0 or -1.
exs_event_t full_event(int type) {
  exs_event_t event;
  std::memset(&event, 0x11, sizeof event);
  event.exs_evt_type = type;
  return event;
}

// The types of which `read` gives something else than `nothing`.
template <typename Read, typename Value>
std::set<int> types_with(const Read& read, const Value& nothing) {
  std::set<int> found;
  for (const int type : kTypes) {
    const exs_event_t event = full_event(type);
    if (read(&event) != nothing) found.insert(type);
  }
  return found;
}

std::set<int> with(std::set<int> some, std::initializer_list<int> more) {
  some.insert(more);
  return some;
}

}  // namespace event_reading_test

BOOST_AUTO_TEST_SUITE(event_reading_test)

BOOST_AUTO_TEST_CASE(each_is_read_from_the_events_that_carry_it) {
  using Types = std::set<int>;
  BOOST_TEST((types_with(exs_event_bytes, 0U) ==
              with(kTransfers, {EXS_EVT_SENDMSG, EXS_EVT_RECVMSG, EXS_EVT_SENDFILE, EXS_EVT_MAP})));
  BOOST_TEST((types_with(exs_event_buffer, nullptr) == with(kTransfers, {EXS_EVT_MAP})));
  BOOST_TEST((types_with(exs_event_region, EXS_MHANDLE_INVALID) == kTransfers));
  BOOST_TEST((types_with(exs_event_offset, 0U) == with(kTransfers, {EXS_EVT_SENDMSG, EXS_EVT_RECVMSG})));
  BOOST_TEST((types_with(exs_event_count, 0U) ==
              Types{EXS_EVT_PEER_READ, EXS_EVT_PEER_WRITE, EXS_EVT_SENDTIMEOUT, EXS_EVT_RECVTIMEOUT}));
  BOOST_TEST((types_with(exs_event_new_socket, -1) == Types{EXS_EVT_ACCEPT}));
  BOOST_TEST((types_with(exs_event_revents, 0U) == Types{EXS_EVT_POLL}));
  BOOST_TEST((types_with(exs_event_next_length, 0U) == Types{EXS_EVT_POLL}));
  for (unsigned word = 0; word < 5; ++word) {
    const auto read = [word](const exs_event_t* event) { return exs_event_user(event, word); };
    BOOST_TEST((types_with(read, 0U) == Types{EXS_EVT_USER}));
  }
  const exs_event_t posted = full_event(EXS_EVT_USER);
  BOOST_TEST(exs_event_user(&posted, 5) == 0U);
}

BOOST_AUTO_TEST_CASE(each_reads_its_own_field) {
  int memory = 0;
  exs_event_t event{};
  event.exs_evt_type = EXS_EVT_RECV;
  event.exs_evt_union.exs_evt_xfer = {&memory, 10, 7, 20, static_cast<exs_mhandle_t>(5), 3};
  BOOST_TEST(exs_event_bytes(&event) == 7U);
  BOOST_TEST(exs_event_buffer(&event) == &memory);
  BOOST_TEST(exs_event_offset(&event) == 20U);
  BOOST_TEST(exs_event_region(&event) == 5);
  event.exs_evt_type = EXS_EVT_PEER_READ;
  BOOST_TEST(exs_event_count(&event) == 3U);
  event.exs_evt_type = EXS_EVT_SENDMSG;
  event.exs_evt_union.exs_evt_xfermsg = {nullptr, 8, 21};
  BOOST_TEST(exs_event_bytes(&event) == 8U);
  BOOST_TEST(exs_event_offset(&event) == 21U);
  event.exs_evt_type = EXS_EVT_SENDFILE;
  event.exs_evt_union.exs_evt_xferfile = {nullptr, 9};
  BOOST_TEST(exs_event_bytes(&event) == 9U);
  event.exs_evt_type = EXS_EVT_MAP;
  event.exs_evt_union.exs_evt_map = {&memory, 64};
  BOOST_TEST(exs_event_bytes(&event) == 64U);
  BOOST_TEST(exs_event_buffer(&event) == &memory);
  event.exs_evt_type = EXS_EVT_ACCEPT;
  event.exs_evt_union.exs_evt_accept = {nullptr, 12, 0};
  BOOST_TEST(exs_event_new_socket(&event) == 12);
  event.exs_evt_type = EXS_EVT_POLL;
  event.exs_evt_union.exs_evt_poll = {EXS_POLLIN, 0, 100};
  BOOST_TEST(exs_event_revents(&event) == unsigned{EXS_POLLIN});
  BOOST_TEST(exs_event_next_length(&event) == 100U);
  event.exs_evt_type = EXS_EVT_USER;
  for (unsigned word = 0; word < 5; ++word) event.exs_evt_union.exs_evt_user[word] = word + 1;
  for (unsigned word = 0; word < 5; ++word) BOOST_TEST(exs_event_user(&event, word) == word + 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
