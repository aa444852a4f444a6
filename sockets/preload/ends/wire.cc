// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/ends/wire.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "sockets/between/between.h"
#include "sockets/preload/ends/reset.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/kernel/spin.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/table.h"

namespace exs::sockets {
namespace {

// The kernel doubles it. An overflow of the ring soon fills TCP, so that a full connection looks full.
constexpr int kSendBuffer = 8 * 1024;
// The kernel limits it.
constexpr int kLargeSendBuffer = 1 << 20;

long set_option(int descriptor, int level, int name, int value) noexcept {
  return raw::sys(SYS_setsockopt, descriptor, level, name, &value, sizeof value);
}
int option(int descriptor, int level, int name) noexcept {
  int value = 0;
  socklen_t length = sizeof value;
  return raw::sys(SYS_getsockopt, descriptor, level, name, &value, &length) == 0 ? value : -1;
}
// Makes room for the unread bytes of a peer that leaves the ring, which may be as much as TCP holds. Without
// the right to that size, the kernel may let the buffer grow.
void open_send_buffer(int descriptor) noexcept {
  constexpr int kWholeRing = 8 << 20;
  if (set_option(descriptor, SOL_SOCKET, SO_SNDBUFFORCE, kWholeRing) == 0) return;
  set_option(descriptor, SOL_SOCKET, SO_SNDBUF, kLargeSendBuffer);
  set_option(descriptor, SOL_SOCKET, SO_BUF_LOCK, option(descriptor, SOL_SOCKET, SO_BUF_LOCK) & ~1);
}
bool tcp_info_of(int descriptor, tcp_info& info) noexcept {
  info = {};
  socklen_t length = sizeof info;
  return raw::sys(SYS_getsockopt, descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
         length >= offsetof(tcp_info, tcpi_bytes_retrans) + sizeof info.tcpi_bytes_retrans;
}

// A ring calls this for one or two pieces.
struct ToTcp {
  int descriptor;
  int flags;
  long error = 0;

  void copy_from(const std::byte* bytes, std::size_t left) noexcept {
    constexpr int kPatienceMs = 100;
    while (left > 0 && error == 0) {
      const long sent = raw::sys(SYS_sendto, descriptor, bytes, left, MSG_DONTWAIT | flags, nullptr, 0);
      if (sent > 0) {
        bytes += sent;
        left -= static_cast<std::size_t>(sent);
      } else if (sent == -EAGAIN) {
        pollfd room{descriptor, POLLOUT, 0};
        timespec limit{0, kPatienceMs * 1000000L};
        if (raw::sys(SYS_ppoll, &room, 1, &limit, nullptr, 0) == 0) error = -EPROTO;
      } else if (sent != -EINTR) {
        error = sent;
      }
    }
  }
};

std::int64_t bytes_sent(int descriptor) noexcept {
  SentBytes bytes;
  return sent_bytes(descriptor, bytes) ? static_cast<std::int64_t>(bytes.sent) : -1;
}

// Values of the kernel. <netinet/tcp.h> names them, but cannot stand beside <linux/tcp.h>.
constexpr int kEstablished = 1;
constexpr int kFinWait1 = 4;
constexpr int kFinWait2 = 5;
constexpr int kReset = 7;
int state_of(int descriptor) noexcept {
  tcp_info info;
  return tcp_info_of(descriptor, info) ? info.tcpi_state : kReset;
}

}  // namespace

long Wire::message(long number, const Parts& parts, std::size_t limit, int flags) const noexcept {
  Parts::Batch batch = parts.batch(limit);
  msghdr header{};
  header.msg_iov = batch.parts;
  header.msg_iovlen = batch.count;
  long result;
  do result = raw::sys(number, descriptor_, &header, flags | MSG_DONTWAIT);
  while (result == -EINTR);
  return result;
}

long Wire::receive(Parts& parts, std::size_t limit) noexcept {
  const long count = message(SYS_recvmsg, parts, limit, 0);
  if (count > 0) {
    parts.advance(static_cast<std::size_t>(count));
    slot_.counters.tcp_received.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
  }
  return count;
}

long Wire::peek(Parts& parts, std::size_t limit) noexcept {
  return message(SYS_recvmsg, parts, limit, MSG_PEEK);
}

long Wire::peek_behind(std::size_t before, Parts& parts) noexcept {
  std::byte skipped[32 * 1024];  // more than an overflow of the ring leaves in TCP
  if (before > sizeof skipped) return 0;
  const Parts::Batch batch = parts.batch(parts.left());
  iovec list[Parts::kBatchParts + 1] = {{skipped, before}};
  std::copy_n(batch.parts, batch.count, list + 1);
  msghdr header{};
  header.msg_iov = list;
  header.msg_iovlen = batch.count + 1;
  const long count = raw::sys(SYS_recvmsg, descriptor_, &header, MSG_PEEK | MSG_DONTWAIT);
  if (count < 0) return count;
  return std::max(count - static_cast<long>(before), 0L);
}

long Wire::unread() noexcept {
  int bytes = 0;
  return raw::sys(SYS_ioctl, descriptor_, SIOCINQ, &bytes) == 0 ? bytes : 0;
}

bool Wire::is_at_mark() const noexcept {
  int answer = 0;
  return raw::sys(SYS_ioctl, descriptor_, SIOCATMARK, &answer) == 0 && answer != 0;
}

long Wire::look() noexcept {
  if (sleep_looks_) return -EAGAIN;
  char byte;
  return raw::sys(SYS_recvfrom, descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT, nullptr, nullptr);
}

long Wire::drop(std::size_t count) noexcept {
  const long dropped =
      raw::sys(SYS_recvfrom, descriptor_, nullptr, count, MSG_TRUNC | MSG_DONTWAIT, nullptr, nullptr);
  if (dropped > 0)
    slot_.counters.tcp_received.fetch_add(static_cast<std::uint64_t>(dropped), std::memory_order_relaxed);
  return dropped;
}

long Wire::take_bells(std::uint32_t count) noexcept {
  std::uint8_t bells[64];
  const long taken = raw::sys(SYS_recvfrom, descriptor_, bells, std::min<std::size_t>(count, sizeof bells),
                              MSG_DONTWAIT, nullptr, nullptr);
  for (long i = 0; i < taken; ++i)
    if (bells[i] != slot_.lane.bell) return -EPROTO;
  return taken;
}

// Only one call lies between the sender's step that makes a bell due and the bell.
void Wire::await_bells(std::uint32_t count) noexcept {
  constexpr int kTries = 64;
  for (int i = 0; i < kTries && unread() < static_cast<long>(count); ++i) pause();
}

bool Wire::is_read_unseen() const noexcept {
  slot_.receiving.assert_held();
  tcp_info before;
  tcp_info after;
  int unread = 0;
  // Unknown while bytes arrive, or an end, which TCP counts.
  return tcp_info_of(descriptor_, before) && raw::sys(SYS_ioctl, descriptor_, SIOCINQ, &unread) == 0 &&
         tcp_info_of(descriptor_, after) && after.tcpi_state == kEstablished &&
         before.tcpi_bytes_received == after.tcpi_bytes_received &&
         after.tcpi_bytes_received - static_cast<unsigned>(unread) > slot_.receiver.position;
}

long Wire::ring_bell() noexcept {
  if (between::HostLink* const link = share_of(index_of(slot_)).link.load()) {
    between::wake(*link);
    return 0;
  }
  slot_.counters.bells.fetch_add(1, std::memory_order_relaxed);
  const int flags = MSG_DONTWAIT | (flags_ & MSG_NOSIGNAL);
  long sent = raw::sys(SYS_sendto, descriptor_, &slot_.lane.bell, 1, flags, nullptr, 0);
  if (sent == -EAGAIN) {
    // The small buffer is full of bytes that the peer has not read or acknowledged, or the kernel is short of
    // memory.
    set_option(descriptor_, SOL_SOCKET, SO_SNDBUF, kLargeSendBuffer);
    constexpr int kTries = 1000;
    for (int i = 0; i < kTries && sent == -EAGAIN; ++i) {
      if (i > 0) sleep_1ms();
      sent = raw::sys(SYS_sendto, descriptor_, &slot_.lane.bell, 1, flags, nullptr, 0);
    }
    set_option(descriptor_, SOL_SOCKET, SO_SNDBUF, kSendBuffer);
    if (sent == -EAGAIN) reset_connection(slot_, descriptor_, "the kernel took no byte of it for a second");
    if (sent == -EAGAIN) sent = -ENOBUFS;
  }
  return sent < 0 ? sent : 0;
}

long Wire::send_back(const lane::Ring& ring, std::uint64_t position, std::uint64_t start,
                     std::size_t count) noexcept {
  open_send_buffer(descriptor_);
  ToTcp to_tcp{descriptor_, flags_ & MSG_NOSIGNAL};
  ring.get(position, start, count, to_tcp);
  if (to_tcp.error == 0) slot_.counters.tcp_sent.fetch_add(count, std::memory_order_relaxed);
  return to_tcp.error;
}

std::int64_t Wire::sent_by_peer() noexcept {
  return bytes_sent(peers_descriptor_);
}

void Wire::break_off() noexcept {
  reset_connection(slot_, descriptor_, "the peer sent while what was unread was sent again");
}

bool Wire::resend_first(std::size_t count) noexcept {
  if (count == 0) return true;
  open_send_buffer(peers_descriptor_);
  std::byte piece[4096];
  ToTcp to_tcp{peers_descriptor_, MSG_NOSIGNAL};
  while (count > 0 && to_tcp.error == 0) {
    const long taken = raw::sys(SYS_recvfrom, descriptor_, piece, std::min(count, sizeof piece), MSG_DONTWAIT,
                                nullptr, nullptr);
    if (taken <= 0) break;
    to_tcp.copy_from(piece, static_cast<std::size_t>(taken));
    count -= static_cast<std::size_t>(taken);
  }
  if (count > 0 || to_tcp.error != 0)
    reset_connection(slot_, descriptor_, "what was unread could not be sent again");
  return count == 0 && to_tcp.error == 0;
}

bool Wire::resend(const lane::Ring& ring, std::uint64_t position, std::uint64_t start,
                  std::size_t count) noexcept {
  if (count == 0) return true;
  open_send_buffer(peers_descriptor_);
  ToTcp to_tcp{peers_descriptor_, MSG_NOSIGNAL};
  ring.get(position, start, count, to_tcp);
  set_option(peers_descriptor_, SOL_SOCKET, SO_SNDBUF, kSendBuffer);
  if (to_tcp.error != 0) reset_connection(slot_, descriptor_, "what was unread could not be sent by TCP");
  return to_tcp.error == 0;
}

std::int64_t Wire::sent() noexcept {
  return bytes_sent(descriptor_);
}

// Meanwhile the receiver resends the unread bytes.
bool Wire::await(const lane::SharedWord<std::uint32_t>& word, std::uint32_t value) const noexcept {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    if (word.load() != value) return true;
    sleep_1ms();
  }
  reset_connection(slot_, descriptor_,
                   "the peer has begun to send again what it left unread, and does not end it");
  return false;
}

std::int64_t Wire::taken() noexcept {
  const int state = state_of(descriptor_);
  if (state == kReset) return -1;
  const std::int64_t bytes = bytes_taken(descriptor_);
  return bytes > 0 && has_ended(descriptor_) ? bytes - 1 : bytes;  // the end is counted as a byte
}

void fit_tcp_options(FamilySlot& slot, int descriptor) noexcept {
  slot.options.nodelay = option(descriptor, IPPROTO_TCP, TCP_NODELAY) == 1;
  slot.options.corked = option(descriptor, IPPROTO_TCP, TCP_CORK) == 1;
  // Nagle's algorithm would delay a bell until the previous one is acknowledged.
  if (slot.options.corked) set_option(descriptor, IPPROTO_TCP, TCP_CORK, 0);
  set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  fit_send_buffer(slot, descriptor);
}

void fit_send_buffer(FamilySlot& slot, int descriptor) noexcept {
  const int buffer = option(descriptor, SOL_SOCKET, SO_SNDBUF);
  slot.options.send_buffer = (option(descriptor, SOL_SOCKET, SO_BUF_LOCK) & 1) != 0 ? buffer : -buffer;
  set_option(descriptor, SOL_SOCKET, SO_SNDBUF, kSendBuffer);
}

void restore_tcp_options(FamilySlot& slot, int descriptor) noexcept {
  if (slot.options.send_buffer == 0) return;
  // The kernel reports twice the size that was set. It may again change a size that it chose.
  const int buffer = slot.options.send_buffer > 0 ? slot.options.send_buffer : -slot.options.send_buffer;
  set_option(descriptor, SOL_SOCKET, SO_SNDBUF, buffer / 2);
  if (slot.options.send_buffer < 0) {
    set_option(descriptor, SOL_SOCKET, SO_BUF_LOCK, option(descriptor, SOL_SOCKET, SO_BUF_LOCK) & ~1);
  }
  set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, slot.options.nodelay ? 1 : 0);
  if (slot.options.corked) set_option(descriptor, IPPROTO_TCP, TCP_CORK, 1);
  slot.options.send_buffer = 0;
}

