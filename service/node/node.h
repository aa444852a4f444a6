// One end of links: a listener, links to and from other nodes, the services here, the peers, and the events that the program has not
// taken. Thread: any.
//
// Design notes
//  1. One lock guards all. Threads that wait for events move the bytes: one of them, the leader, takes the events of exs in their order
//     and processes them. The others sleep until it has an event for them or gives up the lead.
//  2. Sends do their own work: a message leaves in the call that sends it, if its flow is open.
//  3. The housekeeper only wakes the node: its results stay in the sink until the leader takes them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "exs/service.h"
#include "service/names/housekeeper.h"
#include "service/node/debts.h"
#include "service/node/frame_memory.h"
#include "service/node/heir.h"
#include "service/node/link.h"
#include "service/node/move.h"
#include "service/node/peer.h"
#include "service/node/service.h"

namespace exs::svc {

class Node : private LinkClient, private PeerHost, private ServiceHost, private MoveHost, private HeirHost {
 public:
  struct Config {
    sockaddr_storage listen{};
    std::int64_t find_ns = 0;
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
  // Returns 0 or an errno value; after an error the node is of no use.
  int open();
  // The reason why open() failed. Empty: the errno value says all.
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

  // Returns the number of events, or -1 with errno.
  int wait(exs_svc_event_t* events, int max, std::int64_t timeout_ns);
  int descriptor();

  // Returns NULL with errno: EADDRINUSE, EMFILE, ENOMEM.
  exs_svc* open_service(Service::Config config);
  void close_service(exs_svc* service);
  // Returns NULL with errno: EADDRINUSE, EMFILE, ENOMEM.
  exs_svc* adopt_service(Service::Config config);
  // Returns 0 or EALREADY.
  int move_service(exs_svc* service, Move::Config config);
  exs_svc_peer* open_peer(exs_svc* from, const IdBytes& id, const std::optional<Capability>& capability,
                          void* handle);
  void close_peer(exs_svc_peer* peer);
  // Returns 0 or an errno value.
  int send(exs_svc_peer* peer, const Data& data, Transfer::Pieces longs, void* handle);
  int request(exs_svc_peer* peer, const Data& data, Peer::Asked asked);
  int cancel(exs_svc_peer* peer, const void* handle);
  int ping(exs_svc_peer* peer);
  int ask_stats(exs_svc_peer* peer);
  int trust(exs_svc_peer* peer, bool trusts, std::size_t return_max_bytes);
  int alloc_return(exs_svc_peer* peer, std::size_t length_bytes, void*& slot);
  void add_window(exs_svc* service, const Window& window);
  // Returns NULL, or the reason why no service of this node can be fenced.
  [[nodiscard]] const char* why_no_lease() const;
  // Replies to a message that has a mailbox, whichever node received it.
  static int reply(const exs_svc_message_t* message, Data data, Transfer::Pieces longs, void* handle);
  static void release(exs_svc_message_t* message) noexcept;

 private:
  // LinkClient
  void link_is_up(Link& link) override;
  void frame_arrived(Link& link, const Header& header, Bytes frame) override;
  void bulk_is_up(Link& link) override;
  void bulk_asked_for(Link& connection, const Nonce& token) override;
  void bulk_wanted(Link& link) override;
  void lane_asked_for(Link& connection, const Hello& hello) override;
  void lane_has_gone(Link& lane) override { gone_.push_back(&lane); }
  void link_has_gone(Link& link) override;
  // PeerHost
  std::uint64_t find(const IdBytes& id, std::int64_t limit_ns) override;
  std::uint64_t find_beyond(const IdBytes& id, std::int64_t limit_ns) override;
  Link* link_to(const sockaddr_storage& address, Silences silences) override;
  [[nodiscard]] std::int64_t silent_ns() const noexcept override { return config_.silent_ms * kNsPerMs; }
  Link* make_lane(Link& link, std::uint32_t flow, const ReturnArena& arena, LaneClient& client) override;
  FrameMemory& memory() override { return memory_; }
  Debts& debts() override { return debts_; }
  WindowMemory& windows() override { return *windows_; }
  void has_ended(Peer& peer) override;
  void wake_at(std::int64_t time_ns) override;
  // ServiceHost
  void take_back(const CallName& name) override;
  void tell(const exs_svc_event_t& event) override;
  // MoveHost and HeirHost
  exs_svc_peer* open_peer_of(Move& move, Peer::Config config) override;
  std::vector<exs_svc_event_t> take_events(const Service& service) override;
  void give_back_events(const std::vector<exs_svc_event_t>& events) override;
  void give_up_name(exs_svc& service) override;
  int take_name_again(exs_svc& service) override { return take_name(service); }
  void has_moved(exs_svc& service, std::vector<std::uint8_t> record) override;
  std::vector<std::uint8_t> take_over(exs_svc& service) override;

