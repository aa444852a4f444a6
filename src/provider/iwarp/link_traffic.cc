// A link's work on its socket's bytes, at the port's request.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/socket_address.h"
#include "src/log/log.h"
#include "src/provider/iwarp/limits.h"
#include "src/provider/iwarp/link.h"
#include "src/provider/iwarp/socket.h"

namespace exs::iwarp {
namespace {

// At this size a second system call costs less than copying the payload.
constexpr std::size_t kDirectMin = 8192;
// While much payload is expected, staging receives only headers; the payload behind them is received in
// place.
constexpr std::size_t kStagingBeforeBulk = 4096;

}  // namespace

void IwarpLink::ready(std::uint32_t events) {
  contained([&] { take_events(events); });
}

void IwarpLink::take_events(std::uint32_t events) {
  if (state_ == State::kConnecting) {
    connected();
    return;
  }
  if (state_ == State::kReplying && (events & (EPOLLERR | EPOLLHUP)) != 0) {
    socket_failed(ECONNRESET, "sendmsg");
    return;
  }
  if (held_up_ && (events & EPOLLOUT) != 0) {
    held_up_ = false;
    context_.poller.change(descriptor_, EPOLLIN, *this);
    mark_to_send();
  }
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) mark_to_receive();
}

bool IwarpLink::prepare_receive(IoJob& job, ReceiveSlot& slot, std::span<std::byte> staging) {
  if (state_ != State::kOpen && state_ != State::kAwaitingReply) return false;
  if (has_had_its_share()) return false;
  std::size_t entries = 0;
  slot.direct_bytes = 0;
  if (state_ == State::kAwaitingReply) {
    staging = reply_->room();
  } else if (const std::span<std::byte> target = receiver_.payload_target();
             target.size() >= kDirectMin || (!target.empty() && receiver_.bulk_expected())) {
    slot.entries[entries++] = {target.data(), target.size()};
    slot.direct_bytes = target.size();
    staging = staging.first(receiver_.bytes_between_payloads());
  } else if (receiver_.bulk_expected()) {
    staging = staging.first(kStagingBeforeBulk);
  }
  slot.staging = staging;
  slot.entries[entries++] = {staging.data(), staging.size()};
  slot.offered_bytes = slot.direct_bytes + staging.size();
  job.descriptor = descriptor_;
  job.is_send = false;
  job.message = {};
  job.message.msg_iov = slot.entries;
  job.message.msg_iovlen = entries;
  return true;
}

// The rest stays in the socket, and epoll reports it again.
bool IwarpLink::has_had_its_share() {
  if (look_ != context_.look) {
    look_ = context_.look;
    fpdus_at_look_ = receiver_.fpdus();
  }
  return receiver_.fpdus() - fpdus_at_look_ >= kFpdusPerLook;
}

bool IwarpLink::finish_receive(const IoJob& job, const ReceiveSlot& slot) {
  bool more = false;
  contained([&] { more = take_received(job, slot); });
  return more;
}

bool IwarpLink::take_received(const IoJob& job, const ReceiveSlot& slot) {
  if (job.result == -EAGAIN) {
    context_.hot.cool(this);
    if (send_error_ != 0) socket_failed(send_error_, "sendmsg");
    return false;
  }
  if (job.result < 0) {
    socket_failed(static_cast<int>(-job.result), "recvmsg");
    return false;
  }
  if (job.result == 0) {
    stream_ended();
    return false;
  }
  const auto bytes = static_cast<std::size_t>(job.result);
  ++context_.arrivals;
  if (state_ == State::kAwaitingReply) {
    take_reply(bytes);
    return false;
  }
  context_.hot.touch(this);
  return take_bytes(slot, bytes) && bytes == slot.offered_bytes;
}

bool IwarpLink::take_bytes(const ReceiveSlot& slot, std::size_t bytes) {
  const std::size_t placed = std::min(bytes, slot.direct_bytes);
  if (placed > 0) receiver_.placed(placed);
  const std::uint64_t before = receiver_.fpdus();
  if (!receiver_.consume(slot.staging.first(bytes - placed))) {
    stream_over();
    return false;
  }
  context_.fpdus_unasked += receiver_.fpdus() - before;
  context_.alone_in_a_row = receiver_.fpdus() - before == 1 ? context_.alone_in_a_row + 1 : 0;
  if (!transmitter_.is_open() && receiver_.fpdu_seen()) {
    transmitter_.open();
    if (transmitter_.has_work()) mark_to_send();
  }
  return true;
}

void IwarpLink::stream_ended() {
  if (state_ == State::kOpen && receiver_.at_fpdu_boundary() && send_error_ == 0) {
    end({});
    return;
  }
  end(fault(LogLevel::kInfo, ECONNRESET, "iwarp: {} closed its stream {}", peer_name(),
            state_ == State::kOpen ? "in the middle of an FPDU" : "before it answered"));
}

