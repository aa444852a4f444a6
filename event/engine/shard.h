// A shard owns connections, the ports of their providers, and their timers. Only the holder of its drive lock
// uses this state. README.md lists its parts, and the threads that watch the network.
//
// Design notes
//  1. A thread that posts and finds the lock free carries its command out itself. A thread that finds it
//     taken queues the command and tries the lock again; if it is still taken, the holder carries the
//     command out, because it checks the queue after it has released the lock. So every command is carried
//     out, and none waits for a later call of the application.
//  2. While no thread spins, one thread watches the network: the leader (a thread asleep in a wait for a
//     queue whose home is this shard), or else the engine thread. An arriving message wakes one thread.
//  3. No thread notifies the engine to step back. The engine reads a count of the drives and memory polls
//     of waiting threads; when it has changed, a waiting thread is active, so the engine stands by until
//     its alarm, 1 ms ahead. Threads that drive postpone the alarm, about once a millisecond. When there is
//     a leader, the engine parks. A leader that leaves sets the alarm, once in a millisecond however often
//     leaders come and go.
//  4. A session may hold bytes back until the burst of its poster ends, so that many small sends leave
//     together. If a flush is a system call, the shard holds the flushes of a burst back, except that of each session's
//     first post (FollowUp::kAtLeisure): those of several sessions would be as many calls later. The burst ends when a waiting thread or the engine polls the network. While the
//     engine stands by, its alarm is at most a millisecond ahead and ends the burst; otherwise combining_pending()
//     sets the alarm. So no byte is held for ever, and a thread that posts and dequeues makes no system call for
//     it. If the engine had to end the last burst of a poster, the alarm is set in any case.
//  5. Shared memory shows arrivals only to a thread that polls it. So ports are armed before a thread
//     sleeps, and peers ring the doorbell from then on. While any thread sleeps, the thread that drives
//     leaves the ports armed; when none sleeps, it disarms them.
//  6. Polling the network costs a system call, polling shared memory none. While one port is busy, a silent
//     port is polled only every few microseconds.
//  7. A thread that waits for messages polls memory before it sleeps, and the ports that rang after it. This
//     finds most messages without reading the clock and without polling other ports. The thread polls
//     everything after a sleep that ended for another reason. It also does so once in a few polls when it need
//     not sleep, for time limits and silent ports.
//  8. Two drive locks are held at once only by try_lock on the second (handing an accepted connection to
//     another shard), so no order between shards is needed.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/drive_lock.h"
#include "event/engine/bursts.h"
#include "event/engine/client_table.h"
#include "event/engine/command_queue.h"
#include "event/engine/engine.h"
#include "event/engine/port_set.h"
#include "event/engine/retired.h"
#include "event/engine/sleeper.h"
#include "event/engine/timer_queue.h"
#include "event/engine/wait_limit.h"
#include "event/engine/watch.h"
#include "src/proto/operation.h"

