// The TCP connection of a slot, as the lane calls it: never waits, and no cancellation point. Thread: what the lane says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sockets/lane/ring.h"
#include "sockets/lane/words.h"
#include "sockets/preload/parts.h"
#include "sockets/preload/slot.h"

namespace exs::sockets {

class Wire {
 public:
  // `flags` are those of the program's call.
  Wire(Slot& slot, int descriptor, int flags) noexcept
      : slot_(slot), descriptor_(descriptor), flags_(flags) {}

  // --- for the receiver ---
  long receive(Parts& parts, std::size_t limit) noexcept;
  long peek(Parts& parts, std::size_t limit) noexcept;
  long peek_behind(std::size_t before, Parts& parts) noexcept;
  long unread() noexcept;
  [[nodiscard]] bool is_at_mark() const noexcept;
  long look() noexcept;
  // Who finds nothing sleeps next, in a call that looks itself.
  void leave_looks_to_sleep() noexcept { sleep_looks_ = true; }
  long drop(std::size_t count) noexcept;
  std::int64_t taken() noexcept;
  long take_bells(std::uint32_t count) noexcept;
  void await_bells(std::uint32_t count) noexcept;
  // By the peer's own descriptor, if there is one.
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

  Slot& slot_;
  int descriptor_;
  int flags_;
  int peers_descriptor_ = -1;
  bool sleep_looks_ = false;
};

// What the lane needs of TCP's options while it is in use, and what they are again afterwards.
void fit_tcp_options(Slot& slot, int descriptor) noexcept;
// The program has set the size of the send buffer: it is remembered, and the lane's set again.
void fit_send_buffer(Slot& slot, int descriptor) noexcept;
void restore_tcp_options(Slot& slot, int descriptor) noexcept;

// Whether the end of the TCP connection is a reset, as Linux has it where bytes are unread, whatever SO_LINGER says.
void let_end_reset(Slot& slot, int descriptor, bool resets) noexcept;

// Of what was given to TCP ever, and of that, what the peer's TCP has acknowledged; a caller's may count the beginning of the connection.
struct SentBytes {
  std::uint64_t sent = 0;
  std::uint64_t acknowledged = 0;
};
bool sent_bytes(int descriptor, SentBytes& bytes) noexcept;
// Bytes that the program has taken of a connection, ever; a negative number: cannot be told.
std::int64_t bytes_taken(int descriptor) noexcept;
// Of an established connection whose peer sends on.
bool is_established(int descriptor) noexcept;
// The peer sends no more: what it has sent is there.
bool has_ended(int descriptor) noexcept;
// By a reset, which the kernel tells.
bool is_reset(int descriptor) noexcept;

}  // namespace exs::sockets
