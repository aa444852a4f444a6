// The sending direction of a flow: frames that the other end has not accepted, and their long items. A peer has one for its messages, and
// a service's flow has one for its replies. Thread: holder of the node's lock.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

#include "service/flow/outgoing.h"
#include "service/node/frame_memory.h"
#include "service/node/link.h"

namespace exs::svc {

class Sending final : private TransferClient {
 public:
  using Slot = Outgoing::Slot;
  class Owner {
   public:
    virtual FrameMemory& memory() = 0;
    // How far the other direction is accepted; every frame carries this.
    virtual std::uint64_t accepted() = 0;
    // The link no longer uses the message. The owner frees the slot or sends it again.
    virtual void message_ended(Slot slot, Fate fate) = 0;
    // So many messages may end in this step, and nothing of them may be lost.
    virtual void make_room_for_ends(std::size_t messages) = 0;

   protected:
    ~Owner() = default;
  };
  explicit Sending(Owner& owner) : owner_(owner) {}
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;

  // Returns nothing if memory ran out.
  std::optional<Slot> add(const Data& data, Transfer::Pieces longs, void* handle,
                          std::vector<std::uint32_t> places = {});
  void add_before(std::span<const Slot> slots) { outgoing_.add_before(slots); }
  void add_again(Slot slot) { outgoing_.add(slot); }
  // Removes a message that has never left. Returns false if it has, or if its long items are moving still: the other end may not have
  // taken it (take_back()) and exs reads them all the same.
  bool remove(Slot slot) { return !owner_.memory().kept(slot).is_moving && outgoing_.remove(slot); }

  // Makes messages void that have left unaccepted: their numbers stay. Only while there is no link.
  template <class Predicate>
  void make_void(Predicate is_meant) {
    outgoing_.for_each([&](Slot slot) {
      if (is_meant(owner_.memory().kept(slot))) make_void(slot);
    });
  }

  // Makes one message void, if it is not under way.
  void make_void_if_waiting(Slot slot) {
    if (!outgoing_.is_under_way(slot)) make_void(slot);
  }

  // frames() returns the unaccepted messages, to be sent by another process; resume() takes them there, and returns false if memory ran
  // out.
  [[nodiscard]] std::vector<Bytes> frames() const;
  [[nodiscard]] std::uint64_t first() const noexcept { return outgoing_.first(); }
  [[nodiscard]] bool resume(std::uint64_t instance, std::uint64_t first, std::span<const Bytes> frames);
  // Replaces messages whose long items are not moving by those that `instead` returns; `gone` gets the replaced ones.
  template <class Instead, class Gone>
  void replace_longs(Instead instead, Gone gone) {
    outgoing_.for_each([&](Slot slot) {
      Kept& kept = owner_.memory().kept(slot);
      if (kept.longs.empty() || kept.is_moving) return;
      gone(kept);
      replace(slot, instead(kept));
    });
  }
  [[nodiscard]] bool has_longs() const {
    bool found = false;
    outgoing_.for_each([&](Slot slot) { found = found || !owner_.memory().kept(slot).longs.empty(); });
    return found;
  }

  // As Outgoing::open(); nothing leaves before send_all().
  Outgoing::Opening open(Link& link, std::uint32_t alias, std::uint64_t instance, std::uint64_t accepted,
                         bool is_known);
  bool accept(std::uint64_t number);
  // The other end has refused this message; all before it are done.
  bool refused(std::uint64_t number, int error);
  void take_back() { outgoing_.take_back(); }
  void close();
  void give_up();
  // Gives up messages that are not under way: exs never reads their long items.
  void give_up_waiting();
  // Returns false if frames wait for room on the link.
  [[nodiscard]] bool send_all();
  // Sets the lane of the flow on its current link. NULL: none any more.
  void use_lane(Link* lane) noexcept { lane_ = lane; }

  [[nodiscard]] bool is_full() const noexcept { return outgoing_.is_full(); }
  [[nodiscard]] bool is_empty() const noexcept { return outgoing_.is_empty(); }
  [[nodiscard]] std::size_t count() const noexcept { return outgoing_.count(); }
  [[nodiscard]] std::uint64_t instance() const noexcept { return outgoing_.instance(); }
  // Exs is using memory of the program.
  [[nodiscard]] bool is_moving() const noexcept { return moving_ > 0; }

 private:
  void transfer_ended(std::uint64_t ticket, bool is_whole) override;
  void ended(Slot slot, Fate fate);
  void make_void(Slot slot);
  void replace(Slot slot, const Data& data);
  void send_longs(Kept& kept, Slot slot, bool by_lane);
  [[nodiscard]] auto ending() {
    return [this](Slot slot, Fate fate) { ended(slot, fate); };
  }

  Owner& owner_;
  Outgoing outgoing_;
  Link* link_ = nullptr;
  std::uint32_t alias_ = 0;
  Link* lane_ = nullptr;
  std::uint64_t lane_count_ = 0;  // writes made on the lane
  std::size_t moving_ = 0;
};

}  // namespace exs::svc
