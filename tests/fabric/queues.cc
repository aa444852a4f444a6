// How an application hears of what has ended: queues, counters, descriptors.
// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>

#include <atomic>
#include <thread>

#include "tests/fabric/world.h"

namespace exs::test {
namespace {

constexpr std::uint64_t kTag = 7;

void exchange(Side& from, fi_addr_t to, Side& into, Bytes& got) {
  BOOST_REQUIRE_EQUAL(fi_trecv(into.ep.get(), got.data(), got.size(), nullptr, FI_ADDR_UNSPEC, kTag, 0, &got),
                      0);
  const Bytes& sent = from.keep(pattern(got.size(), 1));
  BOOST_REQUIRE_EQUAL(fi_tinject(from.ep.get(), sent.data(), sent.size(), to, kTag), 0);
}

int descriptor_of(Side& side) {
  int descriptor = -1;
  BOOST_REQUIRE_EQUAL(fi_control(&side.cq->fid, FI_GETWAIT, &descriptor), 0);
  return descriptor;
}

int try_wait(Side& side) {
  fid* fids[] = {&side.cq->fid};
  return fi_trywait(side.fabric.get(), fids, 1);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(queues)

BOOST_AUTO_TEST_CASE(a_read_waits_no_longer_than_its_limit) {
  TwoSides sides;
  fi_cq_tagged_entry entry{};
  BOOST_TEST(fi_cq_sread(sides.b.cq.get(), &entry, 1, nullptr, 1) == -FI_EAGAIN);
  BOOST_TEST(fi_cq_read(sides.b.cq.get(), &entry, 1) == -FI_EAGAIN);
  fi_cq_err_entry error{};
  BOOST_TEST(fi_cq_readerr(sides.b.cq.get(), &error, 0) == -FI_EAGAIN);
}

BOOST_AUTO_TEST_CASE(a_signal_ends_a_read) {
  TwoSides sides;
  ssize_t outcome = 0;
  std::thread waiting([&] {
    fi_cq_tagged_entry entry{};
    outcome = fi_cq_sread(sides.b.cq.get(), &entry, 1, nullptr, -1);
  });
  const int signalled = fi_cq_signal(sides.b.cq.get());
  waiting.join();
  BOOST_TEST(signalled == 0);
  BOOST_TEST(outcome == -FI_EAGAIN);
}

BOOST_AUTO_TEST_CASE(the_descriptor_is_readable_when_something_has_ended) {
  TwoSides sides(Wishes{.hints = {}, .wait = FI_WAIT_FD, .queue_flags = 0, .has_counters = false});
  Side& b = sides.b;
  pollfd wanted{descriptor_of(b), POLLIN, 0};
  for (int round = 0; round < 3; ++round) {
    Bytes got(8);
    BOOST_REQUIRE_EQUAL(try_wait(b), 0);
    BOOST_REQUIRE_EQUAL(::poll(&wanted, 1, 0), 0);
    exchange(sides.a, sides.to_b, b, got);
    BOOST_REQUIRE_EQUAL(::poll(&wanted, 1, kWaitMs), 1);
    while (try_wait(b) == 0) continue;
    BOOST_TEST(b.next().op_context == &got);
  }
  // A send that has ended when it is posted is told of as well.
  Side& a = sides.a;
  wanted.fd = descriptor_of(a);
  BOOST_REQUIRE_EQUAL(try_wait(a), 0);
  const Bytes& sent = a.keep(pattern(8, 1));
  BOOST_REQUIRE_EQUAL(fi_tsend(a.ep.get(), sent.data(), 8, nullptr, sides.to_b, kTag, nullptr), 0);
  BOOST_REQUIRE_EQUAL(::poll(&wanted, 1, kWaitMs), 1);
  a.next();
}

BOOST_AUTO_TEST_CASE(a_queue_that_cannot_wait_says_so) {
  TwoSides sides(Wishes{.hints = {}, .wait = FI_WAIT_NONE, .queue_flags = 0, .has_counters = false});
  fi_cq_tagged_entry entry{};
  BOOST_TEST(fi_cq_sread(sides.b.cq.get(), &entry, 1, nullptr, 0) == -FI_ENOSYS);
  int descriptor = -1;
  BOOST_TEST(fi_control(&sides.b.cq->fid, FI_GETWAIT, &descriptor) == -FI_ENODATA);
  Bytes got(8);
  exchange(sides.a, sides.to_b, sides.b, got);
  while (fi_cq_read(sides.b.cq.get(), &entry, 1) == -FI_EAGAIN) std::this_thread::yield();
  BOOST_TEST(entry.op_context == &got);
}

BOOST_AUTO_TEST_CASE(selective_queues_tell_what_was_asked_for) {
  TwoSides sides(Wishes{
      .hints = {}, .wait = FI_WAIT_UNSPEC, .queue_flags = FI_SELECTIVE_COMPLETION, .has_counters = false});
  Side& b = sides.b;
  Bytes silent(8), told(8);
  BOOST_REQUIRE_EQUAL(fi_trecv(b.ep.get(), silent.data(), 8, nullptr, FI_ADDR_UNSPEC, 1, 0, &silent), 0);
  const iovec piece{told.data(), told.size()};
  fi_msg_tagged message{};
  message.msg_iov = &piece;
  message.iov_count = 1;
  message.addr = FI_ADDR_UNSPEC;
  message.tag = 2;
  message.context = &told;
  BOOST_REQUIRE_EQUAL(fi_trecvmsg(b.ep.get(), &message, FI_COMPLETION), 0);
  const Bytes& sent = sides.a.keep(pattern(8, 1));
  for (const std::uint64_t tag : {1U, 2U})
    BOOST_REQUIRE_EQUAL(fi_tsend(sides.a.ep.get(), sent.data(), 8, nullptr, sides.to_b, tag, nullptr), 0);
  BOOST_TEST(b.next().op_context == &told);
  BOOST_TEST(b.is_quiet());
  BOOST_TEST((silent == sent));
  BOOST_TEST(sides.a.is_quiet());
}

BOOST_AUTO_TEST_CASE(counters_count_what_has_ended) {
  TwoSides sides(Wishes{.hints = {}, .wait = FI_WAIT_UNSPEC, .queue_flags = 0, .has_counters = true});
  Side& b = sides.b;
  BOOST_TEST(fi_cntr_wait(b.receives.get(), 1, 1) == -FI_ETIMEDOUT);
  std::vector<Bytes> got(5, Bytes(8));
  for (Bytes& one : got) exchange(sides.a, sides.to_b, b, one);
  BOOST_TEST(fi_cntr_wait(b.receives.get(), 5, kWaitMs) == 0);
  BOOST_TEST(fi_cntr_read(b.receives.get()) == 5U);
  BOOST_TEST(fi_cntr_wait(sides.a.sends.get(), 5, kWaitMs) == 0);
  Bytes cancelled(8);
  BOOST_REQUIRE_EQUAL(fi_trecv(b.ep.get(), cancelled.data(), 8, nullptr, FI_ADDR_UNSPEC, kTag, 0, &cancelled),
                      0);
  BOOST_REQUIRE_EQUAL(fi_cancel(&b.ep->fid, &cancelled), 0);
  while (fi_cntr_readerr(b.receives.get()) == 0) std::this_thread::yield();
  BOOST_TEST(fi_cntr_set(b.receives.get(), 100) == 0);
  BOOST_TEST(fi_cntr_add(b.receives.get(), 11) == 0);
  BOOST_TEST(fi_cntr_read(b.receives.get()) == 111U);
}

// Two threads post and read at both ends; all that is sent is received once.
BOOST_AUTO_TEST_CASE(threads_share_an_endpoint) {
  TwoSides sides;
  constexpr int kThreads = 2, kMessages = 2000;
  std::atomic<int> received{0}, failed{0};
  // A thread may be told of the other's receive, and end before its own has: so the memory outlives the threads.
  std::vector<Bytes> places(kThreads, Bytes(32));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const Bytes sent = pattern(32, static_cast<unsigned>(thread));
      for (int i = 0; i < kMessages; ++i)
        failed += fi_tinject(sides.a.ep.get(), sent.data(), sent.size(), sides.to_b, kTag) != 0 ? 1 : 0;
    });
    threads.emplace_back([&, thread] {
      Bytes& got = places[static_cast<std::size_t>(thread)];
      for (int i = 0; i < kMessages; ++i) {
        failed += fi_trecv(sides.b.ep.get(), got.data(), got.size(), nullptr, FI_ADDR_UNSPEC, kTag, 0,
                           nullptr) != 0;
        fi_cq_tagged_entry entry{};
        if (fi_cq_sread(sides.b.cq.get(), &entry, 1, nullptr, kWaitMs) == 1) ++received;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(received == kThreads * kMessages);
  BOOST_TEST(failed == 0);
}

BOOST_AUTO_TEST_CASE(an_event_queue_keeps_what_is_written) {
  Side side;
  fi_eq_attr attr{};
  attr.flags = FI_WRITE;
  attr.wait_obj = FI_WAIT_UNSPEC;
  fid_eq* opened = nullptr;
  BOOST_REQUIRE_EQUAL(fi_eq_open(side.fabric.get(), &attr, &opened, nullptr), 0);
  const Owned<fid_eq> queue(opened);
  std::uint32_t event = 0;
  fi_eq_entry entry{};
  BOOST_TEST(fi_eq_read(queue.get(), &event, &entry, sizeof entry, 0) == -FI_EAGAIN);
  BOOST_TEST(fi_eq_sread(queue.get(), &event, &entry, sizeof entry, 1, 0) == -FI_EAGAIN);
  entry.data = 99;
  BOOST_TEST(fi_eq_write(queue.get(), FI_NOTIFY, &entry, sizeof entry, 0) == sizeof entry);
  entry.data = 0;
  BOOST_TEST(fi_eq_read(queue.get(), &event, &entry, 1, 0) == -FI_ETOOSMALL);
  BOOST_TEST(fi_eq_read(queue.get(), &event, &entry, sizeof entry, FI_PEEK) == sizeof entry);
  BOOST_TEST(fi_eq_sread(queue.get(), &event, &entry, sizeof entry, -1, 0) == sizeof entry);
  BOOST_TEST(event == unsigned{FI_NOTIFY});
  BOOST_TEST(entry.data == 99U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
