// The receiving direction of a flow: it accepts messages in order, long items included. A service's flow has one for its messages, and a
// peer has one for its replies. Thread: holder of the node's lock.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "service/flow/incoming.h"
#include "service/node/link.h"
#include "service/node/message.h"

namespace exs::svc {

struct Arrival {
  std::uint64_t number = 0;
  OwnedMessage message;        // empty: refused, or nobody gets it
  std::optional<Refusal> why;  // the reason, if refused
  std::uint8_t kind = 0;       // flags of DATA
  std::uint64_t call = 0;
  std::int32_t status = 0;
  std::vector<ReturnSlot> slots;  // of a request: where its reply may be written
  bool is_here = true;            // its long items have arrived
  std::uint64_t lane_count = 0;   // the lane's count at which they have; 0: not by the lane
  std::size_t returns = 0;        // number of places of the program's request that they go to
  [[nodiscard]] bool is_whole() const noexcept { return is_here; }
};

class Receiving final : private TransferClient {
 public:
  // The memory for long items; without pieces they are discarded.
  struct Destination {
    Transfer::Pieces pieces;
    std::shared_ptr<void> keeps;
  };
  class Owner {
   public:
    // Prepares the arrival of a message and the place of its long items. Returns false if the message breaks the protocol.
    virtual bool begin(const Data& data, Arrival& arrival, Destination& place) = 0;
    // The message is complete and accepted; called in the order of sending. Without memory for it nothing has changed, and it is not
    // accepted.
    virtual void arrived(Arrival& arrival) = 0;

   protected:
    ~Owner() = default;
  };
  explicit Receiving(Owner& owner) : owner_(owner) {}
  ~Receiving() { leave(); }
  Receiving(const Receiving&) = delete;
  Receiving& operator=(const Receiving&) = delete;

  enum class Result { kTaken, kAgain, kProtocolError };
  // kAgain: the message had been accepted before.
  Result take(Link& link, const Header& header, Bytes frame);
  // Leaves the message unaccepted, so it comes again on another link. Returns false if it breaks the protocol.
  [[nodiscard]] bool skip(Link& link, const Header& header, Bytes frame);
  // Continues a flow that has moved here.
  void resume(std::uint64_t accepted) { incoming_.resume(accepted); }
  // The flow has left its link. Incomplete messages come again.
  void leave();
  // The other end starts with number 1.
  void start_again() {
    leave();
    incoming_ = {};
  }

  // The lane of the current link has completed this many more writes.
  void lane_was_written(std::uint32_t transfers);
  [[nodiscard]] bool has_lane_begun() const noexcept { return lane_named_ + lane_written_ > 0; }

  [[nodiscard]] std::uint64_t accepted() const noexcept { return incoming_.accepted(); }
  [[nodiscard]] bool owes_ack() const noexcept { return incoming_.owes_ack(); }
  void note_acknowledged() noexcept { incoming_.note_acknowledged(); }
  // Exs is using memory for long items.
  [[nodiscard]] bool is_moving() const noexcept { return moving_ > 0; }

 private:
  void transfer_ended(std::uint64_t ticket, bool is_whole) override;
  [[nodiscard]] bool is_next_of_lane(const Data& data);
  void take_whole_ones();

  Owner& owner_;
  Incoming<Arrival> incoming_;
  Link* link_ = nullptr;  // on which long items are moving
  std::size_t moving_ = 0;
  std::uint64_t lane_named_ = 0;    // writes that replies have named
  std::uint64_t lane_written_ = 0;  // writes that have arrived
};

}  // namespace exs::svc
