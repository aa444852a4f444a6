// exs_sendmsg and exs_recvmsg: pieces registered or not, as one message.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace message_vector_test {

struct Fixture {
  InitializedLibrary library;
  Queue queue{64};
  Pair pair{queue};
  Memory first{1 << 18};
  Memory second{1 << 18};
  std::vector<std::byte> ordinary = std::vector<std::byte>(1 << 18);
  Memory sink{1 << 20};

  Fixture() {
    first.fill(1);
    second.fill(2);
    for (std::size_t i = 0; i < ordinary.size(); ++i) ordinary[i] = static_cast<std::byte>(i * 5 >> 2);
  }
  int send(exs_msghdr_t& message, int flags = 0) {
    return exs_sendmsg(pair.left, &message, flags, queue.handle(), &message);
  }
  int receive_flat(std::size_t length) {
    return exs_recv(pair.right, sink.at(), length, 0, queue.handle(), nullptr, sink.handle());
  }
};

exs_iovec_t piece(Memory& memory, std::size_t offset, std::size_t length) {
  return {memory.at(offset), length, memory.handle(), 0};
}
exs_iovec_t piece(std::vector<std::byte>& memory, std::size_t offset, std::size_t length) {
  return {memory.data() + offset, length, EXS_MHANDLE_UNREGISTERED, 0};
}
exs_msghdr_t message_of(std::vector<exs_iovec_t>& pieces) {
  return {pieces.data(), static_cast<int>(pieces.size()), 0, nullptr, 0};
}
std::vector<std::byte> flattened(const std::vector<exs_iovec_t>& pieces) {
  std::vector<std::byte> flat;
  for (const exs_iovec_t& each : pieces) {
    const auto* bytes = static_cast<const std::byte*>(each.iov_base);
    flat.insert(flat.end(), bytes, bytes + each.iov_len);
  }
  return flat;
}

}  // namespace message_vector_test

BOOST_FIXTURE_TEST_SUITE(message_vector_test, Fixture)

