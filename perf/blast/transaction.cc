// Transactions: the server answers out of several buffers, each published on a connection of its own. The client's read is the request,
// and its notification (EXS_EVT_PEER_READ) means that the buffer may be filled with the next answer. A turn message reports that this is
// done. So the server fills one buffer while the client reads another.
//
// A buffer begins with its sequence number, which increases by one from read to read. With --verify the rest is the pattern of a number
// that no other answer has.
// SPDX-License-Identifier: BSD-2-Clause
#include <endian.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "perf/blast/methods.h"
#include "perf/blast/pipeline.h"
#include "perf/support/turns.h"
#include "tools/common/failure.h"
#include "tools/common/pattern.h"
#include "tools/common/sockets.h"
#include "tools/common/units.h"

namespace blast {
namespace {

using perf::Channel;
using perf::Job;

constexpr std::size_t kSequenceBytes = sizeof(std::uint64_t);

std::uint64_t sequence_in(std::span<const std::byte> buffer) {
  std::uint64_t sequence = 0;
  std::memcpy(&sequence, buffer.data(), sizeof sequence);
  return be64toh(sequence);
}

void put_sequence(std::span<std::byte> buffer, std::uint64_t sequence) {
  sequence = htobe64(sequence);
  std::memcpy(buffer.data(), &sequence, sizeof sequence);
}

std::uint64_t pattern_of(const Job& job, std::uint32_t buffer, std::uint64_t sequence) {
  return sequence * job.depth + buffer;
}

std::uint32_t buffer_of(const Channel& channel, const exs_event_t& event) {
  const auto sockets = channel.data();
  const auto found = std::ranges::find(sockets, event.exs_evt_socket, &perf::Socket::number);
  if (found == sockets.end()) throw tools::Failure("an event of no connection of this measurement");
  return static_cast<std::uint32_t>(found - sockets.begin());
}

class Client final : public Pipeline {
 public:
  Client(Channel& channel, const Job& job, const perf::Limit& limit, perf::Progress& progress)
      : Pipeline(channel, job, limit, progress),
        slots_(channel.make_slots(job.size_bytes, job.depth, job.memory)),
        turns_(channel, job.depth),
        expected_(job.depth) {
    for (std::uint32_t buffer = 0; buffer < job.depth; ++buffer) filled_.push_back(buffer);
  }

 private:
  bool post(std::uint64_t /*n*/) override {
    if (filled_.empty()) return false;
    const std::uint32_t buffer = filled_.front();
    filled_.pop_front();
    perf::recv(channel().data()[buffer], slots_.slot(buffer), channel().queue(), slots_.region());
    return true;
  }

  void finish(std::uint64_t n, const exs_event_t& event) override {
    const std::uint32_t buffer = buffer_of(channel(), event);
    const auto answer = slots_.slot(buffer);
    if (limit().flip_message == n) answer[answer.size() / 2] ^= std::byte{1};
    const std::uint64_t expected = expected_[buffer]++;
    if (const std::uint64_t sequence = sequence_in(answer); sequence != expected) {
      const std::string fault =
          tools::format("message %llu, from buffer %u, has sequence number %llu, not %llu",
                        static_cast<unsigned long long>(n), static_cast<unsigned>(buffer),
                        static_cast<unsigned long long>(sequence), static_cast<unsigned long long>(expected));
      if (!job().verify) throw tools::Failure(fault);
      report(fault);
    }
    if (!job().verify) return;
    const auto wrong =
        tools::first_wrong_byte(answer.subspan(kSequenceBytes), pattern_of(job(), buffer, expected));
    if (!wrong) return;
    report(tools::format("message %llu, from buffer %u, is damaged from byte %llu on",
                         static_cast<unsigned long long>(n), static_cast<unsigned>(buffer),
                         static_cast<unsigned long long>(*wrong) + kSequenceBytes));
  }

  void handle_other(const exs_event_t& event) override {
    const auto turn = turns_.turn_in(event);
    if (!turn) return;
    if (turn->buffer >= job().depth || turn->sequence != expected_[turn->buffer])
      throw tools::Failure("the server gives a turn that is none");
    filled_.push_back(turn->buffer);
  }

