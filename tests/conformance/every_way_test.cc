// Every way to send with every way to receive, from and into every kind of memory, in sizes on both sides of
// each threshold, with messages and streams: the bytes arrive unchanged, and the events are right.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "tests/conformance/transfer_calls.h"
#include "tests/support/pattern.h"

namespace data = boost::unit_test::data;

namespace exs::test {
namespace every_way_test {

enum class MemoryKind { kRegistered, kAllocated, kUnregistered };

std::ostream& operator<<(std::ostream& out, MemoryKind kind) {
  const char* const names[] = {"registered", "allocated", "unregistered"};
  return out << names[static_cast<int>(kind)];
}

// Memory of one kind, with a guard behind it.
class Piece {
 public:
  Piece(MemoryKind kind, std::size_t size_bytes, std::uint32_t seed) : kind_(kind), size_bytes_(size_bytes) {
    const std::size_t total = size_bytes + kGuardBytes;
    if (kind == MemoryKind::kAllocated) {
      bytes_ = static_cast<std::byte*>(exs_alloc(total, &region_));
    } else {
      if (!unused().empty()) {
        plain_ = std::move(unused().back());
        unused().pop_back();
      }
      plain_.resize(total);
      bytes_ = plain_.data();
      if (kind == MemoryKind::kRegistered) region_ = exs_mregister(bytes_, total, 0);
    }
    BOOST_REQUIRE(bytes_ != nullptr && region_ != EXS_MHANDLE_INVALID);
    const auto content = content_of(seed, 0, total);
    std::memcpy(bytes_, content.data(), content.size());
  }
  ~Piece() {
    if (kind_ == MemoryKind::kRegistered) exs_mderegister(region_, 0);
    if (kind_ == MemoryKind::kAllocated) exs_free(bytes_);
    if (kind_ != MemoryKind::kAllocated) unused().push_back(std::move(plain_));
  }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;

  [[nodiscard]] bool holds(std::size_t from, std::size_t length, std::uint32_t seed,
                           std::size_t content_from) const {
    return std::memcmp(bytes_ + from, content_of(seed, content_from, length).data(), length) == 0;
  }
  [[nodiscard]] std::byte* bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] exs_mhandle_t region() const { return region_; }
  static constexpr std::size_t kGuardBytes = 64;

 private:
  // The memory of pieces that are gone, for those to come: fresh pages are most of what the test takes in the rig.
  static std::vector<std::vector<std::byte>>& unused() {
    static std::vector<std::vector<std::byte>> memory;
    return memory;
  }
  // Each seed begins at another place of one table: to compute three million bytes for each way would be most of
  // what a sanitizer does here.
  static std::span<const std::byte> content_of(std::uint32_t seed, std::size_t from, std::size_t length) {
    constexpr std::size_t kPlacesApart = 1009;
    static const std::vector<std::byte> table = pattern((std::size_t{3} << 20) + 16 * kPlacesApart);
    return std::span(table).subspan(seed * kPlacesApart + from).first(length);
  }

  const MemoryKind kind_;
  const std::size_t size_bytes_;
  std::vector<std::byte> plain_;
  std::byte* bytes_ = nullptr;
  exs_mhandle_t region_ = EXS_MHANDLE_UNREGISTERED;
};

const TransferCall& way_of(std::string_view function) {
  for (const TransferCall& way : kTransferCalls) {
    if (function == way.function) return way;
  }
  throw std::logic_error("no such way");
}

struct Sender {
  const char* function;
  int flags;
};
std::ostream& operator<<(std::ostream& out, const Sender& sender) {
  return out << sender.function << (sender.flags != 0 ? " EXS_NO_IMMEDIATE" : "");
}
const Sender kSenders[] = {{"exs_send", 0},     {"exs_send", EXS_NO_IMMEDIATE},
                           {"exs_sendmsg", 0},  {"exs_sendmsg", EXS_NO_IMMEDIATE},
                           {"exs_sendfile", 0}, {"exs_send_sync", 0}};
const char* const kReceivers[] = {"exs_recv", "exs_recvmsg", "exs_recv_sync"};
const MemoryKind kKinds[] = {MemoryKind::kRegistered, MemoryKind::kAllocated, MemoryKind::kUnregistered};
const int kTypes[] = {SOCK_SEQPACKET, SOCK_STREAM};

std::size_t small_maximum(int socket) {
  std::size_t bytes = 0;
  BOOST_REQUIRE_EQUAL(exs_fcntl(socket, EXS_F_GET_SMALL_MAX, &bytes), 0);
  return bytes;
}

struct Told {
  int error = 0;
  std::size_t length = 0;
  std::uint32_t flags = 0;
};

Told told_by(const exs_event_t& event) {
  const auto& parts = event.exs_evt_union;
  std::size_t length = parts.exs_evt_xfer.exs_evt_length;
  if (event.exs_evt_type == EXS_EVT_SENDMSG || event.exs_evt_type == EXS_EVT_RECVMSG)
    length = parts.exs_evt_xfermsg.exs_evt_length;
  if (event.exs_evt_type == EXS_EVT_SENDFILE) length = parts.exs_evt_xferfile.exs_evt_length;
  return {event.exs_evt_errno, length, event.exs_evt_flags};
}

struct Fixture {
  InitializedLibrary library;
  Queue queue{1024};

