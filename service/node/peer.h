// A service to send to, from this side: where it is, the way there, what it has not taken, and the requests that it has not answered.
// Thread: holder of the node's lock.
//
// Design notes
//  1. Nothing is asked for before there is something to send. Then it goes: found, linked, opened; and back to the start when any of
//     that breaks, until `find_ns` after the last time that it was open. A service that is found and does not answer computes, and is
//     waited for.
//  2. A peer that the program has closed stays until its messages that have left are taken, or its link is gone: exs may be sending
//     from their memory. Those that wait, perhaps for the bulk, never leave: their memory is the program's.
//  3. A request ends once. One that has to end while exs uses memory of it breaks its link, and ends when that has gone.
//     peer_requests.cc has all that is about requests alone.
//  4. A request that its service may write to ends, unless it is answered, when the lane has gone: peer_returns.cc.
#pragma once

#include <list>
#include <optional>
#include <vector>

#include "exs/service.h"
#include "service/names/capability.h"
#include "service/names/lookup_log.h"
#include "service/names/patience.h"
#include "service/names/record.h"
#include "service/node/debts.h"
#include "service/node/link.h"
#include "service/node/receiving.h"
#include "service/node/return_arena.h"
#include "service/node/sending.h"
#include "service/node/window_memory.h"

namespace exs::svc {

class Node;

// What a peer needs of its node.
class PeerHost {
 public:
  // Begins a search, whose answer has the number that is returned.
  virtual std::uint64_t find(const IdBytes& id, std::int64_t limit_ns) = 0;
  // The same beyond this host, which tells of nobody who has not said that he is the service. 0: there is no such way.
  virtual std::uint64_t find_beyond(const IdBytes& id, std::int64_t limit_ns) = 0;
  // NULL: there is no way to begin. How often in a row the other end was silent while it was connected to, and how often it was taken
  // for dead, and was not.
  struct Silences {
    unsigned connects = 0;
    unsigned mistakes = 0;
  };
  static constexpr unsigned kConnectDoublingsMax = 5;
  virtual Link* link_to(const sockaddr_storage& address, Silences silences) = 0;
  [[nodiscard]] virtual std::int64_t silent_ns() const noexcept = 0;
  virtual void tell(const exs_svc_event_t& event) = 0;
  virtual void wake_at(std::int64_t time_ns) = 0;
  virtual FrameMemory& memory() = 0;
  virtual Debts& debts() = 0;
  // A lane of this flow. NULL: it cannot be made.
  virtual Link* make_lane(Link& link, std::uint32_t flow, const ReturnArena& arena, LaneClient& client) = 0;
  // For long items of replies that have no place of the program's.
  virtual WindowMemory& windows() = 0;
  // The program has closed the peer, which may be destroyed when this step is over.
  virtual void has_ended(Peer& peer) = 0;