  perf::PeerResults end() override { return turns_.end(); }

  const perf::Slots& slots_;
  perf::TurnReceiver turns_;
  std::vector<std::uint64_t> expected_;  // for each buffer, the sequence number of the next read
  std::deque<std::uint32_t> filled_;     // ready to be read, longest filled first
};

class Server {
 public:
  Server(Channel& channel, const Job& job)
      : channel_(channel), job_(job), slots_(channel.slots()), turns_(channel, job.depth), next_(job.depth) {}

  perf::PeerResults run() {
    for (std::uint32_t buffer = 0; buffer < job_.depth; ++buffer) {
      fill(buffer);
      const perf::Socket& socket = channel_.data()[buffer];
      perf::send(socket, slots_.slot(buffer), perf::traits_of(job_.kind).send_flags, channel_.queue(),
                 slots_.region());
      // Completes at the end of the client's sending, after all notifications.
      perf::recv(socket, {}, channel_.queue(), slots_.region());
    }
    turns_.answer(job_.wait);
    watch_.start();
    while (!turns_.ended() || !turns_.idle() || ended_ < job_.depth) take();
    watch_.stop();
    results_.cpu_ns = watch_.cpu_ns();
    results_.wall_ns = watch_.wall_ns();
    channel_.close_data();
    while (taken_back_ < job_.depth) take();
    return results_;
  }

 private:
  void fill(std::uint32_t buffer) {
    const auto answer = slots_.slot(buffer);
    const std::uint64_t sequence = next_[buffer]++;
    put_sequence(answer, sequence);
    if (job_.verify) tools::fill_pattern(answer.subspan(kSequenceBytes), pattern_of(job_, buffer, sequence));
  }

  void take() {
    const std::size_t taken = channel_.queue().take(events_, perf::kServerPatienceNs);
    if (taken == 0) throw tools::Failure("the client reads nothing: nothing happened for 30 s");
    for (std::size_t i = 0; i < taken; ++i) {
      if (!turns_.handle(events_[i])) handle(events_[i]);
    }
  }

  void handle(const exs_event_t& event) {
    if (event.exs_evt_type == EXS_EVT_SEND && event.exs_evt_errno == ECANCELED && ended_ == job_.depth) {
      ++taken_back_;
      return;
    }
    if (event.exs_evt_errno != 0)
      tools::fail_of(event.exs_evt_socket, "the connection broke", event.exs_evt_errno);
    if (event.exs_evt_type == EXS_EVT_RECV) {
      if ((event.exs_evt_flags & EXS_EVF_EOF) == 0) throw tools::Failure("the client sends what it must not");
      ++ended_;
      return;
    }
    if (event.exs_evt_type != EXS_EVT_PEER_READ)
      throw tools::Failure(std::string("unexpected ") + exs_evtname(event.exs_evt_type));
    const exs_evt_xfer_t& transfer = event.exs_evt_union.exs_evt_xfer;
    if (transfer.exs_evt_count != 1 || transfer.exs_evt_length != job_.size_bytes)
      throw tools::Failure("a buffer was not read once, as a whole");
    ++results_.messages;
    results_.bytes += transfer.exs_evt_length;
    const std::uint32_t buffer = buffer_of(channel_, event);
    fill(buffer);
    if (!turns_.ended()) turns_.give({buffer, next_[buffer] - 1});
  }

  Channel& channel_;
  const Job& job_;
  const perf::Slots& slots_;
  perf::TurnGiver turns_;
  std::array<exs_event_t, perf::kEventBatch> events_{};
  tools::Stopwatch watch_;
  perf::PeerResults results_;
  std::vector<std::uint64_t> next_;  // for each buffer, the sequence number of the next answer
  std::uint32_t ended_ = 0;
  std::uint32_t taken_back_ = 0;
};

}  // namespace

perf::PeerResults answer_transactions(Channel& channel, const Job& job, perf::Progress& /*progress*/) {
  return Server(channel, job).run();
}

perf::Driven request_transactions(Channel& channel, const Job& job, const perf::Limit& limit,
                                  perf::Progress& progress) {
  return Client(channel, job, limit, progress).run();
}

}  // namespace blast
