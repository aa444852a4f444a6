// The slots of a family of processes with libexs_sockets.so, read from outside. The bytes may be anything.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "sockets/preload/table/arena_layout.h"

namespace lanes {

// A slot at one moment; its values may be a little apart in time.
// Thread: immutable value.
struct SlotFacts {
  exs::sockets::Stage stage = exs::sockets::Stage::kFree;
  exs::sockets::Why why = exs::sockets::Why::kNone;
  exs::sockets::Why turned_for = exs::sockets::Why::kNone;  // the last reason to turn its sends to TCP
  bool is_caller = false;
  std::uint32_t processes = 0;
  std::uint32_t calls = 0;
  std::uint64_t inode = 0;
  std::uint64_t capacity = 0;  // of a ring; 0: the ends have not met

  bool sends_by_ring = false;
  bool sends_by_tcp_for_good = false;
  bool is_ended = false;
  std::uint32_t stretches_sent = 0;
  std::uint64_t written = 0;

  bool receives_in_lane = false;
  bool is_in_stretch = false;  // at the position that it has received up to
  bool is_carried = false;
  std::uint64_t consumed = 0;
  std::uint64_t written_carried = 0;  // if carried: the bytes that `consumed` will reach

  std::uint64_t ring_sent = 0;
  std::uint64_t tcp_sent = 0;
  std::uint64_t ring_received = 0;
  std::uint64_t tcp_received = 0;
  std::uint64_t turns = 0;
  std::uint64_t bells = 0;
  std::uint64_t sleeps = 0;
  std::uint64_t looks_found = 0;
  std::uint64_t looks_missed = 0;
};

struct SocketsFamily {
  enum class State : std::uint8_t { kReadable, kOtherVersion, kDamaged, kUnreadable };

  State state = State::kUnreadable;
  std::map<std::uint64_t, SlotFacts> by_inode;  // used slots
};

// `descriptor` is that of the memory that the process names as its family's.
SocketsFamily read_family(int descriptor);

}  // namespace lanes
