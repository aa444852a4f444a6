// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/plain_session.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/contain.h"
#include "base/kernel.h"
#include "event/session/failure_text.h"
#include "src/log/log.h"

namespace exs {
namespace {

// The most for one session at a time, so that a fast peer does not keep the shard's other sockets waiting.
constexpr int kCallsMax = 16;
constexpr std::size_t kCallBytesMax = std::size_t{1} << 20;
constexpr std::size_t kEntriesMax = 64;

// The rest of an operation's memory, up to what one system call should move.
class IoVector {
 public:
  IoVector(const proto::Operation& operation, std::size_t skip_bytes) {
    if (operation.vector.empty()) {
      add(operation.memory, skip_bytes);
      return;
    }
    for (const LocalSlice& slice : operation.vector) {
      if (skip_bytes >= slice.length_bytes) {
        skip_bytes -= slice.length_bytes;
      } else {
        add(slice, std::exchange(skip_bytes, 0));
      }
      if (count_ == kEntriesMax || bytes_ == kCallBytesMax) return;
    }
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] msghdr message() {
    msghdr message{};
    message.msg_iov = entries_.data();
    message.msg_iovlen = count_;
    return message;
  }

 private:
  void add(const LocalSlice& slice, std::size_t skip_bytes) {
    const std::size_t bytes = std::min(slice.length_bytes - skip_bytes, kCallBytesMax - bytes_);
    entries_[count_++] = {slice.address + skip_bytes, bytes};
    bytes_ += bytes;
  }

