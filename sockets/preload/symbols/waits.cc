// poll, select and epoll. Before a thread sleeps in the kernel it looks at connections whose peers ring no
// bells.
// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <cerrno>
#include <cstring>

#include "sockets/preload/detach/killed.h"
#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/kernel/reach.h"
#include "sockets/preload/kernel/settings_in_use.h"
#include "sockets/preload/kernel/spin.h"
#include "sockets/preload/symbols/export.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/table.h"
#include "sockets/preload/waits/epoll_sets.h"
#include "sockets/preload/waits/looking.h"
#include "sockets/preload/waits/registrations.h"

namespace exs::sockets {
namespace {

// Without connections and sets of ours, the kernel's call serves unchanged.
bool knows_nothing() noexcept {
  return !watches_copies() && !has_epoll_sets();
}

// An epoll set inside a list is known to the kernel only, so its connections need bells.
void share_if_set(int number) noexcept {
  if ((entry_of(number) & kEpollBit) != 0) share_epoll_set(number);
}

// Serves connections, and epoll sets that are waited for.
bool number_has_bytes(int number) noexcept {
  const std::uint32_t slot = slot_of(number);
  return slot != 0 ? has_bytes(slot) : set_has_bytes(number);
}

// Waits for several connections, by a list of some kind:
//   each(use)     calls use(number, slot) for each connection waited for to be readable; slot 0: an epoll set
//   ask(ours)     asks the kernel without waiting; `ours`: adds the connections that have bytes
//   sleep()       the kernel's own call
//   heard_bells() the last call ended for bells alone, of bytes already taken
template <typename List>
int wait_for(List& list, bool may_sleep) noexcept {
  constexpr std::uint64_t kAskKernelNs = 20'000;
  bool any = false;
  list.each([&](int, std::uint32_t) { any = true; });
  if (!any) return list.sleep();
  static Patience patience;
  for (;;) {
    bool looks = false;
    bool has = false;
    const auto look = [&] {
      list.each([&](int number, std::uint32_t) { has = has || number_has_bytes(number); });
      return has;
    };
    list.each([&](int number, std::uint32_t slot) {
      if (slot == 0 || is_looking(slot) || (may_sleep && !is_in_sets(slot) && start_looking(number, slot)))
        looks = true;
    });
    if (looks && look()) return list.ask(true);
    if (!may_sleep) return list.ask(false);
    if (const std::uint32_t ns = looks ? looking_ns(patience, settings()) : 0; ns != 0) {
      const SpinLimit limit(ns);
      std::uint64_t asked = monotonic_ns();
      do {
        if (look()) {
          patience.found();
          return list.ask(true);
        }
        if (const std::uint64_t now = monotonic_ns(); now - asked > kAskKernelNs) {
          if (const int result = list.ask(false); result != 0) return result;
          asked = now;
        }
      } while (limit.goes_on());
      patience.missed();
    }
    bool all_ring = true;
    list.each([](int, std::uint32_t slot) {
      if (slot != 0) slot_at(slot).waits.sleepers.fetch_add(1);
    });
    list.each([&](int number, std::uint32_t slot) {
      all_ring = (slot != 0 ? stop_looking(number, slot) : !set_has_bytes(number)) && all_ring;
    });
    int result = 0;
    if (all_ring) result = list.sleep();
    list.each([](int, std::uint32_t slot) {
      if (slot != 0) slot_at(slot).waits.sleepers.fetch_sub(1);
    });
    if (all_ring && (result != 0 || !list.heard_bells())) return result;
  }
}

template <typename Call>
struct PollList {
  pollfd* entries;
  nfds_t count;
  const Call& call;  // call(now)

  template <typename Use>
  void each(const Use& use) const noexcept {
    for (nfds_t i = 0; i < count; ++i)
      if ((entries[i].events & (POLLIN | POLLRDNORM)) != 0)
        if (const std::uint32_t slot = slot_of(entries[i].fd);
            slot != 0 || (entry_of(entries[i].fd) & kEpollBit) != 0)
          use(entries[i].fd, slot);
  }
  bool* bells;  // an event was a bell alone