namespace exs {

struct CallersEvents;
class StatsPage;

// A process has at most so many shards.
inline constexpr std::size_t kShardsMax = 64;

class Shard final : public std::enable_shared_from_this<Shard>, private EngineClient, private Company {
 public:
  // `stats`: where its connections count. Null: each by itself.
  static Result<std::shared_ptr<Shard>> create(ProviderSet& providers,
                                               const TimeSource& time = TimeSource::real(),
                                               std::shared_ptr<StatsPage> stats = nullptr);
  ~Shard() override;
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // --- Thread: any ---
  void post(TransferClient& client, proto::Direction direction, const proto::Operation& operation);
  void execute(std::unique_ptr<Task> task);
  // Starts the engine thread if it does not run yet. EAGAIN: the system gives no thread.
  // Not in a simulation: there the threads that wait do all the work, so that it is always the same.
  Status start_engine() { return time_.is_simulated ? Status() : start_engine_always(); }
  // In a simulation, too: the program may sleep where no thread of the library sees it, as on a descriptor.
  Status start_engine_for_outsiders() { return time_.is_simulated ? start_engine_always() : Status(); }
  // Ends the engine thread. Commands that come later still run, on their posters' threads.
  void stop_engine();
  [[nodiscard]] ProviderSet& providers() noexcept { return providers_; }
  [[nodiscard]] const std::shared_ptr<StatsPage>& stats_page() const noexcept { return stats_page_; }
  [[nodiscard]] const Clock& clock() const noexcept { return time_.clock; }
  [[nodiscard]] Sleeper& sleeper() const noexcept { return time_.sleeper; }
  // Runs `look` with the drive lock held, then the commands that other threads have queued meanwhile. Passes its exceptions on, as
  // carry_out() does.
  template <typename Look>
  void inspect(Look&& look) {
    lock_.lock();
    try {
      std::forward<Look>(look)();
    } catch (...) {
      release_and_combine();
      throw;
    }
    release_and_combine();
  }
  // Carries out `step`, unless another thread holds the drive lock. The step posts to a link, and has no other consequences if it
  // returns true. False: another thread holds the lock, or the step returned false. `step` does not throw.
  template <typename Step>
  bool try_step(Step&& step) {
    if (!lock_.try_lock()) return false;
    const bool stirred = run_commands();
    const bool done = std::forward<Step>(step)();
    if (stirred || !done) {
      settle();
    } else {
      ports_.flush();
    }
    release_and_combine();
    return done;
  }
  // Likewise for a step that has no consequences at all, where no command waits.
  template <typename Step>
  bool short_step(Step&& step) noexcept {
    if (!lock_.try_lock()) return false;
    const bool done = !commands_.waiting() && std::forward<Step>(step)();
    release_and_combine();
    return done;
  }
  // Likewise for a short send, `send` -> ShortSend. A thread that sends and sends sees no credit that has come, unless it looks here.
  template <typename Send>
  bool short_send(Send&& send) noexcept {
    using proto::ShortSend;
    return short_step([&] {
      assert_held();
      ShortSend sent = send();
      if (sent == ShortSend::kNoCredit && take_news()) sent = send();
      return sent == ShortSend::kSent;
    });
  }
  // Waits for the drive lock, then carries out all earlier commands, `step`, and its consequences.
  template <typename Step>
  void carry_out(Step&& step) {
    lock_.lock();
    run_commands();
    try {
      std::forward<Step>(step)();
    } catch (...) {
      settle();
      release_and_combine();
      throw;
    }
    settle();
    release_and_combine();
  }

  // --- Thread: any that waits ---
  // Polls the network once, unless another thread drives. `keeps_engine_off`: the thread polls again soon, so
  // the engine may stand by.
  void drive(std::uint64_t now_ns, bool keeps_engine_off) { drive(now_ns, keeps_engine_off, all_ports()); }
  // Likewise after a sleep that only `ready` ended. Of the other ports it polls memory only.
  void drive(std::uint64_t now_ns, bool keeps_engine_off, const ReadyPorts& ready);
  // Likewise without the time. False: drive() is needed.
  [[nodiscard]] bool poll_memory(bool keeps_engine_off, const ReadyPorts& ready) {
    return poll_memory(keeps_engine_off, ready, [] {});
  }
  // Runs `look` in the same step, where it could be made. `look` does not throw.
  template <typename Look>
  [[nodiscard]] bool poll_memory(bool keeps_engine_off, const ReadyPorts& ready, Look&& look) {
    if (!lock_.try_lock()) return false;
    if (keeps_engine_off) watch_.note_memory_poll();
    const bool done = poll_memory_and_settle(ready);
    if (done) {
      bursts_.set_poster_overdue(false);
      std::forward<Look>(look)();
    }
    release_and_combine();
    return done;
  }
  // A look at what last showed something: the memory of a port, or one socket. Needs no time, and is no poll of anything else: looks
  // at the others must come within a moment. Looks so often at most, or until there is something. False: there is no such port, another
  // thread drives, or more is to be done.
  // What comes for `caller` goes straight to it, and the look ends once that is full.
  [[nodiscard]] bool look_briefly(unsigned looks, CallersEvents& caller, const bool& is_full);
  // A count that grows whenever something has arrived from the network.
  [[nodiscard]] std::uint64_t arrivals() const { return ports_.arrivals(); }
  // False: another thread leads.
  [[nodiscard]] bool try_lead() { return watch_.try_lead(); }
  // Sleeps until something arrives, a timer is due, wake_leader() is called, or the limit. `ready` becomes
  // the ports where something has arrived. EINTR: a signal was caught. `signals` is the mask to sleep with;
  // null: the thread's own.
  Status sleep_as_leader(WaitLimit& limit, const sigset_t* signals, ReadyPorts& ready);
  void stop_leading();
  void wake_leader() { watch_.wake_leader(); }
  // The calling thread sleeps on its queue while another one leads. False: no thread leads any more.
  [[nodiscard]] bool start_following() { return watch_.start_following(); }
  void stop_following() { watch_.stop_following(); }