// Safe to repeat: a process of the family may die between its steps.
void let_end_reset(FamilySlot& slot, int descriptor, bool resets) noexcept {
  if (!resets && !slot.options.resets) return;
  linger value{1, 0};
  socklen_t length = sizeof value;
  if (!slot.options.resets) {
    linger programs{};
    if (raw::sys(SYS_getsockopt, descriptor, SOL_SOCKET, SO_LINGER, &programs, &length) != 0) return;
    slot.options.linger_on = programs.l_onoff;
    slot.options.linger_for = programs.l_linger;
    slot.options.resets = true;
  }
  if (!resets) value.l_linger = slot.options.linger_for;  // the kernel keeps it only while the option is on
  raw::sys(SYS_setsockopt, descriptor, SOL_SOCKET, SO_LINGER, &value, sizeof value);
  value.l_onoff = slot.options.linger_on;
  if (!resets && slot.options.linger_on == 0)
    raw::sys(SYS_setsockopt, descriptor, SOL_SOCKET, SO_LINGER, &value, sizeof value);
  slot.options.resets = resets;
}

bool sent_bytes(int descriptor, SentBytes& bytes) noexcept {
  tcp_info info;
  if (!tcp_info_of(descriptor, info)) return false;
  bytes.sent = info.tcpi_bytes_sent - info.tcpi_bytes_retrans + info.tcpi_notsent_bytes;
  bytes.acknowledged = info.tcpi_bytes_acked;
  return true;
}

std::int64_t bytes_taken(int descriptor) noexcept {
  // Bytes may arrive between the two questions.
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    tcp_info before;
    tcp_info after;
    int unread = 0;
    if (!tcp_info_of(descriptor, before) || raw::sys(SYS_ioctl, descriptor, SIOCINQ, &unread) != 0 ||
        !tcp_info_of(descriptor, after))
      return -1;
    if (before.tcpi_bytes_received == after.tcpi_bytes_received)
      return static_cast<std::int64_t>(after.tcpi_bytes_received) - unread;
  }
  return -1;
}

bool is_established(int descriptor) noexcept {
  return state_of(descriptor) == kEstablished;
}

bool is_reset(int descriptor) noexcept {
  return state_of(descriptor) == kReset;
}

bool has_ended(int descriptor) noexcept {
  const int state = state_of(descriptor);
  return state != kEstablished && state != kFinWait1 && state != kFinWait2;
}

}  // namespace exs::sockets
