// A connection between two nodes, which carries the flows that its initiator opens. Thread: holder of the node's lock.
//
// Design notes
//  1. Both ends greet with a number that nobody has used before. What is signed or proven on a link says both, so that it is worth
//     nothing on any other.
//  2. A link that has broken tells its node when exs has let go of all that was under way: frames may be sent from the same memory
//     by another link then.
//  3. Long items have a connection of their own, the link's bulk, which its initiator makes when it first needs it: receives of exs match
//     messages in order, and a long one would hold up every frame behind it. The k-th long message of an end belongs to its k-th DATA
//     that has long items. The two end together. link_bulk.cc has what differs.
//  4. So has each flow whose requests name memory to be written: a lane, by which the acceptor writes it. It may end alone, and a link has
//     gone when all its lanes have, so nobody writes then. link_lane.cc has what differs.
//  5. Silence ends a link to another host, which may have vanished. On this host the kernel tells when the other end dies, and who is silent
//     is stopped or starved: link_silence.cc.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exs/exs.h"
#include "service/names/address.h"
#include "service/names/clock.h"
#include "service/names/statements.h"
#include "service/node/transfer.h"
#include "service/wire/frames.h"

namespace exs::svc {

class Link;
class Peer;
struct ServiceFlow;

// What a link tells its node. Each is the last thing that the link does in a step.
class LinkClient {
 public:
  virtual void link_is_up(Link& link) = 0;
  // Whatever is no greeting.
  virtual void frame_arrived(Link& link, const Header& header, Bytes frame) = 0;
  // Long items can be sent.
  virtual void bulk_is_up(Link& link) = 0;
  // A connection says that it is the bulk of the link with this token: become_bulk_of(), or end().
  virtual void bulk_asked_for(Link& connection, const Nonce& token) = 0;
  // The initiator's connection for long items is to be made: connect_bulk_of().
  virtual void bulk_wanted(Link& link) = 0;
  // A connection says that it is the lane of a flow, and shows what it has to: become_lane_of(), or refuse().
  virtual void lane_asked_for(Link& connection, const Hello& hello) = 0;
  // The lane may be destroyed.
  virtual void lane_has_gone(Link& lane) = 0;
  // The link may be destroyed, and its bulk.
  virtual void link_has_gone(Link& link) = 0;
  // look_at_clock() is to be called then.
  virtual void wake_at(std::int64_t time_ns) = 0;

 protected:
  ~LinkClient() = default;
};

// Whose lane it is.
class LaneClient {
 public:
  // At its initiator: this many transfers have come.
  virtual void lane_was_written(std::uint32_t transfers) = 0;
  // Nothing is written by it any more. It may be destroyed.
  virtual void lane_has_gone() = 0;

 protected:
  ~LaneClient() = default;
};
class ReturnArena;

class Link final : public EventTarget {
 public:
  // `silent_ms`: a connection at whose other end nothing lives for so long has broken.
  Link(LinkClient& client, exs_qhandle_t queue, exs_phandle_t pool, int silent_ms)
      : client_(client), queue_(queue), pool_(pool), silent_ms_(silent_ms) {}
  ~Link() override;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // errno values of exs_socket() and exs_connect(). Nothing has begun then. `limit_ms`: until the other end has answered.
  int connect(const sockaddr_storage& address, int limit_ms);
  // Takes a connected socket.
  int accept(int socket);

  // An event of its socket.
  void take(const exs_event_t& event) override;
  void out_of_memory() override { end(ENOMEM); }
  void look_at_clock(std::int64_t now_ns);

  // Copied. A link that cannot take it breaks.
  void send(Encoded frame);
  // From memory that stays as it is until the frame has arrived or the link is gone. False: later, when had_no_room() says so.
  bool send_kept(Encoded frame, exs_mhandle_t region);

  [[nodiscard]] bool is_up() const noexcept { return state_ == State::kUp; }
  [[nodiscard]] bool is_initiator() const noexcept { return is_initiator_; }
  // Of an initiator.
  [[nodiscard]] const sockaddr_storage& address() const noexcept { return address_; }
  [[nodiscard]] const std::string& address_key() const noexcept { return address_key_; }
  // The other end has said nothing for too long.
  [[nodiscard]] bool was_silent() const noexcept { return was_silent_; }
  [[nodiscard]] bool is_on_this_host() const noexcept { return is_on_this_host_; }
  // Silences were too short so often for who was silent: of a link to another host each time doubles what is too long, up to kDoublingsMax.
  static constexpr unsigned kDoublingsMax = 3;
  void be_patient(unsigned doublings);
  // Where the other end is, of an acceptor.
  [[nodiscard]] const HostBytes& host() const noexcept { return host_; }
  [[nodiscard]] LinkNonces nonces() const noexcept {
    return is_initiator_ ? LinkNonces{our_nonce_, their_nonce_} : LinkNonces{their_nonce_, our_nonce_};
  }

  // The peer did what no peer does.
  void refuse() { end(EPROTO); }
  // Nothing of it is of use any more, for a reason that is an errno, or 0.
  void end(int error = 0);
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] std::int64_t due_ns() const noexcept { return due_ns_; }

  // There was none since the last call, and frames are kept by peers of this link.
  bool had_no_room() noexcept { return std::exchange(had_no_room_, false); }
  // Lets what was sent arrive, for a moment, and ends then.
  void end_gently();

