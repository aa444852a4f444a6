// SPDX-License-Identifier: BSD-2-Clause
#include "perf/support/publisher.h"

#include <array>

#include "perf/support/control.h"
#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/pattern.h"
#include "tools/common/units.h"

namespace perf {
namespace {

class Publisher {
 public:
  Publisher(Channel& channel, const Job& job) : channel_(channel), job_(job) {}

  PeerResults run() {
    const auto memory = channel_.slots().slot(0);
    tools::fill_pattern(memory, kPublishedMessage);
    send(channel_.data().front(), memory, traits_of(job_.kind).send_flags, channel_.queue(),
         channel_.slots().region());
    channel_.post_control_receive();
    channel_.queue().wait_like(job_.wait);
    channel_.post_control(encode_answer({}));
    watch_.start();
    // Reads cause no event, so a silent client may be busy. One that dies ends the connection.
    while (!ended_) take();
    watch_.stop();
    channel_.close_data();
    while (!taken_back_) take();
    results_.cpu_ns = watch_.cpu_ns();
    results_.wall_ns = watch_.wall_ns();
    return results_;
  }

 private:
  void take() {
    exs_event_t event{};
    if (channel_.queue().take({&event, 1}, -1) == 0) return;
    if (event.exs_evt_socket == channel_.socket().number()) {
      if (event.exs_evt_errno != 0) tools::fail("the connection broke", event.exs_evt_errno);
      if (event.exs_evt_type != EXS_EVT_RECV) return;  // the send of the answer
      if ((event.exs_evt_flags & EXS_EVF_EOF) == 0) throw tools::Failure("the client sends what it must not");
      ended_ = true;
      return;
    }
    if (!ended_ || event.exs_evt_errno != ECANCELED)
      tools::fail("the persistent send ended", event.exs_evt_errno);
    taken_back_ = true;
    results_.bytes = event.exs_evt_union.exs_evt_xfer.exs_evt_length;
    results_.messages = results_.bytes / job_.size_bytes;
    const std::uint64_t warmup = std::min<std::uint64_t>(job_.warmup_messages, results_.messages);
    results_.messages -= warmup;
    results_.bytes -= warmup * job_.size_bytes;
  }

  Channel& channel_;
  const Job& job_;
  tools::Stopwatch watch_;
  PeerResults results_;
  bool ended_ = false;
  bool taken_back_ = false;
};

}  // namespace

PeerResults publish(Channel& channel, const Job& job, Progress& /*progress*/) {
  return Publisher(channel, job).run();
}

void scrub(std::span<std::byte> buffer) {
  tools::fill_pattern(buffer, kPublishedMessage);
  for (std::byte& byte : buffer) byte = ~byte;
}

std::string fault_of_read(std::span<const std::byte> read, std::uint64_t n) {
  const auto wrong = tools::first_wrong_byte(read, kPublishedMessage);
  if (!wrong) return "";
  return tools::format("message %llu, a read, is damaged from byte %llu on",
                       static_cast<unsigned long long>(n), static_cast<unsigned long long>(*wrong));
}

}  // namespace perf
