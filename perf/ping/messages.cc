// Messages: one under way; the server sends each message back from its receive buffer.
//
// Receives complete on the channel's queue, the only one that is waited on. Sends complete on a second queue that is emptied now and
// then, so their events wake nobody and are not on the measured path.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <cerrno>

#include "perf/ping/methods.h"
#include "perf/ping/rounds.h"
#include "perf/support/control.h"
#include "tools/common/failure.h"
#include "tools/common/pattern.h"
#include "tools/common/sockets.h"
#include "tools/common/units.h"

namespace ping {
namespace {

using perf::Channel;
using perf::Job;

constexpr std::uint32_t kReceivesPosted = 2;

// One end's sends, at most as many pending as there are buffers for them.
class Sends {
 public:
  Sends(Channel& channel, int flags, std::uint32_t buffers)
      : channel_(channel), flags_(flags), buffers_(buffers), queue_(perf::kEventBatch, perf::Wait::notify) {}

  void post(std::span<const std::byte> message) {
    perf::send(channel_.socket(), message, flags_, queue_, channel_.slots().region());
    ++posted_;
  }

  // Waits until the memory of the send `buffers` sends ago is free.
  void make_room() { settle(buffers_ - 1); }
  // Waits until at most `open` sends are pending.
  void settle(std::uint64_t open) {
    if (posted_ - done_ <= open) return;
    take(0);
    while (posted_ - done_ > open) {
      if (!take(perf::kClientPatienceNs)) throw tools::Failure("a send did not end within 10 s");
    }
  }

 private:
  bool take(std::int64_t timeout_ns) {
    std::array<exs_event_t, perf::kEventBatch> events;
    const std::size_t taken = queue_.take(events, timeout_ns);
    for (std::size_t i = 0; i < taken; ++i, ++done_) {
      if (events[i].exs_evt_errno != 0)
        tools::fail_of(events[i].exs_evt_socket, "the connection broke", events[i].exs_evt_errno);
    }
    return taken > 0;
  }

  Channel& channel_;
  const int flags_;
  const std::uint32_t buffers_;
  perf::Queue queue_;
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
};

void check_length(const exs_event_t& event, const Job& job) {
  if (event.exs_evt_union.exs_evt_xfer.exs_evt_length == job.size_bytes &&
      (event.exs_evt_flags & EXS_EVF_TRUNC) == 0)
    return;
  throw tools::Failure("a message has not the length that was agreed");
}

class Client {
 public:
  // The first half of the slots is for sends, the second half for receives.
  Client(Channel& channel, const Job& job, const perf::Limit& limit, perf::Progress& progress)
      : channel_(channel),
        job_(job),
        limit_(limit),
        rounds_(job, limit, progress),
        half_(perf::server_buffers(job)),
        slots_(channel.make_slots(std::max(job.size_bytes, std::uint64_t{perf::kControlMaxBytes}),
                                  std::size_t{2} * half_, job.memory)),
        sends_(channel, perf::traits_of(job.kind).send_flags, half_) {}

  perf::Driven run() {
    post_receive();
    perf::Driven driven = rounds_.run([this](std::uint64_t n) { return round_trip(n); });
    if (!driven.broken.empty()) return driven;
    exs_shutdown(channel_.socket().number(), SHUT_WR);
    wait_for_receive();
    if ((event_.exs_evt_flags & EXS_EVF_EOF) != 0) throw tools::Failure("no results from the server");
    driven.peer = perf::decode_results(perf::received(event_));
    sends_.settle(0);
    return driven;
  }

 private:
  void post_receive() {
    perf::recv(channel_.socket(), slots_.slot(half_ + posted_ % half_), channel_.queue(), slots_.region());
    ++posted_;
  }

  void wait_for_receive() { next_receive(channel_, perf::kClientPatienceNs, received_, event_); }

