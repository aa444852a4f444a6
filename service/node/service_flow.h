// A flow at the service's end: it accepts one sender's messages and sends the service's answers. Thread: holder of the node's lock.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <list>
#include <utility>
#include <vector>

#include "base/status.h"
#include "exs/service.h"
#include "service/names/key.h"
#include "service/node/link.h"
#include "service/node/message.h"
#include "service/node/pending_acks.h"
#include "service/node/receiving.h"
#include "service/node/sending.h"
#include "service/wire/handover.h"

namespace exs::svc {

class Service;
// Number of the sender's node, and of the flow there.
using FlowName = std::pair<std::uint64_t, std::uint64_t>;
// Flows without a link, with the time since when, the oldest first.
using FlowsKept = std::list<std::pair<FlowName, std::uint64_t>>;

class ServiceHost {
 public:
  // Takes the event's message over, unless it throws.
  virtual void report(const exs_svc_event_t& event) = 0;
  // So many reports in this step need no memory.
  virtual void make_room_for_events(std::size_t count) = 0;
  // The sender cancelled this request. The program may not have seen it yet.
  virtual void take_back(const CallName& name) = 0;
  virtual PendingAcks& pending_acks() = 0;
  virtual FrameMemory& memory() = 0;
  virtual void wake_at(std::uint64_t time_ns) = 0;

 protected:
  ~ServiceHost() = default;
};

class ServiceFlow final : public LaneClient,
                          private Sending::Owner,
                          private Receiving::Owner,
                          private AckSource {
 public:
  ServiceFlow(Service& service, FlowName name, const IdBytes& from, std::shared_ptr<Share> share);
  ~ServiceFlow();
  ServiceFlow(const ServiceFlow&) = delete;
  ServiceFlow& operator=(const ServiceFlow&) = delete;

  // `taken`: how far the sender has accepted replies. Returns false if that is impossible.
  bool open(Link& link, std::uint32_t alias, std::uint32_t rights, std::uint64_t taken);
  // Sets the principal's share that the flow counts for.
  void count_for(std::shared_ptr<Share> share) noexcept { share_ = std::move(share); }
  [[nodiscard]] Share& share() const noexcept { return *share_; }
  // Puts the flow at the end of the list, or takes it out. Neither needs memory.
  void keep_in(FlowsKept& list, std::uint64_t now) noexcept;
  void take_from(FlowsKept& list) noexcept;
  [[nodiscard]] bool is_kept() const noexcept { return not_kept_.empty(); }
  // The flow has left its link.
  void close();
  // Returns true if the flow may have a lane now. take_lane() makes the connection its lane.
  [[nodiscard]] bool takes_lane() const noexcept;
  void take_lane(Link& connection);
  // The sender has left the flow, or has opened it elsewhere.
  void end_lane();
  // Handles DATA, ACK, PING and CANCEL of an open flow.
  void frame_arrived(const Header& header, Bytes frame);
  void send_all();

  // Moves of the service: moved() returns what has to move, and points into the flow; resume() takes it at the new place.
  [[nodiscard]] MovedFlow moved() const;
  [[nodiscard]] bool resume(const MovedFlow& flow);
  // Ends requests that cannot move: those that the program has seen (not in `waiting`), and those whose reply has long items.
  void cut_short(const std::vector<std::uint64_t>& waiting);
  [[nodiscard]] bool has_longs() const { return sending_.has_longs(); }
  [[nodiscard]] bool keeps_replies() const { return !sending_.is_empty(); }

  [[nodiscard]] std::size_t calls() const noexcept { return calls_.size(); }
  [[nodiscard]] bool has_call(std::uint64_t number) const;
  // Completes `data` for the reply before it is sent.
  Status reply(Data& data, Transfer::Pieces longs, void* handle);
  [[nodiscard]] bool is_moving() const noexcept { return sending_.is_moving() || receiving_.is_moving(); }
  [[nodiscard]] bool is_receiving() const noexcept { return receiving_.is_moving(); }
  [[nodiscard]] Service& service() const noexcept { return service_; }
  [[nodiscard]] const FlowName& name() const noexcept { return name_; }
  [[nodiscard]] const IdBytes& from() const noexcept { return from_; }
  [[nodiscard]] Link* link() const noexcept { return link_; }
  [[nodiscard]] std::uint32_t alias() const noexcept { return alias_; }
  bool is_left = false;  // its sender has forgotten it, so it goes with its link
  // How far messages are accepted; the caller tells the sender now.
  std::uint64_t accepted() override;

 private:
  FrameMemory& memory() override;
  void message_ended(Sending::Slot slot, Fate fate) override;
  void make_room_for_ends(std::size_t messages) override;
  bool begin(const Data& data, Arrival& arrival, Receiving::Destination& place) override;
  void arrived(Arrival& arrival) override;
  void acknowledge() override;
  void asked_how_it_is(const Header& header);
  [[nodiscard]] std::optional<Refusal> why_not(const Data& data) const;
  void refuse(const Arrival& arrival);
  void cancel(std::uint64_t call);
  void report_sent(const Kept& kept, int error);
  void lane_was_written(std::uint32_t) override {}  // never called at an acceptor
  void lane_has_gone() override;
  // A request without a reply.
  struct Call {
    std::uint64_t number = 0;
    std::vector<ReturnSlot> slots;  // where the lane may write its reply
    std::size_t slots_used = 0;
  };
  [[nodiscard]] std::vector<Call>::iterator find_call(std::uint64_t number);
  static std::vector<std::uint32_t> places_of(Call& call, const LongLengths& longs);

  Service& service_;
  const FlowName name_;
  const IdBytes from_;
  std::shared_ptr<Share> share_;
  FlowsKept not_kept_;  // its entry of the list of the flows kept, while that is not there
  const FlowsKept::iterator entry_ = not_kept_.begin();
  std::uint32_t rights_ = 0;
  Sending sending_{*this};
  Receiving receiving_{*this};
  Link* link_ = nullptr;  // on which it is open
  std::uint32_t alias_ = 0;
  Link* lane_ = nullptr;
  bool has_had_lane_ = false;  // on this link; a link has at most one
  std::vector<Call> calls_;
};

}  // namespace exs::svc
