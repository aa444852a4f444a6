// A shard's engine thread: guarantees progress when no application thread drives, and uses no processor time
// when nothing happens. Blocks all signals.
#pragma once

#include <atomic>
#include <thread>

#include "event/engine/shard.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"

namespace exs {

class Engine {
 public:
  explicit Engine(Shard& shard, UniqueFd alarm_fd) : shard_(shard), alarm_fd_(std::move(alarm_fd)) {}
  ~Engine() { stop(); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // --- Thread: any, one at a time ---
  Status start();
  void stop();
  // --- Thread: any ---
  void wake() { set_alarm(1); }  // to look again at once
  // The leader has left: take over the watch in a millisecond if no one else has by then, or in four if
  // leaders have come back lately.
  void leader_left();
  // --- Thread: shard ---
  // Bytes are held back until the shard's turn ends. `at_once`: do not rely on the alarm of who stands by.
  void turn_must_end(bool at_once);
  // A waiting thread drives: an engine that stands by may go on doing so.
  void waiter_drives(std::uint64_t now_ns);

 private:
  void run();
  void watch();
  void park();
  void stand_by();
  void set_alarm(std::uint64_t after_ns);
  void clear_alarm();

  static constexpr std::uint64_t kTakeOverNs = 1'000'000;

  Shard& shard_;
  const UniqueFd alarm_fd_;  // timerfd
  std::thread thread_;
  Rang rang_ = Rang().set();  // Thread: engine; all, unless it has just slept on the ports
  std::atomic<std::uint64_t> grace_ns_{kTakeOverNs};  // written by the thread, read by leaders: a hint
  std::atomic<bool> bound_{false};        // what the port opens for the thread is open when start() returns
  std::atomic<bool> stopping_{false};     // seq_cst; written by stop(), read by the thread
  std::atomic<bool> parked_{false};       // seq_cst, pairs with Shard::led_: one of the two sees the other
  std::atomic<bool> standing_by_{false};  // seq_cst, pairs with Shard::held_: one of the two sees the other
  std::uint64_t pushed_ns_ = 0;           // Thread: shard; when a driving thread last pushed the alarm on
  std::atomic<bool> alarm_set_{
      false};  // a leader set the millisecond alarm and the thread has not seen it yet
};

}  // namespace exs
