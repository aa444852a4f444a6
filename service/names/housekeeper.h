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
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "service/names/clock.h"
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
class Housekeeper : private ResolverClient {
 public:
  // The housekeeper of the process, which runs while anybody has a pointer to it. Throws std::system_error if no thread can start.
  static std::shared_ptr<Housekeeper> get();
  virtual ~Housekeeper();
  Housekeeper(const Housekeeper&) = delete;
  Housekeeper& operator=(const Housekeeper&) = delete;

  // Answers with the record until unclaim(); with the key, also beyond this host. Returns errno values as claim_host_name() does.
  int claim(const IdBytes& id, std::vector<std::uint8_t> record, const Ways& ways = {},
            const Key* key = nullptr, Claimant claimant = {});
  void unclaim(const IdBytes& id);

  // Puts one answer with this number into the sink.
  void find(std::uint64_t search, const IdBytes& id, std::int64_t limit_ns, std::shared_ptr<Sink> sink,
            Ways ways = {});
  // Wakes the sink at that time, which replaces the time set before. kNever cancels it.
  void ring_at(std::int64_t time_ns, const std::shared_ptr<Sink>& sink);
  // The sink gets nothing more.
  void forget(const std::shared_ptr<Sink>& sink);

 private:
  struct Claim {
    Descriptor listener;
    std::vector<std::uint8_t> record;
    std::optional<Place> place;  // announced by these resolvers
    std::vector<Resolver*> resolvers;
    std::int64_t claimed_ns = 0;
    Claimant claimant;
  };
  struct Question {  // of another process
    IdBytes id{};
    Descriptor connection;
    std::int64_t limit_ns = 0;
  };
  struct Search {
    std::uint64_t number = 0;
    IdBytes id{};
    Patience patience;
    std::int64_t next_ns = 0;
    std::int64_t pause_ns = 0;
    std::shared_ptr<Sink> sink;
    Ways ways;
    Descriptor asked;  // connection to the holder of the name on this host
    std::int64_t holder_next_ns = 0;
    std::int64_t holder_pause_ns = 0;
    bool is_held = false;  // a process that has not answered yet holds the name
    LookupLog log;
    // When it continues without an answer. A limit that owes a question cannot end it before.
    [[nodiscard]] std::int64_t due_ns() const noexcept {
      return patience.owes_search() ? next_ns : std::min(next_ns, patience.limit_ns());
    }
  };

  struct Rings {
    std::int64_t alarm_ns = kNever;  // set by ring_at()
    std::int64_t found_ns = kNever;  // when to wake the node for an answer in the sink
  };

  void found(const Resolver& by, const IdBytes& id, const Record& record) override;
  void overtaken(const IdBytes& id, const Record& newer) override;
  void outdated(const IdBytes& id, const Record& newer) override;
  void held(const IdBytes& id, std::int64_t until_ns) override;

  Housekeeper();
  void raise_epoch(const IdBytes& id, Claim& ours, const Record& newer);
  void lose(const IdBytes& id, Claim& ours);
  void ring(const Claimant& claimant);
  void run();
  void do_what_is_due();
  void wake();
  [[nodiscard]] std::int64_t next_time() const;
  void watch(int descriptor) const;
  void set_accepting(bool accepts);
  void sleep_until(std::int64_t until_ns);
  [[nodiscard]] bool is_ready(int descriptor) const;
  void accept_questions(const IdBytes& id, int listener);
  void answer_questions(std::int64_t now);
  void go_on(std::int64_t now);
  void end(Search& search, std::optional<Record> record, std::vector<sockaddr_storage> addresses);
  bool ask(Search& search, std::int64_t now);
  bool ask_holder(Search& search, std::int64_t now);
  static void say_begin(Search& search, std::int64_t now);
  static void say_of_holder(Search& search, int error);
  static void say_found(Search& search, const std::string& by,
                        const std::vector<sockaddr_storage>& addresses);
  bool go_by_file(Search& search);
  template <class Setting>
  using Made = std::vector<std::pair<Setting, std::unique_ptr<Resolver>>>;
  template <class Setting, class Make>
  Resolver* get_or_make(Made<Setting>& made, const Setting& setting, Make make);
  std::vector<Resolver*> resolvers_of(const Ways& ways);
  bool step(Search& search, std::int64_t now, bool is_readable);

  Descriptor wake_;
  Descriptor watch_;
  std::mutex lock_;
  bool ends_ = false;
  std::vector<int> ready_;         // descriptors that ended the last sleep
  std::int64_t accepts_ns_ = 0;    // no descriptor was left for a connection: accept again then
  Made<std::string> directories_;  // by keys of their addresses
  Made<MulticastSetting> multicasts_;
  std::vector<Resolver*> resolvers_;  // all of them
  std::map<IdBytes, Claim> claims_;
  std::vector<Question> questions_;
  std::vector<Search> searches_;
  std::map<std::shared_ptr<Sink>, Rings> rings_;
  std::thread thread_;  // last, because it uses the other members
};

}  // namespace exs::svc