  // Long items. Sends and receives are the link's own; a link that cannot do one breaks.
  [[nodiscard]] bool has_bulk() const noexcept {
    return partner_ != nullptr && partner_->state_ == State::kUp;
  }
  [[nodiscard]] bool takes_longs() const noexcept {
    return partner_ != nullptr && (partner_->state_ == State::kUp || partner_->is_greeted_);
  }
  // Sees to it that it will have one, which bulk_is_up() tells.
  void want_bulk();
  void send_longs(Transfer::Pieces pieces, TransferClient& client, std::uint64_t ticket);
  void receive_longs(Transfer::Pieces pieces, TransferClient& client, std::uint64_t ticket,
                     std::shared_ptr<void> keeps);
  // Its transfers go on, for nobody.
  void forget(const TransferClient& client);
  [[nodiscard]] bool is_bulk() const noexcept { return is_bulk_; }
  // Of a link that is up.
  [[nodiscard]] Nonce token() const { return bulk_token(nonces()); }
  int connect_bulk_of(Link& link);
  void become_bulk_of(Link& link);
  [[nodiscard]] Link* bulk() const noexcept { return partner_; }

  // Of a lane. The acceptor may write to the arena from connect_lane_of() on until lane_has_gone().
  int connect_lane_of(Link& link, std::uint32_t flow, const ReturnArena& arena, LaneClient& client);
  void become_lane_of(Link& link, std::uint32_t flow, LaneClient& client);
  void forget_lane_client() noexcept { lane_client_ = nullptr; }
  // Long items at these offsets. The link breaks that has named no such memory.
  void write_longs(Transfer::Pieces pieces, const std::vector<std::uint32_t>& offsets, TransferClient& client,
                   std::uint64_t ticket);

  std::uint32_t next_alias = 1;
  std::unordered_map<std::uint32_t, Peer*> peers;         // of an initiator
  std::unordered_map<std::uint32_t, ServiceFlow*> flows;  // of an acceptor

 private:
  static constexpr int kConnectMs = 3'000;  // of a bulk or a lane, whose link tells of an end
  enum class State { kIdle, kConnecting, kGreeting, kHandingOver, kUp, kEnding, kGone };

  int begin();
  void greet();
  void look_where(const sockaddr_storage& other);
  void watch_silence();
  void expect_until(std::int64_t time_ns);
  void received(const exs_event_t& event);
  void close_within(int linger_ms, int error);
  void begin_to_close();
  void has_closed();
  int begin_partner();
  [[nodiscard]] Hello hello_of_partner() const;
  void say_of_partner();
  void took_of_partner(const exs_event_t& event);
  void bulk_up();
  int post_arena();
  void part_written(Transfer& transfer, const exs_event_t& event);
  void lane_has_ended();
  [[nodiscard]] bool has_all_gone() const noexcept {
    return state_ == State::kGone && (partner_ == nullptr || partner_->state_ == State::kGone) &&
           lanes_.empty();
  }
  using Post = int (*)(int, exs_msghdr_t*, int, exs_qhandle_t, exs_ahandle_t);
  void post_longs(Post post, int flags, Transfer::Pieces pieces, TransferClient& client, std::uint64_t ticket,
                  std::shared_ptr<void> keeps);
  void transfer_over(Transfer& transfer, const exs_event_t& event);
  void end_transfers();
  void expect_next();
  friend class Transfer;
  void take_greeting(Bytes frame, const Header& header);

  LinkClient& client_;
  exs_qhandle_t queue_;
  exs_phandle_t pool_;
  const int silent_ms_;
  unsigned silent_doublings_ = 0;
  bool was_silent_ = false;
  bool is_on_this_host_ = false;
  int socket_ = -1;
  State state_ = State::kIdle;
  bool is_initiator_ = false;
  bool had_no_room_ = false;
  int error_ = 0;
  std::int64_t due_ns_ = kNever;  // an initiator is to have greeted by then, or the next long item to be here
  bool is_second_look_ = false;   // whether it is here
  sockaddr_storage address_{};    // of an initiator
  std::string address_key_;
  HostBytes host_{};
  Nonce our_nonce_{};
  Nonce their_nonce_{};

  // The handle of frames that are sent: they have an event only if they fail.
  struct FrameSends final : EventTarget {
    explicit FrameSends(Link& of) : link(of) {}
    void take(const exs_event_t&) override { link.end(); }
    void out_of_memory() override { link.end(); }
    Link& link;
  } frame_sends_{*this};
  exs_ahandle_t handle() noexcept { return static_cast<EventTarget*>(this); }
  exs_ahandle_t send_handle() noexcept { return static_cast<EventTarget*>(&frame_sends_); }

  bool is_bulk_ = false;
  bool wants_bulk_ = false;
  Link* partner_ = nullptr;  // the bulk of a link; the link of a bulk, or of a lane
  std::unordered_map<Transfer*, std::unique_ptr<Transfer>> transfers_;
  int longs_flags_ = 0;             // of a bulk: how they are sent
  std::deque<Transfer*> receives_;  // of them, in the order in which they come
  std::vector<Link*> lanes_;        // of a link
  bool is_lane_ = false;
  std::uint32_t flow_ = 0;             // of a lane
  LaneClient* lane_client_ = nullptr;  // of a lane. NULL: nobody cares any more
  const ReturnArena* arena_ = nullptr;
  // What the acceptor of a bulk or a lane says first, and how many of that have come.
  static constexpr std::size_t kGreetings = 2;
  std::array<std::array<std::uint8_t, 64>, kGreetings> greetings_{};
  std::size_t greetings_heard_ = 0;
  bool is_greeted_ = false;  // receives for them are posted
};

// Of one that no link has.
void close_at_once(int socket) noexcept;
// That the library's sockets are those of a link.
int make_link_socket(int family);
// Both ends are on this host: its memory is what they share.
bool is_by_shm(int socket);
// An acceptor does not know yet what connects.
void let_bulks_connect(int listener);

}  // namespace exs::svc
