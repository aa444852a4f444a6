// Kernel stream sockets in exs calls: plain bytes, the same events and queues; the descriptor stays the
// caller's.
// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>

#include <algorithm>
#include <array>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <optional>
#include <thread>

#include "src/api/library.h"
#include "tests/api/kernel_sockets.h"
#include "tests/support/raw_peer.h"

// The thread sanitizer calls this function.
extern "C" const char* __tsan_default_suppressions() {  // NOLINT: a reserved name by necessity
  return "race:under_the_library\n";
}

using namespace exs::test;
namespace data = boost::unit_test::data;

namespace exs::test {
static std::ostream& operator<<(std::ostream& out, Family family) {
  return out << (family == Family::kTcp ? "TCP" : "local");
}
}  // namespace exs::test

namespace plain_test {

const auto kFamilies = data::make({Family::kTcp, Family::kLocal});

struct Fixture {
  InitializedLibrary library;
  Queue queue{1024};
  Memory memory{1 << 20};

  int send(const KernelSocket& socket, std::size_t offset, std::size_t length, int flags = 0) {
    return exs_send(socket.number(), memory.at(offset), length, flags, queue.handle(), nullptr,
                    memory.handle());
  }
  int recv(const KernelSocket& socket, std::size_t offset, std::size_t length, int flags = 0) {
    return exs_recv(socket.number(), memory.at(offset), length, flags, queue.handle(), nullptr,
                    memory.handle());
  }
  exs_event_t sent(const KernelSocket& socket) { return queue.next_of(socket.number(), EXS_EVT_SEND); }
  exs_event_t received(const KernelSocket& socket) { return queue.next_of(socket.number(), EXS_EVT_RECV); }
  bool holds(std::size_t offset, std::span<const std::byte> bytes) {
    return std::equal(bytes.begin(), bytes.end(), memory.at(offset));
  }
};

std::string told(const exs_event_t& event) {
  const auto& transfer = event.exs_evt_union.exs_evt_xfer;
  std::string text = errno_name(event.exs_evt_errno) + " " + std::to_string(transfer.exs_evt_length);
  if ((event.exs_evt_flags & EXS_EVF_EOF) != 0) text += " EOF";
  return text;
}

std::vector<std::byte> pattern(std::size_t length) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 2654435761U >> 13);
  return bytes;
}

const std::string kOk = errno_name(0);

// Runs a call of a program that closes a socket while the library uses it, or reuses its number. The library
// makes promises for this case. It is a race, which the thread sanitizer would report, so reports are
// suppressed here.
[[gnu::noinline]] void under_the_library(const std::function<void()>& act) {
  act();
}

// Waits for the end that exs accepted of a connection within this process, and returns its number.
int other_end_of(const exs::UniqueFd& connection) {
  constexpr int kNumbersMax = 1024;
  sockaddr_in ours{};
  socklen_t length = sizeof ours;
  ::getsockname(connection.get(), generic(ours), &length);
  for (int number = 0;; number = (number + 1) % kNumbersMax) {
    sockaddr_in peer{};
    length = sizeof peer;
    if (::getpeername(number, generic(peer), &length) == 0 && peer.sin_family == AF_INET &&
        peer.sin_port == ours.sin_port)
      return number;
  }
}

// Ends the library after `post` has posted, before the queue's shard carries the operation out.
void end_the_library_upon(const Queue& queue, const std::function<void()>& post) {
  const auto shard = exs::Library::current()->queues.find(queue.handle())->home();
  std::optional<WaitingThread> ending;
  shard->inspect([&] {
    post();
    ending.emplace([] { exs_fini(); });
    ending->await_lock();
  });
  ending->join();
}

}  // namespace plain_test

BOOST_FIXTURE_TEST_SUITE(plain_test, Fixture)

// ---------------------------------------------------------------- bytes

