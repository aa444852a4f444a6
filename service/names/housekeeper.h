// The thread of the process that keeps names: it answers who asks for a service of this process, asks for those that its nodes
// look for, and rings nodes at times. It never sees messages, so a program that computes for long keeps its names.
//
// Design notes
//  1. It runs while a node is open. What it has for a node goes to the node's sink, which the node empties in its own time; the sink
//     outlives both.
//  2. It waits by epoll, which does not hold what is closed meanwhile: a name is free when unclaim() returns.
//  3. A search goes by the name on this host first, by a file if that leads nowhere, and then by all that asks beyond this host. It
//     asks at 0, 20, 60, 140, 220 ... ms, as long as nobody has answered, up to its limit: a service that starts again is not missed for long.
//     Who has the name here and is silent is asked ever less often: a question that is given up before he gets to it is in vain.
//  4. Of two who are the same service, the one with the newer record is. Who has just begun makes his record the newer one; who is
//     overtaken later says nothing any more beyond this host, and his node is told. Of a service that is fenced, who has had a lease
//     has begun: what is newer is another owner's, who has one by now or is to have one.
//  5. Where a service is fenced, its node gives back the lease, when it has stopped.
#pragma once

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

// By what a search goes, and where a service is announced: on this host always.
struct Ways {
  bool by_host = true;
  std::string names_path;                     // empty: by no file
  std::optional<sockaddr_storage> directory;  // none: not by one
  std::optional<MulticastSetting> multicast;  // none: not by that
  // The limit of a search does not count while a process of this host has the name and is silent: it is stopped, or starved.
  bool waits_for_holder = false;
};

// Who is to hear of a claim, and by what.
struct Claimant {
  std::shared_ptr<Hold> hold;
  std::shared_ptr<Sink> sink;  // is rung
};

// Thread: any.
class Housekeeper : private ResolverClient {
 public:
  // That of the process, running as long as somebody has it. Throws std::system_error: no more threads.
  static std::shared_ptr<Housekeeper> get();
  virtual ~Housekeeper();
  Housekeeper(const Housekeeper&) = delete;
  Housekeeper& operator=(const Housekeeper&) = delete;

  // Answers with the record until unclaim(), with the key also beyond this host. errno as claim_host_name().
  int claim(const IdBytes& id, std::vector<std::uint8_t> record, const Ways& ways = {},
            const Key* key = nullptr, Claimant claimant = {});
  void unclaim(const IdBytes& id);

  // Answers with this number, once, in the sink.
  void find(std::uint64_t search, const IdBytes& id, std::int64_t limit_ns, std::shared_ptr<Sink> sink,
            Ways ways = {});
  // Rings the sink at that time, instead of at the time named before. kNever: not at all.
  void ring_at(std::int64_t time_ns, const std::shared_ptr<Sink>& sink);
  // Nothing more comes for it.
  void forget(const std::shared_ptr<Sink>& sink);

 private:
  struct Claim {
    Descriptor listener;
    std::vector<std::uint8_t> record;
    std::optional<Place> place;  // which is told to these
    std::vector<Resolver*> resolvers;
    std::int64_t claimed_ns = 0;
    Claimant claimant;
  };
  struct Question {  // of a stranger
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
    Descriptor asked;  // the holder of the name on this host
    std::int64_t holder_next_ns = 0;
    std::int64_t holder_pause_ns = 0;
    bool is_held = false;  // the name, by a process that has not answered yet
    LookupLog log;
  };

  struct Rings {
    std::int64_t alarm_ns = kNever;  // as ring_at() says
    std::int64_t found_ns = kNever;  // something lies there
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
  std::vector<int> ready_;         // after a sleep
  std::int64_t accepts_ns_ = 0;    // there was no descriptor for a connection: not before then
  Made<std::string> directories_;  // by keys of their addresses
  Made<MulticastSetting> multicasts_;
  std::vector<Resolver*> resolvers_;  // all of them
  std::map<IdBytes, Claim> claims_;
  std::vector<Question> questions_;
  std::vector<Search> searches_;
  std::map<std::shared_ptr<Sink>, Rings> rings_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace exs::svc
