// The move of a service from here to an adopter (adopter.h). Thread: holder of the node's lock.
//
// Design notes
//  1. Owner and adopter talk as a peer and a service, by a name that only holders of the service's key can derive. Requests and replies
//     survive a broken link, so the only failure between the two is the end of one of them.
//  2. First everything is handed over, while the name is still ours. The adopter cannot become the service before the commit has left, so on
//     any failure up to then the service continues here. A stopped or starved adopter is waited for until the limit.
//  3. After the commit only the adopter knows the outcome. If it is gone, the service may have been used there. It stays frozen here, and
//     the program decides.
//  4. Results are noted when they arrive and handled when the step ends, so no action happens inside a peer's own call.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <vector>

#include "service/node/peer.h"
#include "service/node/service.h"

namespace exs::svc {

class Move;

// What a move needs of its node.
class MoveHost {
 public:
  virtual exs_svc_peer* open_peer_of(Move& move, Peer::Config config) = 0;
  // Removes and returns the events of a service that the program has not seen.
  virtual std::vector<exs_svc_event_t> take_events(const Service& service) = 0;
  virtual void give_back_events(const std::vector<exs_svc_event_t>& events) = 0;
  virtual void give_up_name(exs_svc& service) = 0;
  // Fails if the name belongs to another process now.
  virtual Status take_name_again(exs_svc& service) = 0;
  // Redirects senders that ask here for the service.
  virtual void has_moved(exs_svc& service, const std::vector<std::uint8_t>& record) = 0;

 protected:
  ~MoveHost() = default;
};

class Move final : public PeerHost {
 public:
  struct Config {
    Transfer::Pieces state;  // the program's until EXS_SVC_EVT_MOVED
    std::vector<sockaddr_storage> to;
    std::uint64_t find_ns = 0;
    std::uint64_t limit_ns = 0;
    void* handle = nullptr;
  };
  Move(MoveHost& node, PeerHost& host, exs_svc& service, Config config);
  Move(const Move&) = delete;
  Move& operator=(const Move&) = delete;
  ~Move();

  // Opens the peer. Without memory for that, abandon() the move.
  void begin();
  // Called at the end of each step.
  void go_on();
  [[nodiscard]] std::uint64_t due_ns() const noexcept {
    return state_ == State::kLooking || state_ == State::kDraining ? limit_time_ns_ : kNeverNs;
  }
  // A waiting request was cancelled by its sender.
  void take_back(const CallName& name);
  // The program closes the service.
  void abandon();
  // Exs is using memory of the program.
  [[nodiscard]] bool is_moving() const noexcept { return peer_ != nullptr && peer_->is_moving(); }
  // The move is over and its peer has gone.
  [[nodiscard]] bool is_over() const noexcept { return state_ == State::kOver && peer_ == nullptr; }
  [[nodiscard]] bool is_of(const exs_svc& service) const noexcept {
    return state_ != State::kOver && &service_ == &service;
  }

 private:
  enum class State : std::uint8_t { kLooking, kDraining, kPreparing, kCommitting, kOver };
  // One step after the other; from each, the move may be over.
  void enter(State next) noexcept;
  struct Answer {
    int error = 0;  // result of the request
    HandoverStatus status = HandoverStatus::kDone;
    std::vector<std::uint8_t> record;
  };

  // PeerHost
  std::uint64_t find(const IdBytes& id, std::uint64_t limit_ns) override;
  std::uint64_t find_beyond(const IdBytes&, std::uint64_t) override { return 0; }
  Result<Link*> link_to(const sockaddr_storage& address, Silences silences) override;
  [[nodiscard]] std::uint64_t silent_ns() const noexcept override { return host_.silent_ns(); }
  void report(const exs_svc_event_t& event) override;
  void make_room_for_events(std::size_t) override {}  // there is one answer
  void wake_at(std::uint64_t time_ns) override { host_.wake_at(time_ns); }
  FrameMemory& memory() override { return host_.memory(); }
  PendingAcks& pending_acks() override { return host_.pending_acks(); }
  WindowMemory& windows() override { return host_.windows(); }
  Link* make_lane(Link& link, std::uint32_t flow, const ReturnArena& arena, LaneClient& client) override {
    return host_.make_lane(link, flow, arena, client);
  }
  void has_ended(Peer& peer) override;

  void freeze();
  void drain();
  void prepare();
  void commit();
  Status ask(HandoverStep step, Transfer::Pieces longs, std::uint64_t limit_ns = kNeverNs);
  void finish();
  void fail(int error);
  void end(int error);

  MoveHost& node_;
  PeerHost& host_;
  exs_svc& service_;
  const Config config_;
  const std::uint64_t token_ = random_number();
  const std::uint64_t limit_time_ns_;
  State state_ = State::kLooking;
  exs_svc_peer* peer_ = nullptr;
  std::vector<exs_svc_event_t> waiting_;  // events that the program has not seen
  std::vector<std::uint8_t> bytes_;       // the encoded handover
  std::optional<Answer> answer_;          // not handled yet
  sockaddr_storage last_{};               // address of the adopter
  std::optional<std::uint64_t> again_;    // the search for that address
};

}  // namespace exs::svc
