// The sender's side of a service: where the service is, the way there, the messages that it has not accepted, and the requests that it
// has not answered. Thread: holder of the node's lock.
//
// Design notes
//  1. A peer does nothing before there is something to send. Then it searches, links and opens the flow. If any of that breaks, it begins
//     again, until `find_ns` after the flow was last open. A service that is found and does not answer is computing, and the peer waits.
//  2. A peer that the program has closed stays until its sent messages are accepted or its link is gone: exs may be sending from their
//     memory. Messages that still wait, perhaps for the bulk, never leave: their memory is the program's.
//  3. A request ends once. If it has to end while exs uses its memory, it breaks its link, and ends when that has gone. peer_requests.cc
//     has all that concerns requests alone.
//  4. If the service may write to a request's memory, the request ends with its answer or when the lane has gone: peer_returns.cc.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <list>
#include <optional>
#include <vector>

#include "base/drive_lock.h"
#include "base/status.h"
#include "exs/service.h"
#include "service/names/capability.h"
#include "service/names/lookup_log.h"
#include "service/names/patience.h"
#include "service/names/record.h"
#include "service/node/link.h"
#include "service/node/pending_acks.h"
#include "service/node/receiving.h"
#include "service/node/return_arena.h"
#include "service/node/sending.h"
#include "service/node/window_memory.h"

namespace exs::svc {

class Node;

// What a peer needs of its node.
class PeerHost {
 public:
  // Begins a search and returns its number, which the result will carry.
  virtual std::uint64_t find(const IdBytes& id, std::uint64_t limit_ns) = 0;
  // Searches beyond this host only, where every result comes from the service itself. Returns 0 if the node has no such resolver.
  virtual std::uint64_t find_beyond(const IdBytes& id, std::uint64_t limit_ns) = 0;
  // link_to() fails if it cannot begin. Silences counts in a row: silent connects, and links that were taken for dead by mistake.
  struct Silences {
    unsigned connects = 0;
    unsigned mistakes = 0;
  };
  static constexpr unsigned kConnectDoublingsMax = 5;
  virtual Result<Link*> link_to(const sockaddr_storage& address, Silences silences) = 0;
  [[nodiscard]] virtual std::uint64_t silent_ns() const noexcept = 0;
  // Takes the event's message over, unless it throws.
  virtual void report(const exs_svc_event_t& event) = 0;
  // So many reports in this step need no memory.
  virtual void make_room_for_events(std::size_t count) = 0;
  virtual void wake_at(std::uint64_t time_ns) = 0;
  virtual FrameMemory& memory() = 0;
  virtual PendingAcks& pending_acks() = 0;
  // Makes a lane for this flow. Returns NULL if that fails.
  virtual Link* make_lane(Link& link, std::uint32_t flow, const ReturnArena& arena, LaneClient& client) = 0;
  // Memory for long items of replies to requests that name none.
  virtual WindowMemory& windows() = 0;
  // The program has closed the peer; it may be destroyed after this step.
  virtual void has_ended(Peer& peer) = 0;

