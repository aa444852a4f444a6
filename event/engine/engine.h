// A shard's engine thread: it guarantees progress when no application thread drives, and uses no processor
// time when nothing happens. It blocks all signals. README.md has the table of its states.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "base/status.h"
#include "event/engine/port_set.h"
#include "event/engine/sleeper.h"
#include "event/engine/watch.h"

namespace exs {

// A sleep on the ports until `due_ns`. The thread that sleeps adds a descriptor of its own to `watched`.
struct PortSleep {
  WatchedPorts watched;
  std::uint64_t due_ns = kNoDeadline;
};

// The client of an engine thread: a shard. Thread: engine.
class EngineClient {
 public:
  virtual ~EngineClient() = default;
  // Called before the others.
  virtual void engine_started() = 0;
  // Ends the burst if bytes are held back, because no waiting thread has ended it.
  virtual void end_overdue_burst() = 0;
  // Drives, then prepares a sleep. False: there is work already, so the thread must not sleep.
  [[nodiscard]] virtual bool drive_before_sleep(const ReadyPorts& ready, PortSleep& sleep) = 0;
};

class Engine {
 public:
  Engine(EngineClient& client, Watch& watch, const TimeSource& time, std::unique_ptr<Alarm> alarm)
      : client_(client), watch_(watch), time_(time), alarm_(std::move(alarm)) {}
  ~Engine() { stop(); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // --- Thread: any, one at a time ---
  // EAGAIN: the system grants no thread.
  Status start();
  void stop();
  // --- Thread: any ---
  // Makes the thread poll at once.
  void wake() { alarm_->ring(); }
  // The leader has left: the thread watches in a millisecond if no other thread does by then, or in four if
  // leaders have come back recently.
  void leader_left();
  // --- Thread: shard ---
  // Ends the burst soon, because bytes are held back. `at_once`: sets the alarm even if the engine stands by.
  void end_burst_soon(bool at_once);
  // A waiting thread spins, and it polls within a moment, or the alarm goes off.
  [[nodiscard]] bool stands_by() const { return standing_by_; }
  // A waiting thread drives, so an engine that stands by continues to do so.
  void note_waiter_drive(std::uint64_t now_ns);

 private:
  // --- Thread: engine ---
  void run();
  void watch_ports();
  void park();
  void stand_by();
  void sleep_until_alarm();
  void clear_alarm();

  static constexpr std::uint64_t kTakeOverNs = 1'000'000;

  EngineClient& client_;
  Watch& watch_;
  const TimeSource time_;
  const std::unique_ptr<Alarm> alarm_;
  std::thread thread_;
  ReadyPorts ready_ = all_ports();  // Thread: engine; all ports, unless it has just slept on them
  std::atomic<std::uint64_t> grace_ns_{kTakeOverNs};  // a hint, written by the thread and read by leaders
  std::atomic<bool> started_{false};      // set when the ports know the thread; start() waits for it
  std::atomic<bool> stopping_{false};     // seq_cst; written by stop(), read by the thread
  std::atomic<bool> parked_{false};       // seq_cst, paired with Watch::led_: one side sees the other
  std::atomic<bool> standing_by_{false};  // seq_cst, paired with Bursts::bytes_held_
  std::uint64_t postponed_ns_ = 0;        // Thread: shard; when a driving thread last postponed the alarm
  std::atomic<bool> alarm_set_{false};    // a leader set the alarm, and the thread has not seen it yet
};

}  // namespace exs
