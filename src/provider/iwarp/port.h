// One shard's iWARP traffic: decides which sockets are touched when, and in what batches.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "src/provider/connector.h"
#include "src/provider/iwarp/backend.h"
#include "src/provider/iwarp/link.h"
#include "src/provider/iwarp/port_context.h"

namespace exs::iwarp {

// Thread: shard.
class IwarpPort final : public Port, private Connector {
 public:
  static Result<std::unique_ptr<Port>> open(const Settings& settings);
  ~IwarpPort() override;

  [[nodiscard]] Connector* connector() noexcept override { return this; }
  [[nodiscard]] SingleIssuer* single_issuer() noexcept override { return backend_->single_issuer(); }

  void expect_company(Company& company) override { context_.company = &company; }
  void flush() override;
  void progress(std::uint64_t now_ns) override;
  // With one busy link, a call of recv() is all that a look takes. Where many messages come at a time, their sender waits for the lock of
  // the socket while we ask in vain: fewer looks find more.
  [[nodiscard]] unsigned looks_in_a_row() const noexcept override { return watches_one() ? kLooksInARow : 0; }
  bool poll_memory(bool rang) override;
  [[nodiscard]] bool has_news() noexcept override;
  bool take_news(const bool& enough) override;
  [[nodiscard]] bool has_completions() const noexcept override {
    return !context_.completions.empty() || !context_.to_flush.empty();
  }
  [[nodiscard]] std::uint64_t arrivals() const noexcept override { return context_.arrivals; }
  std::size_t poll(std::span<Completion> out) override { return context_.completions.take(out); }
  std::size_t flush_and_poll(std::span<Completion> out) override {
    flush_marked();
    return context_.completions.take(out);
  }
  bool arm() override;
  [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept override;
  [[nodiscard]] int wait_fd() const noexcept override { return context_.poller.descriptor(); }
  bool limitation(std::size_t index, Reason& limit) const override {
    limit = backend_->limitation();
    return index == 0 && limit.code != ReasonCode::kNone;
  }

 private:
  static constexpr std::size_t kBatchMax = 16;
  static constexpr unsigned kLooksInARow = 4;
  static constexpr unsigned kAloneEnough = 4;

  struct SendSlot {
    std::array<iovec, Transmitter::kPiecesMax> entries;
  };

  IwarpPort(Poller&& poller, const Settings& settings, std::unique_ptr<Backend> backend);

  // Connector. Any peer that TCP reaches.
  bool may_reach(const sockaddr*, Reason&) override { return true; }
  Result<std::unique_ptr<Link>> connect(int descriptor, const sockaddr* peer, socklen_t peer_bytes,
                                        const ConnectParameters& parameters,
                                        std::uint64_t link_token) override;
  Result<std::unique_ptr<PortListener>> listen(int descriptor, const ListenParameters& parameters,
                                               std::uint64_t listener_token) override;
  Result<std::unique_ptr<Link>> accept(std::unique_ptr<ConnectionRequest> request, int descriptor,
                                       const ConnectParameters& parameters,
                                       std::uint64_t link_token) override;

  [[nodiscard]] bool watches_one() const noexcept {
    return crowded_looks_ == 0 && context_.to_receive.empty() && context_.hot.links().size() == 1 &&
           context_.alone_in_a_row >= kAloneEnough;
  }
  void flush_marked();
  void send_owed();
  void send_marked(std::vector<IwarpLink*>& marked, void (IwarpLink::*taken)() noexcept);
  void poll_descriptors();
  // Both empty `links` as far as they get in a bounded number of passes.
  void receive_from(std::vector<IwarpLink*>& links);
  void send_for(std::vector<IwarpLink*>& links);
  void receive_batch(std::span<IwarpLink*> links, std::vector<IwarpLink*>& again);
  void send_batch(std::span<IwarpLink*> links, std::vector<IwarpLink*>& again);

  PortContext context_;
  std::unique_ptr<Backend> backend_;
  const std::size_t batch_max_;
  std::unique_ptr<std::byte[]> staging_;  // megabytes, most of which is never touched
  std::array<IoJob, kBatchMax> jobs_;     // the batch at hand, as are the slots
  std::array<IwarpLink*, kBatchMax> owners_{};
  std::array<ReceiveSlot, kBatchMax> receive_slots_;
  std::vector<SendSlot> send_slots_;
  bool has_received_ = false;  // by has_news(), into the first of the slots, for take_news()
  std::uint64_t turns_ = 0;    // without asking epoll
  int crowded_looks_ = 0;      // more looks that leave it to epoll which links have bytes
};

}  // namespace exs::iwarp
