// A service on its way from here to who waits for it (heir.h). Thread: holder of the node's lock.
//
// Design notes
//  1. The two talk as a peer and a service do, by a name that only who has the service's key can know. Requests and their replies survive
//     a link that breaks, so all that can go wrong between them is that one of the two ends.
//  2. First everything is handed over, while the name is still ours. Until the commit has left, the other cannot become the service, so
//     whatever goes wrong the service goes on here. A process that is there and does not answer, since it is stopped or starved, is waited
//     for until the limit.
//  3. From then on only the other knows. If it is gone, the service may have been used there: it stays frozen here, and the program
//     decides.
//  4. Results are noted when they come, and looked at when the step ends, so nothing happens inside of a peer's own call.
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
  // Takes the events of a service that the program has not seen.
  virtual std::vector<exs_svc_event_t> take_events(const Service& service) = 0;
  virtual void give_back_events(const std::vector<exs_svc_event_t>& events) = 0;
  virtual void give_up_name(exs_svc& service) = 0;
  // errno values: the name is somebody else's now.
  virtual int take_name_again(exs_svc& service) = 0;
  // Who asks here for the service is sent there.
  virtual void has_moved(exs_svc& service, std::vector<std::uint8_t> record) = 0;

 protected:
  ~MoveHost() = default;
};

class Move final : public PeerHost {
 public:
  struct Config {
    Transfer::Pieces state;  // the program's, until EXS_SVC_EVT_MOVED
    std::vector<sockaddr_storage> to;
    std::int64_t find_ns = 0;
    std::int64_t limit_ns = 0;
    void* handle = nullptr;
  };
  Move(MoveHost& node, PeerHost& host, exs_svc& service, Config config);
  Move(const Move&) = delete;
  Move& operator=(const Move&) = delete;
  ~Move();

  // At the end of each step.
  void go_on();
  [[nodiscard]] std::int64_t due_ns() const noexcept {
    return state_ == State::kLooking || state_ == State::kDraining ? limit_time_ns_ : kNever;
  }
  // A request that waits is not wanted any more.
  void take_back(const CallName& name);
  // The program closes the service.
  void abandon();
  // Exs uses memory of the program.
  [[nodiscard]] bool is_moving() const noexcept { return peer_ != nullptr && peer_->is_moving(); }
  // Nothing of it is left to be done, and its peer has gone.
  [[nodiscard]] bool is_over() const noexcept { return state_ == State::kOver && peer_ == nullptr; }
  [[nodiscard]] bool is_of(const exs_svc& service) const noexcept {
    return state_ != State::kOver && &service_ == &service;
  }

 private:
  enum class State { kLooking, kDraining, kPreparing, kCommitting, kOver };
  struct Answer {
    int error = 0;  // of the request
    HandoverStatus status = HandoverStatus::kDone;
    std::vector<std::uint8_t> record;
  };

  // Peers
  std::uint64_t find(const IdBytes& id, std::int64_t limit_ns) override;
  std::uint64_t find_beyond(const IdBytes&, std::int64_t) override { return 0; }
  Link* link_to(const sockaddr_storage& address, Silences silences) override;
  [[nodiscard]] std::int64_t silent_ns() const noexcept override { return host_.silent_ns(); }
  void tell(const exs_svc_event_t& event) override;
  void wake_at(std::int64_t time_ns) override { host_.wake_at(time_ns); }
  FrameMemory& memory() override { return host_.memory(); }
  Debts& debts() override { return host_.debts(); }
  WindowMemory& windows() override { return host_.windows(); }
  Link* make_lane(Link& link, std::uint32_t flow, const ReturnArena& arena, LaneClient& client) override {
    return host_.make_lane(link, flow, arena, client);
  }
  void has_ended(Peer& peer) override;

  void freeze();
  void drain();
  void prepare();
  void commit();
  int ask(HandoverStep step, Transfer::Pieces longs, std::int64_t limit_ns = kNever);
  void finish();
  void fail(int error);
  void end(int error);

  MoveHost& node_;
  PeerHost& host_;
  exs_svc& service_;
  const Config config_;
  const std::uint64_t token_ = random_number();
  const std::int64_t limit_time_ns_;
  State state_ = State::kLooking;
  exs_svc_peer* peer_ = nullptr;
  std::vector<exs_svc_event_t> waiting_;  // what the program has not seen
  std::vector<std::uint8_t> bytes_;       // of what is handed over
  std::optional<Answer> answer_;          // that has not been looked at
  sockaddr_storage last_{};               // where the other is
  std::optional<std::uint64_t> again_;    // a search that goes there
};

}  // namespace exs::svc