 protected:
  ~PeerHost() = default;
};

class Peer : private LaneClient, private Sending::Owner, private Receiving::Owner, private AckSource {
 public:
  struct Config {
    Node* node = nullptr;
    IdBytes target{};
    std::optional<Key> from;
    std::optional<Capability> capability;
    std::uint64_t client = 0;
    std::uint64_t find_ns = 0;
    void* handle = nullptr;
    std::vector<sockaddr_storage> addresses;  // addresses to try before a search
  };
  Peer(PeerHost& host, Config config);
  virtual ~Peer() { host_.pending_acks().forget(*this); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // EAGAIN, ENOMEM.
  Status send(const Data& data, Transfer::Pieces longs, void* handle);
  struct Asked {
    Transfer::Pieces longs;
    Transfer::Pieces returns;  // where long items of replies go
    bool is_idempotent = false;
    std::uint64_t limit_ns = kNeverNs;  // the time at which the request ends
    void* handle = nullptr;
  };
  // EAGAIN, EINVAL, EBUSY, ENOMEM.
  Status request(Data data, Asked asked);
  // ENOENT.
  Status cancel(const void* handle);
  // EAGAIN: a ping, or a question, is under way.
  Status ping();
  Status ask_stats();
  // The peer stays valid until is_moving() returns false.
  void close();
  // EBUSY: the peer already has memory for replies.
  Status trust(bool trusts, std::size_t return_max_bytes);
  // EPERM, ENOBUFS, ENOMEM.
  Result<void*> alloc_return(std::size_t length_bytes, const std::shared_ptr<Mutex>& node_lock);
  // The peer has to be closed and not moving.
  void free_arena() { arena_.reset(); }
  // Exs is using memory of the program, or the service may write to it.
  [[nodiscard]] bool is_moving() const noexcept {
    return sending_.is_moving() || receiving_.is_moving() || lane_ != nullptr;
  }
  [[nodiscard]] Node& node() const noexcept { return *config_.node; }

  // The search has ended; without addresses, it found nothing. `record` is the service's own, if it gave one.
  void found(std::uint64_t search, const std::vector<sockaddr_storage>& addresses,
             const std::optional<Record>& record = {});
  // Memory ran out in a step. The link ends, or without one the peer searches again in a moment.
  void out_of_memory() noexcept;
  void link_is_up();
  void link_has_gone(int error);
  void frame_arrived(const Header& header, Bytes frame);
  // Sends the messages that wait for room.
  void send_all();
  void run_timers(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t due_ns() const noexcept;

 private:
  enum class State : std::uint8_t { kIdle, kFinding, kPausing, kLinking, kOpening, kOpen };
  static bool may_follow(State before, State next) noexcept;
  void enter(State next) noexcept;
  using Slot = Sending::Slot;
  struct Request {
    std::uint64_t call = 0;
    void* handle = nullptr;
    bool is_idempotent = false;
    std::uint64_t limit_ns = kNeverNs;
    Transfer::Pieces returns;
    std::size_t returns_used = 0;  // by replies that have arrived or are arriving
    std::size_t returns_kept = 0;  // by replies that have arrived
    std::optional<Slot> slot;      // its frame, until it is accepted; of an idempotent request, until it ends
    bool is_taken = false;         // accepted by the service
    bool is_sent_again = false;    // has to go to the service's next instance
    std::size_t arriving = 0;      // replies that are moving into `returns`
    int error = 0;                 // errno value with which it ends once exs has released its memory
    exs_svc_event_t last_reply{};  // the last reply, likewise; type 0: none
  };

  // Sending::Owner
  FrameMemory& memory() override { return host_.memory(); }
  std::uint64_t accepted() override;
  void message_ended(Slot slot, Fate fate) override;
  void make_room_for_ends(std::size_t messages) override { host_.make_room_for_events(messages); }
  // Receiving::Owner
  bool begin(const Data& data, Arrival& arrival, Receiving::Destination& place) override;
  void arrived(Arrival& arrival) override;
  // LaneClient
  void lane_was_written(std::uint32_t transfers) override { receiving_.lane_was_written(transfers); }
  void lane_has_gone() override;
  // AckSource
  void acknowledge() override;

  [[nodiscard]] bool has_work() const noexcept {
    return !sending_.is_empty() || !requests_.empty() || pinged_ns_ != 0 || asks_stats_;
  }
  void begin();
  void begin_in_time() noexcept;
  void search();
  void pause();
  void rest(std::uint64_t now);
  void try_next_address();
  void open_flow();
  void opened(const Header& header, Bytes frame);
  void refused(const Header& header, Bytes frame);
  void acknowledged(std::uint64_t number);
  void data_arrived(const Header& header, Bytes frame);
  void not_taken(std::uint64_t number, Bytes frame);
  void answered(int error);
  void stats_arrived(const Header& header, Bytes frame);
  void report_stats(const Stats& stats, int error);
  void leave_link();
  // Lines of EXS_LOG=debug.
  void log_connecting(const sockaddr_storage& address, const Link* link);
  void log_open();
  void log_refused(Refusal why);
  void log_gone();
  void log_lost(int error);
  void note_silence(State before, std::uint64_t now);
  void watch_signs();
  void look_for_signs(std::uint64_t now);
  void found_beyond(const std::optional<Record>& record);
  void leave_if_done();
  void lose(int error);
  void send_later();
  void send_ping();
  void send_info();
  void report(std::int32_t type, std::int32_t error, std::uint64_t count, std::uint64_t elapsed_ns = 0);
  void report_sent(const Kept& kept, Fate fate);

  std::list<Request>::iterator place_of(std::uint64_t call);
  Request* find_request(std::uint64_t call);
  void request_ended(Request& request, Slot slot, Fate fate);
  void send_requests_again();
  void ask_again(Request& request);
  void end_with(Request& request, int error);
  void end_late_requests(std::uint64_t now_ns);
  void end_waiting_requests();
  void void_requests_of_nobody();
  void end_all_requests(int error);
  void drop_requests();
  void send_cancel(const Request& request);
  void finish(std::uint64_t call, exs_svc_event_t event);
  void finish(std::uint64_t call, int error);
  [[nodiscard]] exs_svc_event_t event_of(const Request& request) const;
  bool place_longs(Request& request, const LongLengths& longs, Receiving::Destination& place,
                   std::vector<exs_svc_item_t>& items, std::shared_ptr<Windows>& windows);
  Status lend_slots(Transfer::Pieces& returns, std::vector<ReturnSlot>& named);
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
  std::list<Request> requests_;  // by ascending numbers
  std::list<Request> spare_requests_;
  std::uint64_t calls_ = 0;
  std::size_t unknown_ = 0;  // unreported messages of this fate without a handle
  std::size_t lost_ = 0;
  int loss_ = 0;                 // the reason, while messages are given up
  std::uint64_t pinged_ns_ = 0;  // 0: no ping is under way
  std::uint64_t pings_ = 0;
  bool asks_stats_ = false;
  std::uint64_t infos_ = 0;
  Patience patience_;  // limit of the search and the connect
  std::uint64_t due_ns_ = kNeverNs;
  int error_ = 0;  // why the last attempt failed
  std::uint64_t search_ = 0;
  std::vector<sockaddr_storage> addresses_;      // addresses to try, the next one last
  std::vector<sockaddr_storage> redirected_to_;  // addresses of a moved service, likewise
  std::uint64_t epoch_ = 0;                      // of the record that led there, in this search
  std::string broken_;                           // the key of the last address
  PeerHost::Silences silences_;
  std::uint64_t silent_instance_ = 0;  // of the service that fell silent at that address
  std::uint64_t opened_ns_ = 0;
  std::uint64_t linked_by_ns_ = 0;
  std::uint64_t place_epoch_ = 0;         // of the record that led to the link; 0: no record did
  std::uint64_t sign_due_ns_ = kNeverNs;  // when a sign of life is due, on a link that silence does not end
  bool gave_sign_ = false;
  std::uint64_t beyond_ = 0;  // number of a search for a newer owner
  Link* link_ = nullptr;
  std::uint32_t alias_ = 0;
  LookupLog log_;

  bool trusts_ = false;
  std::size_t return_max_bytes_ = 0;
  std::shared_ptr<ReturnArena> arena_;
  Link* lane_ = nullptr;       // by which the service may write to the arena
  bool has_had_lane_ = false;  // on this link; a link has at most one
};

}  // namespace exs::svc

struct exs_svc_peer final : exs::svc::Peer {
  using Peer::Peer;
};
