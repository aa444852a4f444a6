// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/transfer/options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "sockets/preload/detach/detach.h"
#include "sockets/preload/ends/wire.h"
#include "sockets/preload/kernel/reach.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/transfer/transfer.h"

namespace exs::sockets {
namespace {

// Options that work alike with a lane and without.
bool is_of_kernel(int level, int name) noexcept {
  if (level == SOL_SOCKET) {
    switch (name) {
      case SO_KEEPALIVE:
      case SO_LINGER:
      case SO_RCVTIMEO:
      case SO_SNDTIMEO:
      case SO_RCVBUF:
      case SO_SNDBUF:
      case SO_REUSEADDR:
      case SO_REUSEPORT:
      case SO_PRIORITY:
      case SO_OOBINLINE:
      case SO_DONTROUTE:
      case SO_BROADCAST:
      case SO_DEBUG:
      case SO_MARK:
      case SO_BINDTODEVICE:
      case SO_INCOMING_CPU:
      case SO_MAX_PACING_RATE: return true;
      default: return false;
    }
  }
  if (level == IPPROTO_TCP) {
    switch (name) {
      case TCP_NODELAY:
      case TCP_CORK:
      case TCP_KEEPIDLE:
      case TCP_KEEPINTVL:
      case TCP_KEEPCNT:
      case TCP_USER_TIMEOUT:
      case TCP_QUICKACK:
      case TCP_SYNCNT:
      case TCP_LINGER2:
      case TCP_DEFER_ACCEPT:
      case TCP_CONGESTION:
      case TCP_MAXSEG:
      case TCP_WINDOW_CLAMP:
      case TCP_NOTSENT_LOWAT: return true;
      default: return false;
    }
  }
  return level == IPPROTO_IP || level == IPPROTO_IPV6;
}

bool number_of(const void* value, socklen_t length, int& number) noexcept {
  return length >= sizeof number && copy_reached(&number, value, sizeof number);
}

}  // namespace

void correct_option(std::uint32_t index, int level, int name, void* value, socklen_t length) noexcept {
  FamilySlot& slot = slot_at(index);
  if (length < sizeof(int)) return;
  const bool fitted = slot.options.send_buffer != 0;
  int told = 0;
  if (level == SOL_SOCKET && name == SO_LINGER && slot.options.resets && length >= sizeof(linger)) {
    const linger programs{slot.options.linger_on, slot.options.linger_for};
    std::memcpy(value, &programs, sizeof programs);
    return;
  }
  if (level == SOL_SOCKET && name == SO_ERROR) {
    told = take_error(index);
    if (told == 0) return;
  } else if (level == SOL_SOCKET && name == SO_RCVLOWAT && slot.options.low_water != 0) {
    told = slot.options.low_water;
  } else if (fitted && level == SOL_SOCKET && name == SO_SNDBUF) {
    told = slot.options.send_buffer > 0 ? slot.options.send_buffer : -slot.options.send_buffer;
  } else if (fitted && level == IPPROTO_TCP && name == TCP_NODELAY) {
    told = slot.options.nodelay ? 1 : 0;
  } else if (fitted && level == IPPROTO_TCP && name == TCP_CORK) {
    told = slot.options.corked ? 1 : 0;
  } else {
    return;
  }
  std::memcpy(value, &told, sizeof told);
}

bool before_option(int number, std::uint32_t index, int level, int name, const void* value,
                   socklen_t length) noexcept {
  FamilySlot& slot = slot_at(index);
  int wanted = 0;
  const bool has_number = number_of(value, length, wanted);
  if (!is_of_kernel(level, name)) {
    if (level == SOL_SOCKET && name == SO_RCVLOWAT && has_number && wanted > 1 && is_in_lane(slot)) {
      if (detach_now(number, index, Why::kOption)) return true;
      slot.options.low_water = wanted;  // a bell is one byte
      detach_later(number, Why::kOption);
      return false;
    }
    if (level == SOL_SOCKET && name == SO_RCVLOWAT && has_number) slot.options.low_water = 0;
    // TCP alone can serve the connection from now on.
    if (level == IPPROTO_TCP && (name == TCP_ULP || name == TCP_REPAIR)) detach(number, Why::kOption);
    return true;
  }
  if (level == SOL_SOCKET && name == SO_LINGER && slot.options.resets && length >= sizeof(linger)) {
    linger programs{};
    if (!copy_reached(&programs, value, sizeof programs)) return true;
    slot.options.linger_on = programs.l_onoff != 0 ? 1 : 0;
    if (slot.options.linger_on != 0) slot.options.linger_for = programs.l_linger;
    return false;
  }
  if (slot.options.send_buffer == 0 || level != IPPROTO_TCP || !has_number) return true;
  if (name == TCP_NODELAY) {
    slot.options.nodelay = wanted != 0;
    return false;
  }
  if (name == TCP_CORK) {
    slot.options.corked = wanted != 0;
    return false;
  }
  return true;
}

void after_option(int number, std::uint32_t index, int level, int name, const void* value,
                  socklen_t length) noexcept {
  FamilySlot& slot = slot_at(index);
  int wanted = 0;
  // One byte wakes a reader without the option, too.
  const bool changes_nothing =
      level == SOL_SOCKET && name == SO_RCVLOWAT && number_of(value, length, wanted) && wanted <= 1;
  if (!is_of_kernel(level, name) && !changes_nothing) detach_later(number, Why::kOption);
  if (slot.options.send_buffer != 0 && level == SOL_SOCKET && name == SO_SNDBUF)
    fit_send_buffer(slot, number);
}

}  // namespace exs::sockets
