// One connection over an RDMA device.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/contain.h"
#include "src/provider/countdown.h"
#include "src/provider/posted_receives.h"
#include "src/provider/provider.h"
#include "src/provider/verbs/port_context.h"

namespace exs::verbs {

// A port knows the queues of a device, and makes them.
using QueuesOf = Result<Queues*> (*)(PortContext&, rdma_cm_id&);

// Design notes
//  1. Set-up: address, route, queue pair, connection; each step follows from an event of the connection
//     manager. What goes wrong before the connection stands leaves a reason.
//  2. The connection manager's DISCONNECTED is the end of the peer's stream; messages that came before it are
//     taken from the completion queues first. A failed work request ends the link as well. Both do so at the
//     port's next step, never inside the event that tells.
//  3. A window is a registration of its own, so the peer reaches the window's range, in its direction, while
//     it stands, and nothing else of the region.
//  4. Some iWARP responders miss what comes right after their reply (siw does) until more arrives: an
//     initiator that hears nothing after its first message writes no bytes, a few times.
// Thread: shard.
class VerbsLink final : public Link, private CmClient, private QueuePairClient {
 public:
  VerbsLink(PortContext& context, QueuesOf queues_of, const LinkDepths& depths, std::uint64_t token);
  ~VerbsLink() override;
  // After a failure the link can only be destroyed.
  Status start_connect(std::shared_ptr<CmChannel> channel, const sockaddr* from, const sockaddr* peer,
                       std::span<const std::byte> private_data);
  // Takes the id of a request.
  Status start_accept(std::shared_ptr<CmChannel> channel, CmId id, std::shared_ptr<CmChannel> from,
                      const rdma_conn_param& offered, std::span<const std::byte> peers_data,
                      std::span<const std::byte> private_data);

  Status post_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token) override;
  Status post_recv(LocalSlice into, std::uint64_t token) override;
  Status post_read(LocalSlice into, RemoteSlice from, std::uint64_t token) override;
  Status post_write(LocalSlice from, RemoteSlice to, std::uint64_t token) override;
  [[nodiscard]] bool needs_registered_memory() const noexcept override { return true; }
  Result<RemoteSlice> expose(LocalSlice memory, Access access) override;
  Status withdraw(std::uint32_t key) override;
  [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return peers_data_; }
  bool addresses(sockaddr_storage& ours, sockaddr_storage& peers) const noexcept override;
  [[nodiscard]] Reason why_not() const noexcept override { return why_not_; }
  void close() noexcept override;

  // --- the port ---
  void reply();
  void end_now();
  void end_soon(Status status);
  // kNoDeadline: nothing is due.
  [[nodiscard]] std::uint64_t due_ns() const noexcept { return countdown_.due_ns(); }
  void look_at_countdown(std::uint64_t now_ns);
  [[nodiscard]] bool is_on(const ibv_context* device) const noexcept { return id_ && id_->verbs == device; }
  [[nodiscard]] std::uint32_t port_number() const noexcept { return id_->port_num; }
  [[nodiscard]] bool has_queue_pair(std::uint32_t number) const noexcept {
    return queue_pair_ && queue_pair_->number() == number;
  }
  [[nodiscard]] bool is_bound_to(const sockaddr& address) const noexcept;

 private:
  enum class State : std::uint8_t {
    kResolvingAddress,
    kResolvingRoute,
    kConnecting,
    kReplying,
    kOpen,
    kEnded,   // kDisconnected is queued
    kClosed,  // close() ended it
  };

  void cm_event(const rdma_cm_event& event) override;
  void address_resolved();
  void route_resolved();
  void connect_from_another_port();
  void established(const rdma_cm_event& event);
  void rejected(const rdma_cm_event& event);
  void set_up_failed(const Reason& why, Status status);
  void message_arrived(std::span<const std::byte> message) override;
  void transfer_done(CompletionKind kind, std::uint64_t token) override;
  void queue_pair_failed(Status why) override;

  [[nodiscard]] bool is_over() const noexcept { return state_ == State::kEnded || state_ == State::kClosed; }
  [[nodiscard]] bool is_iwarp() const noexcept {
    return id_ && id_->verbs != nullptr && id_->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
  }
  [[nodiscard]] bool takes_posts() const noexcept { return !is_over() && !ends_; }
  Status make_queue_pair();
  [[nodiscard]] rdma_conn_param connection_parameters() const;
  void start_countdown(std::uint64_t after_ns);
  void stop_countdown();
  void leave_lists() noexcept;
  // The link ends with ENOMEM if there is no memory for the step.
  template <typename Step>
  void contained(Step&& step) noexcept {
    contain(std::forward<Step>(step), [this] { end_soon(Status(ENOMEM)); });
  }
  void take_event(const rdma_cm_event& event);
  void send_reply();
  void nudge_or_end(std::uint64_t now_ns);
  // Completes a post that the link's end cuts off.
  void complete_cut(CompletionKind kind, Status status, std::uint64_t token) noexcept {
    context_.completions.push_if_room(*completions_, {kind, status, 0, token_, token});
  }
  // Ends all posts with `status`.
  void shut(Status status, bool let_messages_leave) noexcept;
  void complete(CompletionKind kind, Status status, std::uint64_t token, std::uint32_t length_bytes = 0) {
    context_.completions.push(*completions_, {kind, status, length_bytes, token_, token});
  }

  PortContext& context_;
  const QueuesOf queues_of_;
  const CompletionQueue::SourceHandle completions_ = context_.completions.make_source();
  const LinkDepths depths_;
  const std::uint64_t token_;
  State state_ = State::kResolvingAddress;
  bool initiator_ = false;
  bool heard_ = false;  // from the peer
  bool ends_ = false;
  Status end_status_;
  Reason why_not_;
  Countdown countdown_;               // to the next nudge, or to the end of a connection that was flushed
  std::uint64_t nudge_after_ns_ = 0;  // 0: not before the first message
  std::shared_ptr<CmChannel> channel_;
  CmId id_;
  std::vector<CmId> refused_ids_;  // whose port was taken
  bool may_change_port_ = false;
  std::unique_ptr<QueuePair> queue_pair_;  // goes before its id
  std::uint8_t reads_out_ = 0, reads_in_ = 0;
  std::vector<std::byte> our_data_, peers_data_;
  PostedReceives receives_;
  std::unordered_map<std::uint32_t, MemoryRegion> windows_;
};

}  // namespace exs::verbs
