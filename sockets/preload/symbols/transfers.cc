// read, write, send, recv and their relatives.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>

#include "sockets/preload/detach/detach.h"
#include "sockets/preload/ends/wire.h"
#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/kernel/reach.h"
#include "sockets/preload/process/numbers.h"
#include "sockets/preload/process/passing.h"
#include "sockets/preload/symbols/export.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/table.h"
#include "sockets/preload/transfer/outcome.h"
#include "sockets/preload/transfer/transfer.h"

namespace exs::sockets {
namespace {

constexpr bool is_likely(bool condition) noexcept {
  return __builtin_expect(condition, 1) != 0;
}

enum class Amount { kBytes, kNothing, kRefused };
// kRefused: the kernel reports the error.
Amount amount_of(const iovec* parts, std::size_t count) noexcept {
  if (count > IOV_MAX || (parts == nullptr && count > 0)) return Amount::kRefused;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (parts[i].iov_len > SSIZE_MAX - bytes) return Amount::kRefused;
    bytes += parts[i].iov_len;
  }
  return bytes == 0 ? Amount::kNothing : Amount::kBytes;
}
// The kernel checks the parts' addresses before it looks at the socket. recv() and send() are exceptions:
// they cut the length first. The kernel also refuses a list that is not there.
bool is_beyond_memory(const iovec* parts, std::size_t count) noexcept {
  constexpr std::uintptr_t kEnd = std::uintptr_t{1} << 47;
  if (parts == nullptr || count > IOV_MAX) return false;
  if (!is_there(parts, count * sizeof *parts)) return true;
  for (std::size_t i = 0; i < count; ++i)
    if (parts[i].iov_len > kEnd ||
        reinterpret_cast<std::uintptr_t>(parts[i].iov_base) > kEnd - parts[i].iov_len)
      return true;
  return false;
}

// Without room for bytes, read() returns, but recv() waits for a byte and does not take it. Likewise writev()
// returns, but send() reports an error.
enum class Family { kFile, kSocket };

constexpr int kReceivesFromKernel = MSG_OOB | MSG_ERRQUEUE;

// 1: a byte is there, and the call would not wait.
ssize_t look_for_a_byte(int number, std::uint32_t slot, int flags) noexcept {
  char byte;
  const iovec part{&byte, 1};
  return receive(number, slot, Parts(&part, 1), (flags & ~(MSG_WAITALL | MSG_TRUNC)) | MSG_PEEK);
}

template <typename Plain>
ssize_t receive_or(int number, std::uint32_t slot, const iovec* parts, std::size_t count, int flags,
                   Family family, const Plain& plain) noexcept {
  if ((flags & kReceivesFromKernel) != 0) return plain();
  const Amount amount = amount_of(parts, count);
  if (amount == Amount::kRefused || (amount == Amount::kNothing && family == Family::kFile)) return plain();
  {
    PlainReceive call(number, slot);
    if (call.allowed()) return call.done(plain(), amount == Amount::kBytes);
  }
  // A process of another user could change bytes between the program's peek and its receive.
  if ((flags & MSG_PEEK) != 0 && slot_at(slot).lane.is_foreign && slot_at(slot).stage.load() != Stage::kPlain)
    detach_later(number, Why::kOption);
  if (amount == Amount::kNothing) {
    // An urgent byte counts as a byte, before an error behind it.
    if (Wire(slot_at(slot), number, 0).is_at_mark()) return plain();
    const ssize_t there = look_for_a_byte(number, slot, flags);
    // The kernel has other answers for urgent data and the end.
    if (there < 0 && errno == EAGAIN && !may_wait(number, flags)) return plain();
    return there > 0 ? 0 : there;
  }
  return receive(number, slot, Parts(parts, count), flags);
}

template <typename Plain>
ssize_t send_or(int number, std::uint32_t slot, const iovec* parts, std::size_t count, int flags,
                Family family, const Plain& plain) noexcept {
  const Amount amount = amount_of(parts, count);
  if (amount == Amount::kRefused || (amount == Amount::kNothing && family == Family::kFile)) return plain();
  if (const int error = take_error(slot); error != 0) return fail(error);
  if ((flags & MSG_OOB) != 0) prepare_urgent(number, Why::kOption);
  if ((flags & (MSG_OOB | MSG_FASTOPEN)) != 0 || amount == Amount::kNothing) return plain();
  {
    PlainSend call(number, slot);
    if (call.allowed()) return call.done(plain(), flags);
  }
  return send(number, slot, Parts(parts, count), flags);
}

template <typename Plain>
ssize_t receive_into(int number, void* memory, std::size_t bytes, int flags, Family family,
                     const Plain& plain) noexcept {
  const std::uint32_t slot = slot_of(number);
  if (is_likely(slot == 0)) return plain();
  const iovec part{memory, bytes};
  if (family == Family::kFile && is_beyond_memory(&part, 1)) return plain();
  return receive_or(number, slot, &part, 1, flags, family, plain);
}
template <typename Plain>
ssize_t send_from(int number, const void* memory, std::size_t bytes, int flags, Family family,
                  const Plain& plain) noexcept {
  const std::uint32_t slot = slot_of(number);
  if (is_likely(slot == 0)) return plain();
  const iovec part{const_cast<void*>(memory), bytes};
  if (family == Family::kFile && is_beyond_memory(&part, 1)) return plain();
  return send_or(number, slot, &part, 1, flags, Family::kSocket, plain);
}
template <typename Plain>
ssize_t receive_parts(int number, const iovec* parts, int count, int flags, const Plain& plain) noexcept {
  const std::uint32_t slot = slot_of(number);
  if (is_likely(slot == 0) || is_beyond_memory(parts, static_cast<std::size_t>(count))) return plain();
  return receive_or(number, slot, parts, static_cast<std::size_t>(count), flags, Family::kFile, plain);
}
template <typename Plain>
ssize_t send_parts(int number, const iovec* parts, int count, int flags, const Plain& plain) noexcept {
  const std::uint32_t slot = slot_of(number);
  if (is_likely(slot == 0) || is_beyond_memory(parts, static_cast<std::size_t>(count))) return plain();
  return send_or(number, slot, parts, static_cast<std::size_t>(count), flags, Family::kFile, plain);
}

// TCP ignores a message's name. Returns 0, or the kernel's error for it.
int error_of_name(const void* name, socklen_t length, std::size_t length_max) noexcept {
  if (name == nullptr || length == 0) return 0;
  if (length > length_max) return EINVAL;
  return is_there(name, std::min<std::size_t>(length, sizeof(sockaddr_storage))) ? 0 : EFAULT;
}

ssize_t receive_message(int number, msghdr* message, int flags) noexcept {
  const auto plain = [&] { return libc().recvmsg(number, message, flags); };
  const std::uint32_t slot = slot_of(number);
  if (slot == 0 || !is_there(message)) {
    const ssize_t result = plain();
    if (result >= 0 && message->msg_controllen > 0) forget_passed_numbers(*message);
    return result;
  }
  if (is_beyond_memory(message->msg_iov, message->msg_iovlen)) return plain();
  if (static_cast<int>(message->msg_namelen) < 0) return fail(EINVAL);
  bool went_to_kernel = false;
  const ssize_t result =
      receive_or(number, slot, message->msg_iov, message->msg_iovlen, flags, Family::kSocket, [&] {
        went_to_kernel = true;
        return plain();
      });
  if (went_to_kernel || result < 0) return result;
  message->msg_namelen = 0;
  message->msg_controllen = 0;
  message->msg_flags = 0;
  return result;
}

ssize_t send_message(int number, const msghdr* message, int flags) noexcept {
  const auto plain = [&] { return libc().sendmsg(number, message, flags); };
  const std::uint32_t slot = slot_of(number);
  if ((slot == 0 && !watches_copies()) || !is_there(message)) return plain();
  if (slot == 0) {
    if (message->msg_controllen > 0) detach_passed_numbers(*message);
    return plain();
  }
  if (message->msg_controllen > 0) {  // only TCP has timestamps and the like
    detach(number, Why::kOption);
    return plain();
  }
  if (const int error = error_of_name(message->msg_name, message->msg_namelen, INT_MAX); error != 0)
    return fail(error);
  if (is_beyond_memory(message->msg_iov, message->msg_iovlen)) return plain();
  return send_or(number, slot, message->msg_iov, message->msg_iovlen, flags, Family::kSocket, plain);
}

}  // namespace
}  // namespace exs::sockets