  [[nodiscard]] bool heard_bells() const noexcept { return *bells; }
  // Passes the kernel's news of an end to senders. Adds an error that the layer knows of and the program does
  // not.
  int told(int result) const noexcept {
    *bells = false;
    for (nfds_t i = 0; result >= 0 && i < count; ++i) {
      const std::uint32_t slot = slot_of(entries[i].fd);
      if (slot == 0) continue;
      if (kept_error(slot_at(slot)) != 0) {
        if (entries[i].revents == 0) ++result;
        entries[i].revents =
            static_cast<short>(entries[i].revents | POLLERR | (entries[i].events & (POLLIN | POLLRDNORM)));
      }
      if (entries[i].revents == 0) continue;
      if ((entries[i].revents & (POLLIN | POLLRDNORM)) != 0 && !is_readable(entries[i].fd, slot)) {
        *bells = true;
        entries[i].revents = static_cast<short>(entries[i].revents & ~(POLLIN | POLLRDNORM));
        if (entries[i].revents == 0) --result;
      }
      if ((entries[i].revents & (POLLERR | POLLHUP | POLLRDHUP)) == 0) continue;
      note_end(slot_at(slot));
      Segment* const segment = share_of(slot).segment.load();
      if (segment != nullptr && note_dead_peer(entries[i].fd, slot_at(slot), *segment))
        entries[i].revents = static_cast<short>(entries[i].revents | POLLHUP);
      if (kept_error(slot_at(slot)) != 0)  // note_dead_peer() may have set it
        entries[i].revents = static_cast<short>(entries[i].revents | POLLERR);
    }
    return result;
  }
  int ask(bool ours) const noexcept {
    int result = told(call(true));
    if (!ours || result < 0) return result;
    for (nfds_t i = 0; i < count; ++i) {
      if ((entries[i].events & (POLLIN | POLLRDNORM)) == 0 || !number_has_bytes(entries[i].fd)) continue;
      if (entries[i].revents == 0) ++result;
      entries[i].revents =
          static_cast<short>(entries[i].revents | (entries[i].events & (POLLIN | POLLRDNORM)));
    }
    return result;
  }
  int sleep() const noexcept { return told(call(false)); }
};

template <typename Call>
int poll_with(pollfd* entries, nfds_t count, bool may_sleep, const Call& call) noexcept {
  if (knows_nothing() || count > kNumbers || !is_there(entries, count * sizeof *entries)) return call(false);
  for (nfds_t i = 0; i < count; ++i) share_if_set(entries[i].fd);
  bool bells = false;
  PollList<Call> list{entries, count, call, &bells};
  const int error = errno;
  const int result = wait_for(list, may_sleep);
  if (result >= 0) errno = error;
  return result;
}

template <typename Call>
struct SelectList {
  int end;
  fd_set* readable;
  const fd_set wanted;
  const Call& call;  // call(now)

  template <typename Use>
  void each(const Use& use) const noexcept {
    for (int number = 0; number < end; ++number)
      if (FD_ISSET(number, &wanted))
        if (const std::uint32_t slot = slot_of(number); slot != 0 || (entry_of(number) & kEpollBit) != 0)
          use(number, slot);
  }
  bool* bells;  // an event was a bell alone

  [[nodiscard]] bool heard_bells() const noexcept { return *bells; }
  int told(int result) const noexcept {
    *bells = false;
    if (result <= 0) return result;
    each([&](int number, std::uint32_t slot) {
      if (slot == 0 || !FD_ISSET(number, readable) || is_readable(number, slot)) return;
      *bells = true;
      FD_CLR(number, readable);
      --result;
    });
    return result;
  }
  int ask(bool ours) const noexcept {
    int result = told(call(true));
    if (!ours || result < 0) return result;
    each([&](int number, std::uint32_t) {
      if (!number_has_bytes(number) || FD_ISSET(number, readable)) return;
      FD_SET(number, readable);
      ++result;
    });
    return result;
  }
  int sleep() const noexcept { return told(call(false)); }
};

// The bytes of a set that are checked for this `end`.
std::size_t bytes_of_set(int end) noexcept {
  constexpr int kBitsOfWord = 64;
  if (end <= 0) return 0;
  if (end >= FD_SETSIZE) return sizeof(fd_set);
  return static_cast<std::size_t>((end + kBitsOfWord - 1) / kBitsOfWord) * sizeof(long);
}

// `sets` are the kernel's arguments, which each of its calls changes.
template <typename Call>
int select_with(int end, fd_set* readable, fd_set* writable, fd_set* other, bool may_sleep,
                const Call& call) noexcept {
  if (knows_nothing()) return call(false);
  bool any = false;
  const std::size_t bytes = bytes_of_set(end);
  for (const fd_set* set : {readable, writable, other})
    if (set != nullptr && !is_there(set, bytes)) return call(false);
  for (int number = 0; readable != nullptr && number < end && number < FD_SETSIZE; ++number)
    if (entry_of(number) != 0 && FD_ISSET(number, readable)) {
      share_if_set(number);
      any = true;
    }
  if (!any) return call(false);
  // A program may have allocated only the needed part of a set.
  fd_set wanted_readable{};
  fd_set wanted_writable{};
  fd_set wanted_other{};
  std::memcpy(&wanted_readable, readable, bytes);
  if (writable != nullptr) std::memcpy(&wanted_writable, writable, bytes);
  if (other != nullptr) std::memcpy(&wanted_other, other, bytes);
  const auto again = [&](bool now) {
    std::memcpy(readable, &wanted_readable, bytes);
    if (writable != nullptr) std::memcpy(writable, &wanted_writable, bytes);
    if (other != nullptr) std::memcpy(other, &wanted_other, bytes);
    return call(now);
  };
  bool bells = false;
  SelectList<decltype(again)> list{end < FD_SETSIZE ? end : FD_SETSIZE, readable, wanted_readable, again,
                                   &bells};
  return wait_for(list, may_sleep);
}

// The limit lets the call sleep. The kernel checks a bad pointer itself, and every limit while the layer
// watches nothing.
bool waits(const timespec* limit) noexcept {
  return limit == nullptr || !watches_copies() ||
         (is_there(limit) && (limit->tv_sec != 0 || limit->tv_nsec != 0));
}
bool waits(const timeval* limit) noexcept {
  return limit == nullptr || !watches_copies() ||
         (is_there(limit) && (limit->tv_sec != 0 || limit->tv_usec != 0));
}

// `call` is call(events, max, now).
template <typename Call>
int epoll_with(int set, epoll_event* events, int max, bool may_sleep, const Call& call) noexcept {
  const KernelWait kernel{&call,
                          [](const void* context, epoll_event* into, int room) {
                            return (*static_cast<const Call*>(context))(into, room, true);
                          },
                          [](const void* context, epoll_event* into, int room) {
                            return (*static_cast<const Call*>(context))(into, room, false);
                          }};
  if (watches_copies() && !is_writable(events, sizeof *events)) {
    if (max <= 0 || !set_has_bytes(set)) return call(events, max, false);
    errno = EFAULT;
    return -1;
  }
  const int error = errno;
  const int result = wait_in_set(set, events, max, may_sleep, kernel);
  if (result == kAskKernel) return call(events, max, false);
  if (result >= 0) errno = error;
  return result;
}

}  // namespace
}  // namespace exs::sockets