  std::array<iovec, kEntriesMax> entries_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

// The application closed the descriptor between is_there() and the system call.
bool is_closed_meanwhile(int error) {
  return error == EBADF || error == ENOTSOCK;
}

bool would_wait(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

}  // namespace

PlainSession::PlainSession(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
                           std::uint32_t operations_max)
    : Session(std::move(shard), std::move(descriptor), operations_max, stats::ConnectionKind::kPlain),
      closed_check_(*this->shard(), [this] { return still_waits(); }),
      linger_([this](std::uint64_t) { contained([this] { linger_is_over(); }); }) {
  StatsRecord::ConnectionWay way;
  way.carrier = carrier();
  const int number = this->descriptor()->number();
  socklen_t ours = sizeof way.ours;
  socklen_t peers = sizeof way.peers;
  kernel::getsockname(number, as_sockaddr(way.ours), &ours);
  kernel::getpeername(number, as_sockaddr(way.peers), &peers);
  set_way(way);
  set_state(State::kConnected);
}

// The kernel probes the peer after a period of silence and gives it up a period later. It counts in seconds.
void PlainSession::set_keepalive(std::uint64_t period_ns) {
  constexpr std::uint64_t kLongest = 32767;
  const auto period =
      static_cast<int>(std::clamp<std::uint64_t>((period_ns + kNsPerSecond - 1) / kNsPerSecond, 1, kLongest));
  const int wanted = period_ns != 0 ? 1 : 0;
  const int probes = 1;
  const int number = descriptor()->number();
  kernel::setsockopt(number, SOL_SOCKET, SO_KEEPALIVE, &wanted, sizeof wanted);
  if (wanted == 0) return;
  kernel::setsockopt(number, IPPROTO_TCP, TCP_KEEPIDLE, &period, sizeof period);
  kernel::setsockopt(number, IPPROTO_TCP, TCP_KEEPINTVL, &period, sizeof period);
  kernel::setsockopt(number, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

// ---------------------------------------------------------------- bytes

bool PlainSession::start(proto::Direction direction, const proto::Operation& operation) {
  shard()->assert_held();
  Fifo<OpenTransfer>& waiting = line(direction);
  bool is_in = false;
  contain(
      [&] {
        waiting.push_back({operation, 0});
        is_in = true;
      },
      [] {});
  if (!is_in) {
    end_operation(direction, operation, {.error = ENOMEM, .length_bytes = 0, .flags = 0});
  } else if (state() == State::kEnded) {  // after admit()
    fail_all(direction, ECANCELED);
  } else if (waiting.count() == 1) {
    contained([&] { advance(direction); });
  }
  return false;
}

void PlainSession::after_step() {
  Session::after_step();
  if (state() != State::kEnded) await_kernel();
}

// The kernel reports again what is left in it.
std::size_t PlainSession::pooled_messages_max() const noexcept {
  return kCallsMax;
}

void PlainSession::advance(proto::Direction direction) {
  if (!descriptor()->is_there()) return end(ECANCELED);
  if (direction == proto::Direction::kSend) {
    send_on();
  } else {
    receive_on();
  }
}

void PlainSession::send_on() {
  for (int calls = 0; calls < kCallsMax && !sends_.empty(); ++calls) {
    if (!send_once(sends_.front())) break;
  }
  if (sends_.empty()) sends_are_gone();
}

void PlainSession::sends_are_gone() {
  if (sending_ends_) shut_down_sending();
  if (state() == State::kClosing) end(0);
}

bool PlainSession::send_once(OpenTransfer& transfer) {
  IoVector memory(transfer.operation, transfer.done_bytes);
  ssize_t sent = 0;
  if (memory.bytes() > 0) {
    const msghdr message = memory.message();
    sent = kernel::sendmsg(descriptor()->number(), &message,
                           MSG_DONTWAIT | MSG_NOSIGNAL | (transfer.operation.more ? MSG_MORE : 0));
  }
  if (sent < 0) return call_failed(proto::Direction::kSend, errno);
  const auto sent_bytes = static_cast<std::size_t>(sent);
  transfer.done_bytes += sent_bytes;
  counters_here().bytes_sent += sent_bytes;
  if (transfer.left_bytes() == 0) finish(proto::Direction::kSend, 0);
  return sent_bytes == memory.bytes();  // less: the kernel is full
}

void PlainSession::receive_on() {
  for (int calls = 0; calls < kCallsMax && !receives_.empty(); ++calls) {
    if (!receive_once(receives_.front())) break;
  }
}

bool PlainSession::receive_once(OpenTransfer& transfer) {
  IoVector memory(transfer.operation, transfer.done_bytes);
  if (memory.bytes() == 0) {
    finish(proto::Direction::kReceive, 0);
    return true;
  }
  msghdr message = memory.message();
  const ssize_t received = kernel::recvmsg(descriptor()->number(), &message, MSG_DONTWAIT);
  if (received < 0) return call_failed(proto::Direction::kReceive, errno);
  if (received == 0) {
    finish(proto::Direction::kReceive, broken_, broken_ == 0 ? proto::kEndOfStream : 0U);
    return true;
  }
  const auto received_bytes = static_cast<std::size_t>(received);
  transfer.done_bytes += received_bytes;
  counters_here().bytes_received += received_bytes;
  if (transfer.left_bytes() == 0 || !transfer.operation.wait_all) finish(proto::Direction::kReceive, 0);
  return true;
}

bool PlainSession::call_failed(proto::Direction direction, int error) {
  if (error == EINTR) return true;
  if (would_wait(error)) return false;
  if (is_closed_meanwhile(error)) {
    end(ECANCELED);
    return false;
  }
  if (error != EPIPE) broken_ = error;
  // A send after what broke the connection has EPIPE; the cause is the older one.
  if (error != EPIPE || broken_ == 0)
    keep_error_text(error, text_of_plain_end(descriptor()->number(), Status(error)));
  finish(direction, error);
  return true;
}

void PlainSession::finish(proto::Direction direction, int error, std::uint32_t flags) {
  const OpenTransfer transfer = line(direction).pop_front();
  end_operation(direction, transfer.operation,
                {.error = error, .length_bytes = transfer.done_bytes, .flags = flags});
}

void PlainSession::fail_all(proto::Direction direction, int error) {
  while (!line(direction).empty()) finish(direction, error);
}

// Clearing TCP_CORK sends the partial segment that MSG_MORE holds back, even if the option was not set.
void PlainSession::flush() {
  shard()->assert_held();
  if (state() == State::kEnded || !descriptor()->is_there()) return;
  int corked = 0;
  socklen_t length = sizeof corked;
  if (kernel::getsockopt(descriptor()->number(), IPPROTO_TCP, TCP_CORK, &corked, &length) != 0 || corked != 0)
    return;
  kernel::setsockopt(descriptor()->number(), IPPROTO_TCP, TCP_CORK, &corked, sizeof corked);
}

// ---------------------------------------------------------------- waiting for the kernel

void PlainSession::await_kernel() {
  shard()->assert_held();
  std::uint32_t wanted = 0;
  if (!sends_.empty()) wanted |= EPOLLOUT;
  if (!receives_.empty() || pooled_wants_data()) wanted |= EPOLLIN;
  if (!polls().empty()) wanted |= EPOLLERR | EPOLLHUP;
  if (polls().asks_for(EXS_POLLIN)) wanted |= EPOLLIN;
  if (polls().asks_for(EXS_POLLOUT)) wanted |= EPOLLOUT;
  if (wanted == 0) return;
  closed_check_.start(shared_from_this());
  if ((wanted & ~watched_) == 0) return;
  if (token_ == 0) token_ = shard()->attach(std::static_pointer_cast<PlainSession>(shared_from_this()));
  const auto readiness = shard()->readiness();
  const Status status =
      readiness ? (*readiness)->watch(descriptor()->number(), wanted, token_) : readiness.error();
  if (status.ok()) {
    watched_ = wanted;
    return;
  }
  log(LogLevel::kError, "socket {}: cannot be watched, its operations end: errno {}", descriptor()->number(),
      status.error());
  end(descriptor()->is_there() ? status.error() : ECANCELED);
}

void PlainSession::complete(const Completion& completion) {
  shard()->assert_held();
  if (completion.kind != CompletionKind::kReadiness || state() == State::kEnded) return;
  contained([&] { socket_is_ready(completion.length_bytes); });
}

void PlainSession::socket_is_ready(std::uint32_t events) {
  watched_ = 0;
  constexpr std::uint32_t kBoth = EPOLLERR | EPOLLHUP;
  if ((events & (EPOLLOUT | kBoth)) != 0 && !sends_.empty()) advance(proto::Direction::kSend);
  if (state() == State::kEnded) return;
  if ((events & (EPOLLIN | kBoth)) != 0 && !receives_.empty()) advance(proto::Direction::kReceive);
  after_step();
}

bool PlainSession::still_waits() {
  if (state() == State::kEnded || (sends_.empty() && receives_.empty() && polls().empty() && !has_pooled()))
    return false;
  if (descriptor()->is_there()) return true;
  log(LogLevel::kWarn,
      "socket {} was closed with operations open, which end with ECANCELED; wait for their events first, or "
      "use exs_close",
      descriptor()->number());
  end(ECANCELED);
  return false;
}

proto::Readiness PlainSession::readiness() const {
  shard()->assert_held();
  if (state() == State::kEnded || !descriptor()->is_there()) return {};
  pollfd asked{descriptor()->number(), POLLIN | POLLOUT | POLLRDHUP, 0};
  kernel::poll(&asked, 1, 0);
  int next_bytes = 0;
  if ((asked.revents & POLLIN) != 0) kernel::bytes_to_read(descriptor()->number(), &next_bytes);
  return {.receive = receives_.empty() && (asked.revents & (POLLIN | POLLHUP | POLLERR)) != 0,
          .send = sends_.empty() && (asked.revents & POLLOUT) != 0,
          .peer_ended = (asked.revents & (POLLRDHUP | POLLHUP)) != 0,
          .peer_stopped = (asked.revents & (POLLHUP | POLLERR)) != 0,
          .broken = (asked.revents & POLLERR) != 0,
          .next_bytes = static_cast<std::uint64_t>(std::max(next_bytes, 0))};
}

proto::Cancelled PlainSession::cancel_transfers(proto::Direction direction, const proto::Selection& selection,
                                                int error) {
  shard()->assert_held();
  proto::Cancelled cancelled;
  Fifo<OpenTransfer>& waiting = line(direction);
  for (std::size_t left = waiting.count(); left > 0; --left) {
    OpenTransfer transfer = waiting.pop_front();
    const bool matches = selection.matches(transfer.operation);
    // The rest of the stream could not be parsed after half a send.
    const bool begun = direction == proto::Direction::kSend && transfer.done_bytes > 0;
    if (matches) ++cancelled.matched;
    if (matches && begun) ++cancelled.begun;
    if (matches && !begun) {
      end_operation(direction, transfer.operation,
                    {.error = error, .length_bytes = transfer.done_bytes, .flags = 0});
    } else {
      waiting.push_back(transfer);
    }
  }
  if (direction == proto::Direction::kSend && waiting.empty()) sends_are_gone();
  return cancelled;
}

// ---------------------------------------------------------------- the end

void PlainSession::shutdown(int how, ControlTarget target) {
  shard()->assert_held();
  add_shutdown(target);
  if (state() == State::kEnded || !descriptor()->is_there()) return tell_shutdowns(ECANCELED);
  contained([&] { shut_down(how); });
}

void PlainSession::shut_down(int how) {
  if (how != SHUT_WR) {
    kernel::shutdown(descriptor()->number(), SHUT_RD);
    receive_on();
  }
  if (how == SHUT_RD) {
    if (!sending_ends_) tell_shutdowns(0);
    return;
  }
  sending_ends_ = true;
  if (sends_.empty()) shut_down_sending();
}

void PlainSession::shut_down_sending() {
  sending_ends_ = false;
  const int error = kernel::shutdown(descriptor()->number(), SHUT_WR) == 0 ? 0 : errno;
  tell_shutdowns(error == ENOTCONN ? ECONNRESET : error);
}

void PlainSession::close(std::uint64_t linger_ns, ControlTarget target) {
  shard()->assert_held();
  add_close(std::move(target));
  cancel_polls();
  contained([&] { begin_close(linger_ns); });
}

void PlainSession::begin_close(std::uint64_t linger_ns) {
  shard()->assert_held();
  stop_pooled(ECANCELED);
  if (state() == State::kClosing) return;
  if (state() == State::kEnded || sends_.empty() || linger_ns == 0) return end(ECANCELED);
  set_state(State::kClosing);
  fail_all(proto::Direction::kReceive, ECANCELED);
  linger_.set(*shard(), shard()->clock().now_ns() + linger_ns, shared_from_this());
}

void PlainSession::abort(Status why) {
  shard()->assert_held();
  if (state() != State::kEnded && descriptor()->is_there())
    kernel::shutdown(descriptor()->number(), SHUT_RDWR);
  end(why.error());
}

void PlainSession::linger_is_over() {
  log(LogLevel::kWarn, "socket {}: close took longer than its limit", descriptor()->number());
  close_overdue_ = true;
  end(ECANCELED);
}

void PlainSession::end(int error) {
  shard()->assert_held();
  if (state() != State::kEnded) {
    note_end(error);
    set_state(State::kEnded);
    linger_.drop();
    fail_all(proto::Direction::kSend, error);
    fail_all(proto::Direction::kReceive, error);
    if (watched_ != 0 && descriptor()->is_there())
      (*shard()->readiness())->unwatch(descriptor()->number(), token_);
    watched_ = 0;
    descriptor()->close_socket();
    if (token_ != 0) shard()->detach(token_);
  }
  tell_shutdowns(ECANCELED);
  Session::after_step();  // notifies polls
  tell_closed(close_overdue_ ? ETIMEDOUT : 0);
}

}  // namespace exs