BOOST_DATA_TEST_CASE_F(Fixture, there_and_back, kFamilies* data::make({true, false}), family, blocking) {
  KernelPair pair(family);
  pair.near.set_blocking(blocking);
  memory.fill(1);
  BOOST_TEST(send(pair.near, 0, 5000) == 0);
  BOOST_TEST(told(sent(pair.near)) == kOk + " 5000");
  const auto echo = pair.far.read(5000);
  BOOST_TEST(echo.size() == 5000U);
  BOOST_TEST(holds(0, echo));
  BOOST_TEST(pair.far.write_all(echo));
  BOOST_TEST(recv(pair.near, 500'000, 5000, MSG_WAITALL) == 0);
  BOOST_TEST(told(received(pair.near)) == kOk + " 5000");
  BOOST_TEST(holds(500'000, echo));
  BOOST_TEST(pair.near.blocks() == blocking);
}

BOOST_DATA_TEST_CASE_F(Fixture, both_ends_on_one_queue, kFamilies, family) {
  KernelPair pair(family);
  for (std::size_t i = 0; i < 8; ++i) BOOST_TEST(recv(pair.far, i * 100, 100, MSG_WAITALL) == 0);
  memory.fill(2);
  for (std::size_t i = 0; i < 8; ++i) BOOST_TEST(send(pair.near, 1000, 100) == 0);  // sends may share memory
  for (std::size_t i = 0; i < 8; ++i) {
    BOOST_TEST(told(sent(pair.near)) == kOk + " 100");
    BOOST_TEST(told(received(pair.far)) == kOk + " 100");
    BOOST_TEST(holds(i * 100, {memory.at(1000), 100}));
  }
}

// A session that has never waited for readiness is not attached to its shard, so its close detaches nothing.
BOOST_AUTO_TEST_CASE(a_session_that_never_waited_detaches_nothing) {
  std::array<KernelPair, 4> pairs;
  pairs[1].far.write_all(pattern(1));
  pairs[0].far.write_all(pattern(1));
  BOOST_TEST(recv(pairs[0].near, 0, 2, MSG_WAITALL) == 0);
  pairs[0].far.write_all(pattern(1));
  BOOST_TEST(told(received(pairs[0].near)) == kOk + " 2");
  BOOST_TEST(exs_close(pairs[0].near.release()) == 0);
  BOOST_TEST(recv(pairs[1].near, 0, 1) == 0);
  BOOST_TEST(told(received(pairs[1].near)) == kOk + " 1");
  BOOST_TEST(exs_close(pairs[1].near.release()) == 0);
  BOOST_TEST(recv(pairs[2].near, 0, 1) == 0);
  BOOST_TEST(recv(pairs[3].near, 1, 1) == 0);
  pairs[2].far.write_all(pattern(1));
  pairs[3].far.write_all(pattern(1));
  BOOST_TEST(told(received(pairs[2].near)) == kOk + " 1");
  BOOST_TEST(told(received(pairs[3].near)) == kOk + " 1");
}

BOOST_AUTO_TEST_CASE(a_receive_takes_what_is_there) {
  KernelPair pair;
  BOOST_TEST(recv(pair.near, 0, 1000) == 0);
  BOOST_TEST(queue.empty());
  pair.far.write_all(pattern(10));
  BOOST_TEST(told(received(pair.near)) == kOk + " 10");
  BOOST_TEST(holds(0, pattern(10)));
  BOOST_TEST(recv(pair.near, 0, 0) == 0);
  BOOST_TEST(told(received(pair.near)) == kOk + " 0");
}

BOOST_AUTO_TEST_CASE(waitall_waits_for_all) {
  KernelPair pair;
  const auto bytes = pattern(30'000);
  BOOST_TEST(recv(pair.near, 0, 30'000, MSG_WAITALL) == 0);
  pair.far.write_all(std::span(bytes).first(10'000));
  exs_event_t none{};
  while (::recv(pair.near.number(), &none, 1, MSG_PEEK | MSG_DONTWAIT) > 0)  // until exs has taken them
    exs_qwait(queue.handle(), &none, 1, 0, 0);
  BOOST_TEST(queue.empty());
  pair.far.write_all(std::span(bytes).subspan(10'000));
  BOOST_TEST(told(received(pair.near)) == kOk + " 30000");
  BOOST_TEST(holds(0, bytes));
}

BOOST_DATA_TEST_CASE_F(Fixture, the_end_of_the_stream, kFamilies, family) {
  KernelPair pair(family);
  pair.far.write_all(pattern(10));
  ::shutdown(pair.far.number(), SHUT_WR);
  BOOST_TEST(recv(pair.near, 0, 100, MSG_WAITALL) == 0);
  BOOST_TEST(told(received(pair.near)) == kOk + " 10 EOF");
  BOOST_TEST(recv(pair.near, 0, 100) == 0);
  BOOST_TEST(told(received(pair.near)) == kOk + " 0 EOF");
  BOOST_TEST(send(pair.near, 0, 10) == 0);  // the other direction still works
  BOOST_TEST(told(sent(pair.near)) == kOk + " 10");
}

// Far more bytes than the kernel accepts at once.
BOOST_DATA_TEST_CASE_F(Fixture, sixteen_mebibytes_through_a_small_buffer, kFamilies, family) {
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  KernelPair pair(family);
  const int small = 65536;
  ::setsockopt(pair.near.number(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  Memory large(kBytes);
  large.fill(3);
  std::vector<std::byte> seen;
  std::thread reader([&] { seen = pair.far.read(2 * kBytes); });
  for (const std::size_t half : {std::size_t{0}, kBytes / 2}) {
    BOOST_TEST(exs_send(pair.near.number(), large.at(half), kBytes / 2, 0, queue.handle(), nullptr,
                        large.handle()) == 0);
  }
  for (std::size_t i = 0; i < kBytes / memory.size_bytes(); ++i)
    BOOST_TEST(send(pair.near, 0, memory.size_bytes()) == 0);
  BOOST_TEST(told(sent(pair.near)) == kOk + " 8388608");
  BOOST_TEST(told(sent(pair.near)) == kOk + " 8388608");
  for (std::size_t i = 0; i < kBytes / memory.size_bytes(); ++i)
    BOOST_TEST(told(sent(pair.near)) == kOk + " 1048576");
  ::shutdown(pair.near.number(), SHUT_WR);
  reader.join();
  BOOST_REQUIRE(seen.size() == 2 * kBytes);
  BOOST_TEST(std::equal(seen.begin(), seen.begin() + kBytes, large.at()));
  for (std::size_t at = kBytes; at < 2 * kBytes; at += memory.size_bytes())
    BOOST_REQUIRE(holds(0, std::span(seen).subspan(at, memory.size_bytes())));
}

// Local-only and unregistered memory also work, because no peer reads the memory.
BOOST_AUTO_TEST_CASE(any_memory_will_do) {
  KernelPair pair;
  Memory local(200'000, EXS_MRF_LOCAL_ONLY);
  local.fill(4);
  BOOST_TEST(exs_send(pair.near.number(), local.at(), 200'000, MSG_MORE, queue.handle(), nullptr,
                      local.handle()) == 0);
  std::vector<std::byte> unknown = pattern(100'000);
  BOOST_TEST(exs_send(pair.near.number(), unknown.data(), unknown.size(), 0, queue.handle(), nullptr,
                      EXS_MHANDLE_UNREGISTERED) == 0);
  const auto seen = pair.far.read(300'000);
  BOOST_REQUIRE(seen.size() == 300'000U);
  BOOST_TEST(std::equal(seen.begin(), seen.begin() + 200'000, local.at()));
  BOOST_TEST(std::equal(seen.begin() + 200'000, seen.end(), unknown.begin()));
  BOOST_TEST(told(sent(pair.near)) == kOk + " 200000");
  BOOST_TEST(told(sent(pair.near)) == kOk + " 100000");
}

BOOST_AUTO_TEST_CASE(pieces_and_waiting_forms) {
  KernelPair pair;
  const auto bytes = pattern(100'000);
  std::uint64_t waiting = 0;
  socklen_t room = sizeof waiting;
  BOOST_TEST(exs_getsockopt(pair.near.number(), SOL_EXS, EXS_SO_NEXT_LENGTH, &waiting, &room) == -1);
  BOOST_TEST(errno == EAGAIN);
  BOOST_TEST(pair.far.write_all(std::span(bytes).first(1000)));
  BOOST_TEST(exs_getsockopt(pair.near.number(), SOL_EXS, EXS_SO_NEXT_LENGTH, &waiting, &room) == 0);
  BOOST_TEST(waiting == 1000U);
  BOOST_TEST(exs_recv_sync(pair.near.number(), memory.at(), 1000, MSG_WAITALL, memory.handle()) == 1000);
  BOOST_TEST(holds(0, std::span(bytes).first(1000)));
  std::vector<exs_iovec_t> pieces;
  std::vector<exs_iovec_t> sources;  // lie between the pieces, so that sends and receives do not overlap
  for (std::size_t i = 0; i < 100; ++i) {
    pieces.push_back({memory.at(i * 2000), 1000, memory.handle(), 0});
    sources.push_back({memory.at(i * 2000 + 1000), 1000, memory.handle(), 0});
  }
  exs_msghdr_t message{pieces.data(), 100, 0, nullptr, 0};
  exs_msghdr_t source{sources.data(), 100, 0, nullptr, 0};
  BOOST_TEST(exs_recvmsg(pair.near.number(), &message, MSG_WAITALL, queue.handle(), nullptr) == 0);
  BOOST_TEST(exs_sendmsg(pair.far.number(), &source, 0, queue.handle(), nullptr) == 0);
  BOOST_TEST(queue.next_outcome(pair.far.number(), EXS_EVT_SENDMSG) == kOk);
  BOOST_TEST(queue.next_outcome(pair.near.number(), EXS_EVT_RECVMSG) == kOk);
  BOOST_TEST(exs_send_sync(pair.near.number(), memory.at(), 500, 0, memory.handle()) == 500);
  BOOST_TEST(pair.far.read(500).size() == 500U);
  pair.far.close();
  BOOST_TEST(exs_recv_sync(pair.near.number(), memory.at(), 1, 0, memory.handle()) == 0);
}

// Bytes that MSG_MORE holds back leave with the next send, or with exs_flush.
BOOST_AUTO_TEST_CASE(more_and_flush) {
  KernelPair pair;
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(send(pair.near, 0, 10, MSG_MORE) == 0);
    BOOST_TEST(told(sent(pair.near)) == kOk + " 10");
    BOOST_TEST((i == 0 ? exs_flush(pair.near.number()) : send(pair.near, 0, 10)) == 0);
    BOOST_TEST(pair.far.read(i == 0 ? 10 : 20).size() == (i == 0 ? 10U : 20U));
  }
  BOOST_TEST(exs_flush(pair.far.number()) == 0);
}

BOOST_AUTO_TEST_CASE(half_close_after_a_send) {
  KernelPair pair;
  BOOST_TEST(send(pair.near, 0, 500'000) == 0);
  BOOST_TEST(send(pair.near, 0, 500'000, EXS_SHUT_WR) == 0);
  BOOST_TEST(pair.far.read(1'000'001).size() == 1'000'000U);
  BOOST_TEST(outcome(send(pair.near, 0, 1)) == "EPIPE");
}

BOOST_AUTO_TEST_CASE(one_socket_has_so_many_places) {
  KernelPair pair;
  int most = 4;
  BOOST_TEST(exs_fcntl(pair.near.number(), EXS_F_SET_MAX_OPS, most) == 0);
  for (int i = 0; i < most; ++i) BOOST_TEST(recv(pair.near, 0, 10) == 0);
  BOOST_TEST(outcome(recv(pair.near, 0, 10)) == "EAGAIN");
  int found = 0;
  BOOST_TEST(exs_fcntl(pair.near.number(), EXS_F_GET_MAX_OPS, &found) == 0);
  BOOST_TEST(found == most);
  BOOST_TEST(outcome(exs_fcntl(pair.near.number(), EXS_F_SET_SEND_CREDITS, 8)) == errno_name(ENOTSUP));
  BOOST_TEST(exs_cancel(pair.near.number(), nullptr, EXS_CAF_FILDES) == most);
  for (int i = 0; i < most; ++i)
    BOOST_TEST(queue.next_outcome(pair.near.number(), EXS_EVT_RECV) == errno_name(ECANCELED));
}

BOOST_AUTO_TEST_CASE(names_options_and_counters) {
  KernelPair pair;
  sockaddr_in ours{}, theirs{};
  socklen_t length = sizeof ours;
  BOOST_TEST(exs_getsockname(pair.near.number(), generic(ours), &length) == 0);
  BOOST_TEST(exs_getpeername(pair.far.number(), generic(theirs), &length) == 0);
  BOOST_TEST(ours.sin_port == theirs.sin_port);
  int type = 0;
  length = sizeof type;
  BOOST_TEST(exs_getsockopt(pair.near.number(), SOL_SOCKET, SO_TYPE, &type, &length) == 0);
  BOOST_TEST(type == SOCK_STREAM);
  BOOST_TEST(send(pair.near, 0, 100) == 0);
  sent(pair.near);
  const exs_stats_t stats = stats_of(pair.near.number());
  BOOST_TEST(stats.bytes_sent == 100U);
  BOOST_TEST(stats.sends_done == 1U);
}

// ---------------------------------------------------------------- errors come in events

BOOST_AUTO_TEST_CASE(a_reset_is_told_by_events) {
  KernelPair pair;
  BOOST_TEST(recv(pair.near, 0, 10) == 0);
  pair.far.reset();
  BOOST_TEST(told(received(pair.near)) == "ECONNRESET 0");
  BOOST_TEST(recv(pair.near, 0, 10) == 0);
  BOOST_TEST(told(received(pair.near)) == "ECONNRESET 0");  // not an orderly end
  BOOST_TEST(send(pair.near, 0, 10) == 0);
  BOOST_TEST(told(sent(pair.near)) == "EPIPE 0");
}

BOOST_AUTO_TEST_CASE(a_reset_before_the_first_call) {
  KernelPair pair;
  pair.far.reset();
  char byte = 0;
  BOOST_TEST(::recv(pair.near.number(), &byte, 1, 0) == -1);  // returns once the reset is here
  BOOST_TEST(send(pair.near, 0, 10) == 0);
  BOOST_TEST(told(sent(pair.near)) == "EPIPE 0");
}

BOOST_AUTO_TEST_CASE(after_a_plain_shutdown) {
  KernelPair pair;
  ::shutdown(pair.near.number(), SHUT_WR);
  BOOST_TEST(send(pair.near, 0, 10) == 0);
  BOOST_TEST(told(sent(pair.near)) == "EPIPE 0");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_adopted) {
  const KernelSocket unconnected(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const KernelSocket datagrams(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const KernelSocket file(::open("/dev/null", O_RDWR | O_CLOEXEC));
  KernelPair pair;
  BOOST_TEST(outcome(send(unconnected, 0, 10)) == "ENOTCONN");
  BOOST_TEST(outcome(exs_accept(unconnected.number(), nullptr, 0, queue.handle(), nullptr)) == "EINVAL");
  sockaddr_in address = loopback(1);
  BOOST_TEST(outcome(exs_connect(unconnected.number(), generic(address), sizeof address, 0, queue.handle(),
                                 nullptr)) == "EOPNOTSUPP");
  BOOST_TEST(outcome(exs_connect(pair.near.number(), generic(address), sizeof address, 0, queue.handle(),
                                 nullptr)) == "EISCONN");
  BOOST_TEST(outcome(send(datagrams, 0, 10)) == "EBADF");
  BOOST_TEST(outcome(send(file, 0, 10)) == "EBADF");
  BOOST_TEST(outcome(exs_close(file.number())) == "EBADF");
  BOOST_TEST(outcome(exs_close(unconnected.number())) == "EBADF");
  for (const int flags : {EXS_PERSISTENT, EXS_NO_IMMEDIATE})
    BOOST_TEST(outcome(send(pair.near, 0, 10, flags)) == "EOPNOTSUPP");
  BOOST_TEST(outcome(exs_send_offset(pair.near.number(), memory.at(), 10, 0, queue.handle(), nullptr,
                                     memory.handle(), 0)) == "EOPNOTSUPP");
  BOOST_TEST(outcome(exs_accept(pair.near.number(), nullptr, 0, queue.handle(), nullptr)) == "EINVAL");
  BOOST_TEST(queue.empty());
}

// ---------------------------------------------------------------- readiness

BOOST_AUTO_TEST_CASE(poll_leaves_the_bytes_where_they_are) {
  KernelPair pair;
  const exs_pollfd_t asked{pair.near.number(), EXS_POLLIN, nullptr};
  BOOST_TEST(exs_poll(&asked, 1, 0, queue.handle()) == 1);
  BOOST_TEST(queue.empty());
  pair.far.write_all(pattern(3));
  const exs_event_t ready = queue.next_of(pair.near.number(), EXS_EVT_POLL);
  BOOST_TEST(ready.exs_evt_union.exs_evt_poll.exs_evt_revents == std::uint32_t{EXS_POLLIN});
  BOOST_TEST((pair.near.read(3) == pattern(3)));
}

BOOST_AUTO_TEST_CASE(cancel_takes_back_what_waits) {
  KernelPair pair;
  BOOST_TEST(recv(pair.near, 0, 10) == 0);
  BOOST_TEST(exs_cancel(pair.near.number(), nullptr, EXS_CAF_FILDES) == 1);
  BOOST_TEST(told(received(pair.near)) == "ECANCELED 0");
  BOOST_TEST(recv(pair.near, 0, 10) == 0);
  pair.far.write_all(pattern(4));
  BOOST_TEST(told(received(pair.near)) == kOk + " 4");
}

// ---------------------------------------------------------------- whose descriptor it is

BOOST_AUTO_TEST_CASE(numbers_never_collide) {
  std::vector<int> ours;
  std::vector<KernelSocket> theirs;
  for (int i = 0; i < 64; ++i) {
    ours.push_back(exs_socket(AF_INET, SOCK_SEQPACKET, 0));
    theirs.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    BOOST_TEST(std::count(ours.begin(), ours.end(), theirs.back().number()) == 0);
  }
  for (const int number : ours) BOOST_TEST(exs_close(number) == 0);
}

// The number of a closed socket stays reserved while an event that names it is queued, and means no socket.
BOOST_AUTO_TEST_CASE(a_closed_exs_socket_is_not_adopted) {
  int left = -1;
  {
    Pair pair(queue);
    BOOST_TEST(exs_recv(pair.left, memory.at(), 10, 0, queue.handle(), nullptr, memory.handle()) == 0);
    left = pair.left;
    BOOST_TEST(exs_close(left) == 0);
    BOOST_TEST(outcome(exs_close(left)) == "EBADF");
    BOOST_TEST(outcome(exs_recv(left, memory.at(), 10, 0, queue.handle(), nullptr, memory.handle())) ==
               "EBADF");
  }
  BOOST_TEST(queue.next_outcome(left, EXS_EVT_RECV) == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(a_plain_close_ends_the_connection) {
  KernelPair pair;
  BOOST_TEST(send(pair.near, 0, 10) == 0);
  sent(pair.near);
  under_the_library([&] { pair.near.close(); });
  BOOST_TEST(pair.far.read(11).size() == 10U);  // returns at the end of the stream
}

// The kernel reuses the number for another socket while operations of the first are open.
BOOST_AUTO_TEST_CASE(a_number_used_again) {
  KernelPair first;
  BOOST_TEST(recv(first.near, 0, 10) == 0);
  const int number = first.near.release();
  KernelPair second;
  // Replaces the first socket by the second under the same number, in one step.
  under_the_library([&] { ::dup3(second.near.number(), number, O_CLOEXEC); });
  const KernelSocket again(number);
  second.near.close();
  BOOST_TEST(send(again, 0, 20) == 0);
  BOOST_TEST(queue.next_outcome(number, EXS_EVT_RECV) == "ECANCELED");
  BOOST_TEST(told(sent(again)) == kOk + " 20");
  BOOST_TEST(second.far.read(20).size() == 20U);
  BOOST_TEST(first.far.read(1).empty());  // its peer saw the end and not one byte
}

BOOST_AUTO_TEST_CASE(a_number_used_again_by_exs) {
  KernelPair first;
  BOOST_TEST(recv(first.near, 0, 10) == 0);
  const int number = first.near.release();
  std::vector<int> made;
  under_the_library([&] {
    ::close(number);
    while (made.empty() || made.back() < number) made.push_back(exs_socket(AF_INET, SOCK_SEQPACKET, 0));
  });
  BOOST_TEST(made.back() == number);
  BOOST_TEST(queue.next_outcome(number, EXS_EVT_RECV) == "ECANCELED");
  BOOST_TEST(outcome(exs_recv(number, memory.at(), 10, 0, queue.handle(), nullptr, memory.handle())) ==
             "ENOTCONN");
  for (const int one : made) BOOST_TEST(exs_close(one) == 0);
}

// The operations end although no further exs call names the number.
BOOST_AUTO_TEST_CASE(closed_with_operations_open) {
  KernelPair pair;
  const int number = pair.near.number();
  BOOST_TEST(recv(pair.near, 0, 10) == 0);
  BOOST_TEST(recv(pair.near, 0, 10) == 0);
  under_the_library([&] { pair.near.close(); });
  BOOST_TEST(queue.next_outcome(number, EXS_EVT_RECV) == "ECANCELED");
  BOOST_TEST(queue.next_outcome(number, EXS_EVT_RECV) == "ECANCELED");
}

// As before, but another descriptor keeps the socket open, and exs must not receive its bytes.
BOOST_AUTO_TEST_CASE(closed_while_another_holds_the_socket) {
  KernelPair pair;
  const KernelSocket other(::fcntl(pair.near.number(), F_DUPFD_CLOEXEC, 0));
  const int number = pair.near.number();
  BOOST_TEST(recv(pair.near, 0, 10) == 0);
  under_the_library([&] { pair.near.close(); });
  pair.far.write_all(pattern(10));
  BOOST_TEST(queue.next_outcome(number, EXS_EVT_RECV) == "ECANCELED");
  BOOST_TEST((other.read(10) == pattern(10)));
}

// The application does not know the number of a connection that exs is setting up. A program that uses a
// stale number must not reach that connection.
BOOST_AUTO_TEST_CASE(a_connection_being_set_up_is_not_adopted) {
  const ListeningSocket listening;
  BOOST_TEST(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr) == 0);
  exs::UniqueFd connection(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = listening.address();
  BOOST_REQUIRE(::connect(connection.get(), generic(address), sizeof address) == 0);
  const int number = other_end_of(connection);
  exs_mhandle_t region = memory.handle();
  BOOST_TEST(outcome(exs_recv(number, memory.at(), 10, 0, queue.handle(), nullptr, region)) == "EBADF");
  BOOST_TEST(outcome(exs_send(number, memory.at(), 10, 0, queue.handle(), nullptr, region)) == "EBADF");
  BOOST_TEST(outcome(exs_close(number)) == "EBADF");
  RawPeer peer(std::move(connection));
  peer.connect_as_exs();
  const exs_event_t accepted = queue.next_of(listening.number(), EXS_EVT_ACCEPT);
  BOOST_TEST(accepted.exs_evt_errno == 0);
  BOOST_TEST(accepted.exs_evt_union.exs_evt_accept.exs_evt_newsocket == number);
  peer.end_sending();
  BOOST_TEST(exs_close(number) == 0);
}

// ---------------------------------------------------------------- exs_shutdown, exs_close, exs_fini

BOOST_DATA_TEST_CASE_F(Fixture, exs_close_ends_all, kFamilies* data::make({true, false}), family, used) {
  KernelPair pair(family);
  const int number = pair.near.release();
  if (used) {
    BOOST_TEST(exs_send(number, memory.at(), 10, 0, queue.handle(), nullptr, memory.handle()) == 0);
    BOOST_TEST(exs_recv(number, memory.at(), 10, 0, queue.handle(), nullptr, memory.handle()) == 0);
  }
  BOOST_TEST(exs_close(number) == 0);
  BOOST_TEST(pair.far.read(11).size() == (used ? 10U : 0U));  // although events are queued
  if (used) {
    BOOST_TEST(::fcntl(number, F_GETFD) >= 0);  // queued events hold the number
    BOOST_TEST(outcome(exs_close(number)) == "EBADF");
    BOOST_TEST(queue.next_outcome(number, EXS_EVT_SEND) == kOk);
    BOOST_TEST(queue.next_outcome(number, EXS_EVT_RECV) == "ECANCELED");
  }
  BOOST_TEST(::fcntl(number, F_GETFD) == -1);
}

BOOST_AUTO_TEST_CASE(exs_close_lets_sends_finish) {
  KernelPair pair;
  const int number = pair.near.release();
  Memory large(std::size_t{16} << 20);
  BOOST_TEST(exs_send(number, large.at(), large.size_bytes(), 0, queue.handle(), nullptr, large.handle()) ==
             0);
  std::size_t seen = 0;
  std::thread reader([&] { seen = pair.far.read(large.size_bytes() + 1).size(); });
  BOOST_TEST(exs_close(number) == 0);
  reader.join();
  BOOST_TEST(seen == large.size_bytes());
  BOOST_TEST(queue.next_outcome(number, EXS_EVT_SEND) == kOk);
}

BOOST_AUTO_TEST_CASE(exs_close_has_a_time_limit) {
  KernelPair pair;
  const int number = pair.near.release();
  const int linger_ms = 10;
  BOOST_TEST(exs_setsockopt(number, SOL_EXS, EXS_SO_LINGER_MS, &linger_ms, sizeof linger_ms) == 0);
  Memory large(std::size_t{16} << 20);
  BOOST_TEST(exs_send(number, large.at(), large.size_bytes(), 0, queue.handle(), nullptr, large.handle()) ==
             0);
  BOOST_TEST(outcome(exs_close(number)) == "ETIMEDOUT");
  BOOST_TEST(queue.next_outcome(number, EXS_EVT_SEND) == "ECANCELED");
}

BOOST_DATA_TEST_CASE_F(Fixture, shutdown_follows_the_sends, kFamilies* data::make({true, false}), family,
                       used) {
  KernelPair pair(family);
  if (used) BOOST_TEST(send(pair.near, 0, 100'000) == 0);
  BOOST_TEST(exs_shutdown_async(pair.near.number(), SHUT_WR, queue.handle(), nullptr) == 0);
  BOOST_TEST(pair.far.read(100'001).size() == (used ? 100'000U : 0U));
  BOOST_TEST(queue.next_outcome(pair.near.number(), EXS_EVT_SHUTDOWN) == kOk);
  if (used) BOOST_TEST(outcome(send(pair.near, 0, 1)) == "EPIPE");
  pair.far.write_all(pattern(5));
  BOOST_TEST(recv(pair.near, 0, 5) == 0);
  BOOST_TEST(told(received(pair.near)) == kOk + " 5");
}

BOOST_AUTO_TEST_CASE(shutdown_of_receiving) {
  KernelPair pair;
  BOOST_TEST(recv(pair.near, 0, 5) == 0);
  BOOST_TEST(exs_shutdown(pair.near.number(), SHUT_RD) == 0);
  BOOST_TEST(told(received(pair.near)) == kOk + " 0 EOF");
}

// exs_fini closes the sockets that exs accepted, and leaves the others open.
BOOST_AUTO_TEST_CASE(the_end_of_the_library) {
  KernelPair pair;
  KernelListener listener;
  KernelSocket peer = listener.connect();
  BOOST_REQUIRE(exs_init(EXS_VERSION) == 0);
  const auto before = open_descriptors();
  BOOST_TEST(exs_fini() == 0);
  BOOST_TEST(exs_fini() == 0);  // undoes the fixture's exs_init
  BOOST_REQUIRE(exs_init(EXS_VERSION) == 0);
  {
    const Queue own;
    Memory buffer(100);
    // A connect may return a moment before the listener has the connection.
    pollfd arrival{listener.socket.number(), POLLIN, 0};
    BOOST_REQUIRE_EQUAL(::poll(&arrival, 1, kHangLimitSeconds * 1000), 1);
    BOOST_TEST(exs_accept(listener.socket.number(), nullptr, 0, own.handle(), nullptr) == 0);
    BOOST_TEST(exs_recv(pair.near.number(), buffer.at(), 10, 0, own.handle(), nullptr, buffer.handle()) == 0);
    BOOST_TEST(exs_fini() == 0);
  }
  char byte = 0;
  BOOST_TEST(::recv(peer.number(), &byte, 1, 0) == 0);
  BOOST_TEST(pair.far.write_all(pattern(10)));
  BOOST_TEST((pair.near.read(10) == pattern(10)));
  BOOST_TEST(open_descriptors() <= before);
  BOOST_REQUIRE(exs_init(EXS_VERSION) == 0);
}

// A connection accepted while the library ends is closed, so that its peer does not wait for ever.
BOOST_AUTO_TEST_CASE(an_accept_under_way_at_the_end_of_the_library) {
  KernelPair pair;
  BOOST_TEST(send(pair.near, 0, 10) == 0);  // starts the engine
  BOOST_TEST(told(sent(pair.near)) == kOk + " 10");
  KernelListener listener;
  const KernelSocket peer = listener.connect();
  pollfd watched{listener.socket.number(), POLLIN, 0};
  BOOST_REQUIRE_EQUAL(::poll(&watched, 1, kHangLimitSeconds * 1000), 1);
  end_the_library_upon(queue, [&] {
    BOOST_TEST(exs_accept(listener.socket.number(), nullptr, 0, queue.handle(), nullptr) == 0);
  });
  watched.fd = peer.number();
  BOOST_REQUIRE_EQUAL(::poll(&watched, 1, kHangLimitSeconds * 1000), 1);
  BOOST_TEST(peer.read(1).empty());
  BOOST_REQUIRE(exs_init(EXS_VERSION) == 0);
}

BOOST_AUTO_TEST_CASE(an_accept_of_exs_under_way_at_the_end_of_the_library) {
  const ListeningSocket listening;
  BOOST_TEST(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr) == 0);
  RawPeer first(listening.address());
  first.connect_as_exs();
  BOOST_TEST(queue.next_outcome(listening.number(), EXS_EVT_ACCEPT) == kOk);
  RawPeer second(listening.address());
  second.request(honest_hello());
  const exs_pollfd_t asked{listening.number(), EXS_POLLIN, nullptr};
  BOOST_TEST(exs_poll(&asked, 1, 0, queue.handle()) == 1);
  BOOST_TEST(queue.next_outcome(listening.number(), EXS_EVT_POLL) == kOk);
  end_the_library_upon(
      queue, [&] { BOOST_TEST(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr) == 0); });
  BOOST_TEST(second.take_handshake());
  second.await_end();
  first.await_end();
  BOOST_REQUIRE(exs_init(EXS_VERSION) == 0);
}

// ---------------------------------------------------------------- listening

BOOST_DATA_TEST_CASE_F(Fixture, accept_on_a_kernel_socket, data::make({true, false}), blocking) {
  KernelListener listener;
  listener.socket.set_blocking(blocking);
  const int number = listener.socket.number();
  sockaddr_in peer{};
  exs_acceptaddr_t address{generic(peer), sizeof peer};
  BOOST_TEST(exs_accept(number, &address, 0, queue.handle(), nullptr) == 0);
  BOOST_TEST(exs_accept(number, nullptr, 0, queue.handle(), nullptr) == 0);
  BOOST_TEST(queue.empty());
  for (int i = 0; i < 2; ++i) {
    const KernelSocket client = listener.connect();
    const exs_event_t accepted = queue.next_of(number, EXS_EVT_ACCEPT);
    BOOST_TEST(accepted.exs_evt_errno == 0);
    const KernelSocket server(accepted.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
    BOOST_TEST(server.blocks());
    BOOST_TEST(recv(server, 0, 100) == 0);
    client.write_all(pattern(7));
    BOOST_TEST(told(received(server)) == kOk + " 7");
    sockaddr_in ours{};
    socklen_t length = sizeof ours;
    ::getsockname(client.number(), generic(ours), &length);
    if (i == 0) BOOST_TEST(peer.sin_port == ours.sin_port);
  }
  BOOST_TEST(listener.socket.blocks() == blocking);
}

BOOST_AUTO_TEST_CASE(many_accepts_on_many_shards) {
  constexpr int kClients = 40;
  KernelListener listener;
  Queue other(256);
  const int number = listener.socket.number();
  for (int i = 0; i < kClients; ++i)
    BOOST_TEST(exs_accept(number, nullptr, 0, (i % 2 == 0 ? queue : other).handle(), nullptr) == 0);
  std::vector<KernelSocket> clients, servers;
  for (int i = 0; i < kClients; ++i) clients.push_back(listener.connect());
  for (int i = 0; i < kClients; ++i) {
    const exs_event_t accepted = (i % 2 == 0 ? queue : other).next_of(number, EXS_EVT_ACCEPT);
    servers.emplace_back(accepted.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
    BOOST_TEST(send(servers.back(), 0, 1) == 0);
    BOOST_TEST(told(sent(servers.back())) == kOk + " 1");
  }
  for (const KernelSocket& client : clients) BOOST_TEST(client.read(1).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_listening_socket_closed) {
  KernelListener first, second;
  BOOST_TEST(exs_accept(first.socket.number(), nullptr, 0, queue.handle(), nullptr) == 0);
  BOOST_TEST(exs_accept(second.socket.number(), nullptr, 0, queue.handle(), nullptr) == 0);
  const int by_exs = first.socket.release();
  BOOST_TEST(exs_close(by_exs) == 0);
  BOOST_TEST(first.connect().number() == -1);  // refused at once
  BOOST_TEST(queue.next_outcome(by_exs, EXS_EVT_ACCEPT) == "ECANCELED");
  const int by_others = second.socket.number();
  under_the_library([&] { second.socket.close(); });
  BOOST_TEST(queue.next_outcome(by_others, EXS_EVT_ACCEPT) == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(poll_accepts_nobody) {
  KernelListener listener;
  const exs_pollfd_t asked{listener.socket.number(), EXS_POLLIN, nullptr};
  BOOST_TEST(exs_poll(&asked, 1, 0, queue.handle()) == 1);
  const KernelSocket client = listener.connect();
  BOOST_TEST(queue.next_outcome(listener.socket.number(), EXS_EVT_POLL) == kOk);
  const KernelSocket server(::accept(listener.socket.number(), nullptr, nullptr));
  BOOST_TEST(server.number() >= 0);
}

// ---------------------------------------------------------------- together

// One server with one queue and one loop serves exs clients and plain clients.
BOOST_AUTO_TEST_CASE(exs_and_plain_peers_on_one_queue) {
  constexpr std::size_t kBytes = 512;
  ListeningSocket exs_listening;
  KernelListener plain_listening;
  for (const int number : {exs_listening.number(), plain_listening.socket.number()})
    BOOST_TEST(exs_accept(number, nullptr, 0, queue.handle(), nullptr) == 0);
  const auto message = pattern(kBytes);

  bool plain_echo = false;
  std::thread plain_client([&] {
    KernelSocket socket = plain_listening.connect();
    socket.write_all(message);
    plain_echo = socket.read(kBytes) == message;
  });
  bool exs_echo = false;
  std::thread exs_client([&] {
    Queue own;
    Memory buffer(2 * kBytes);
    std::copy(message.begin(), message.end(), buffer.at());
    const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    sockaddr_in address = exs_listening.address();
    exs_connect(socket, generic(address), sizeof address, 0, own.handle(), nullptr);
    own.next_of(socket, EXS_EVT_CONNECT);
    exs_recv(socket, buffer.at(kBytes), kBytes, 0, own.handle(), nullptr, buffer.handle());
    exs_send(socket, buffer.at(), kBytes, 0, own.handle(), nullptr, buffer.handle());
    own.next_of(socket, EXS_EVT_RECV);
    exs_echo = std::equal(message.begin(), message.end(), buffer.at(kBytes));
    exs_close(socket);
  });

  std::size_t offset = 0;
  for (int answered = 0; answered < 2;) {
    const exs_event_t event = queue.next();
    BOOST_REQUIRE(event.exs_evt_errno == 0);
    const int number = event.exs_evt_socket;
    const auto& transfer = event.exs_evt_union.exs_evt_xfer;
    if (event.exs_evt_type == EXS_EVT_ACCEPT) {
      exs_recv(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket, memory.at(offset), kBytes, MSG_WAITALL,
               queue.handle(), nullptr, memory.handle());
      offset += kBytes;
    } else if (event.exs_evt_type == EXS_EVT_RECV) {
      exs_send(number, transfer.exs_evt_buf, transfer.exs_evt_length, 0, queue.handle(), nullptr,
               memory.handle());
    } else {
      ++answered;
    }
  }
  plain_client.join();
  exs_client.join();
  BOOST_TEST(plain_echo);
  BOOST_TEST(exs_echo);
}

BOOST_AUTO_TEST_SUITE_END()
