// A connection between two nodes, which carries the flows that its initiator opens. Thread: holder of the node's lock.
//
// Design notes
//  1. Both ends send a fresh nonce. Everything signed or proven on a link includes both, so it is worthless on any other.
//  2. A broken link notifies its node when exs has released all memory that was under way. Only then may another link send frames from
//     the same memory.
//  3. Long items use a second connection, the link's bulk, which the initiator makes when it first needs it. Receives of exs match
//     messages in order, so a long one would delay every frame behind it. The k-th long message of an end belongs to its k-th DATA with
//     long items. Link and bulk end together. link_bulk.cc has what differs.
//  4. A flow whose requests name memory for replies has a lane, a connection by which the acceptor writes that memory. A lane may end
//     alone. A link has gone only when all its lanes have, so nobody writes then. link_lane.cc has what differs.
//  5. Silence ends a link to another host, which may have vanished. On this host the kernel reports the death of the other end, so a
//     silent end is stopped or starved: link_silence.cc.
// SPDX-License-Identifier: BSD-2-Clause
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

#include "base/clock.h"
#include "base/status.h"
#include "exs/exs.h"
#include "service/names/address.h"
#include "service/names/statements.h"
#include "service/node/transfer.h"
#include "service/wire/frames.h"

namespace exs::svc {

class Link;
class Peer;
class ServiceFlow;

// A link's notifications to its node. Each is the last thing that the link does in a step.
class LinkClient {
 public:
  virtual void link_is_up(Link& link) = 0;
  // A frame other than a greeting has arrived.
  virtual void frame_arrived(Link& link, const Header& header, Bytes frame) = 0;
  // Long items can be sent.
  virtual void bulk_is_up(Link& link) = 0;
  // A connection claims to be the bulk of the link with this token: call become_bulk_of() or end().
  virtual void bulk_asked_for(Link& connection, const Nonce& token) = 0;
  // The initiator has to make the bulk: call connect_bulk_of().
  virtual void bulk_wanted(Link& link) = 0;
  // A connection claims to be the lane of a flow: call become_lane_of() or refuse().
  virtual void lane_asked_for(Link& connection, const Hello& hello) = 0;
  // The lane may be destroyed.
  virtual void lane_has_gone(Link& lane) = 0;
  // The link and its bulk may be destroyed.
  virtual void link_has_gone(Link& link) = 0;
  // Call run_timers() at that time.
  virtual void wake_at(std::uint64_t time_ns) = 0;

 protected:
  ~LinkClient() = default;
};

// The flow or peer that uses a lane.
class LaneClient {
 public:
  // At the initiator: the acceptor has completed this many more writes.
  virtual void lane_was_written(std::uint32_t transfers) = 0;
  // Nothing is written by the lane any more; it may be destroyed.
  virtual void lane_has_gone() = 0;

 protected:
  ~LaneClient() = default;
};
class ReturnArena;

class Link final : public EventTarget {
 public:
  // `silent_ms`: the connection counts as broken if the other end gives no sign of life for this long.
  Link(LinkClient& client, exs_qhandle_t queue, exs_phandle_t pool, int silent_ms)
      : client_(client), queue_(queue), pool_(pool), silent_ms_(silent_ms) {}
  ~Link() override;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Errors are those of exs_socket() and exs_connect(); then nothing has begun. `limit_ms` is the time for the other end to answer.
  Status connect(const sockaddr_storage& address, int limit_ms);
  // Takes over a connected socket. Fails if the other end has gone.
  Status own(int socket);
  // Greets on that socket.
  Status accept();

  // Handles an event of the link's socket.
  void take(const exs_event_t& event) override;
  void out_of_memory() override { end(ENOMEM); }
  void run_timers(std::uint64_t now_ns);

  // Sends a copy. If that fails, the link breaks.
  void send(Encoded frame);
  // Sends from memory that must not change until the frame has arrived or the link is gone. Returns false if there is no room;
  // had_no_room() then says when to try again.
  bool send_kept(Encoded frame, exs_mhandle_t region);

  [[nodiscard]] bool is_up() const noexcept { return state_ == State::kUp; }
  [[nodiscard]] bool is_initiator() const noexcept { return is_initiator_; }
  // For initiators only.
  [[nodiscard]] const sockaddr_storage& address() const noexcept { return address_; }
  [[nodiscard]] const std::string& address_key() const noexcept { return address_key_; }
  // The link ended because the other end was silent too long.
  [[nodiscard]] bool was_silent() const noexcept { return was_silent_; }
  [[nodiscard]] bool is_on_this_host() const noexcept { return is_on_this_host_; }
  // Repeated mistakes about a slow other host raise its silence limit: each doubles it, up to kDoublingsMax times.
  static constexpr unsigned kDoublingsMax = 3;
  void be_patient(unsigned doublings);
  // The host of the other end. For acceptors only.
  [[nodiscard]] const HostBytes& host() const noexcept { return host_; }
  [[nodiscard]] LinkNonces nonces() const noexcept {
    return is_initiator_ ? LinkNonces{our_nonce_, their_nonce_} : LinkNonces{their_nonce_, our_nonce_};
  }

  // Ends the link because the peer broke the protocol.
  void refuse() { end(EPROTO); }
  // Ends the link at once. `error` is an errno value, or 0 if there is no error.
  void end(int error = 0);
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] std::uint64_t due_ns() const noexcept { return due_ns_; }

  // Frames had to wait for room since the last call.
  bool had_no_room() noexcept { return std::exchange(had_no_room_, false); }
  // Lets sent frames arrive for a moment, then ends the link.
  void end_gently();

