// Writes: the server posts memory once with a persistent receive, and each send of the client writes a slot of it.
//
// The server has no event for a write, so nothing holds the client back. With --verify it asks for notifications of writes (EXS_NOTIFY),
// checks each message, and returns the slot by a turn message. The client waits for that before it writes the slot again.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>

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

class Writer final : public Pipeline {
 public:
  Writer(Channel& channel, const Job& job, const perf::Limit& limit, perf::Progress& progress)
      : Pipeline(channel, job, limit, progress),
        slots_(channel.make_slots(job.size_bytes, job.depth, job.memory)),
        turns_(channel, job.depth) {}

 private:
  bool post(std::uint64_t n) override {
    if (job().verify && n - given_back_ >= job().depth) return false;
    const auto message = slots_.slot(n);
    if (job().verify) tools::fill_pattern(message, n);
    if (limit().flip_message == n) message[message.size() / 2] ^= std::byte{1};
    if (exs_send_offset(channel().data().front().number(), message.data(), message.size(), 0,
                        channel().queue().handle(), nullptr, slots_.region(), slots_.offset_of(n)) == 0) {
      return true;
    }
    if (errno == EAGAIN) return false;
    perf::fail_post(channel().data().front().number(), "exs_send_offset", errno);
  }

  void handle_other(const exs_event_t& event) override {
    if (const auto turn = turns_.turn_in(event)) given_back_ = turn->sequence + 1;
  }

  perf::PeerResults end() override { return turns_.end(); }

  const perf::Slots& slots_;
  perf::TurnReceiver turns_;
  std::uint64_t given_back_ = 0;
};

class Target {
 public:
  Target(Channel& channel, const Job& job)
      : channel_(channel), job_(job), slots_(channel.slots()), turns_(channel, job.depth) {}

  perf::PeerResults run() {
    const int flags = EXS_PERSISTENT | (job_.verify ? EXS_NOTIFY : 0);
    const auto memory = slots_.bytes();
    if (exs_recv(channel_.data().front().number(), memory.data(), memory.size(), flags,
                 channel_.queue().handle(), nullptr, slots_.region()) == -1) {
      perf::fail_post(channel_.data().front().number(), "exs_recv", errno);
    }
    turns_.answer(job_.wait);
    watch_.start();
    // When the client's sending on the data connection has ended, all writes have arrived.
    while (!ended_ || !turns_.ended()) take();
    watch_.stop();
    results_.cpu_ns = watch_.cpu_ns();
    results_.wall_ns = watch_.wall_ns();
    return results_;
  }

 private:
  void take() {
    exs_event_t event{};
    if (channel_.queue().take({&event, 1}, -1) == 0 || turns_.handle(event)) return;
    const exs_evt_xfer_t& transfer = event.exs_evt_union.exs_evt_xfer;
    if (event.exs_evt_type == EXS_EVT_PEER_WRITE) {
      for (std::uint32_t i = 0; i < transfer.exs_evt_count; ++i) verify(checked_++);
      return;
    }
    if (event.exs_evt_errno != 0)
      tools::fail_of(event.exs_evt_socket, "the connection broke", event.exs_evt_errno);
    ended_ = true;
    results_.bytes = transfer.exs_evt_length;
    results_.messages = results_.bytes / job_.size_bytes;
    if (job_.verify && checked_ != results_.messages)
      throw tools::Failure("writes that were told of and writes that were counted differ");
  }

  void verify(std::uint64_t n) {
    const auto wrong = tools::first_wrong_byte(slots_.slot(n), n);
    turns_.give({static_cast<std::uint32_t>(n % job_.depth), n});
    if (!wrong || results_.wrong_messages++ > 0) return;
    results_.first_wrong_message = n;
    results_.first_wrong_offset = *wrong;
  }

  Channel& channel_;
  const Job& job_;
  const perf::Slots& slots_;
  perf::TurnGiver turns_;
  tools::Stopwatch watch_;
  perf::PeerResults results_;
  std::uint64_t checked_ = 0;
  bool ended_ = false;
};

}  // namespace

perf::PeerResults be_written_to(Channel& channel, const Job& job, perf::Progress& /*progress*/) {
  return Target(channel, job).run();
}

perf::Driven write_persistent(Channel& channel, const Job& job, const perf::Limit& limit,
                              perf::Progress& progress) {
  return Writer(channel, job, limit, progress).run();
}

}  // namespace blast
