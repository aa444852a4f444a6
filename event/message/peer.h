// A process of the job as another one sees it: its connection, which begins with the first message, and the
// sends that wait for it.
//
// Design notes
//  1. Two processes have one connection, whichever of them connects. If both do, the lower rank's connection stays: the lower
//     rank rejects the other one (EALREADY); the higher rank drops its own and waits for the lower rank's.
//  2. A peer that ends its connection in order has left the job. A peer whose connection breaks or fails has died.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/fifo.h"
#include "event/engine/deadline.h"
#include "event/message/request.h"
#include "event/session/link_session.h"

namespace exs {

class Endpoint;
struct Kept;

// Thread: shard.
class Peer final : public TaggedEnd {
 public:
  Peer(Endpoint& endpoint, std::uint32_t rank);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  [[nodiscard]] bool is_connected() const noexcept { return state_ == State::kConnected; }
  // 0: it can be sent to. ECONNRESET: it has died. EPIPE: it has left.
  [[nodiscard]] int why_gone() const noexcept { return error_; }
  // No send of ours is pending, and there is no connection.
  [[nodiscard]] bool is_over() const noexcept { return session_ == nullptr && delayed_.empty(); }

  bool send_now(const proto::Operation& operation) {
    return state_ == State::kConnected && delayed_.empty() && session_->send_tagged_now(operation);
  }
  // Likewise a short one, in fewer steps.
  [[nodiscard]] proto::ShortSend send_short(const proto::Label& label, LocalSlice payload) noexcept {
    const bool may = state_ == State::kConnected && delayed_.empty();
    return may ? session_->send_tagged_short(label, payload) : proto::ShortSend::kNot;
  }
  void set_label(std::string_view label) noexcept {
    if (session_) session_->set_label(label);
  }
  // Its end goes to Endpoint::end().
  void post(Request& send);
  // Ends it with ECANCELED, unless it has left.
  void cancel(Request& send);
  void take(AcceptableRequest request, const Reason& why_no_device);

  void finish_kept(const proto::Arrival& arrival, bool taken);
  // An error: nothing has changed.
  Status read_kept(std::uint32_t advert, Request& receive);
  void refuse_kept(std::uint32_t advert);
  // True: it is to let out what it holds back, up to a message that fits.
  bool want(const proto::Wish& wish);

  void die(Status why);
  // Another party reports the peer's death.
  void note_death();
  // Lets its sends finish, then ends the connection.
  void close(std::uint64_t limit_ns);

  // TaggedEnd
  bool take(const proto::Arrival& arrival, const ArrivingMessage& message, std::size_t offset) override;
  const proto::Operation* announce(const proto::Arrival& arrival, std::uint32_t advert) override;
  void filled(bool is_full) noexcept override;
  [[nodiscard]] std::optional<proto::Wish> wanted() const noexcept override;
  void connected() override;
  void completed(const proto::Operation& operation, const proto::Outcome& outcome) override;
  void left() override;
  void ended(Status why) override;

 private:
  enum class State : std::uint8_t {
    kUnknown,     // nothing was sent yet
    kConnecting,  // we asked
    kExpected,    // it asks, and turned ours down
    kAway,        // it does not listen yet
    kAccepting,   // it asked
    kConnected,
    kGone,
  };

  class Errand;
  // What follows when a session has ended a step. Each of them comes once at most, and needs no memory then.
  struct Errands {
    explicit Errands(Peer& peer);
    std::unique_ptr<Errand> connected;
    std::unique_ptr<Errand> left;
    std::unique_ptr<Errand> ended;
  };

  // Has it done when the session that calls has ended its step.
  void do_later(std::unique_ptr<Errand> errand) noexcept;
  [[nodiscard]] std::unique_ptr<Kept> kept_of(const proto::Arrival& arrival);
  // Registers the receive's memory, if needed, before a read of the peer's memory. An error: it failed.
  Status prepare(Request& receive) const noexcept;
  Status prepare_memory(Request& receive) const;
  void connect() noexcept;
  void try_to_connect();
  void not_connected(int error);
  void connect_again();
  void leave_peer();
  [[nodiscard]] std::string failure_words() const noexcept;
  void await(std::uint64_t at_ns);
  [[nodiscard]] bool may_try_again() const;
  void alarm();
  void drop_session();
  void turn_down(AcceptableRequest request, int why) const;
  void send_delayed();
  void end_delayed(int error);
  void end_in_vain(Request& request, int error);
  void gone(int error);

  Endpoint& endpoint_;
  const std::uint32_t rank_;
  State state_ = State::kUnknown;
  int error_ = 0;
  bool is_full_ = false;  // it may hold messages back
  std::shared_ptr<LinkSession> session_;
  std::optional<Errands> errands_;  // of the session
  Fifo<Request*> delayed_;          // sends before there is a connection
  std::uint64_t closing_ns_ = 0;    // not 0: closes when there is one, with that limit
  bool is_closing_ = false;
  std::uint64_t connect_until_ns_ = 0;
  Deadline alarm_{[this](std::uint64_t) { alarm(); }};
};

}  // namespace exs