using namespace exs::sockets;

EXS_EXPORT ssize_t read(int number, void* memory, size_t bytes) {
  return receive_into(number, memory, bytes, 0, Family::kFile,
                      [&] { return libc().read(number, memory, bytes); });
}
EXS_EXPORT ssize_t __read(int number, void* memory, size_t bytes) {
  return read(number, memory, bytes);
}
EXS_EXPORT ssize_t __read_chk(int number, void* memory, size_t bytes, size_t room) {
  if (bytes > room) __builtin_trap();
  return read(number, memory, bytes);
}
EXS_EXPORT ssize_t readv(int number, const iovec* parts, int count) {
  return receive_parts(number, parts, count, 0, [&] { return libc().readv(number, parts, count); });
}
EXS_EXPORT ssize_t preadv2(int number, const iovec* parts, int count, off_t offset, int flags) {
  const auto plain = [&] { return libc().preadv2(number, parts, count, offset, flags); };
  return offset == -1 && flags == 0 ? receive_parts(number, parts, count, 0, plain) : plain();
}
EXS_EXPORT ssize_t preadv64v2(int number, const iovec* parts, int count, off64_t offset, int flags) {
  return preadv2(number, parts, count, offset, flags);
}
EXS_EXPORT ssize_t recv(int number, void* memory, size_t bytes, int flags) {
  return receive_into(number, memory, bytes, flags, Family::kSocket,
                      [&] { return libc().recv(number, memory, bytes, flags); });
}
EXS_EXPORT ssize_t __recv(int number, void* memory, size_t bytes, int flags) {
  return recv(number, memory, bytes, flags);
}
EXS_EXPORT ssize_t __recv_chk(int number, void* memory, size_t bytes, size_t room, int flags) {
  if (bytes > room) __builtin_trap();
  return recv(number, memory, bytes, flags);
}
EXS_EXPORT ssize_t recvfrom(int number, void* memory, size_t bytes, int flags, sockaddr* from,
                            socklen_t* length) {
  bool went_to_kernel = false;
  const ssize_t result = receive_into(number, memory, bytes, flags, Family::kSocket, [&] {
    went_to_kernel = true;
    return libc().recvfrom(number, memory, bytes, flags, from, length);
  });
  if (went_to_kernel || result < 0 || from == nullptr) return result;
  if (!is_writable(length, sizeof *length)) return fail(EFAULT);
  *length = 0;  // as TCP reports it
  return result;
}
EXS_EXPORT ssize_t __recvfrom_chk(int number, void* memory, size_t bytes, size_t room, int flags,
                                  sockaddr* from, socklen_t* length) {
  if (bytes > room) __builtin_trap();
  return recvfrom(number, memory, bytes, flags, from, length);
}
EXS_EXPORT ssize_t recvmsg(int number, msghdr* message, int flags) {
  return receive_message(number, message, flags);
}
EXS_EXPORT int recvmmsg(int number, mmsghdr* messages, unsigned count, int flags, timespec* limit) {
  const std::uint32_t slot = slot_of(number);
  if (slot == 0 || (limit != nullptr && !is_there(limit)))
    return libc().recvmmsg(number, messages, count, flags, limit);
  int error = 0;  // precedes all bytes; the kernel checks it for this call alone
  socklen_t length = sizeof error;
  if (libc().getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error != 0)
    return static_cast<int>(fail(error));
  count = std::min<unsigned>(count, IOV_MAX);
  int received = 0;
  for (unsigned i = 0; i < count; ++i) {
    const int wait = received > 0 && (flags & MSG_WAITFORONE) != 0 ? MSG_DONTWAIT : 0;
    const ssize_t result = is_there(&messages[i]) ? receive_message(number, &messages[i].msg_hdr,
                                                                    (flags & ~MSG_WAITFORONE) | wait)
                                                  : fail(EFAULT);
    if (result < 0 && received == 0) return -1;
    // The next call reports it.
    if (result < 0 && errno != EAGAIN) keep_error(slot_at(slot), errno);
    if (result < 0) return received;
    messages[i].msg_len = static_cast<unsigned>(result);
    ++received;
  }
  return received;
}