  // --- Thread: shard ---
  // Takes in what a brief look finds, with the consequences. False: there was nothing.
  bool take_news() noexcept EXS_REQUIRES(lock_);
  // The array that receives are to complete into, of the thread that looks briefly at this moment. Null: no thread does.
  [[nodiscard]] CallersEvents* caller() const noexcept EXS_REQUIRES(lock_) { return caller_; }
  // The calling thread holds the drive lock: checked in debug builds, and by clang's analysis in all callers
  // of what follows. Every method that says "Thread: shard", here or of a session, opens with it.
  void assert_held() const EXS_ASSERT_CAPABILITY(lock_) { lock_.assert_held(); }
  // The port of the provider that plays the role. Null: no provider does, or its port could not be opened
  // (why_no_port()).
  [[nodiscard]] Port* port(Role role) EXS_REQUIRES(lock_);
  [[nodiscard]] const Reason& why_no_port(Role role) const EXS_REQUIRES(lock_) {
    return ports_.why_missing(role);
  }
  // The readiness of kernel sockets that no provider carries. The first call opens it.
  Result<Readiness*> readiness() EXS_REQUIRES(lock_);
  // The token names the client in completions until detach(). The shard keeps the client alive meanwhile.
  std::uint64_t attach(std::shared_ptr<CompletionClient> client) EXS_REQUIRES(lock_);
  void detach(std::uint64_t token) EXS_REQUIRES(lock_);
  void destroy_later(Retired retired) EXS_REQUIRES(lock_);
  void arm_timer(std::uint64_t deadline_ns, std::weak_ptr<TimerClient> client) EXS_REQUIRES(lock_);
  // Notifies `client` once when this burst ends, unless it leaves before.
  void begin_burst(BurstClient& client) EXS_REQUIRES(lock_);
  void leave_burst(BurstClient& client) EXS_REQUIRES(lock_);
  // The number of polls of the network, by any thread and of any kind.
  [[nodiscard]] std::uint64_t polls() const noexcept EXS_REQUIRES(lock_) { return polls_; }
  // A message that may have company has left by itself.
  void note_post() noexcept EXS_REQUIRES(lock_) { last_post_ns_ = time_.clock.now_ns(); }
  // Call it when a client holds bytes back, so that the burst ends soon.
  void combining_pending() EXS_REQUIRES(lock_);
  // The time of the last network poll by any thread.
  [[nodiscard]] std::uint64_t polled_ns() const noexcept EXS_REQUIRES(lock_) { return polled_ns_; }
  // A program sleeps on the ports' descriptors by itself, and drives when one of them is readable. It counts as a sleeper
  // until end_outside_sleep(). False: there is work already. No timer ends its sleep: those are the engine's.
  [[nodiscard]] bool begin_outside_sleep() EXS_REQUIRES(lock_);
  void end_outside_sleep() EXS_REQUIRES(lock_);
  [[nodiscard]] WatchedPorts watched_ports() EXS_REQUIRES(lock_);
  // Makes the engine poll at once, for a thread whose ports are never quiet.
  void leave_to_engine() { engine_.wake(); }
  // Likewise for a thread that has driven and goes to sleep elsewhere: the engine does not stand by for it any longer.
  void stop_driving() {
    if (engine_.stands_by() && !watch_.is_led()) engine_.wake();
  }

 private:
  Status start_engine_always();
  Shard(ProviderSet& providers, const TimeSource& time, std::shared_ptr<StatsPage> stats, UniqueFd wake_fd,
        std::unique_ptr<Alarm> alarm);