  int take_name(exs_svc& service);
  void look_at_fences();
  void look_at_holds();
  std::int64_t look_at_fence(exs_svc& service, std::int64_t now);
  void end_overtaken(exs_svc& service);
  void tell_of(exs_svc& service, std::int32_t type, std::int32_t error);
  [[nodiscard]] bool is_on_its_way(const exs_svc& service) const;
  void end_moves_of(std::unique_lock<std::mutex>& guard, exs_svc* service);
  void go_on_with_moves();
  void remove_ended_moves();
  exs_svc* find_here(const IdBytes& id);
  void send_elsewhere(Link& link, std::uint32_t alias, const IdBytes& id);
  [[nodiscard]] int connect_limit_ms(const sockaddr_storage& address, Silences silences) const;
  int listen();
  int failed();
  int make_pool();
  void close_links();
  void move_for_a_moment();
  void move_until(std::unique_lock<std::mutex>& guard, const std::function<bool()>& is_so);
  int lead(std::unique_lock<std::mutex>& guard, std::int64_t until_ns);
  void take(const exs_event_t& event);
  void accepted(const exs_event_t& event);
  void accept_again() noexcept;
  // Retries soon what failed for want of memory.
  void wake_soon() noexcept;
  bool count_link(const Link& link);
  void uncount_link(const Link& link);
  void take_found();
  void look_at_clock();
  void end_step();
  void remove_gone();
  void send_all_of(Link& link);
  void frame_of_peer(Link& link, const Header& header, Bytes frame);
  void ask_for_flow(Link& link, const Header& header, Bytes frame);
  void drop_events(const void* object);
  void show();

  const Config config_;
  std::string why_;
  const std::shared_ptr<std::mutex> lock_ = std::make_shared<std::mutex>();
  std::condition_variable followers_;
  bool has_leader_ = false;
  bool has_library_ = false;
  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  exs_phandle_t pool_ = EXS_PHANDLE_INVALID;
  void* pool_memory_ = nullptr;
  int listener_ = -1;
  std::vector<sockaddr_storage> addresses_;
  std::shared_ptr<Housekeeper> keeper_;
  std::shared_ptr<Sink> sink_;
  const std::uint64_t number_ = random_number();

  FrameMemory memory_;
  std::unordered_map<Link*, std::unique_ptr<Link>> links_;
  std::unordered_map<std::string, Link*> links_by_address_;
  std::size_t accepted_links_ = 0;
  std::map<Principal, std::size_t> links_of_hosts_;  // links of each host
  std::vector<Link*> gone_;
  std::vector<Peer*> ended_;
  std::map<IdBytes, std::unique_ptr<exs_svc>> services_;
  std::map<exs_svc*, std::unique_ptr<exs_svc>> elsewhere_;  // services to come, or gone
  struct Departure {
    std::vector<std::uint8_t> record;
    std::int64_t until_ns = 0;
  };
  std::map<IdBytes, Departure> departures_;
  std::vector<std::unique_ptr<Heir>> heirs_;
  std::vector<std::unique_ptr<Move>> moves_;
  std::unordered_map<Peer*, std::unique_ptr<exs_svc_peer>> peers_;
  std::uint64_t last_search_ = 0;
  Debts debts_;
  std::shared_ptr<WindowMemory> windows_;
  std::int64_t alarm_ns_ = kNever;
  std::int64_t accept_again_ns_ = kNever;  // when to post an accept again
  std::int64_t fence_ns_ = kNever;         // when a fence may be due
  std::deque<exs_svc_event_t> events_;
  bool has_descriptor_ = false;
  bool is_shown_ = false;
};

}  // namespace exs::svc
