// Messages: the client keeps `depth` sends under way, the server as many receives.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>

#include "perf/blast/methods.h"
#include "perf/blast/pipeline.h"
#include "perf/support/control.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"
#include "tools/common/pattern.h"
#include "tools/common/sockets.h"
#include "tools/common/units.h"

namespace blast {
namespace {

using perf::Channel;
using perf::Job;

class MessageSender final : public Pipeline {
 public:
  MessageSender(Channel& channel, const Job& job, const perf::Limit& limit, perf::Progress& progress)
      : Pipeline(channel, job, limit, progress),
        slots_(channel.make_slots(job.size_bytes, job.depth, job.memory)),
        flags_(perf::traits_of(job.kind).send_flags) {}

 private:
  bool post(std::uint64_t n) override {
    const auto message = slots_.slot(n);
    if (job().verify) tools::fill_pattern(message, n);
    if (limit().flip_message == n) message[message.size() / 2] ^= std::byte{1};
    return try_send(channel().socket(), message, flags_, channel().queue(), slots_.region());
  }

  const perf::Slots& slots_;
  const int flags_;
};

class MessageReceiver {
 public:
  MessageReceiver(Channel& channel, const Job& job, perf::Progress& progress)
      : channel_(channel), job_(job), progress_(progress), slots_(channel.slots()) {}

  perf::PeerResults run() {
    for (std::uint32_t i = 0; i < job_.depth; ++i) post();
    channel_.queue().wait_like(job_.wait);
    channel_.post_control(perf::encode_answer({}));
    while (done_ < posted_ && !tools::interrupted()) {
      const std::size_t taken = channel_.queue().take(events_, perf::kServerPatienceNs);
      if (taken == 0) throw tools::Failure("the sender sends nothing: nothing happened for 30 s");
      for (std::size_t i = 0; i < taken; ++i) handle(events_[i]);
      tell_progress();
    }
    watch_.stop();
    results_.cpu_ns = watch_.cpu_ns();
    results_.wall_ns = watch_.wall_ns();
    return results_;
  }

 private:
  // Progress is printed here only in reverse.
  void tell_progress() {
    if (job_.reverse && done_ > 0)
      progress_.update(watch_.start_ns(), exs::monotonic_ns(), results_.messages);
  }

  void post() {
    perf::recv(channel_.socket(), slots_.slot(posted_), channel_.queue(), slots_.region());
    ++posted_;
  }

  void handle(const exs_event_t& event) {
    if (event.exs_evt_errno != 0) {
      tools::fail_of(event.exs_evt_socket,
                     tools::format("the connection broke after %llu messages",
                                   static_cast<unsigned long long>(results_.messages)),
                     event.exs_evt_errno);
    }
    if (event.exs_evt_type != EXS_EVT_RECV) return;  // the send of the answer
    if (done_ == 0) watch_.start();
    ++done_;
    if ((event.exs_evt_flags & EXS_EVF_EOF) != 0) {
      ended_ = true;
      return;
    }
    check(event);
    ++results_.messages;
    results_.bytes += job_.size_bytes;
    if (!ended_) post();
  }

  void check(const exs_event_t& event) {
    if (event.exs_evt_union.exs_evt_xfer.exs_evt_length != job_.size_bytes ||
        (event.exs_evt_flags & EXS_EVF_TRUNC) != 0) {
      throw tools::Failure("a message has not the length that was agreed");
    }
    if (!job_.verify) return;
    const auto wrong = tools::first_wrong_byte(perf::received(event), results_.messages);
    if (!wrong) return;
    if (results_.wrong_messages++ > 0) return;
    results_.first_wrong_message = results_.messages;
    results_.first_wrong_offset = *wrong;
  }

  Channel& channel_;
  const Job& job_;
  perf::Progress& progress_;
  const perf::Slots& slots_;
  std::array<exs_event_t, perf::kEventBatch> events_{};
  tools::Stopwatch watch_;
  perf::PeerResults results_;
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
  bool ended_ = false;
};

}  // namespace

perf::PeerResults receive_messages(Channel& channel, const Job& job, perf::Progress& progress) {
  return MessageReceiver(channel, job, progress).run();
}

perf::Driven send_messages(Channel& channel, const Job& job, const perf::Limit& limit,
                           perf::Progress& progress) {
  return MessageSender(channel, job, limit, progress).run();
}

}  // namespace blast