using namespace exs::sockets;

EXS_EXPORT int poll(pollfd* entries, nfds_t count, int limit_ms) {
  return poll_with(entries, count, limit_ms != 0,
                   [&](bool now) { return libc().poll(entries, count, now ? 0 : limit_ms); });
}
EXS_EXPORT int __poll(pollfd* entries, nfds_t count, int limit_ms) {
  return poll(entries, count, limit_ms);
}
EXS_EXPORT int __poll_chk(pollfd* entries, nfds_t count, int limit_ms, size_t room) {
  if (room / sizeof *entries < count) __builtin_trap();
  return poll(entries, count, limit_ms);
}
EXS_EXPORT int ppoll(pollfd* entries, nfds_t count, const timespec* limit, const sigset_t* mask) {
  const timespec none{};
  const bool may_sleep = waits(limit);
  return poll_with(entries, count, may_sleep, [&](bool now) {
    const WaitMask during(mask);
    return libc().ppoll(entries, count, now ? &none : limit, mask);
  });
}
EXS_EXPORT int __ppoll_chk(pollfd* entries, nfds_t count, const timespec* limit, const sigset_t* mask,
                           size_t room) {
  if (room / sizeof *entries < count) __builtin_trap();
  return ppoll(entries, count, limit, mask);
}
EXS_EXPORT int select(int end, fd_set* readable, fd_set* writable, fd_set* other, timeval* limit) {
  const bool may_sleep = waits(limit);
  return select_with(end, readable, writable, other, may_sleep, [&](bool now) {
    timeval none{};
    return libc().select(end, readable, writable, other, now ? &none : limit);
  });
}
EXS_EXPORT int __select(int end, fd_set* readable, fd_set* writable, fd_set* other, timeval* limit) {
  return select(end, readable, writable, other, limit);
}
EXS_EXPORT int pselect(int end, fd_set* readable, fd_set* writable, fd_set* other, const timespec* limit,
                       const sigset_t* mask) {
  const timespec none{};
  const bool may_sleep = waits(limit);
  return select_with(end, readable, writable, other, may_sleep, [&](bool now) {
    const WaitMask during(mask);
    return libc().pselect(end, readable, writable, other, now ? &none : limit, mask);
  });
}

EXS_EXPORT int epoll_ctl(int set, int operation, int number, epoll_event* event) noexcept {
  const int result = libc().epoll_ctl(set, operation, number, event);
  if (result == 0 && entry_of(number) != 0) note_registration(set, operation, number, event);
  return result;
}
EXS_EXPORT int epoll_wait(int set, epoll_event* events, int max, int limit_ms) {
  return epoll_with(set, events, max, limit_ms != 0, [&](epoll_event* into, int room, bool now) {
    return libc().epoll_wait(set, into, room, now ? 0 : limit_ms);
  });
}
EXS_EXPORT int epoll_pwait(int set, epoll_event* events, int max, int limit_ms, const sigset_t* mask) {
  return epoll_with(set, events, max, limit_ms != 0, [&](epoll_event* into, int room, bool now) {
    const WaitMask during(mask);
    return libc().epoll_pwait(set, into, room, now ? 0 : limit_ms, mask);
  });
}
EXS_EXPORT int epoll_pwait2(int set, epoll_event* events, int max, const timespec* limit,
                            const sigset_t* mask) {
  const timespec none{};
  const bool may_sleep = waits(limit);
  return epoll_with(set, events, max, may_sleep, [&](epoll_event* into, int room, bool now) {
    const WaitMask during(mask);
    return libc().epoll_pwait2(set, into, room, now ? &none : limit, mask);
  });
}
EXS_EXPORT int epoll_create(int size) noexcept {
  const int number = libc().epoll_create(size);
  note_epoll_set(number);
  return number;
}
EXS_EXPORT int epoll_create1(int flags) noexcept {
  const int number = libc().epoll_create1(flags);
  note_epoll_set(number);
  return number;
}