  // --- EngineClient, Thread: engine ---
  void engine_started() override;
  void end_overdue_burst() override;
  [[nodiscard]] bool drive_before_sleep(const ReadyPorts& ready, PortSleep& sleep) override;
  // --- Company, Thread: shard ---
  [[nodiscard]] bool is_expected() override;

  // False: another thread has the lock again and again, and drives.
  [[nodiscard]] bool lock_unless_driven() EXS_TRY_ACQUIRE(true, lock_) EXS_NO_THREAD_SAFETY_ANALYSIS;

  // Poll the ports and carry out the consequences.
  void poll_and_settle(std::uint64_t now_ns, const ReadyPorts& ready) EXS_REQUIRES(lock_);
  [[nodiscard]] bool poll_memory_and_settle(const ReadyPorts& ready) EXS_REQUIRES(lock_);
  void settle() EXS_REQUIRES(lock_);
  void end_brief_look() EXS_REQUIRES(lock_);
  // True: there are completions to take.
  [[nodiscard]] bool take_news_for(CallersEvents& caller, const bool& is_full) EXS_REQUIRES(lock_);
  // Clients or links have ended, and are to be destroyed.
  [[nodiscard]] bool has_remains() const EXS_REQUIRES(lock_) {
    return !retired_.empty() || clients_.has_removed();
  }
  bool take_completions() EXS_REQUIRES(lock_);
  // Arms the ports, and counts a sleeper. False: there is work already.
  [[nodiscard]] bool begin_sleep() EXS_REQUIRES(lock_);
  // Arms the ports again if a thread sleeps on them, else disarms them.
  void keep_armed(std::uint64_t now_ns) EXS_REQUIRES(lock_);
  void end_burst() EXS_REQUIRES(lock_);
  // Counts a post of the burst. True: it is held back until the burst ends.
  [[nodiscard]] bool joins_burst(std::size_t bytes) EXS_REQUIRES(lock_);
  // False: there were no commands.
  bool run_commands() EXS_REQUIRES(lock_);
  void run(Command& command) EXS_REQUIRES(lock_);
  [[nodiscard]] std::uint64_t next_deadline_ns() EXS_REQUIRES(lock_);
  void release_and_combine() EXS_RELEASE(lock_) EXS_NO_THREAD_SAFETY_ANALYSIS {
    lock_.unlock();
    if (commands_.waiting()) combine();
  }
  // Carries out the commands of threads that found the lock taken.
  void combine() noexcept EXS_EXCLUDES(lock_) EXS_NO_THREAD_SAFETY_ANALYSIS;
  void submit(Command command);

  ProviderSet& providers_;
  const std::shared_ptr<StatsPage> stats_page_;
  const TimeSource time_;
  DriveLock lock_;
  PortSet ports_;  // Thread: shard, except for the methods that say otherwise
  CommandQueue commands_;
  Watch watch_;
  Mutex engine_mutex_;
  bool engine_runs_ EXS_GUARDED_BY(engine_mutex_) = false;
  Engine engine_;

  CommandBatch running_ EXS_GUARDED_BY(lock_);
  TimerQueue timers_ EXS_GUARDED_BY(lock_);
  ClientTable clients_ EXS_GUARDED_BY(lock_);
  std::vector<Retired> retired_ EXS_GUARDED_BY(lock_);
  std::uint64_t last_post_ns_ EXS_GUARDED_BY(lock_) = 0;
  std::uint32_t posts_in_burst_ EXS_GUARDED_BY(lock_) = 0;
  std::size_t bytes_in_burst_ EXS_GUARDED_BY(lock_) = 0;  // held back
  Bursts bursts_;  // Thread: shard, except for the methods that say otherwise
  std::uint64_t sleeping_until_ns_ EXS_GUARDED_BY(lock_) = 0;  // the deadline that the watching thread knows
  std::uint64_t polled_ns_ EXS_GUARDED_BY(lock_) = 0;
  std::uint64_t polls_ EXS_GUARDED_BY(lock_) = 0;
  CallersEvents* caller_ EXS_GUARDED_BY(lock_) = nullptr;  // of the thread that looks briefly
  unsigned memory_polls_ EXS_GUARDED_BY(lock_) = 0;  // since the last poll of everything, or the last sleep
};

}  // namespace exs
