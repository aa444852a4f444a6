// SPDX-License-Identifier: BSD-2-Clause
#include "perf/blast/pipeline.h"

#include "perf/support/control.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"
#include "tools/common/sockets.h"
#include "tools/common/units.h"

namespace blast {

perf::Driven Pipeline::run() {
  driven_.watch.start();
  start_ns_ = now_ns_ = progress_ns_ = driven_.watch.start_ns();
  try {
    while (wants_more() || done_ < posted_) {
      post_some();
      collect();
    }
    driven_.messages = done_;
    driven_.peer = end();
  } catch (const tools::Failure& failure) {
    if (done_ == 0) throw;
    driven_.messages = done_;
    driven_.broken = failure.what();
  }
  driven_.watch.stop();
  return driven_;
}

void Pipeline::finish(std::uint64_t /*n*/, const exs_event_t& /*event*/) {}

void Pipeline::handle_other(const exs_event_t& event) {
  throw tools::Failure(std::string("unexpected ") + exs_evtname(event.exs_evt_type));
}

perf::PeerResults Pipeline::end() {
  exs_shutdown(channel_.socket().number(), SHUT_WR);
  return perf::decode_results(channel_.receive_control("no results from the server"));
}

void Pipeline::report(const std::string& fault) {
  if (driven_.fault.empty()) driven_.fault = fault;
}

bool Pipeline::wants_more() const {
  if (tools::interrupted()) return false;
  if (limit_.count > 0) return posted_ < limit_.count;
  return now_ns_ - start_ns_ < limit_.time_ns;
}

void Pipeline::post_some() {
  for (; posted_ - done_ < job_.depth && wants_more(); ++posted_) {
    if (!post(posted_)) return;
  }
}

void Pipeline::collect() {
  if (posted_ == done_ && !wants_more()) return;
  const std::size_t taken = channel_.queue().take(events_, perf::kClientPatienceNs);
  now_ns_ = exs::monotonic_ns();
  if (taken > 0) progress_ns_ = now_ns_;
  if (now_ns_ - progress_ns_ >= static_cast<std::uint64_t>(perf::kClientPatienceNs))
    throw tools::Failure("the other end is stuck: nothing happened for 10 s");
  for (std::size_t i = 0; i < taken; ++i) {
    check(events_[i]);
    if (carries_data(events_[i])) {
      finish(done_++, events_[i]);
    } else {
      handle_other(events_[i]);
    }
  }
  progress_.update(start_ns_, now_ns_, done_);
}

bool Pipeline::carries_data(const exs_event_t& event) const {
  return channel_.data().empty() || event.exs_evt_socket != channel_.socket().number();
}

void Pipeline::check(const exs_event_t& event) const {
  if (event.exs_evt_errno != 0) {
    tools::fail_of(
        event.exs_evt_socket,
        tools::format("the connection broke after %llu messages", static_cast<unsigned long long>(done_)),
        event.exs_evt_errno);
  }
  if (carries_data(event) && event.exs_evt_union.exs_evt_xfer.exs_evt_length != job_.size_bytes) {
    throw tools::Failure("only a part of a message was moved");
  }
}

}  // namespace blast
