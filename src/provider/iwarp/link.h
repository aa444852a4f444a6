// One iWARP connection on one TCP socket.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/contain.h"
#include "base/socket_cookie.h"
#include "src/provider/iwarp/backend.h"
#include "src/provider/iwarp/incoming_request.h"
#include "src/provider/iwarp/mpa.h"
#include "src/provider/iwarp/port_context.h"
#include "src/provider/iwarp/receiver.h"
#include "src/provider/iwarp/transmitter.h"
#include "src/provider/upgrade.h"

namespace exs::iwarp {

// The destination of one receive of a link: a posted buffer first, then the port's staging memory.
struct ReceiveSlot {
  iovec entries[2];
  std::span<std::byte> staging;
  std::size_t direct_bytes = 0;
  std::size_t offered_bytes = 0;
};

// The link knows what to send and what bytes mean; the port decides when its socket is touched.
// Thread: shard.
class IwarpLink final : public Link,
                        public Pollable,
                        private Nudged,
                        private UpgradableLink,
                        private ReceiverClient,
                        private TransmitterClient {
 public:
  IwarpLink(PortContext& context, int descriptor, const LinkDepths& depths, std::uint64_t token,
            const TagKey& tag_key);
  ~IwarpLink() override;

  // Exactly one of these follows the constructor. On failure the link is good for nothing but destruction.
  Status start_connect(const sockaddr* peer, socklen_t peer_bytes, std::span<const std::byte> private_data);
  Status start_accept(const IncomingRequest& request, std::span<const std::byte> private_data);

  Status post_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token) override;
  Status post_send_at_leisure(std::span<const std::byte> header, std::uint64_t token) override;
  bool send_short(std::span<const std::byte> header, LocalSlice payload) noexcept override;
  [[nodiscard]] bool sends_short() const noexcept override { return true; }
  [[nodiscard]] bool gains_by_company() const noexcept override { return true; }  // one system call
  void show_messages_to(MessageTaker& taker) override { taker_ = &taker; }
  Status post_recv(LocalSlice into, std::uint64_t token) override;
  [[nodiscard]] std::uint64_t round_trip_ns() const noexcept override;
  [[nodiscard]] bool grow_receives(std::uint32_t more) noexcept override {
    depths_.receives += more;
    return true;
  }
  Status post_read(LocalSlice into, RemoteSlice from, std::uint64_t token) override;
  Status post_write(LocalSlice from, RemoteSlice to, std::uint64_t token) override;
  Result<RemoteSlice> expose(LocalSlice memory, Access access) override;
  Status withdraw(std::uint32_t key) override;
  [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return private_data_; }
  [[nodiscard]] UpgradableLink* upgradable() noexcept override { return this; }
  [[nodiscard]] ConnectStage connect_stage() const noexcept override { return stage_; }
  void close() noexcept override;

  void ready(std::uint32_t events) override;

  // The port's side. prepare_* is false when there is nothing to do; finish_* says whether more can be done
  // at once. Without memory for it the link ends, with ENOMEM.
  bool prepare_receive(IoJob& job, ReceiveSlot& slot, std::span<std::byte> staging);
  bool finish_receive(const IoJob& job, const ReceiveSlot& slot);
  bool prepare_send(IoJob& job, std::span<iovec> entries);
  bool finish_send(const IoJob& job);
  // The port stops sending for now although more could go: goes on when the socket is writable.
  void wait_until_writable();
  // Company or not, what was held back leaves with the next flush.
  void end_holding_back() noexcept;
  void taken_to_flush() noexcept { marked_to_flush_ = false; }
  void taken_to_send() noexcept { marked_to_send_ = false; }
  void taken_to_receive() noexcept { marked_to_receive_ = false; }

 private:
  // Nudged: bytes have arrived behind the handshake.
  [[nodiscard]] bool has_heard_peer() const noexcept override {
    return receiver_.fpdu_seen() || !receiver_.at_fpdu_boundary();
  }
  // Sends an empty write, unless nothing of ours has left yet, or more is about to leave anyway.
  void nudge() override;

  enum class State : std::uint8_t {
    kConnecting,     // TCP handshake
    kAwaitingReply,  // our MPA request has been sent
    kReplying,       // our MPA reply has not left
    kOpen,
    kEnded,   // the peer or an error ended it; kDisconnected is queued
    kClosed,  // close() ended it
  };

  Status release() override;  // UpgradableLink

  bool takes_message(std::span<const std::byte> message) override;
  void message_received(std::uint64_t token, std::uint32_t length_bytes) override;
  void read_completed(std::uint64_t token) override;
  void read_requested(const ReadRequest& request, const std::byte* source) override;
  void message_left(MessageKind kind, std::uint64_t token) override;
  void message_dropped(MessageKind kind, std::uint64_t token) override;

  [[nodiscard]] bool is_over() const noexcept { return state_ == State::kEnded || state_ == State::kClosed; }
  template <typename Step>
  void contained(Step&& step) noexcept {
    contain(std::forward<Step>(step), [this] { end(Status(ENOMEM)); });
  }
  void take_events(std::uint32_t events);
  bool take_received(const IoJob& job, const ReceiveSlot& slot);
  bool take_sent(const IoJob& job);
  void connected();
  void take_reply(std::size_t bytes);
  void reply_left();
  void configure(bool crc, bool peer_is_exs, std::uint32_t reads_out);
  bool take_bytes(const ReceiveSlot& slot, std::size_t bytes);
  // This look has taken as many FPDUs as it may.
  bool has_had_its_share();
  void stream_ended();
  void stream_over();
  void socket_failed(int error, const char* call);

  void end(Status status, std::span<const std::byte> terminate = {}) noexcept;
  void shut(Status status, std::span<const std::byte> terminate) noexcept;
  void send_terminate(std::span<const std::byte> frame) noexcept;
  void complete(CompletionKind kind, Status status, std::uint64_t token, std::uint32_t length_bytes = 0);
  // Completes a post that the link's end cuts off.
  void complete_cut(CompletionKind kind, std::uint64_t token) noexcept;
  Status queue_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token);
  void mark_to_flush();
  void mark_to_send();
  void mark_to_receive();
  [[nodiscard]] std::string peer_name() const;

  // What every short message touches comes first: of many links at a time, no cache holds more.
  PortContext& context_;
  const CompletionQueue::SourceHandle completions_ = context_.completions.make_source();
  const int descriptor_;
  State state_ = State::kConnecting;
  ConnectStage stage_ = ConnectStage::kReaching;
  bool watched_ = false;  // in the epoll set
  bool held_up_ = false;  // the socket took less than was offered
  bool handshake_left_ = false;
  bool marked_to_flush_ = false;
  bool holds_back_ = false;
  bool marked_to_send_ = false;
  bool marked_to_receive_ = false;
  int send_error_ = 0;               // nothing is sent any more; reading finds the end
  std::uint64_t look_ = 0;           // in which it received last
  std::uint64_t fpdus_at_look_ = 0;  // that it had received when that look began
  MessageTaker* taker_ = nullptr;
  ReadBudget reads_;
  Receiver receiver_;
  Transmitter transmitter_;

  LinkDepths depths_;
  const std::uint64_t cookie_ = socket_cookie(descriptor_).value_or(0);
  const std::uint64_t token_;
  Status ending_;            // what outstanding posts complete with
  std::uint32_t next_sink_;  // STag of the next read's sink; matched against the oldest read only
  WindowTable windows_;
  std::unique_ptr<MpaCollector> reply_;  // until the reply is complete
  std::vector<std::byte> private_data_;  // the peer's
};

}  // namespace exs::iwarp
