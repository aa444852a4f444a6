// Streams: the client keeps `depth` sends under way; the server receives bytes as they arrive, in pieces of its own.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <cerrno>

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

// Receives under way: few, which stay in the cache, but as many as sends where so many are for a distance.
constexpr std::size_t kPiecesNear = 8;
constexpr std::uint32_t kDepthNear = 64;
constexpr std::size_t kAllPiecesMax = std::size_t{256} << 20;  // bytes
constexpr std::size_t kPieceBytesMin = std::size_t{64} * 1024;
constexpr std::size_t kPieceBytesMax = std::size_t{1024} * 1024;

const perf::Socket& stream_of(const Channel& channel) {
  return channel.data().front();
}

class StreamSender final : public Pipeline {
 public:
  StreamSender(Channel& channel, const Job& job, const perf::Limit& limit, perf::Progress& progress)
      : Pipeline(channel, job, limit, progress),
        slots_(channel.make_slots(job.size_bytes, job.depth, job.memory)) {
    const int nodelay = job.nodelay ? 1 : 0;
    if (exs_setsockopt(stream_of(channel).number(), SOL_EXS, EXS_SO_NODELAY, &nodelay, sizeof nodelay) == -1)
      tools::fail("cannot set EXS_SO_NODELAY", errno);
  }

 private:
  bool post(std::uint64_t n) override {
    const auto message = slots_.slot(n);
    if (job().verify) tools::fill_pattern(message, n);
    if (limit().flip_message == n) message[message.size() / 2] ^= std::byte{1};
    return try_send(stream_of(channel()), message, 0, channel().queue(), slots_.region());
  }
  perf::PeerResults end() override {
    exs_shutdown(stream_of(channel()).number(), SHUT_WR);
    return Pipeline::end();
  }

  const perf::Slots& slots_;
};

// Cuts the stream into its messages and compares each.
class Verifier {
 public:
  explicit Verifier(const Job& job) : message_(job.verify ? job.size_bytes : 0) {}

  void take(std::span<const std::byte> bytes, perf::PeerResults& results) {
    while (!message_.empty() && !bytes.empty()) {
      const std::size_t part = std::min(bytes.size(), message_.size() - filled_);
      std::copy_n(bytes.begin(), part, message_.begin() + static_cast<std::ptrdiff_t>(filled_));
      bytes = bytes.subspan(part);
      filled_ += part;
      if (filled_ < message_.size()) return;
      compare(results);
      filled_ = 0;
      ++number_;
    }
  }

 private:
  void compare(perf::PeerResults& results) {
    const auto wrong = tools::first_wrong_byte(message_, number_);
    if (!wrong || results.wrong_messages++ > 0) return;
    results.first_wrong_message = number_;
    results.first_wrong_offset = *wrong;
  }

  std::vector<std::byte> message_;
  std::size_t filled_ = 0;
  std::uint64_t number_ = 0;
};

class StreamReceiver {
 public:
  StreamReceiver(Channel& channel, const Job& job, perf::Progress& progress)
      : channel_(channel),
        job_(job),
        progress_(progress),
        verifier_(job),
        piece_bytes_(std::clamp<std::size_t>(job.size_bytes, kPieceBytesMin, kPieceBytesMax)),
        count_(job.depth <= kDepthNear ? kPiecesNear
                                       : std::min<std::size_t>(job.depth, kAllPiecesMax / piece_bytes_)),
        pieces_(channel.add_slots(piece_bytes_, count_, job.memory)) {}

  perf::PeerResults run() {
    pieces_.touch();
    for (std::size_t i = 0; i < count_; ++i) post();
    channel_.queue().wait_like(job_.wait);
    channel_.post_control(perf::encode_answer({}));
    while (done_ < posted_ && !tools::interrupted()) {
      const std::size_t taken = channel_.queue().take(events_, perf::kServerPatienceNs);
      if (taken == 0) throw tools::Failure("the sender sends nothing: nothing happened for 30 s");
      for (std::size_t i = 0; i < taken; ++i) handle(events_[i]);
      tell_progress();
    }
    watch_.stop();
    results_.messages = results_.bytes / job_.size_bytes;
    results_.cpu_ns = watch_.cpu_ns();
    results_.wall_ns = watch_.wall_ns();
    return results_;
  }

 private:
  // Progress is printed here only in reverse.
  void tell_progress() {
    if (job_.reverse && done_ > 0)
      progress_.update(watch_.start_ns(), exs::monotonic_ns(), results_.bytes / job_.size_bytes);
  }

  void post() {
    perf::recv(stream_of(channel_), pieces_.slot(posted_), channel_.queue(), pieces_.region());
    ++posted_;
  }

  void handle(const exs_event_t& event) {
    if (event.exs_evt_errno != 0) {
      tools::fail_of(event.exs_evt_socket,
                     tools::format("the connection broke after %llu bytes",
                                   static_cast<unsigned long long>(results_.bytes)),
                     event.exs_evt_errno);
    }
    if (event.exs_evt_type != EXS_EVT_RECV) return;  // the send of the answer
    if (done_ == 0) watch_.start();
    ++done_;
    const std::span<const std::byte> bytes = perf::received(event);
    results_.bytes += bytes.size();
    verifier_.take(bytes, results_);
    ended_ |= (event.exs_evt_flags & EXS_EVF_EOF) != 0;
    if (!ended_) post();
  }

  Channel& channel_;
  const Job& job_;
  perf::Progress& progress_;
  Verifier verifier_;
  const std::size_t piece_bytes_;
  const std::size_t count_;
  perf::Slots& pieces_;
  std::array<exs_event_t, perf::kEventBatch> events_{};
  tools::Stopwatch watch_;
  perf::PeerResults results_;
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
  bool ended_ = false;
};

}  // namespace

perf::PeerResults receive_stream(Channel& channel, const Job& job, perf::Progress& progress) {
  return StreamReceiver(channel, job, progress).run();
}

perf::Driven send_stream(Channel& channel, const Job& job, const perf::Limit& limit,
                         perf::Progress& progress) {
  return StreamSender(channel, job, limit, progress).run();
}

}  // namespace blast
