// One end of links: a listener, links to and from other nodes, the services here, the peers, and the events that the program has not
// taken. Thread: any.
//
// Design notes
//  1. One lock guards all. Threads that wait for events move the bytes: one of them, the leader, takes the events of exs in their order
//     and processes them. The others sleep until it has an event for them or gives up the lead.
//  2. Sends do their own work: a message leaves in the call that sends it, if its flow is open.
//  3. The name thread only wakes the node: its results stay in the sink until the leader takes them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/condition.h"
#include "base/contain.h"
#include "base/status.h"
#include "exs/service.h"
#include "service/names/name_service.h"
#include "service/node/adopter.h"
#include "service/node/frame_memory.h"
#include "service/node/link.h"
#include "service/node/move.h"
#include "service/node/peer.h"
#include "service/node/pending_acks.h"
#include "service/node/service.h"

namespace exs::svc {

class Node : private LinkClient,
             private PeerHost,
             private ServiceHost,
             private MoveHost,
             private AdopterHost {
 public:
  struct Config {
    sockaddr_storage listen{};
    std::uint64_t find_ns = 0;
    int silent_ms = 0;
    std::uint32_t links_max = 0;
    std::uint32_t links_each_max = 0;  // from one host
    std::uint32_t flows_max = 0;
    std::size_t windows_max_bytes = 0;
    Ways ways;
  };
  explicit Node(const Config& config);
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  // After an error the node is of no use.
  Status open();

  // Returns the number of events. EINTR a signal was caught.
  Result<int> wait(exs_svc_event_t* events, int max, std::int64_t timeout_ns);
  Result<int> descriptor();

  // EADDRINUSE, EMFILE, ENOMEM.
  Result<exs_svc*> open_service(Service::Config config);
  void close_service(exs_svc* service);
  // EADDRINUSE, EMFILE, ENOMEM.
  Result<exs_svc*> adopt_service(Service::Config config);
  // EALREADY.
  Status move_service(exs_svc* service, Move::Config config);
  exs_svc_peer* open_peer(exs_svc* from, const IdBytes& id, const std::optional<Capability>& capability,
                          void* handle);
  void close_peer(exs_svc_peer* peer);
  // Errors are those of the peer's functions.
  Status send(exs_svc_peer* peer, const Data& data, Transfer::Pieces longs, void* handle);
  Status request(exs_svc_peer* peer, const Data& data, Peer::Asked asked);
  Status cancel(exs_svc_peer* peer, const void* handle);
  Status ping(exs_svc_peer* peer);
  Status ask_stats(exs_svc_peer* peer);
  Status trust(exs_svc_peer* peer, bool trusts, std::size_t return_max_bytes);
  Result<void*> alloc_return(exs_svc_peer* peer, std::size_t length_bytes);
  void add_window(exs_svc* service, const Window& window);
  // EINVAL: no service of this node can be fenced.
  [[nodiscard]] Status check_lease_possible() const;
  // Replies to a message that has a mailbox, whichever node received it.
  static Status reply(const exs_svc_message_t* message, Data data, Transfer::Pieces longs, void* handle);
  static void release(exs_svc_message_t* message) noexcept;

 private:
  // LinkClient
  void link_is_up(Link& link) override;
  void frame_arrived(Link& link, const Header& header, Bytes frame) override;
  void bulk_is_up(Link& link) override;
  void bulk_asked_for(Link& connection, const Nonce& token) override;
  void bulk_wanted(Link& link) override;
  void lane_asked_for(Link& connection, const Hello& hello) override;
  void lane_has_gone(Link& lane) override;
  void link_has_gone(Link& link) override;
  // PeerHost
  std::uint64_t find(const IdBytes& id, std::uint64_t limit_ns) override;
  std::uint64_t find_beyond(const IdBytes& id, std::uint64_t limit_ns) override;
  Result<Link*> link_to(const sockaddr_storage& address, Silences silences) override;
  [[nodiscard]] std::uint64_t silent_ns() const noexcept override {
    return static_cast<std::uint64_t>(config_.silent_ms) * kNsPerMs;
  }
  Link* make_lane(Link& link, std::uint32_t flow, const ReturnArena& arena, LaneClient& client) override;
  FrameMemory& memory() override {
    lock_.assert_held();
    return memory_;
  }
  PendingAcks& pending_acks() override {
    lock_.assert_held();
    return pending_acks_;
  }
  WindowMemory& windows() override { return *windows_; }
  void has_ended(Peer& peer) override;
  void wake_at(std::uint64_t time_ns) override;
  // ServiceHost
  void take_back(const CallName& name) override;
  void report(const exs_svc_event_t& event) override;
  void make_room_for_events(std::size_t count) override;
  // MoveHost and AdopterHost
  exs_svc_peer* open_peer_of(Move& move, Peer::Config config) override;
  std::vector<exs_svc_event_t> take_events(const Service& service) override;
  void give_back_events(const std::vector<exs_svc_event_t>& events) override;
  void give_up_name(exs_svc& service) override;
  Status take_name_again(exs_svc& service) override;
  void has_moved(exs_svc& service, const std::vector<std::uint8_t>& record) override;
  Result<std::vector<std::uint8_t>> take_over(exs_svc& service) override;

  Status take_name(exs_svc& service) EXS_REQUIRES(lock_);
  void check_fences() EXS_REQUIRES(lock_);
  void check_leases() EXS_REQUIRES(lock_);
  std::uint64_t check_fence(exs_svc& service, std::uint64_t now) EXS_REQUIRES(lock_);
  void forget_opened(exs_svc& service) EXS_REQUIRES(lock_);
  void end_overtaken(exs_svc& service) EXS_REQUIRES(lock_);
  void report_of(exs_svc& service, std::int32_t type, std::int32_t error);
  [[nodiscard]] bool is_on_its_way(const exs_svc& service) const EXS_REQUIRES(lock_);
  void end_moves_of(exs_svc* service) EXS_REQUIRES(lock_);
  void go_on_with_moves() EXS_REQUIRES(lock_);
  void remove_ended_moves() EXS_REQUIRES(lock_);
  exs_svc* find_here(const IdBytes& id) EXS_REQUIRES(lock_);
  void redirect(Link& link, std::uint32_t alias, const IdBytes& id) EXS_REQUIRES(lock_);
  [[nodiscard]] int connect_limit_ms(const sockaddr_storage& address, Silences silences) const;
  Status listen();
  Status make_pool();
  [[nodiscard]] bool is_moving() const EXS_REQUIRES(lock_);
  void close_links() EXS_EXCLUDES(lock_);
  bool end_links_gently() EXS_EXCLUDES(lock_);
  void move_for_a_moment() EXS_EXCLUDES(lock_);
  void move_until(const std::function<bool()>& is_so) EXS_REQUIRES(lock_);
  Status lead(std::uint64_t until_ns) EXS_REQUIRES(lock_);
  void follow(std::uint64_t until_ns) EXS_REQUIRES(lock_);
  void take(const exs_event_t& event) EXS_REQUIRES(lock_);
  void accepted(const exs_event_t& event) EXS_REQUIRES(lock_);
  void accept_again() noexcept EXS_REQUIRES(lock_);
  // Retries soon what failed for want of memory.
  void wake_soon() noexcept EXS_REQUIRES(lock_);
  Link& new_link() EXS_REQUIRES(lock_);
  // `connect` fails, or throws, before anything has begun; then there is no link.
  template <typename Connect>
  Status begin_link(Link& link, const Connect& connect) EXS_REQUIRES(lock_) {
    const Status begun = contained_status(connect);
    if (!begun.ok()) links_.erase(&link);
    return begun;
  }
  bool count_link(const Link& link) EXS_REQUIRES(lock_);
  void uncount_link(const Link& link) EXS_REQUIRES(lock_);
  void take_found() EXS_REQUIRES(lock_);
  void run_timers() EXS_REQUIRES(lock_);
  void end_step() EXS_REQUIRES(lock_);
  void remove_gone() EXS_REQUIRES(lock_);
  static void send_all_of(Link& link);
  static void frame_of_peer(Link& link, const Header& header, Bytes frame);
  void ask_for_flow(Link& link, const Header& header, Bytes frame) EXS_REQUIRES(lock_);
  void drop_events(const void* object) EXS_REQUIRES(lock_);
  void show() EXS_REQUIRES(lock_);

  const Config config_;
  // Messages of the program outlive the node, and take its lock.
  const std::shared_ptr<Mutex> shared_lock_ = std::make_shared<Mutex>();
  Mutex& lock_ = *shared_lock_;
  Condition followers_;
  bool has_leader_ EXS_GUARDED_BY(lock_) = false;

  // Of open() and the destructor alone; others read them.
  bool has_library_ = false;
  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  exs_phandle_t pool_ = EXS_PHANDLE_INVALID;
  void* pool_memory_ = nullptr;
  int listener_ = -1;
  std::vector<sockaddr_storage> addresses_;
  std::shared_ptr<NameService> names_;
  std::shared_ptr<Sink> sink_;
  std::shared_ptr<WindowMemory> windows_;
  const std::uint64_t number_ = random_number();

  FrameMemory memory_ EXS_GUARDED_BY(lock_);
  std::unordered_map<Link*, std::unique_ptr<Link>> links_ EXS_GUARDED_BY(lock_);
  std::unordered_map<std::string, Link*> links_by_address_ EXS_GUARDED_BY(lock_);
  std::size_t accepted_links_ EXS_GUARDED_BY(lock_) = 0;
  std::map<Principal, std::size_t> links_of_hosts_ EXS_GUARDED_BY(lock_);  // links of each host
  // There is room for all, so that an end needs no memory.
  std::vector<Link*> gone_ EXS_GUARDED_BY(lock_);
  std::vector<Peer*> ended_ EXS_GUARDED_BY(lock_);
  std::map<IdBytes, std::unique_ptr<exs_svc>> services_ EXS_GUARDED_BY(lock_);
  // Services to come, or gone.
  std::map<exs_svc*, std::unique_ptr<exs_svc>> departed_ EXS_GUARDED_BY(lock_);
  struct Redirect {
    std::vector<std::uint8_t> record;
    std::uint64_t until_ns = 0;
  };
  std::map<IdBytes, Redirect> redirects_ EXS_GUARDED_BY(lock_);
  std::vector<std::unique_ptr<Adopter>> adopters_ EXS_GUARDED_BY(lock_);
  std::vector<std::unique_ptr<Move>> moves_ EXS_GUARDED_BY(lock_);
  std::unordered_map<Peer*, std::unique_ptr<exs_svc_peer>> peers_ EXS_GUARDED_BY(lock_);
  std::uint64_t last_search_ EXS_GUARDED_BY(lock_) = 0;
  PendingAcks pending_acks_ EXS_GUARDED_BY(lock_);
  std::uint64_t alarm_ns_ EXS_GUARDED_BY(lock_) = kNeverNs;
  std::uint64_t accept_again_ns_ EXS_GUARDED_BY(lock_) = kNeverNs;  // when to post an accept again
  std::uint64_t fence_ns_ EXS_GUARDED_BY(lock_) = kNeverNs;         // when a fence may be due
  std::list<exs_svc_event_t> events_ EXS_GUARDED_BY(lock_);
  std::list<exs_svc_event_t> spare_events_ EXS_GUARDED_BY(lock_);  // memory for later ones
  bool has_descriptor_ EXS_GUARDED_BY(lock_) = false;
  bool is_shown_ EXS_GUARDED_BY(lock_) = false;
};

}  // namespace exs::svc