 protected:
  ~PeerHost() = default;
};

class Peer : private LaneClient, private Sending::Owner, private Receiving::Owner, private Debtor {
 public:
  struct Config {
    Node* node = nullptr;
    IdBytes target{};
    std::optional<Key> from;
    std::optional<Capability> capability;
    std::uint64_t client = 0;
    std::int64_t find_ns = 0;
    void* handle = nullptr;
    std::vector<sockaddr_storage> addresses;  // to be tried before it is looked for
  };
  Peer(PeerHost& host, Config config);
  virtual ~Peer() { host_.debts().forget(*this); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // 0, or errno: EAGAIN, ENOMEM.
  int send(const Data& data, Transfer::Pieces longs, void* handle);
  struct Asked {
    Transfer::Pieces longs;
    Transfer::Pieces returns;  // where long items of replies go
    bool is_idempotent = false;
    std::int64_t limit_ns = kNever;  // a time
    void* handle = nullptr;
  };
  int request(Data data, Asked asked);
  // 0, or ENOENT.
  int cancel(const void* handle);
  // 0, or EAGAIN: one is under way.
  int ping();
  int ask_stats();
  // It may be used until is_moving() says no.
  void close();
  // 0, or EBUSY: there is memory that the service writes to.
  int trust(bool trusts, std::size_t return_max_bytes);
  // 0, or errno: EPERM, ENOBUFS, ENOMEM.
  int alloc_return(std::size_t length_bytes, const std::shared_ptr<std::mutex>& node_lock, void*& slot);
  // Of a peer that is closed, and not moving.
  void free_arena() { arena_.reset(); }
  // Exs uses memory of the program, or the service may write.
  [[nodiscard]] bool is_moving() const noexcept {
    return sending_.is_moving() || receiving_.is_moving() || lane_ != nullptr;
  }
  [[nodiscard]] Node& node() const noexcept { return *config_.node; }

  // None: nobody. `record`: where one was found.
  void found(std::uint64_t search, const std::vector<sockaddr_storage>& addresses,
             const std::optional<Record>& record = {});
  // What was found could not be used for want of memory.
  void look_again();
  void link_is_up();
  void link_has_gone(int error);
  void frame_arrived(const Header& header, Bytes frame);
  // What could not leave before.
  void send_all();
  void look_at_clock(std::int64_t now_ns);
  [[nodiscard]] std::int64_t due_ns() const noexcept;

 private:
  enum class State { kIdle, kFinding, kPausing, kLinking, kOpening, kOpen };
  using Slot = Sending::Slot;
  struct Request {
    std::uint64_t call = 0;
    void* handle = nullptr;
    bool is_idempotent = false;
    std::int64_t limit_ns = kNever;
    Transfer::Pieces returns;
    std::size_t returns_used = 0;  // by what has come or is coming
    std::size_t returns_kept = 0;  // by what has come
    std::optional<Slot> slot;      // its frame, until it is taken, or may be sent again
    bool is_taken = false;         // by the service
    bool is_sent_again = false;    // to its next life
    std::size_t arriving = 0;      // replies into `returns`
    int error = 0;                 // with which it ends when exs has let go
    exs_svc_event_t last_reply{};  // likewise; type 0: none
  };

  // Sending
  FrameMemory& memory() override { return host_.memory(); }
  std::uint64_t accepted() override;
  void message_ended(Slot slot, Fate fate) override;
  // Receiving
  bool begin(const Data& data, Arrival& arrival, Receiving::Place& place) override;
  void arrived(Arrival arrival) override;
  // Lane
  void lane_was_written(std::uint32_t transfers) override { receiving_.lane_was_written(transfers); }
  void lane_has_gone() override;
  // Debtor
  void acknowledge() override;

  [[nodiscard]] bool has_work() const noexcept {
    return !sending_.is_empty() || !requests_.empty() || pinged_ns_ != 0 || asks_stats_;
  }
  void begin();
  void search();
  void pause();
  void rest(std::int64_t now);
  void try_next_address();
  void open_flow();
  void opened(const Header& header, Bytes frame);
  void refused(const Header& header, Bytes frame);
  void acknowledged(std::uint64_t number);
  void data_arrived(const Header& header, Bytes frame);
  void not_taken(std::uint64_t number, Bytes frame);
  void answered(int error);
  void stats_arrived(const Header& header, Bytes frame);
  void tell_stats(const Stats& stats, int error);
  void leave_link();
  // For EXS_LOG=debug.
  void say_connecting(const sockaddr_storage& address);
  void say_open();
  void say_refused(Refusal why);
  void say_gone();
  void say_lost(int error);
  void note_silence(State before, std::int64_t now);
  void watch_signs();
  void look_for_signs(std::int64_t now);
  void found_beyond(const std::optional<Record>& record);
  void leave_if_done();
  void lose(int error);
  void send_later();
  void send_ping();
  void send_info();
  void tell(std::int32_t type, std::int32_t error, std::uint64_t count, std::uint64_t elapsed_ns = 0);
  void tell_sent(const Kept& kept, Fate fate);

  std::list<Request>::iterator place_of(std::uint64_t call);
  Request* find_request(std::uint64_t call);
  void request_ended(Request& request, Slot slot, Fate fate);
  void send_requests_again();
  void ask_again(Request& request);
  void end_with(Request& request, int error);
  void end_late_requests(std::int64_t now_ns);
  void end_waiting_requests();
  void void_requests_of_nobody();
  void end_all_requests(int error);
  void drop_requests();
  void say_cancelled(const Request& request);
  void finish(std::uint64_t call, exs_svc_event_t event);
  void finish(std::uint64_t call, int error);
  [[nodiscard]] exs_svc_event_t event_of(const Request& request) const;
  bool place_longs(Request& request, const LongLengths& longs, Receiving::Place& place,
                   std::vector<exs_svc_item_t>& items, std::shared_ptr<Windows>& windows);
  int lend_slots(Transfer::Pieces& returns, std::vector<ReturnSlot>& named);
  void let_go_of_slots(const Transfer::Pieces& returns);
  [[nodiscard]] bool has_slots(const Request& request) const;
  [[nodiscard]] bool are_written(const Request& request, const LongLengths& longs) const;
  void want_lane();

  PeerHost& host_;
  const Config config_;
  const std::uint64_t flow_number_ = random_number();
  State state_ = State::kIdle;
  bool is_closed_ = false;
  Sending sending_{*this};
  Receiving receiving_{*this};
  std::list<Request> requests_;  // in the order of their numbers
  std::list<Request> spare_requests_;
  std::uint64_t calls_ = 0;
  std::size_t unknown_ = 0;  // messages without a handle that have had this fate, to be told
  std::size_t lost_ = 0;
  int loss_ = 0;                // why messages are given up, while they are
  std::int64_t pinged_ns_ = 0;  // 0: no ping is under way
  std::uint64_t pings_ = 0;
  bool asks_stats_ = false;
  std::uint64_t infos_ = 0;
  Patience patience_;  // of the way there
  std::int64_t due_ns_ = kNever;
  int error_ = 0;  // why the last way there did not work
  std::uint64_t search_ = 0;
  std::vector<sockaddr_storage> addresses_;  // to be tried, the next one last
  std::vector<sockaddr_storage> told_;       // where it has moved to, likewise
  std::uint64_t epoch_ = 0;                  // of the record that led there, in this search
  std::string broken_;                       // where it was before
  PeerHost::Silences silences_;
  std::uint64_t silent_instance_ = 0;  // of the service that was silent where it was before
  std::int64_t opened_ns_ = 0;
  std::int64_t linked_by_ns_ = 0;
  std::uint64_t place_epoch_ = 0;      // of the record that led to the link; 0: none did
  std::int64_t sign_due_ns_ = kNever;  // of life, on a link that does not end by silence
  bool gave_sign_ = false;
  std::uint64_t beyond_ = 0;  // a search for who may be the service meanwhile
  Link* link_ = nullptr;
  std::uint32_t alias_ = 0;
  LookupLog log_;

  bool trusts_ = false;
  std::size_t return_max_bytes_ = 0;
  std::shared_ptr<ReturnArena> arena_;
  Link* lane_ = nullptr;       // by which the service may write to it
  bool has_had_lane_ = false;  // on this link, which has one at most
};

}  // namespace exs::svc

struct exs_svc_peer final : exs::svc::Peer {
  using Peer::Peer;
};
