// One connection between two processes of this host.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/fifo.h"
#include "base/socket_cookie.h"
#include "src/provider/connector.h"
#include "src/provider/countdown.h"
#include "src/provider/posted_receives.h"
#include "src/provider/provider.h"
#include "src/provider/shm/channel_slot.h"
#include "src/provider/shm/channel_traffic.h"
#include "src/provider/window_table.h"

namespace exs::shm {

inline constexpr std::size_t kMessageBytesMax = 65000;
inline constexpr std::uint32_t kPrivateBytesMax = 512;
inline constexpr std::uint32_t kReadDepthMax = 1024;
inline constexpr std::uint64_t kTransferBytesMax = std::uint64_t{1} << 31;
static_assert(kMessageBytesMax <= kRecordBytesMax);

// Design notes
//  1. A message goes into the ring as it is posted, and has left then. What finds no room waits in
//     `send_queue_`, and all that is posted later behind it; a write of more than one step waits there as
//     well. So the peer finds messages and writes in the order of the posts.
//  2. Reads are begun in the order of the posts and may be done in any; they complete in order.
//  3. The TCP connection carries no bytes. When it ends, the link ends after what the peer wrote before.
// Thread: shard.
class ShmLink final : public Link, public Pollable {
 public:
  // `context` and `traffic` outlive it, the latter until it has ended.
  ShmLink(PortContext& context, ChannelTraffic& traffic, ChannelSlot slot, int descriptor,
          const ConnectParameters& parameters, std::uint64_t token, const TagKey& tag_key);
  ~ShmLink() override;
  // After a failure the link can only be destroyed.
  Status start();

  Status post_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token) override;
  Status send_now(std::span<const std::byte> header, LocalSlice payload) noexcept override;
  bool send_short(std::span<const std::byte> header, LocalSlice payload) noexcept override;
  Status read_now(LocalSlice into, RemoteSlice from) noexcept override;
  [[nodiscard]] bool reads_now() const noexcept override { return depths_.reads_out > 0; }
  [[nodiscard]] bool sends_short() const noexcept override { return true; }
  void show_messages_to(MessageTaker& taker) override { taker_ = &taker; }
  Status post_recv(LocalSlice into, std::uint64_t token) override;
  [[nodiscard]] bool grow_receives(std::uint32_t more) noexcept override {
    depths_.receives += more;
    return true;
  }
  Status post_read(LocalSlice into, RemoteSlice from, std::uint64_t token) override;
  Status post_write(LocalSlice from, RemoteSlice to, std::uint64_t token) override;
  Result<SharedMemory> map(RemoteSlice window) override;
  Result<RemoteSlice> expose(LocalSlice memory, Access access) override;
  Status withdraw(std::uint32_t key) override;
  [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return private_data_; }
  void close() noexcept override;

  // Events of the TCP connection.
  void ready(std::uint32_t events) override;
  // All has been handled that came before the TCP connection ended. True: the link needs no further call.
  bool on_tcp_end(std::uint64_t now_ns);
  // The time of the next call.
  [[nodiscard]] std::uint64_t end_due_ns() const noexcept { return end_due_.due_ns(); }
  [[nodiscard]] ChannelTraffic& traffic() noexcept { return traffic_; }

  // ChannelTraffic's side: records of the peer, all of whose fields are still to be checked.
  // True: the taker has taken the message which the ring shows, as on_message() would have let it.
  [[nodiscard]] bool shows(const RingReader& ring) {
    return taker_ != nullptr && completions_->waiting == 0 && taker_->take(ring.message());
  }
  void on_message(std::uint32_t length_bytes, const RingReader& ring);
  void on_read_request(const ReadRequest& request);
  void on_read_piece(const ReadPiece& piece, std::span<const std::byte> bytes);
  void on_write_piece(const WritePiece& piece, std::span<const std::byte> bytes);
  void on_peer_ready();
  void on_peer_end(Ending ending);
  void on_channel_end(Status status) { end(status, Ending::kLost); }
  void out_of_memory() noexcept { end(Status(ENOMEM), Ending::kLost); }
  // Does what it can of what was left, one step of each kind of work.
  Progress continue_work();
  // Returns whether the mark changed.
  bool mark_busy() noexcept { return !std::exchange(busy_, true); }
  void unmark_busy() noexcept { busy_ = false; }