  Told end_of(const TransferCall& way, int socket) { return told_by(queue.next_of(socket, way.event_type)); }

  void transfer(const Pair& pair, const Sender& sender, const char* receiver, const Piece& from,
                const Piece& into) {
    const TransferCall& out = way_of(sender.function);
    const TransferCall& in = way_of(receiver);
    Vector sent;
    Vector received;
    const Arguments receive = {pair.right,    into.bytes(), into.size_bytes(), MSG_WAITALL, queue.handle(),
                               into.region(), nullptr};
    const Arguments send = {pair.left,     from.bytes(), from.size_bytes(), sender.flags, queue.handle(),
                            from.region(), nullptr};
    if (in.waits) {
      BOOST_REQUIRE_EQUAL(out.post(send, sent), 0);
      BOOST_REQUIRE_EQUAL(in.post(receive, received), static_cast<int>(from.size_bytes()));
    } else {
      BOOST_REQUIRE_EQUAL(in.post(receive, received), 0);
      BOOST_REQUIRE_EQUAL(out.post(send, sent), out.waits ? static_cast<int>(from.size_bytes()) : 0);
      const Told told = end_of(in, pair.right);
      BOOST_TEST(errno_name(told.error) == "0");
      BOOST_TEST(told.length == from.size_bytes());
    }
    if (out.waits) return;
    const Told told = end_of(out, pair.left);
    BOOST_TEST(errno_name(told.error) == "0");
    BOOST_TEST(told.length == from.size_bytes());
  }
};

}  // namespace every_way_test

BOOST_FIXTURE_TEST_SUITE(every_way_test, Fixture)

BOOST_DATA_TEST_CASE(delivers_the_same_bytes,
                     data::make(kTypes) * data::make(kSenders) * data::make(kReceivers) * data::make(kKinds),
                     type, sender, receiver, kind) {
  if (way_of(sender.function).waits && way_of(receiver).waits) return;
  const Pair pair(queue, type);
  const std::size_t small = small_maximum(pair.left);
  std::uint32_t seed = 1;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{64}, small, small + 1,
                                 std::size_t{100'000}, std::size_t{3} << 20}) {
    if (size == 0 && type == SOCK_STREAM) continue;  // a stream carries no empty messages
    BOOST_TEST_CONTEXT("size " << size) {
      const Piece from(kind, size, ++seed);
      const Piece into(kind, size, 0);
      transfer(pair, sender, receiver, from, into);
      BOOST_TEST(into.holds(0, size, seed, 0));
      BOOST_TEST(into.holds(size, Piece::kGuardBytes, 0, size));
    }
  }
}

