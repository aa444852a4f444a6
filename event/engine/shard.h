// A shard owns connections, their providers' ports and their timers. Its state is touched only by the holder
// of its drive lock.
//
// Design notes
//  1. Posting combines: a thread that finds the lock free carries its command out on the spot; one that finds
//  it
//     taken queues the command, tries again, and otherwise leaves it to the holder, who looks at the queue
//     after letting go. So no command is stranded and none waits for the application.
//  2. Who watches the network while nobody spins: one leader (a thread asleep in a wait for a queue whose
//     home is here) or else the engine thread. One arriving message wakes one thread.
//  3. The engine steps back by looking, not by being told: `waiter_drives_` or `waiter_glances_` moved since
//     its last look means that a waiting thread is there, so it stands by until its alarm, 1 ms ahead;
//     threads that drive push the alarm on, about once a millisecond. A leader means that the engine parks; a
//     leader that leaves sets the alarm, once for however many times it comes and goes in that millisecond.
//  4. A session may hold bytes back until its poster's turn ends, so that many small sends leave together:
//  when a
//     thread that waits looks at the network, or the engine does. While the engine stands by its alarm is at
//     most a millisecond ahead, and it ends turns when that goes off; else bytes_held() sets the alarm. So no
//     byte is held for ever, and a thread that posts and dequeues makes no system call for it. Who has been
//     waited for in vain
//     (`late_`) is not trusted to come back within the millisecond: then the alarm is set in any case.
//  5. A port that shows what arrives only to who looks (shared memory) is armed before a thread sleeps: its
//  peers
//     ring from then on. Whoever drives while a thread sleeps leaves the ports armed; nobody sleeps:
//     disarmed.
//  6. Looking at the network costs a system call, looking at shared memory none. While one port is busy a
//  silent
//     one is looked at every few microseconds only.
//  7. A thread that sleeps for messages finds most of them by a glance, before it sleeps or at what rang: it
//     takes no look at the clock nor at other ports. A full look follows a sleep that ended for anything
//     else, and every few glances of a thread that need not sleep, for time limits and silent ports.
//  8. Two drive locks are held at once only by try_lock on the second (handing an accepted connection to
//  another
//     shard), so no order between shards is needed.
#pragma once

#include <poll.h>

#include <array>
#include <bitset>
#include <csignal>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "event/engine/command_queue.h"
#include "event/engine/readiness.h"
#include "event/engine/timer_queue.h"
#include "event/engine/wait_limit.h"
#include "src/base/clock.h"
#include "src/base/drive_lock.h"
#include "src/base/unique_fd.h"
#include "src/proto/operation.h"
#include "src/provider/provider_set.h"

