// One end of a simulated connection. What it sends is an event of its peer's port; what it reads it takes from its
// peer's memory when the event comes, as a device would.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/fifo.h"
#include "base/socket_address.h"
#include "src/provider/completion_queue.h"
#include "src/provider/posted_receives.h"
#include "src/provider/provider.h"
#include "src/provider/sim/network.h"
#include "src/provider/window_table.h"

namespace exs::sim {

class SimPort;

// Thread: shard. What other threads call needs the network's mutex, and says so.
class SimLink final : public Link {
 public:
  enum class Side : std::uint8_t { kInitiator, kResponder };
  // `ends`: `service` of them is the listener's. Needs the network's mutex, as the destructor takes it.
  SimLink(SimPort& port, Side side, const AddressPair& ends, const LinkDepths& depths, std::uint64_t token);
  ~SimLink() override;

  Status post_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token) override;
  Status send_now(std::span<const std::byte> header, LocalSlice payload) noexcept override;
  bool send_short(std::span<const std::byte> header, LocalSlice payload) noexcept override {
    return send_now(header, payload).ok();
  }
  [[nodiscard]] bool sends_short() const noexcept override { return true; }
  void show_messages_to(MessageTaker& taker) override { taker_ = &taker; }
  Status post_recv(LocalSlice into, std::uint64_t token) override;
  [[nodiscard]] std::uint64_t round_trip_ns() const noexcept override;
  [[nodiscard]] bool grow_receives(std::uint32_t more) noexcept override {
    depths_.receives += more;
    return true;
  }
  Status post_read(LocalSlice into, RemoteSlice from, std::uint64_t token) override;
  Status post_write(LocalSlice from, RemoteSlice to, std::uint64_t token) override;
  Status read_now(LocalSlice into, RemoteSlice from) noexcept override;
  [[nodiscard]] bool reads_now() const noexcept override { return true; }
  Result<RemoteSlice> expose(LocalSlice memory, Access access) override;
  Status withdraw(std::uint32_t key) override;
  [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return private_data_; }
  bool addresses(sockaddr_storage& ours, sockaddr_storage& peers) const noexcept override;
  [[nodiscard]] ConnectStage connect_stage() const noexcept override { return stage_; }
  void close() noexcept override;

  // --- the port's, with the network's mutex ---
  // The peer's, from a request or a connect.
  void learn(std::vector<std::byte> private_data) { private_data_ = std::move(private_data); }
  void happen(Event& event);
  [[nodiscard]] bool shows_messages() const noexcept;
  // Without the mutex. True: the taker has it.
  [[nodiscard]] bool show(const Event& message) { return taker_->take(ArrivingMessage(message.bytes)); }
  // The peer has got the question, and has not decided.
  void asked() noexcept { stage_ = ConnectStage::kReceived; }
  // The accepting end's answer leaves.
  void reply(Event answer);
  void out_of_memory() noexcept;
  [[nodiscard]] bool is_connecting() const noexcept { return state_ == State::kConnecting && !is_lost_; }
  [[nodiscard]] SimPort& port() noexcept { return port_; }

  // --- the network's, with its mutex, on any thread ---
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] std::uint64_t peer_id() const noexcept { return peer_id_; }
  void set_peer(std::uint64_t id) noexcept { peer_id_ = id; }
  // The port number of the listener that both ends know.
  [[nodiscard]] std::uint16_t service() const noexcept;
  // Nothing arrives any more but the loss itself.
  void lose(Status why) noexcept;
  void delay_messages(std::uint64_t until_ns) noexcept {
    last_arrival_ns_ = std::max(last_arrival_ns_, until_ns);
  }
  void delay_own(std::uint64_t until_ns) noexcept;
  // The time at which the next of the peer's messages and writes arrives here.
  [[nodiscard]] std::uint64_t& last_arrival_ns() noexcept { return last_arrival_ns_; }

 private:
  enum class State : std::uint8_t { kConnecting, kReplying, kOpen, kEnded, kClosed };
  struct Posted {
    CompletionKind kind = CompletionKind::kSend;
    std::uint64_t token = 0;
  };
  struct Read {
    LocalSlice into;
    RemoteSlice from;
    std::uint64_t token = 0;
    std::uint64_t number = 0;
  };

  [[nodiscard]] Status admit() EXS_REQUIRES(network_.mutex);
  [[nodiscard]] SimLink* peer() EXS_REQUIRES(network_.mutex);
  Status send(EventKind kind, std::vector<std::byte> bytes, RemoteSlice to, const Posted* posted)
      EXS_REQUIRES(network_.mutex);
  void place(const Event& message) EXS_REQUIRES(network_.mutex);
  void write_here(const Event& write) EXS_REQUIRES(network_.mutex);
  void complete_oldest() EXS_REQUIRES(network_.mutex);
  void read_piece(const Event& piece) EXS_REQUIRES(network_.mutex);
  void finish_read() EXS_REQUIRES(network_.mutex);
  // False: the read breaks the rules, and the link is lost.
  bool copy_read(const Read& read, std::uint64_t bytes) EXS_REQUIRES(network_.mutex);
  void established(std::vector<std::byte> private_data) EXS_REQUIRES(network_.mutex);
  void refused(std::vector<std::byte> private_data) noexcept EXS_REQUIRES(network_.mutex);
  void finish(Status why) noexcept EXS_REQUIRES(network_.mutex);
  void end_posts(Status why) noexcept EXS_REQUIRES(network_.mutex);
  void push(CompletionKind kind, std::uint64_t token, std::uint32_t length_bytes = 0);

  Network& network_;
  SimPort& port_;
  const std::uint64_t id_;
  const std::uint64_t token_;
  const Side side_;
  const AddressPair ends_;
  LinkDepths depths_;
  CompletionQueue::SourceHandle completions_;
  std::uint64_t peer_id_ = 0;
  State state_ = State::kConnecting;
  ConnectStage stage_ = ConnectStage::kReaching;
  bool is_lost_ = false;
  MessageTaker* taker_ = nullptr;
  std::vector<std::byte> private_data_;
  WindowTable windows_;
  PostedReceives receives_;
  Fifo<Posted> posted_;  // sends and writes
  std::uint32_t sends_out_ = 0;
  Fifo<Read> reads_;
  std::uint64_t reads_posted_ = 0;
  std::uint64_t last_arrival_ns_ = 0;
  std::uint64_t last_left_ns_ = 0;
  std::uint64_t last_read_ns_ = 0;
};

}  // namespace exs::sim
