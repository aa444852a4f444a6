// exs-blast: throughput. The client keeps `depth` sends under way, the server as many receives.
#include <array>
#include <cerrno>

#include "perf/support/control.h"
#include "perf/support/failure.h"
#include "perf/support/interrupt.h"
#include "perf/support/pattern.h"
#include "perf/support/tool.h"
#include "perf/support/units.h"

namespace blast {
namespace {

using perf::Channel;
using perf::Job;

class Sender {
 public:
  Sender(Channel& channel, const Job& job, const perf::Limit& limit, perf::Progress& progress)
      : channel_(channel),
        job_(job),
        limit_(limit),
        progress_(progress),
        slots_(channel.make_slots(job.size_bytes, job.depth, job.memory)),
        flags_(perf::send_flags(job.kind)) {}

  perf::Driven run() {
    perf::Driven driven;
    driven.watch.start();
    start_ns_ = now_ns_ = progress_ns_ = driven.watch.start_ns();
    while (wants_more() || done_ < posted_) {
      post();
      collect();
    }
    driven.messages = done_;
    exs_shutdown(channel_.socket().descriptor(), SHUT_WR);
    driven.peer = perf::decode_results(channel_.receive_control("no results from the server"));
    driven.watch.stop();
    return driven;
  }

 private:
  bool wants_more() {
    if (perf::interrupted()) return false;
    if (limit_.count > 0) return posted_ < limit_.count;
    return now_ns_ - start_ns_ < limit_.time_ns;
  }

  void post() {
    while (posted_ - done_ < job_.depth && wants_more()) {
      const auto message = slots_.slot(posted_);
      if (job_.verify) perf::fill_pattern(message, posted_);
      if (limit_.flip_message == posted_) message[message.size() / 2] ^= std::byte{1};
      if (!try_send(channel_.socket(), message, flags_, channel_.queue(), slots_.region())) {
        if (posted_ == done_) perf::fail("exs_send with nothing under way", EAGAIN);
        return;
      }
      ++posted_;
    }
  }

  void collect() {
    if (posted_ == done_) return;
    const std::size_t taken = channel_.queue().take(events_, perf::kClientPatienceNs);
    now_ns_ = perf::now_ns();
    if (taken > 0) progress_ns_ = now_ns_;
    if (now_ns_ - progress_ns_ >= static_cast<std::uint64_t>(perf::kClientPatienceNs)) {
      throw perf::Failure("the server takes no more messages: nothing happened for 10 s");
    }
    for (std::size_t i = 0; i < taken; ++i, ++done_) check(events_[i]);
    progress_.update(start_ns_, now_ns_, done_);
  }

  void check(const exs_event_t& event) const {
    if (event.exs_evt_errno != 0) {
      perf::fail(
          perf::text("the connection broke after %llu messages", static_cast<unsigned long long>(done_)),
          event.exs_evt_errno);
    }
    if (event.exs_evt_union.exs_evt_xfer.exs_evt_length != job_.size_bytes) {
      throw perf::Failure("the server took only a part of a message");
    }
  }

  Channel& channel_;
  const Job& job_;
  const perf::Limit& limit_;
  perf::Progress& progress_;
  const perf::Slots& slots_;
  const int flags_;
  std::array<exs_event_t, perf::kEventBatch> events_{};
  std::uint64_t start_ns_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t progress_ns_ = 0;  // when events came last
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
};

class Receiver {
 public:
  Receiver(Channel& channel, const Job& job) : channel_(channel), job_(job), slots_(channel.slots()) {}

  perf::PeerResults run() {
    for (std::uint32_t i = 0; i < job_.depth; ++i) post();
    channel_.queue().wait_like(job_.wait);
    channel_.post_control(perf::encode_answer(perf::Verdict::accepted));
    while (done_ < posted_) {
      const std::size_t taken = channel_.queue().take(events_, perf::kServerPatienceNs);
      if (taken == 0) throw perf::Failure("the client sends nothing: nothing happened for 30 s");
      for (std::size_t i = 0; i < taken; ++i) handle(events_[i]);
    }
    watch_.stop();
    results_.cpu_ns = watch_.cpu_ns();
    results_.wall_ns = watch_.wall_ns();
    return results_;
  }

 private:
  void post() {
    perf::recv(channel_.socket(), slots_.slot(posted_), channel_.queue(), slots_.region());
    ++posted_;
  }

  void handle(const exs_event_t& event) {
    if (event.exs_evt_errno != 0) {
      perf::fail(perf::text("the connection broke after %llu messages",
                            static_cast<unsigned long long>(results_.messages)),
                 event.exs_evt_errno);
    }
    if (event.exs_evt_type != EXS_EVT_RECV) return;  // the answer has left
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
      throw perf::Failure("a message has not the length that was agreed");
    }
    if (!job_.verify) return;
    const auto wrong = perf::first_wrong_byte(perf::received(event), results_.messages);
    if (!wrong) return;
    if (results_.wrong_messages++ > 0) return;
    results_.first_wrong_message = results_.messages;
    results_.first_wrong_offset = *wrong;
  }

  Channel& channel_;
  const Job& job_;
  const perf::Slots& slots_;
  std::array<exs_event_t, perf::kEventBatch> events_{};
  perf::Stopwatch watch_;
  perf::PeerResults results_;
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
  bool ended_ = false;
};

}  // namespace
}  // namespace blast

int main(int argc, char** argv) {
  const perf::Tool tool{
      .traits = {.name = "exs-blast",
                 .summary = "exs-blast: throughput and processor time of sends, between two processes",
                 .id = perf::ToolId::blast,
                 .default_port = 7471,
                 .default_size_bytes = 64 * 1024,
                 .default_depth = 8,
                 .depth_is_an_option = true},
      .serve = [](perf::Channel& channel,
                  const perf::Job& job) { return blast::Receiver(channel, job).run(); },
      .drive = [](perf::Channel& channel, const perf::Job& job, const perf::Limit& limit,
                  perf::Progress& progress) { return blast::Sender(channel, job, limit, progress).run(); },
  };
  return perf::run(tool, argc, argv);
}