 private:
  enum class State : std::uint8_t {
    kAwaitingPeer,  // its link may not be there yet
    kOpen,
    kEnded,   // the peer or an error ended it; kDisconnected is queued
    kClosed,  // close() ended it
  };
  enum class QueuedKind : std::uint8_t { kReady, kSend, kWrite };
  struct QueuedPost {
    QueuedKind kind = QueuedKind::kSend;
    std::unique_ptr<std::byte[]> header;  // kSend
    std::size_t header_bytes = 0;
    std::span<const std::byte> payload;  // of a write: the rest to move
    RemoteSlice to;                      // kWrite: likewise
    bool begun = false;
    std::uint64_t token = 0;
  };
  enum class ReadState : std::uint8_t {
    kWaiting,  // not begun
    kDirect,   // we move the bytes
    kAsked,    // the peer may move them
    kServed,   // the peer does
    kDone,
  };
  struct PendingRead {
    std::span<std::byte> into;  // the rest to receive
    std::uint64_t address = 0;
    std::uint32_t key = 0;
    ReadState state = ReadState::kWaiting;
    Claims::Ticket ticket;
    std::uint64_t asked_ns = 0;  // 0: not looked at since
    std::uint64_t token = 0;
    std::size_t timed_bytes = 0;  // not 0: the whole length, for ReadChoice::end_pieces()
  };
  struct ServedRead {
    Claims::Ticket ticket;
    std::uint32_t key = 0;
    std::span<const std::byte> source;  // the rest to move
  };

  [[nodiscard]] bool is_over() const noexcept { return state_ == State::kEnded || state_ == State::kClosed; }
  void queue(QueuedPost outgoing);
  Progress send_queued();
  // True: the message needs no further step.
  bool send(QueuedPost& message);
  Progress write_step(QueuedPost& write, std::size_t& pieces);
  Progress write_directly(QueuedPost& write);
  Progress write_piece(QueuedPost& write);

  Progress read_steps();
  [[nodiscard]] bool is_read_directly(std::uint64_t address, std::size_t bytes);
  PeerMemory::Moved read_memory(std::span<std::byte> into, std::uint64_t address);
  Progress begin_read(PendingRead& read);
  Progress ask_for(PendingRead& read);
  Progress read_directly(PendingRead& read);
  Progress await_answer(PendingRead& read);
  void end_timing(PendingRead& read, std::size_t bytes_moved);
  void complete_reads();
  PendingRead* find_read(const ReadPiece& piece);

  Progress serve_reads();

  void fault(const char* what);
  // The program has unmapped memory of an operation.
  void memory_gone() { end(memory_fault(), Ending::kLost); }
  [[nodiscard]] Status memory_fault() const;
  // Handles a failed access to the peer's memory.
  void access_failed(Status status, const char* what);
  void end(Status status, Ending ending) noexcept;
  void shut(Status status, Ending ending) noexcept;
  void complete(CompletionKind kind, Status status, std::uint64_t token, std::uint32_t length_bytes = 0) {
    context_.completions.push(*completions_, {kind, status, length_bytes, token_, token});
  }

  // Completes a post that the link's end cuts off.
  void complete_cut(CompletionKind kind, Status status, std::uint64_t token) noexcept {
    context_.completions.push_if_room(*completions_, {kind, status, 0, token_, token});
  }
  void take_events(std::uint32_t events);

  PortContext& context_;
  ChannelTraffic& traffic_;
  ChannelSlot slot_;
  const std::uint32_t peer_number_;
  const CompletionQueue::SourceHandle completions_ = context_.completions.make_source();
  const int descriptor_;
  const std::uint64_t cookie_ = socket_cookie(descriptor_).value_or(0);
  LinkDepths depths_;
  const std::uint64_t token_;
  State state_ = State::kAwaitingPeer;
  bool watched_ = false;
  bool busy_ = false;
  Countdown end_due_;
  std::size_t sends_queued_ = 0;
  MessageTaker* taker_ = nullptr;
  PostedReceives receives_;
  Fifo<QueuedPost> send_queue_;
  Fifo<PendingRead> reads_;
  Fifo<ServedRead> served_reads_;
  WindowTable windows_;
  const std::vector<std::byte> private_data_;  // the peer's
};

}  // namespace exs::shm
