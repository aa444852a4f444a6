// The thread of the process that keeps names. It answers questions for services of this process, searches for its nodes, and wakes nodes
// at set times. It never sees messages, so a program that computes for long keeps its names.
//
// Design notes
//  1. It runs while a node is open. Results go to the node's sink, which the node empties in its own time. The sink outlives both.
//  2. It waits by epoll, which holds no reference to a closed listener: a name is free when unclaim() returns.
//  3. A search tries the name on this host first, then a file, then the resolvers beyond this host. It asks at 0, 20, 60, 140, 220 ... ms
//     until somebody answers or its limit is over, so a service that restarts is soon found. A silent holder of the name on this host is
//     asked at growing intervals: a question that is given up before the holder gets to it is in vain. Every search asks at least once,
//     even if the thread gets its processor after the limit.
//  4. If two processes are the same service, the one with the newer record owns it. A process that has just begun makes its record the
//     newer one. One that is overtaken later is no longer announced beyond this host, and its node is notified. A fenced service counts
//     as begun once it has had a lease: a newer record then belongs to another owner, who has a lease or will get one.
//  5. The node of a fenced service gives the lease back when it has stopped.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/drive_lock.h"
#include "service/names/hold.h"
#include "service/names/host_name.h"
#include "service/names/lookup_log.h"
#include "service/names/multicast_setting.h"
#include "service/names/names_file.h"
#include "service/names/patience.h"
#include "service/names/resolver.h"
#include "service/names/sink.h"

namespace exs::svc {

// How a search proceeds, and where a service is announced. It is always announced on this host.
struct Ways {
  bool by_host = true;
  std::string names_path;                     // empty: no file
  std::optional<sockaddr_storage> directory;  // empty: no directory
  std::optional<MulticastSetting> multicast;  // empty: no multicast
  // Stops the limit of a search while a silent process of this host holds the name: that process is stopped, or starved.
  bool waits_for_holder = false;
};

// The hold and the sink that a claim reports to.
struct Claimant {
  std::shared_ptr<Hold> hold;
  std::shared_ptr<Sink> sink;  // woken by events of the claim
};

// Thread: any.
class NameService : private ResolverClient {
 public:
  // The name thread of the process, which runs while anybody has a pointer to it. Throws std::system_error if no thread can start.
  static std::shared_ptr<NameService> get();
  virtual ~NameService();
  NameService(const NameService&) = delete;
  NameService& operator=(const NameService&) = delete;

  // Answers with the record until unclaim(); with the key, also beyond this host. Errors are those of claim_host_name().
  Status claim(const IdBytes& id, std::vector<std::uint8_t> record, const Ways& ways = {},
               const Key* key = nullptr, Claimant claimant = {});
  void unclaim(const IdBytes& id);

  // Puts one answer with this number into the sink.
  void find(std::uint64_t search, const IdBytes& id, std::uint64_t limit_ns, std::shared_ptr<Sink> sink,
            Ways ways = {});
  // Wakes the sink at that time, which replaces the time set before. kNeverNs cancels it.
  void ring_at(std::uint64_t time_ns, const std::shared_ptr<Sink>& sink);
  // The sink gets nothing more.
  void forget(const std::shared_ptr<Sink>& sink);

 private:
  struct Claim {
    UniqueFd listener;
    std::vector<std::uint8_t> record;
    std::optional<Publication> place;  // announced by these resolvers
    std::vector<Resolver*> resolvers;
    std::uint64_t claimed_ns = 0;
    Claimant claimant;
  };
  struct Question {  // of another process
    IdBytes id{};
    UniqueFd connection;
    std::uint64_t limit_ns = 0;
  };
  struct Search {
    std::uint64_t number = 0;
    IdBytes id{};
    Patience patience;
    std::uint64_t next_ns = 0;
    std::uint64_t pause_ns = 0;
    std::shared_ptr<Sink> sink;
    Ways ways;
    UniqueFd asked;  // connection to the holder of the name on this host
    std::uint64_t holder_next_ns = 0;
    std::uint64_t holder_pause_ns = 0;
    bool is_held = false;  // a process that has not answered yet holds the name
    LookupLog log;
    // When it continues without an answer. A limit that owes a question cannot end it before.
    [[nodiscard]] std::uint64_t due_ns() const noexcept {
      return patience.owes_search() ? next_ns : std::min(next_ns, patience.limit_ns());
    }
  };