BOOST_DATA_TEST_CASE(cuts_a_message_that_is_too_long, data::make(kSenders) * data::make(kReceivers), sender,
                     receiver) {
  if (way_of(sender.function).waits && way_of(receiver).waits) return;
  const Pair pair(queue);
  for (const std::size_t size : {std::size_t{64}, std::size_t{100'000}}) {
    const Piece from(MemoryKind::kRegistered, size, 5);
    const Piece into(MemoryKind::kRegistered, size / 2, 0);
    const TransferCall& out = way_of(sender.function);
    const TransferCall& in = way_of(receiver);
    Vector sent;
    Vector received;
    const Arguments receive = {pair.right,    into.bytes(), into.size_bytes(), 0, queue.handle(),
                               into.region(), nullptr};
    const Arguments send = {pair.left,     from.bytes(), from.size_bytes(), sender.flags, queue.handle(),
                            from.region(), nullptr};
    if (in.waits) BOOST_REQUIRE_EQUAL(out.post(send, sent), 0);
    const int result = in.post(receive, received);
    const int error = errno;
    BOOST_REQUIRE_EQUAL(result, in.waits ? -1 : 0);
    if (in.waits) BOOST_TEST(errno_name(error) == "EMSGSIZE");
    if (!in.waits) {
      BOOST_REQUIRE_GE(out.post(send, sent), 0);
      const Told told = end_of(in, pair.right);
      BOOST_TEST(told.length == size / 2);
      BOOST_TEST((told.flags & EXS_EVF_TRUNC) != 0U);
    }
    if (!out.waits) BOOST_TEST(errno_name(end_of(out, pair.left).error) == "0");
    BOOST_TEST(into.holds(0, size / 2, 5, 0));
    BOOST_TEST(into.holds(size / 2, Piece::kGuardBytes, 0, size / 2));
  }
}

BOOST_DATA_TEST_CASE(without_an_event_only_errors_are_told, data::make(kTypes), type) {
  const Pair pair(queue, type);
  const Piece memory(MemoryKind::kRegistered, 100'000, 7);
  const Piece into(MemoryKind::kRegistered, 100'000, 0);
  for (const std::size_t size : {std::size_t{64}, std::size_t{100'000}}) {
    BOOST_REQUIRE_EQUAL(
        exs_recv(pair.right, into.bytes(), size, MSG_WAITALL, queue.handle(), nullptr, into.region()), 0);
    BOOST_REQUIRE_EQUAL(
        exs_send(pair.left, memory.bytes(), size, EXS_NO_EVENT, queue.handle(), nullptr, memory.region()), 0);
    BOOST_TEST(errno_name(queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_errno) == "0");
    // When the event of a later send comes, the send without an event has ended, too.
    BOOST_REQUIRE_EQUAL(
        exs_recv(pair.right, into.bytes(), size, MSG_WAITALL, queue.handle(), nullptr, into.region()), 0);
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.bytes(), size, 0, queue.handle(), &queue, memory.region()),
                        0);
    BOOST_TEST(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_ahandle == static_cast<const void*>(&queue));
    BOOST_TEST(errno_name(queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_errno) == "0");
    BOOST_TEST(queue.empty());
    BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
  }
  BOOST_REQUIRE_EQUAL(
      exs_send(pair.left, memory.bytes(), 100'000, EXS_NO_EVENT, queue.handle(), nullptr, memory.region()),
      0);
  BOOST_REQUIRE_EQUAL(exs_shutdown(pair.right, SHUT_RD), 0);
  BOOST_TEST(errno_name(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_errno) == "EPIPE");
}

BOOST_DATA_TEST_CASE(half_closes_after_the_send_that_says_so, data::make(kTypes) * data::make({64, 100'000}),
                     type, size) {
  const Pair pair(queue, type);
  const Piece memory(MemoryKind::kRegistered, 100'000, 9);
  const Piece into(MemoryKind::kRegistered, 100'000, 0);
  const auto bytes = static_cast<std::size_t>(size);
  BOOST_REQUIRE_EQUAL(
      exs_send(pair.left, memory.bytes(), bytes, EXS_SHUT_WR, queue.handle(), nullptr, memory.region()), 0);
  BOOST_TEST(outcome(exs_send(pair.left, memory.bytes(), 1, 0, queue.handle(), nullptr, memory.region())) ==
             "EPIPE");
  BOOST_REQUIRE_EQUAL(
      exs_recv(pair.right, into.bytes(), bytes, MSG_WAITALL, queue.handle(), nullptr, into.region()), 0);
  BOOST_TEST(told_by(queue.next_of(pair.right, EXS_EVT_RECV)).length == bytes);
  BOOST_REQUIRE_EQUAL(exs_recv(pair.right, into.bytes(), 1, 0, queue.handle(), nullptr, into.region()), 0);
  const Told end = told_by(queue.next_of(pair.right, EXS_EVT_RECV));
  BOOST_TEST(end.length == 0U);
  BOOST_TEST((end.flags & EXS_EVF_EOF) != 0U);
  BOOST_TEST(errno_name(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_errno) == "0");
}

// MSG_MORE holds a send back until one without it, or exs_flush().
BOOST_DATA_TEST_CASE(holds_back_what_has_more_to_come, data::make(kTypes) * data::make({false, true}), type,
                     flush) {
  const Pair pair(queue, type);
  const Piece memory(MemoryKind::kRegistered, 1000, 11);
  const Piece into(MemoryKind::kRegistered, 1000, 0);
  const exs_qhandle_t q = queue.handle();
  for (int i = 0; i < 3; ++i)
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.bytes(), 100, MSG_MORE, q, nullptr, memory.region()), 0);
  // A round trip in the other direction: bytes that had left earlier would have arrived before it.
  BOOST_REQUIRE_EQUAL(exs_recv(pair.left, into.bytes(), 10, MSG_WAITALL, q, nullptr, into.region()), 0);
  BOOST_REQUIRE_EQUAL(exs_send(pair.right, memory.bytes(), 10, 0, q, nullptr, memory.region()), 0);
  BOOST_TEST(errno_name(queue.next_of(pair.left, EXS_EVT_RECV).exs_evt_errno) == "0");
  BOOST_TEST(errno_name(queue.next_of(pair.right, EXS_EVT_SEND).exs_evt_errno) == "0");
  const exs_stats_t stats = stats_of(pair.left);
  BOOST_TEST(stats.immediate_msgs + stats.adverts_sent == 0U);
  if (flush) {
    BOOST_REQUIRE_EQUAL(exs_flush(pair.left), 0);
  } else {
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.bytes(), 100, 0, q, nullptr, memory.region()), 0);
  }
  for (int i = 0; i < (flush ? 3 : 4); ++i) {
    BOOST_REQUIRE_EQUAL(exs_recv(pair.right, into.bytes(), 100, MSG_WAITALL, q, nullptr, into.region()), 0);
    BOOST_TEST(told_by(queue.next_of(pair.right, EXS_EVT_RECV)).length == 100U);
    BOOST_TEST(errno_name(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_errno) == "0");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