void IwarpLink::stream_over() {
  if (receiver_.state() == ReceiverState::kTerminated) {
    const std::span<const std::byte> word = receiver_.terminate_word();
    end(fault(LogLevel::kWarn, EPROTO, "iwarp: terminate {:02x} {:02x} {:02x} {:02x} received from {}",
              static_cast<unsigned>(word[0]), static_cast<unsigned>(word[1]), static_cast<unsigned>(word[2]),
              static_cast<unsigned>(word[3]), peer_name()));
    return;
  }
  const ReceiverFault& fault = receiver_.fault();
  if (fault.is_ours) {
    log(LogLevel::kWarn,
        "iwarp: {}, so the connection to {} ends: EFAULT; unmap or free memory after the event", fault.what,
        peer_name());
    end(Status(EFAULT));
    return;
  }
  const TerminateFrame frame =
      make_terminate(fault.code, receiver_.header().first(fault.header_bytes), receiver_.crc_on());
  const Status why = exs::fault(LogLevel::kWarn, EPROTO, "iwarp: {} from {}; terminate {}/{}/{} sent",
                                fault.what, peer_name(), fault.code.layer, fault.code.type, fault.code.code);
  end(why, {frame.bytes.data(), frame.length});
}

// ENOTCONN: the kernel took the connection from the socket (connect with AF_UNSPEC).
void IwarpLink::socket_failed(int error, const char* call) {
  if (error == EBADF || error == ENOTSOCK) {
    log(LogLevel::kWarn,
        "socket {}: close(2) has taken its descriptor away with the connection open: ECONNRESET; end exs "
        "sockets by exs_close",
        descriptor_);
    return end(Status(ECONNRESET));
  }
  log(LogLevel::kInfo, "iwarp: {} failed on link to {}: {}", call, peer_name(), std::strerror(error));
  end(Status(error == EPIPE || error == ENOTCONN ? ECONNRESET : error));  // the session has words for each
}

// An error is found by the send that is posted then.
bool IwarpLink::send_short(std::span<const std::byte> header, LocalSlice payload) noexcept {
  if (state_ != State::kOpen || !watched_ || held_up_ || send_error_ != 0 ||
      !transmitter_.may_send_short(header.size() + payload.length_bytes))
    return false;
  Transmitter::ShortFrame frame;  // not initialised: its first bytes are written
  const std::size_t bytes = transmitter_.build_short(frame, header, {payload.address, payload.length_bytes});
  if (bytes == 0) return false;
  const ssize_t sent = send_bytes(descriptor_, {frame.data(), bytes});
  if (sent <= 0) return false;
  transmitter_.short_left(std::span(frame).first(bytes), static_cast<std::size_t>(sent));
  if (static_cast<std::size_t>(sent) < bytes) wait_until_writable();
  return true;
}

bool IwarpLink::prepare_send(IoJob& job, std::span<iovec> entries) {
  if (is_over() || state_ == State::kConnecting || held_up_ || send_error_ != 0) return false;
  std::size_t count = 0;
  contained([&] { count = transmitter_.gather(entries); });
  if (count == 0) return false;
  job.descriptor = descriptor_;
  job.is_send = true;
  job.message = {};
  job.message.msg_iov = entries.data();
  job.message.msg_iovlen = count;
  return true;
}

bool IwarpLink::finish_send(const IoJob& job) {
  bool more = false;
  contained([&] { more = take_sent(job); });
  return more;
}

bool IwarpLink::take_sent(const IoJob& job) {
  if (job.result < 0 && job.result != -EAGAIN && job.result != -ENOBUFS && job.result != -ENOMEM) {
    if (state_ != State::kOpen) {
      socket_failed(static_cast<int>(-job.result), "sendmsg");
      return false;
    }
    // The peer may have said why before it went: what it sent is read first, then the end is found there.
    send_error_ = static_cast<int>(-job.result);
    mark_to_receive();
    return false;
  }
  std::size_t offered = 0;
  for (std::size_t i = 0; i < job.message.msg_iovlen; ++i) offered += job.message.msg_iov[i].iov_len;
  const std::size_t sent = job.result > 0 ? static_cast<std::size_t>(job.result) : 0;
  transmitter_.sent(sent);
  if (state_ == State::kReplying && handshake_left_) reply_left();
  if (sent < offered) {
    wait_until_writable();
    return false;
  }
  return transmitter_.has_work();
}

void IwarpLink::nudge() {
  if (state_ != State::kOpen || !transmitter_.has_begun() || transmitter_.has_work()) return;
  log(LogLevel::kInfo, "iwarp: {} is silent since its MPA reply: nudged", peer_name());
  contain(
      [this] {
        transmitter_.queue_nudge();
        mark_to_send();
      },
      [] {});  // the next look nudges it
}

void IwarpLink::wait_until_writable() {
  if (is_over() || held_up_) return;
  held_up_ = true;
  if (watched_) {
    context_.poller.change(descriptor_, EPOLLIN | EPOLLOUT, *this);
  } else if (context_.poller.add(descriptor_, EPOLLOUT, *this).ok()) {
    watched_ = true;
  } else {
    end(Status(ENOMEM));
  }
}

std::string IwarpLink::peer_name() const {
  return name_of_peer(descriptor_);
}

}  // namespace exs::iwarp
