// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/detach/killed.h"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <cerrno>

#include "sockets/preload/ends/ends.h"
#include "sockets/preload/ends/wire.h"
#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {
namespace {

// The kernel answers a byte for a closed connection with a reset.
void provoke_reset(int number) noexcept {
  const char byte = 0;
  if (raw::sys(SYS_sendto, number, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0) != 1) return;
  pollfd entry{number, 0, 0};
  timespec limit{0, 10'000'000};
  raw::sys(SYS_ppoll, &entry, 1, &limit, nullptr, 0);
  int error = 0;
  socklen_t length = sizeof error;
  raw::sys(SYS_getsockopt, number, SOL_SOCKET, SO_ERROR, &error, &length);
}

}  // namespace

bool reset_by_dead_peer(int number, FamilySlot& slot, Segment& segment) noexcept {
  if (incoming(slot, segment).ended.load() != 0) return false;
  Direction& words = outgoing(slot, segment);
  if (words.written.load() == words.consumed.load() || !has_ended(number) || is_reset(number)) return false;
  incoming(slot, segment).ended.store(1);  // the error is reported once
  provoke_reset(number);
  return true;
}

bool note_dead_peer(int number, FamilySlot& slot, Segment& segment) noexcept {
  if (!reset_by_dead_peer(number, slot, segment)) return false;
  keep_error(slot, ECONNRESET);
  return true;
}

}  // namespace exs::sockets