  // Long items. The link posts the sends and receives itself, and breaks if it cannot.
  [[nodiscard]] bool has_bulk() const noexcept {
    return partner_ != nullptr && partner_->state_ == State::kUp;
  }
  [[nodiscard]] bool takes_longs() const noexcept {
    return partner_ != nullptr &&
           (partner_->state_ == State::kUp || partner_->state_ == State::kGreetingPartner);
  }
  // Requests the bulk; bulk_is_up() follows.
  void want_bulk();
  void send_longs(Transfer::Pieces pieces, TransferClient& client, std::uint64_t ticket);
  void receive_longs(Transfer::Pieces pieces, TransferClient& client, std::uint64_t ticket,
                     std::shared_ptr<void> keeps);
  // The transfers of this client continue, and report to nobody.
  void forget(const TransferClient& client);
  [[nodiscard]] bool is_bulk() const noexcept { return role_ == LinkRole::kBulk; }
  // For links that are up.
  [[nodiscard]] Nonce token() const { return bulk_token(nonces()); }
  Status connect_bulk_of(Link& link);
  void become_bulk_of(Link& link);
  [[nodiscard]] Link* bulk() const noexcept { return partner_; }

  // Lanes. The acceptor may write to the arena from connect_lane_of() until lane_has_gone().
  Status connect_lane_of(Link& link, std::uint32_t flow, const ReturnArena& arena, LaneClient& client);
  void become_lane_of(Link& link, std::uint32_t flow, LaneClient& client);
  void forget_lane_client() noexcept { lane_client_ = nullptr; }
  // Writes long items to these offsets. An offset beyond the posted memory breaks the link that named it.
  void write_longs(Transfer::Pieces pieces, const std::vector<std::uint32_t>& offsets, TransferClient& client,
                   std::uint64_t ticket);

  std::uint32_t next_alias = 1;
  std::unordered_map<std::uint32_t, Peer*> peers;         // if initiator
  std::unordered_map<std::uint32_t, ServiceFlow*> flows;  // if acceptor

 private:
  static constexpr int kConnectMs = 3'000;  // of a bulk or a lane; an earlier end comes with its link
  enum class LinkRole : std::uint8_t { kLink, kBulk, kLane };
  enum class State : std::uint8_t {
    kIdle,
    kConnecting,
    kGreeting,
    kGreetingPartner,  // the initiator of a bulk or a lane waits for two greetings
    kHandingOver,      // the acceptor of a bulk takes back the receive of frames
    kUp,
    kEnding,
    kGone
  };
  static bool may_follow(State before, State next) noexcept;
  void enter(State next) noexcept;

  [[nodiscard]] bool is_partner() const noexcept { return role_ != LinkRole::kLink; }
  Status begin();
  void greet();
  void look_where(const sockaddr_storage& other);
  void watch_silence();
  void expect_until(std::uint64_t time_ns);
  void received(const exs_event_t& event);
  void send_failed(int error);
  void close_within(int linger_ms, int error);
  void begin_to_close();
  void has_closed();
  Status begin_partner();
  [[nodiscard]] Hello hello_of_partner() const;
  void send_partner_hello();
  void on_partner_event(const exs_event_t& event);
  void bulk_up();
  Status post_arena();
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
  LinkRole role_ = LinkRole::kLink;
  bool is_initiator_ = false;
  bool had_no_room_ = false;
  int error_ = 0;
  // When an initiator has to have greeted, or the next long item has to be here.
  std::uint64_t due_ns_ = kNeverNs;
  bool is_second_look_ = false;  // a late event got a second chance
  sockaddr_storage address_{};   // if initiator
  std::string address_key_;
  HostBytes host_{};
  Nonce our_nonce_{};
  Nonce their_nonce_{};

  // The handle of sent frames, which have events only if they fail.
  struct FrameSends final : EventTarget {
    explicit FrameSends(Link& of) : link(of) {}
    void take(const exs_event_t& event) override { link.send_failed(event.exs_evt_errno); }
    void out_of_memory() override { link.end(); }
    Link& link;
  } frame_sends_{*this};
  exs_ahandle_t handle() noexcept { return static_cast<EventTarget*>(this); }
  exs_ahandle_t send_handle() noexcept { return static_cast<EventTarget*>(&frame_sends_); }

  bool has_asked_for_bulk_ = false;
  Link* partner_ = nullptr;  // the bulk of a link; the link of a bulk or a lane
  std::unordered_map<Transfer*, std::unique_ptr<Transfer>> transfers_;
  int longs_flags_ = 0;                // of a bulk: flags of its sends
  std::deque<Transfer*> receives_;     // of a bulk, in the order of arrival
  std::vector<Link*> lanes_;           // of a link
  std::uint32_t flow_ = 0;             // of a lane
  LaneClient* lane_client_ = nullptr;  // of a lane; NULL: no client any more
  const ReturnArena* arena_ = nullptr;
  // The first messages from the acceptor of a bulk or a lane, and how many have arrived.
  static constexpr std::size_t kGreetings = 2;
  std::array<std::array<std::uint8_t, 64>, kGreetings> greetings_{};
  std::size_t greetings_heard_ = 0;
};

// Closes a socket that no link owns yet.
void close_at_once(int socket) noexcept;
// Makes an exs socket with the options of a link.
int make_link_socket(int family);
// Both ends are on this host and share memory.
bool is_by_shm(int socket);
// Sets the listener's options for a bulk too: an acceptor does not know yet what connects.
void let_bulks_connect(int listener);

}  // namespace exs::svc