BOOST_AUTO_TEST_CASE(pieces_become_one_message) {
  std::vector<std::vector<exs_iovec_t>> cases = {
      {piece(first, 10, 100)},
      {piece(first, 10, 100), piece(second, 5, 200)},
      {piece(ordinary, 3, 300)},
      {piece(ordinary, 0, 1), piece(first, 0, 0), piece(second, 7, 511), piece(ordinary, 9, 512)},
      {piece(first, 0, 100'000), piece(second, 1, 3), piece(first, 5, 70'000)},
      {piece(ordinary, 0, 50'000), piece(second, 1, 50'000), piece(ordinary, 100'000, 9)},
      {piece(first, 0, 0), piece(second, 4, 20'000), piece(ordinary, 0, 0)},
  };
  for (int i = 0; i < 200; ++i) cases.back().push_back(piece(first, static_cast<std::size_t>(i) * 1000, 777));
  for (auto& pieces : cases) {
    for (const int flags : {0, EXS_NO_IMMEDIATE}) {
      exs_msghdr_t message = message_of(pieces);
      const auto flat = flattened(pieces);
      std::memset(sink.at(), 0, sink.size_bytes());
      BOOST_REQUIRE_EQUAL(receive_flat(sink.size_bytes()), 0);
      BOOST_REQUIRE_EQUAL(send(message, flags), 0);
      const exs_event_t sent = queue.next_of(pair.left, EXS_EVT_SENDMSG);
      BOOST_TEST(sent.exs_evt_errno == 0);
      BOOST_TEST(sent.exs_evt_ahandle == &message);
      BOOST_TEST(sent.exs_evt_union.exs_evt_xfermsg.exs_evt_msghdr == &message);
      BOOST_TEST(sent.exs_evt_union.exs_evt_xfermsg.exs_evt_length == flat.size());
      const exs_event_t received = queue.next_of(pair.right, EXS_EVT_RECV);
      BOOST_TEST(received.exs_evt_union.exs_evt_xfer.exs_evt_length == flat.size());
      BOOST_TEST(std::memcmp(sink.at(), flat.data(), flat.size()) == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_message_fills_the_pieces_of_a_receive_in_turn) {
  for (const std::size_t length : {0UL, 5UL, 900UL, 150'000UL, 400'000UL}) {
    std::memset(first.at(), 0, first.size_bytes());
    std::memset(second.at(), 0, second.size_bytes());
    std::memset(ordinary.data(), 0, ordinary.size());
    std::vector<exs_iovec_t> pieces = {piece(first, 1, 5), piece(ordinary, 0, 150'000), piece(second, 0, 0),
                                       piece(second, 3, 200'000), piece(first, 100, 5)};
    exs_msghdr_t message = message_of(pieces);
    sink.fill(static_cast<std::uint32_t>(length) + 1);
    BOOST_REQUIRE_EQUAL(exs_recvmsg(pair.right, &message, 0, queue.handle(), &message), 0);
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, sink.at(), length, 0, queue.handle(), nullptr, sink.handle()), 0);
    const exs_event_t received = queue.next_of(pair.right, EXS_EVT_RECVMSG);
    const std::size_t taken = std::min<std::size_t>(length, 350'010);
    BOOST_TEST(received.exs_evt_errno == 0);
    BOOST_TEST(received.exs_evt_union.exs_evt_xfermsg.exs_evt_msghdr == &message);
    BOOST_TEST(received.exs_evt_union.exs_evt_xfermsg.exs_evt_length == taken);
    BOOST_TEST(((received.exs_evt_flags & EXS_EVF_TRUNC) != 0U) == (taken < length));
    BOOST_TEST(received.exs_evt_union.exs_evt_xfermsg.exs_evt_offset == (taken < length ? length : 0));
    BOOST_TEST(std::memcmp(flattened(pieces).data(), sink.at(), taken) == 0);
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  }
}

// An immediate one, whose sender is told nothing.
BOOST_AUTO_TEST_CASE(a_short_message_too_long_for_the_pieces_is_told_whole) {
  std::vector<exs_iovec_t> pieces = {piece(first, 0, 3), piece(second, 0, 4)};
  exs_msghdr_t message = message_of(pieces);
  BOOST_REQUIRE_EQUAL(exs_recvmsg(pair.right, &message, 0, queue.handle(), &message), 0);
  BOOST_REQUIRE_EQUAL(exs_send(pair.left, sink.at(), 10, 0, queue.handle(), nullptr, sink.handle()), 0);
  const exs_event_t received = queue.next_of(pair.right, EXS_EVT_RECVMSG);
  BOOST_TEST((received.exs_evt_flags & (EXS_EVF_TRUNC | EXS_EVF_IMMEDIATE)) ==
             (EXS_EVF_TRUNC | EXS_EVF_IMMEDIATE));
  BOOST_TEST(received.exs_evt_union.exs_evt_xfermsg.exs_evt_length == 7U);
  BOOST_TEST(received.exs_evt_union.exs_evt_xfermsg.exs_evt_offset == 10U);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
}

BOOST_AUTO_TEST_CASE(no_pieces_are_an_empty_message) {
  exs_msghdr_t message{};
  BOOST_REQUIRE_EQUAL(exs_recvmsg(pair.right, &message, 0, queue.handle(), nullptr), 0);
  BOOST_REQUIRE_EQUAL(send(message), 0);
  const exs_event_t received = queue.next_of(pair.right, EXS_EVT_RECVMSG);
  BOOST_TEST(received.exs_evt_errno == 0);
  BOOST_TEST((received.exs_evt_flags & EXS_EVF_EOR) != 0U);
  BOOST_TEST((received.exs_evt_flags & EXS_EVF_EOF) == 0U);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SENDMSG) == "0");
}

BOOST_AUTO_TEST_CASE(everything_is_checked_before_anything_changes) {
  std::vector<exs_iovec_t> good = {piece(first, 0, 2000), piece(second, 0, 2000)};
  const auto refused = [&](exs_msghdr_t message, int flags = 0) {
    const std::string sent = outcome(send(message, flags));
    const std::string received = outcome(exs_recvmsg(pair.left, &message, flags, queue.handle(), nullptr));
    BOOST_TEST(sent == received);
    return sent;
  };
  const auto refused_piece = [&](exs_iovec_t bad) {
    std::vector<exs_iovec_t> pieces = good;
    pieces.push_back(bad);
    return refused(message_of(pieces));
  };
  BOOST_TEST(outcome(exs_sendmsg(pair.left, nullptr, 0, queue.handle(), nullptr)) == "EFAULT");
  BOOST_TEST(refused({nullptr, 1, 0, nullptr, 0}) == "EFAULT");
  BOOST_TEST(refused({good.data(), -1, 0, nullptr, 0}) == "EINVAL");
  BOOST_TEST(refused({good.data(), 2, 1, nullptr, 0}) == "EINVAL");
  BOOST_TEST(refused({good.data(), 2, 0, good.data(), 0}) == "EINVAL");
  BOOST_TEST(refused({good.data(), 2, 0, nullptr, 1}) == "EINVAL");
  BOOST_TEST(refused({good.data(), EXS_IOV_MAX + 1, 0, nullptr, 0}) == "EMSGSIZE");
  BOOST_TEST(refused_piece({first.at(), 1, first.handle(), 1}) == "EINVAL");
  BOOST_TEST(refused_piece({first.at(), 1, exs_mhandle_t{first.handle() + (1 << 16)}, 0}) == "EINVAL");
  BOOST_TEST(refused_piece({first.at(), 0, EXS_MHANDLE_INVALID, 0}) == "EINVAL");
  BOOST_TEST(refused_piece({first.at(), first.size_bytes() + 1, first.handle(), 0}) == "EFAULT");
  BOOST_TEST(refused_piece({nullptr, 1, EXS_MHANDLE_UNREGISTERED, 0}) == "EFAULT");
  BOOST_TEST(refused_piece({first.at(), SIZE_MAX / 2, first.handle(), 0}) == "EINVAL");
  BOOST_TEST(refused(message_of(good), EXS_PERSISTENT) == "EOPNOTSUPP");
  BOOST_TEST(refused(message_of(good), EXS_PERSISTENT | EXS_NOTIFY) == "EOPNOTSUPP");
  Memory local(4096, EXS_MRF_LOCAL_ONLY);
  std::vector<exs_iovec_t> hidden = {piece(first, 0, 2000), piece(local, 0, 10)};
  exs_msghdr_t message = message_of(hidden);
  BOOST_TEST(outcome(send(message)) == "EACCES");
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
  for (Memory* memory : {&first, &second, &local}) BOOST_TEST(exs_mderegister(memory->handle(), 0) == 0);
}

BOOST_AUTO_TEST_CASE(every_region_of_a_message_is_in_use_until_its_event) {
  std::vector<exs_iovec_t> pieces = {piece(first, 0, 2000), piece(second, 0, 2000)};
  exs_msghdr_t message = message_of(pieces);
  BOOST_REQUIRE_EQUAL(send(message), 0);
  for (Memory* memory : {&first, &second})
    BOOST_TEST(outcome(exs_mderegister(memory->handle(), 0)) == "EBUSY");
  BOOST_REQUIRE_EQUAL(receive_flat(4000), 0);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SENDMSG) == "0");
  for (Memory* memory : {&first, &second}) BOOST_TEST(exs_mderegister(memory->handle(), 0) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
