// Sends and receives of a number that has a slot. They return what the program's call returns, and set errno
// likewise. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "sockets/preload/ends/parts.h"
#include "sockets/preload/meeting/arrivals.h"
#include "sockets/preload/table/slot.h"

namespace exs::sockets {

// A call that goes to the kernel unchanged, if allowed.
class PlainReceive {
 public:
  PlainReceive(int number, std::uint32_t slot) noexcept;
  ~PlainReceive();
  PlainReceive(const PlainReceive&) = delete;
  PlainReceive& operator=(const PlainReceive&) = delete;
  // False: the lane decides where the bytes come from.
  [[nodiscard]] bool allowed() const noexcept { return slot_ != nullptr; }
  ssize_t done(ssize_t result, bool wants_bytes = true) noexcept;

 private:
  FamilySlot* slot_ = nullptr;
};
class PlainSend {
 public:
  PlainSend(int number, std::uint32_t slot) noexcept;
  ~PlainSend();
  PlainSend(const PlainSend&) = delete;
  PlainSend& operator=(const PlainSend&) = delete;
  [[nodiscard]] bool allowed() const noexcept { return slot_ != nullptr; }
  // `flags` are the call's.
  ssize_t done(ssize_t result, int flags) noexcept;

 private:
  FamilySlot* slot_ = nullptr;
  WatchedSend arrival_;
};

// A send inside the kernel that the lane does not carry. The ring's bytes precede it.
class KernelSend {
 public:
  KernelSend(int number, std::uint32_t slot) noexcept;
  ~KernelSend();
  KernelSend(const KernelSend&) = delete;
  KernelSend& operator=(const KernelSend&) = delete;
  ssize_t done(ssize_t result) noexcept;

 private:
  int number_;
  std::uint32_t slot_;
  bool is_begun_;
};

// A call with these flags may sleep.
bool may_wait(int number, int flags) noexcept;
ssize_t receive(int number, std::uint32_t slot, Parts parts, int flags) noexcept;
// Takes the error that a call met while it still had bytes to return; 0: none. The next call reports it.
int take_error(std::uint32_t slot) noexcept;
ssize_t send(int number, std::uint32_t slot, Parts parts, int flags) noexcept;
// The value of ioctl(FIONREAD).
int unread_bytes(int number, std::uint32_t slot) noexcept;
std::size_t bytes_in_ring(int number, std::uint32_t slot) noexcept;

}  // namespace exs::sockets