EXS_EXPORT ssize_t write(int number, const void* memory, size_t bytes) {
  return send_from(number, memory, bytes, 0, Family::kFile,
                   [&] { return libc().write(number, memory, bytes); });
}
EXS_EXPORT ssize_t __write(int number, const void* memory, size_t bytes) {
  return write(number, memory, bytes);
}
EXS_EXPORT ssize_t writev(int number, const iovec* parts, int count) {
  return send_parts(number, parts, count, 0, [&] { return libc().writev(number, parts, count); });
}
EXS_EXPORT ssize_t pwritev2(int number, const iovec* parts, int count, off_t offset, int flags) {
  const auto plain = [&] { return libc().pwritev2(number, parts, count, offset, flags); };
  return offset == -1 && flags == 0 ? send_parts(number, parts, count, 0, plain) : plain();
}
EXS_EXPORT ssize_t pwritev64v2(int number, const iovec* parts, int count, off64_t offset, int flags) {
  return pwritev2(number, parts, count, offset, flags);
}
EXS_EXPORT ssize_t send(int number, const void* memory, size_t bytes, int flags) {
  return send_from(number, memory, bytes, flags, Family::kSocket,
                   [&] { return libc().send(number, memory, bytes, flags); });
}
EXS_EXPORT ssize_t __send(int number, const void* memory, size_t bytes, int flags) {
  return send(number, memory, bytes, flags);
}
EXS_EXPORT ssize_t sendto(int number, const void* memory, size_t bytes, int flags, const sockaddr* to,
                          socklen_t length) {
  if (slot_of(number) != 0)
    if (const int error = error_of_name(to, length, sizeof(sockaddr_storage)); error != 0) return fail(error);
  return send_from(number, memory, bytes, flags, Family::kSocket,
                   [&] { return libc().sendto(number, memory, bytes, flags, to, length); });
}
EXS_EXPORT ssize_t sendmsg(int number, const msghdr* message, int flags) {
  return send_message(number, message, flags);
}
EXS_EXPORT int sendmmsg(int number, mmsghdr* messages, unsigned count, int flags) {
  if (slot_of(number) == 0) {
    for (unsigned i = 0; watches_copies() && i < count && is_there(&messages[i]); ++i)
      if (messages[i].msg_hdr.msg_controllen > 0) detach_passed_numbers(messages[i].msg_hdr);
    return libc().sendmmsg(number, messages, count, flags);
  }
  int sent = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (!is_there(&messages[i])) return sent > 0 ? sent : static_cast<int>(fail(EFAULT));
    const ssize_t result = send_message(number, &messages[i].msg_hdr, flags);
    if (result < 0) return sent > 0 ? sent : -1;
    messages[i].msg_len = static_cast<unsigned>(result);
    ++sent;
  }
  return sent;
}
EXS_EXPORT int __sendmmsg(int number, mmsghdr* messages, unsigned count, int flags) {
  return sendmmsg(number, messages, count, flags);
}