namespace exs {

namespace proto {
class Connection;
}  // namespace proto

// Saturates: a time limit beyond the clock's range is none (kNoDeadline).
std::uint64_t deadline_after(std::uint64_t ns);

// Receives the completions of one link or listener. Thread: shard.
class CompletionClient {
 public:
  virtual ~CompletionClient() = default;
  virtual void complete(const Completion& completion) = 0;
};

// Whoever posted has its turn until the shard next looks at the network. Thread: shard.
class TurnClient {
 public:
  virtual ~TurnClient() = default;
  virtual void turn_ended() = 0;
};

class Engine;

// One of each provider that plays a role, and one for the readiness of plain sockets.
inline constexpr std::size_t kPortsMax = kRoles.size() + 1;

// The ports whose descriptors were readable when a sleep ended, by their place. All: something else is due.
using Rang = std::bitset<kPortsMax>;

// What is left of an ended session; dies after the batch, because it may be what reported the end.
struct Remains {
  std::unique_ptr<Link> link;
  std::unique_ptr<proto::Connection> connection;  // dies before its link
};

class Shard : public std::enable_shared_from_this<Shard> {
 public:
  static Result<std::shared_ptr<Shard>> create(ProviderSet& providers);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // --- Thread: any ---
  void post(TransferClient& client, proto::Direction direction, const proto::Operation& operation);
  void execute(std::unique_ptr<Task> task);
  // Starts the engine thread if it does not run yet. EAGAIN: no thread to be had.
  Status start_engine();
  // Ends the engine thread. Commands that come later still run, on their posters' threads.
  void stop_engine();
  // One look at the network by a thread that waits. `counts`: the thread will be back within a moment, so the
  // engine may stand by.
  void drive_as_waiter(std::uint64_t now_ns, bool counts) { drive_as_waiter(now_ns, counts, Rang().set()); }
  // After a sleep: of the silent ports only memory is looked at.
  void drive_as_waiter(std::uint64_t now_ns, bool counts, const Rang& rang);
  // The same without a look at the clock. False: it was no full look, and one is due.
  [[nodiscard]] bool glance_as_waiter(bool counts, const Rang& rang);
  // False: another thread leads.
  [[nodiscard]] bool try_lead();
  // Moves whenever something came from the network.
  [[nodiscard]] std::uint64_t arrivals() const { return arrivals_.load(std::memory_order_relaxed); }
  // Sleeps until something arrives (what: `rang`), a timer is due, wake_leader() or the limit. EINTR: a
  // signal was caught; `signals`: the mask to sleep with, null: the thread's own.
  Status sleep_as_leader(WaitLimit& limit, const sigset_t* signals, Rang& rang);
  void stop_leading();
  void wake_leader();
  // A thread sleeps on its queue because another one leads. False: nobody leads any more.
  [[nodiscard]] bool start_following();
  void stop_following();
  // Runs `look` with the drive lock held, and what others left meanwhile after it.
  template <typename Look>
  void inspect(Look&& look) {
    lock_.lock();
    std::forward<Look>(look)();
    release_and_combine();
  }
  // Waits for the drive lock, then does `step` and what follows from it, after all that was posted before.
  template <typename Step>
  void carry_out(Step&& step) {
    lock_.lock();
    run_commands();
    std::forward<Step>(step)();
    settle();
    release_and_combine();
  }

  // --- Thread: shard ---
  // Of the provider that plays the role. Null: nobody does, or its port could not be opened (`why_no_port`).
  [[nodiscard]] Port* port(Role role);
  [[nodiscard]] const Reason& why_no_port(Role role) const {
    return missing_[static_cast<std::size_t>(role)];
  }
  [[nodiscard]] ProviderSet& providers() { return providers_; }
  // Of kernel sockets that no provider carries. Opened by the first who asks.
  Result<Readiness*> readiness();
  // The token names the client in completions until detach(). The shard keeps the client alive meanwhile.
  std::uint64_t attach(std::shared_ptr<CompletionClient> client);
  void detach(std::uint64_t token);
  void bury(Remains remains);
  void arm_timer(std::uint64_t deadline_ns, std::weak_ptr<TimerClient> client);
  // `client` hears of the end of this turn, once, unless it leaves before.
  void join_turn(TurnClient& client);
  void leave_turn(TurnClient& client);
  // A client of this turn holds bytes back: the turn must end within a moment.
  void bytes_held();
  // When a thread last looked at the network.
  [[nodiscard]] std::uint64_t looked_ns();

 private:
  friend class Engine;
  // A port and when it last had something, so that a silent one costs a busy one little.
  struct Place {
    std::unique_ptr<Port> port;
    std::uint64_t arrivals = 0;
    std::uint64_t looked_ns = 0;
    std::uint64_t busy_ns = 0;
  };
  // Its token: the place in clients_, and a number that makes it like no other.
  struct Client {
    std::uint64_t token = 0;
    std::shared_ptr<CompletionClient> client;
  };
  using WatchedFds = std::array<pollfd, kPortsMax + 1>;

  Shard(ProviderSet& providers, UniqueFd wake_fd);
  Status open_ports();
  Status open_port(Role role);

