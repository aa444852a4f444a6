// The simulated network of a process: its time, its links and listeners, and the faults that happen to them. README.md
// tells how a step goes.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/drive_lock.h"
#include "base/socket_address.h"
#include "base/virtual_clock.h"
#include "src/provider/sim/draws.h"
#include "src/provider/sim/event_heap.h"
#include "src/provider/sim/settings.h"

namespace exs::sim {

class SimLink;
class SimListening;
class SimPort;

// One for each life of the library, with all that happens in it. Thread: any.
class Network {
 public:
  Network(const Settings& chosen, VirtualClock& virtual_clock)
      : settings(chosen), clock_(chosen.virtual_clock ? &virtual_clock : nullptr), draws_(chosen.seed) {}
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // The state of all ports, links and listeners that threads of other shards touch. No lock is taken under it.
  Mutex mutex;
  const Settings settings;

  // --- with the mutex ---
  [[nodiscard]] std::uint64_t now_ns() const;
  [[nodiscard]] bool is_virtual() const noexcept { return clock_ != nullptr; }
  // Draws how long something is under way.
  [[nodiscard]] std::uint64_t delay_ns() EXS_REQUIRES(mutex);
  // The time at which something that leaves now arrives, behind what has left before it. Moves `last_ns` there.
  [[nodiscard]] std::uint64_t due_after(std::uint64_t& last_ns) EXS_REQUIRES(mutex);
  // Puts an event under way. There is room for it.
  void schedule(SimPort& port, Event event) noexcept EXS_REQUIRES(mutex);
  // Counts an event that happens, and lets the faults happen that come with it.
  void step(const Event& event) EXS_REQUIRES(mutex);
  // The link is lost: both ends get to know it in time.
  void lose(SimLink& link, Status why) noexcept EXS_REQUIRES(mutex);
  // Throws std::bad_alloc where the seed says so.
  void need_memory() EXS_REQUIRES(mutex);
  [[nodiscard]] bool is_late() EXS_REQUIRES(mutex) { return settings.late.comes(++looks_, draws_); }
  [[nodiscard]] bool comes_in_pieces() EXS_REQUIRES(mutex) { return settings.pieces.comes(++reads_, draws_); }
  [[nodiscard]] bool interrupts() EXS_REQUIRES(mutex) { return settings.interrupt.comes(++sleeps_, draws_); }
  [[nodiscard]] std::uint64_t draw_below(std::uint64_t end) EXS_REQUIRES(mutex) { return draws_.below(end); }
  [[nodiscard]] std::uint64_t draw() EXS_REQUIRES(mutex) { return draws_.next(); }
  [[nodiscard]] std::uint64_t next_id() EXS_REQUIRES(mutex) { return ++last_id_; }
  [[nodiscard]] std::uint16_t next_port() EXS_REQUIRES(mutex);

  void add(SimLink& link) EXS_REQUIRES(mutex);
  void remove(SimLink& link) noexcept EXS_REQUIRES(mutex);
  // Null: it is gone.
  [[nodiscard]] SimLink* link(std::uint64_t id) EXS_REQUIRES(mutex);
  // EADDRINUSE: another one listens there.
  Status add(SimListening& listening) EXS_REQUIRES(mutex);
  void remove(SimListening& listening) noexcept EXS_REQUIRES(mutex);
  [[nodiscard]] bool is_taken(const sockaddr_storage& address) const EXS_REQUIRES(mutex);
  // Null: nobody listens there, or who did is away.
  [[nodiscard]] SimListening* listening_at(const sockaddr_storage& address) EXS_REQUIRES(mutex);

  // --- what has happened ---
  [[nodiscard]] std::uint64_t steps() const EXS_REQUIRES(mutex) { return steps_; }
  // A hash of all steps in their order.
  [[nodiscard]] std::uint64_t trace() const EXS_REQUIRES(mutex) { return trace_; }

 private:
  void delay_all_to(SimLink& link) EXS_REQUIRES(mutex);
  void kill_service_of(SimLink& link) EXS_REQUIRES(mutex);

  VirtualClock* const clock_;  // null: the real one
  Draws draws_ EXS_GUARDED_BY(mutex);
  std::map<std::uint64_t, SimLink*> links_ EXS_GUARDED_BY(mutex);
  std::map<std::uint64_t, SimListening*> listenings_ EXS_GUARDED_BY(mutex);
  std::map<std::uint16_t, std::uint64_t> away_until_ns_ EXS_GUARDED_BY(mutex);  // by port
  std::uint64_t last_id_ EXS_GUARDED_BY(mutex) = 0;
  std::uint64_t events_ EXS_GUARDED_BY(mutex) = 0;
  std::uint64_t steps_ EXS_GUARDED_BY(mutex) = 0;
  std::uint64_t looks_ EXS_GUARDED_BY(mutex) = 0;
  std::uint64_t reads_ EXS_GUARDED_BY(mutex) = 0;
  std::uint64_t sleeps_ EXS_GUARDED_BY(mutex) = 0;
  std::uint64_t calls_ EXS_GUARDED_BY(mutex) = 0;
  std::uint64_t trace_ EXS_GUARDED_BY(mutex) = 0;
  std::uint16_t ports_ EXS_GUARDED_BY(mutex) = 0;
};

}  // namespace exs::sim