  RoundTrip round_trip(std::uint64_t n) {
    sends_.make_room();
    const auto message = slots_.slot(n % half_).first(job_.size_bytes);
    if (job_.verify) tools::fill_pattern(message, n);
    if (limit_.flip_message == n) message[message.size() / 2] ^= std::byte{1};
    const std::uint64_t start_ns = exs::monotonic_ns();
    sends_.post(message);
    // Posts the receive of the round after this one while the message travels.
    post_receive();
    wait_for_receive();
    const std::uint64_t end_ns = exs::monotonic_ns();
    if ((event_.exs_evt_flags & EXS_EVF_EOF) != 0)
      throw tools::Failure("the server has closed the connection");
    check_length(event_, job_);
    ++received_;
    if (job_.verify) verify(event_, n);
    return {start_ns, end_ns};
  }

  void verify(const exs_event_t& event, std::uint64_t n) {
    const auto wrong = tools::first_wrong_byte(perf::received(event), n);
    if (!wrong) return;
    rounds_.report(tools::format("message %llu came back damaged, from byte %llu on",
                                 static_cast<unsigned long long>(n),
                                 static_cast<unsigned long long>(*wrong)));
  }

  Channel& channel_;
  const Job& job_;
  const perf::Limit& limit_;
  Rounds rounds_;
  const std::uint32_t half_;
  const perf::Slots& slots_;
  Sends sends_;
  exs_event_t event_{};
  std::uint64_t posted_ = 0;
  std::uint64_t received_ = 0;
};

class Echoer {
 public:
  Echoer(Channel& channel, const Job& job)
      : channel_(channel),
        job_(job),
        slots_(channel.slots()),
        sends_(channel, perf::traits_of(job.kind).send_flags, perf::server_buffers(job) - kReceivesPosted) {}

  perf::PeerResults run() {
    for (std::uint32_t i = 0; i < kReceivesPosted; ++i) post_receive();
    channel_.queue().wait_like(job_.wait);
    channel_.post_control(perf::encode_answer({}));
    while (!ended_) echo();
    watch_.stop();
    // Both directions end in order: every receive has its event before the results are sent.
    while (done_ < posted_) echo();
    sends_.settle(0);
    results_.cpu_ns = watch_.cpu_ns();
    results_.wall_ns = watch_.wall_ns();
    return results_;
  }

 private:
  void post_receive() {
    perf::recv(channel_.socket(), slots_.slot(posted_), channel_.queue(), slots_.region());
    ++posted_;
  }

  // The answer leaves before anything else is done.
  void echo() {
    next_receive(channel_, perf::kServerPatienceNs, messages_, event_);
    ++done_;
    if ((event_.exs_evt_flags & EXS_EVF_EOF) != 0) {
      ended_ = true;
      return;
    }
    check_length(event_, job_);
    const auto message = perf::received(event_);
    sends_.post(message);
    if (messages_ == job_.warmup_messages) watch_.start();
    if (job_.verify) verify(message);
    if (messages_++ >= job_.warmup_messages) {
      ++results_.messages;
      results_.bytes += job_.size_bytes;
    }
    sends_.make_room();
    post_receive();
  }

  void verify(std::span<const std::byte> message) {
    const auto wrong = tools::first_wrong_byte(message, messages_);
    if (!wrong || results_.wrong_messages++ > 0) return;
    results_.first_wrong_message = messages_;
    results_.first_wrong_offset = *wrong;
  }

  Channel& channel_;
  const Job& job_;
  const perf::Slots& slots_;
  Sends sends_;
  exs_event_t event_{};
  tools::Stopwatch watch_;
  perf::PeerResults results_;
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t messages_ = 0;  // including the warm-up
  bool ended_ = false;
};

}  // namespace

perf::PeerResults echo_messages(Channel& channel, const Job& job, perf::Progress& /*progress*/) {
  return Echoer(channel, job).run();
}

perf::Driven send_there_and_back(Channel& channel, const Job& job, const perf::Limit& limit,
                                 perf::Progress& progress) {
  return Client(channel, job, limit, progress).run();
}

}  // namespace ping