  // Takes in what arrived and does what follows from it.
  void drive(std::uint64_t now_ns, const Rang& rang) EXS_REQUIRES(lock_);
  [[nodiscard]] bool glance(const Rang& rang) EXS_REQUIRES(lock_);
  void settle() EXS_REQUIRES(lock_);
  void look_at_ports(std::uint64_t now_ns, const Rang& rang) EXS_REQUIRES(lock_);
  void note_arrivals(Place& place, std::uint64_t now_ns) EXS_REQUIRES(lock_);
  [[nodiscard]] static bool is_due(const Place& place, std::uint64_t now_ns, std::uint64_t last_busy_ns);
  bool take_completions() EXS_REQUIRES(lock_);
  // Null: nobody any more.
  [[nodiscard]] Client* client_of(std::uint64_t token) EXS_REQUIRES(lock_);
  // Before sleeping: false: there is work already. And whenever somebody else may have disarmed.
  bool arm_ports() EXS_REQUIRES(lock_);
  bool begin_sleep() EXS_REQUIRES(lock_);
  void keep_armed(std::uint64_t now_ns) EXS_REQUIRES(lock_);
  void disarm() EXS_REQUIRES(lock_);
  // What a sleeper polls, and `last` behind it; returns how many.
  nfds_t watched_fds(WatchedFds& into, int last) const EXS_REQUIRES(lock_);
  static Rang rang_among(const WatchedFds& watched, nfds_t count);
  void end_turn() EXS_REQUIRES(lock_);
  // By the engine, because no waiting thread came.
  void end_overdue_turn();
  void run_commands() EXS_REQUIRES(lock_);
  void run(Command& command) EXS_REQUIRES(lock_);
  std::uint64_t next_deadline_ns() EXS_REQUIRES(lock_);
  void release_and_combine() EXS_RELEASE(lock_) EXS_NO_THREAD_SAFETY_ANALYSIS;
  void submit(Command command);

  ProviderSet& providers_;
  DriveLock lock_;
  std::vector<Place> places_;                   // of all ports
  std::array<Port*, kRoles.size()> players_{};  // constant after create(), as are the reasons
  std::array<Reason, kRoles.size()> missing_;
  CommandQueue commands_;
  const UniqueFd wake_fd_;
  Mutex engine_mutex_;
  bool engine_runs_ EXS_GUARDED_BY(engine_mutex_) = false;
  std::unique_ptr<Engine> engine_;  // set once, by create()

  Readiness* readiness_ EXS_GUARDED_BY(lock_) = nullptr;  // one of places_, once it is open
  std::vector<Command> running_ EXS_GUARDED_BY(lock_);
  std::array<Completion, 64> completions_ EXS_GUARDED_BY(lock_);  // here, because clearing it each time shows
  TimerQueue timers_ EXS_GUARDED_BY(lock_);
  std::vector<Client> clients_ EXS_GUARDED_BY(lock_);
  std::vector<std::uint32_t> free_clients_ EXS_GUARDED_BY(lock_);  // their places in clients_
  std::uint64_t next_serial_ EXS_GUARDED_BY(lock_) = 1;
  std::vector<std::shared_ptr<CompletionClient>> detached_ EXS_GUARDED_BY(lock_);  // die after the batch
  std::vector<Remains> remains_ EXS_GUARDED_BY(lock_);                             // likewise
  bool armed_ EXS_GUARDED_BY(lock_) = false;
  std::uint64_t busy_ns_ EXS_GUARDED_BY(lock_) = 0;            // when any port last had something
  std::uint64_t sleeping_until_ns_ EXS_GUARDED_BY(lock_) = 0;  // what the watcher last knew of deadlines

  std::vector<TurnClient*> in_turn_ EXS_GUARDED_BY(lock_);
  std::vector<TurnClient*> turn_ends_ EXS_GUARDED_BY(lock_);  // what end_turn() works on
  std::uint64_t looked_ns_ EXS_GUARDED_BY(lock_) = 0;
  unsigned glances_ EXS_GUARDED_BY(lock_) = 0;  // without a full look or a sleep
  bool late_ EXS_GUARDED_BY(lock_) = false;     // the engine had to end the last turn

  std::atomic<bool> held_{false};                 // seq_cst, pairs with Engine's standing_by_
  std::atomic<std::uint64_t> waiter_drives_{0};   // written under the lock, read by the engine: a hint
  std::atomic<std::uint64_t> waiter_glances_{0};  // likewise
  std::atomic<std::uint64_t> arrivals_{0};        // likewise, read by waiting threads
  std::atomic<int> sleepers_{0};                  // on the ports; goes up under the lock
  std::atomic<bool> led_{false};                  // seq_cst, pairs with Engine's parked flag
  std::atomic<int> followers_{0};                 // seq_cst, pairs with led_: one of the two sees the other
};

}  // namespace exs
