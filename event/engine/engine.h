// A shard's engine thread: guarantees progress when no application thread drives, and uses no processor time
// when nothing happens. Blocks all signals. README.md has the table of what it does when.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "event/engine/port_set.h"
#include "event/engine/sleeper.h"
#include "event/engine/watch.h"
#include "src/base/status.h"

namespace exs {

// A sleep on the ports until `due_ns`; the sleeper adds a descriptor of its own to what is watched.
struct PortSleep {
  WatchedPorts watched;
  std::uint64_t due_ns = kNoDeadline;
};

// What an engine thread keeps going. Thread: engine.
class EngineClient {
 public:
  virtual ~EngineClient() = default;
  // Comes first.
  virtual void engine_started() = 0;
  // Ends the burst whose bytes are held back, if there is one: no waiting thread came.
  virtual void end_overdue_burst() = 0;
  // Drives, then prepares a sleep. False: do not sleep, there is work already.
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
  // EAGAIN: no thread to be had.
  Status start();
  void stop();
  // --- Thread: any ---
  // Polls again at once.
  void wake() { alarm_->ring(); }
  // The leader has left: take over the watch in a millisecond if no one else has by then, or in four if
  // leaders have come back lately.
  void leader_left();
  // --- Thread: shard ---
  // Bytes are held back until the burst ends. `at_once`: do not rely on the alarm of an
  // engine that stands by.
  void end_burst_soon(bool at_once);
  // A waiting thread drives: an engine that stands by may go on doing so.
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
  ReadyPorts ready_ = all_ports();  // Thread: engine; all, unless it has just slept on the ports
  std::atomic<std::uint64_t> grace_ns_{kTakeOverNs};  // written by the thread, read by leaders: a hint
  std::atomic<bool> started_{false};      // what the port opens for the thread is open when start() returns
  std::atomic<bool> stopping_{false};     // seq_cst; written by stop(), read by the thread
  std::atomic<bool> parked_{false};       // seq_cst, pairs with Watch::led_: one of the two sees the other
  std::atomic<bool> standing_by_{false};  // likewise, with Bursts::bytes_held_
  std::uint64_t postponed_ns_ = 0;        // Thread: shard; when a driving thread last postponed the alarm
  std::atomic<bool> alarm_set_{false};    // a leader set the alarm, and the thread has not seen it yet
};

}  // namespace exs
