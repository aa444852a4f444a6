// What one end of a flow takes of what the other sends: in order, long items and all. A service's flow has one for its messages, and a
// peer one for its replies. Thread: holder of the node's lock.
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
  OwnedMessage message;        // none: refused, or nobody wants it
  std::optional<Refusal> why;  // refused
  std::uint8_t kind = 0;       // of the flags of DATA
  std::uint64_t call = 0;
  std::int32_t status = 0;
  std::vector<ReturnSlot> slots;  // of a request: where its reply may be written
  bool is_here = true;            // its long items
  std::uint64_t lane_count = 0;   // when they are, if the lane brings them
  std::size_t returns = 0;        // of the program's request, which they go to
  [[nodiscard]] bool is_whole() const noexcept { return is_here; }
};

class Receiving final : private TransferClient {
 public:
  // Where long items go. None: into nothing.
  struct Place {
    Transfer::Pieces pieces;
    std::shared_ptr<void> keeps;
  };
  class Owner {
   public:
    // What is to become of a message, and the place of its long items. False: no other end would send it.
    virtual bool begin(const Data& data, Arrival& arrival, Place& place) = 0;
    // It is all here, and taken; in the order in which they were sent.
    virtual void arrived(Arrival arrival) = 0;

   protected:
    ~Owner() = default;
  };
  explicit Receiving(Owner& owner) : owner_(owner) {}
  ~Receiving() { leave(); }
  Receiving(const Receiving&) = delete;
  Receiving& operator=(const Receiving&) = delete;

  enum class Result { kTaken, kAgain, kLie };
  // kAgain: it had been taken before.
  Result take(Link& link, const Header& header, Bytes frame);
  // Leaves it untaken: it comes again, on another link. False: no other end would send it.
  [[nodiscard]] bool skip(Link& link, const Header& header, Bytes frame);
  // A flow that comes from elsewhere.
  void resume(std::uint64_t accepted) { incoming_.resume(accepted); }
  // The flow is on no link any more, or on another one. What is not all here comes again.
  void leave();
  // The other end starts from the beginning.
  void start_again() {
    leave();
    incoming_ = {};
  }

  // The lane has brought so many transfers more, of the link on which the flow is open.
  void lane_was_written(std::uint32_t transfers);
  [[nodiscard]] bool has_lane_begun() const noexcept { return lane_named_ + lane_written_ > 0; }

  [[nodiscard]] std::uint64_t accepted() const noexcept { return incoming_.accepted(); }
  [[nodiscard]] bool owes_ack() const noexcept { return incoming_.owes_ack(); }
  void tell() noexcept { incoming_.tell(); }
  // Exs uses memory for them.
  [[nodiscard]] bool is_moving() const noexcept { return moving_ > 0; }

 private:
  void transfer_ended(std::uint64_t ticket, bool is_whole) override;
  [[nodiscard]] bool is_next_of_lane(const Data& data);
  void take_whole_ones();

  Owner& owner_;
  Incoming<Arrival> incoming_;
  Link* link_ = nullptr;  // on which some are moving
  std::size_t moving_ = 0;
  std::uint64_t lane_named_ = 0;    // transfers of the lane that replies have named
  std::uint64_t lane_written_ = 0;  // those that have come
};

}  // namespace exs::svc
