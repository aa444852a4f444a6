// The TCP connection of a slot, as the lane calls it. Its waits are bounded, and none is a cancellation
// point. Thread: the lane's.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "sockets/lane/ring.h"
#include "sockets/lane/words.h"
#include "sockets/preload/ends/parts.h"
#include "sockets/preload/table/slot.h"

namespace exs::sockets {

class Wire {
 public:
  // `flags` are those of the program's call.
  Wire(FamilySlot& slot, int descriptor, int flags) noexcept
      : slot_(slot), descriptor_(descriptor), flags_(flags) {}

  // --- for the receiver ---
  long receive(Parts& parts, std::size_t limit) noexcept;
  long peek(Parts& parts, std::size_t limit) noexcept;
  long peek_behind(std::size_t before, Parts& parts) noexcept;
  long unread() noexcept;
  [[nodiscard]] bool is_at_mark() const noexcept;
  long look() noexcept;
  // The caller sleeps next if there are no bytes, in a call that looks itself.
  void leave_looks_to_sleep() noexcept { sleep_looks_ = true; }
  long drop(std::size_t count) noexcept;
  std::int64_t taken() noexcept;
  long take_bells(std::uint32_t count) noexcept;
  void await_bells(std::uint32_t count) noexcept;
  // `peers_descriptor` is borrowed from the peer; -1: none.
  void resend_by(int peers_descriptor) noexcept { peers_descriptor_ = peers_descriptor; }
  std::int64_t sent_by_peer() noexcept;
  void break_off() noexcept;
  [[nodiscard]] bool resend_first(std::size_t count) noexcept;
  [[nodiscard]] bool resend(const lane::Ring& ring, std::uint64_t position, std::uint64_t start,
                            std::size_t count) noexcept;
  [[nodiscard]] bool is_read_unseen() const noexcept;

  // --- for the sender ---
  long ring_bell() noexcept;
  long send_back(const lane::Ring& ring, std::uint64_t position, std::uint64_t start,
                 std::size_t count) noexcept;
  std::int64_t sent() noexcept;
  [[nodiscard]] bool await(const lane::SharedWord<std::uint32_t>& word, std::uint32_t value) const noexcept;

 private:
  long message(long number, const Parts& parts, std::size_t limit, int flags) const noexcept;

  FamilySlot& slot_;
  int descriptor_;
  int flags_;
  int peers_descriptor_ = -1;
  bool sleep_looks_ = false;
};

// Sets the TCP options that the lane needs; restore_tcp_options() returns the program's.
void fit_tcp_options(FamilySlot& slot, int descriptor) noexcept;
// The program has set the send buffer's size: remembers it and sets the lane's again.
void fit_send_buffer(FamilySlot& slot, int descriptor) noexcept;
void restore_tcp_options(FamilySlot& slot, int descriptor) noexcept;

// Makes the TCP connection end by a reset, as Linux does with unread bytes, whatever SO_LINGER says; or
// undoes that.
void let_end_reset(FamilySlot& slot, int descriptor, bool resets) noexcept;

// Bytes ever given to TCP, and those acknowledged by the peer's TCP. A caller's count may include the SYN.
struct SentBytes {
  std::uint64_t sent = 0;
  std::uint64_t acknowledged = 0;
};
bool sent_bytes(int descriptor, SentBytes& bytes) noexcept;
// Bytes that the program ever took from a connection; negative: unknown.
std::int64_t bytes_taken(int descriptor) noexcept;
// The connection is established, and the peer has not ended.
bool is_established(int descriptor) noexcept;
// The peer sends no more, and all that it sent has arrived.
bool has_ended(int descriptor) noexcept;
// The kernel reports a reset.
bool is_reset(int descriptor) noexcept;

}  // namespace exs::sockets
