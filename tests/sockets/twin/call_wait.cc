// SPDX-License-Identifier: BSD-2-Clause
#include <linux/sockios.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "tests/sockets/twin/call.h"

namespace twin {
namespace {

timespec span_of(int timeout_ms) {
  return {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
}

Answer with_poll(const Command& command) {
  std::array<pollfd, kWatchedMax> polled = {};
  for (std::uint32_t i = 0; i < command.watched_count; ++i)
    polled[i] = {command.watched[i].fd, static_cast<short>(command.watched[i].events), 0};
  const timespec timeout = span_of(command.timeout_ms);
  Answer answer = static_cast<PollCall>(command.variant) == PollCall::poll
                      ? answer_of(poll(polled.data(), command.watched_count, command.timeout_ms))
                      : answer_of(ppoll(polled.data(), command.watched_count,
                                        command.timeout_ms < 0 ? nullptr : &timeout, nullptr));
  for (std::uint32_t i = 0; i < command.watched_count; ++i) answer.values[i] = polled[i].revents;
  return answer;
}

Answer with_select(const Command& command) {
  std::array<fd_set, 3> sets;
  constexpr std::array<short, 3> kMeans = {POLLIN, POLLOUT, POLLPRI};
  for (fd_set& set : sets) FD_ZERO(&set);
  int end = 0;
  for (std::uint32_t i = 0; i < command.watched_count; ++i) {
    const Watched& watched = command.watched[i];
    for (std::size_t k = 0; k < sets.size(); ++k)
      if ((watched.events & static_cast<unsigned>(kMeans[k])) != 0) FD_SET(watched.fd, &sets[k]);
    end = std::max(end, watched.fd + 1);
  }
  timespec span = span_of(command.timeout_ms);
  timeval timeout = {span.tv_sec, span.tv_nsec / 1000};
  const bool for_ever = command.timeout_ms < 0;
  Answer answer =
      static_cast<PollCall>(command.variant) == PollCall::select
          ? answer_of(select(end, &sets[0], &sets[1], &sets[2], for_ever ? nullptr : &timeout))
          : answer_of(pselect(end, &sets[0], &sets[1], &sets[2], for_ever ? nullptr : &span, nullptr));
  for (std::uint32_t i = 0; i < command.watched_count && answer.result >= 0; ++i)
    for (std::size_t k = 0; k < sets.size(); ++k)
      if (FD_ISSET(command.watched[i].fd, &sets[k])) answer.values[i] |= kMeans[k];
  return answer;
}

// The data of an event is its index in `values`.
Answer wait_for_events(const Command& command) {
  std::array<epoll_event, kWatchedMax> events = {};
  constexpr int kCount = static_cast<int>(kWatchedMax);
  Answer answer = answer_of(
      command.variant == 0 ? epoll_wait(command.fd, events.data(), kCount, command.timeout_ms)
                           : epoll_pwait(command.fd, events.data(), kCount, command.timeout_ms, nullptr));
  for (std::int64_t i = 0; i < answer.result; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 < kWatchedMax)
      answer.values[event.data.u64] |= static_cast<std::int32_t>(event.events);
    if (event.data.u64 >= kWatchedMax) answer.first_wrong = i;
  }
  return answer;
}

Answer change_set(const Command& command) {
  epoll_event event = {};
  event.events = static_cast<std::uint32_t>(command.flags);
  event.data.u64 = static_cast<std::uint64_t>(command.value);
  return answer_of(epoll_ctl(command.fd, command.name, command.fd2, &event));
}

// Uses the kernel's call, which a preloaded library does not see.
Answer settle(const Command& command) {
  pollfd wanted = {command.fd, static_cast<short>(command.flags), 0};
  const timespec timeout = span_of(command.timeout_ms);
  timespec left = timeout;
  const long ready = syscall(SYS_ppoll, &wanted, 1UL, &left, nullptr, 0UL);
  Answer answer = answer_of(ready);
  answer.values[0] = wanted.revents;
  return answer;
}

// Likewise.
Answer flush(const Command& command) {
  int unsent = 0;
  for (int waited_ms = 0; waited_ms <= command.timeout_ms; ++waited_ms) {
    if (syscall(SYS_ioctl, command.fd, SIOCOUTQNSD, &unsent) != 0 || unsent == 0) break;
    usleep(1000);
  }
  return answer_of(0);
}

}  // namespace

Answer perform_wait(const Command& command) {
  switch (command.op) {
    case Op::poll:
      return static_cast<PollCall>(command.variant) < PollCall::select ? with_poll(command)
                                                                       : with_select(command);
    case Op::epoll_create:
      return answer_of(command.variant == 0 ? epoll_create(1) : epoll_create1(command.flags));
    case Op::epoll_ctl: return change_set(command);
    case Op::epoll_wait: return wait_for_events(command);
    case Op::flush: return flush(command);
    default: return settle(command);
  }
}

}  // namespace twin