  struct Rings {
    std::uint64_t alarm_ns = kNeverNs;  // set by ring_at()
    std::uint64_t found_ns = kNeverNs;  // when to wake the node for an answer in the sink
  };

  void found(const Resolver& by, const IdBytes& id, const Record& record) override;
  void overtaken(const IdBytes& id, const Record& newer) override;
  void outdated(const IdBytes& id, const Record& newer) override;
  void held(const IdBytes& id, std::uint64_t until_ns) override;

  NameService();
  void raise_epoch(const IdBytes& id, Claim& ours, const Record& newer) EXS_REQUIRES(lock_);
  void lose(const IdBytes& id, Claim& ours) EXS_REQUIRES(lock_);
  void ring(const Claimant& claimant) EXS_REQUIRES(lock_);
  void run();
  void do_what_is_due() EXS_REQUIRES(lock_);
  void wake();
  [[nodiscard]] std::uint64_t next_time() const EXS_REQUIRES(lock_);
  [[nodiscard]] Status watch(int descriptor) const;
  void set_accepting(bool accepts) EXS_REQUIRES(lock_);
  void sleep_until(std::uint64_t until_ns) EXS_REQUIRES(lock_);
  [[nodiscard]] bool is_ready(int descriptor) const EXS_REQUIRES(lock_);
  void accept_questions(const IdBytes& id, int listener) EXS_REQUIRES(lock_);
  void answer_questions(std::uint64_t now) EXS_REQUIRES(lock_);
  void go_on(std::uint64_t now) EXS_REQUIRES(lock_);
  void end(Search& search, std::optional<Record> record, std::vector<sockaddr_storage> addresses)
      EXS_REQUIRES(lock_);
  bool ask(Search& search, std::uint64_t now) EXS_REQUIRES(lock_);
  bool ask_holder(Search& search, std::uint64_t now) EXS_REQUIRES(lock_);
  static void log_begin(Search& search, std::uint64_t now);
  static void log_holder(Search& search, int error);
  static void log_found(Search& search, const std::string& by,
                        const std::vector<sockaddr_storage>& addresses);
  bool go_by_file(Search& search) EXS_REQUIRES(lock_);
  template <class Setting>
  using Made = std::vector<std::pair<Setting, std::unique_ptr<Resolver>>>;
  template <class Setting, class Make>
  Resolver* get_or_make(Made<Setting>& made, const Setting& setting, Make make) EXS_REQUIRES(lock_);
  std::vector<Resolver*> resolvers_of(const Ways& ways) EXS_REQUIRES(lock_);
  bool step(Search& search, std::uint64_t now, bool is_readable) EXS_REQUIRES(lock_);

  UniqueFd wake_;
  UniqueFd watch_;
  Mutex lock_;
  bool ends_ EXS_GUARDED_BY(lock_) = false;
  std::vector<int> ready_ EXS_GUARDED_BY(lock_);  // descriptors that ended the last sleep
  // No descriptor was left for a connection: accept again then.
  std::uint64_t accepts_ns_ EXS_GUARDED_BY(lock_) = 0;
  Made<std::string> directories_ EXS_GUARDED_BY(lock_);  // by keys of their addresses
  Made<MulticastSetting> multicasts_ EXS_GUARDED_BY(lock_);
  std::vector<Resolver*> resolvers_ EXS_GUARDED_BY(lock_);  // all of them
  std::map<IdBytes, Claim> claims_ EXS_GUARDED_BY(lock_);
  std::vector<Question> questions_ EXS_GUARDED_BY(lock_);
  std::vector<Search> searches_ EXS_GUARDED_BY(lock_);
  std::map<std::shared_ptr<Sink>, Rings> rings_ EXS_GUARDED_BY(lock_);
  std::thread thread_;  // last, because it uses the other members
};

}  // namespace exs::svc
