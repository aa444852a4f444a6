// A provider that moves messages between links of one port, in memory and at once, so a message's remaining cost is that of exs. It
// carries immediate messages only, and has no windows.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/fifo.h"
#include "base/unique_fd.h"
#include "src/provider/connector.h"

namespace call_cost {

class LoopbackLink;

// Thread: shard.
class LoopbackPort final : public exs::Port, private exs::Connector {
 public:
  LoopbackPort();
  ~LoopbackPort() override;

  [[nodiscard]] exs::Connector* connector() noexcept override { return this; }
  void flush() override {}
  void progress(std::uint64_t now_ns) override;
  bool poll_memory(bool rang) override;
  [[nodiscard]] unsigned looks_in_a_row() const noexcept override { return 64; }
  [[nodiscard]] bool has_news() noexcept override;
  [[nodiscard]] bool has_completions() const noexcept override { return !ready_.empty(); }
  [[nodiscard]] std::uint64_t arrivals() const noexcept override { return arrivals_; }
  std::size_t poll(std::span<exs::Completion> out) override;
  [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept override { return exs::kNoDeadline; }
  [[nodiscard]] int wait_fd() const noexcept override { return bell_.get(); }
  // Rings as shared memory does, so that an engine asleep on the port steps back once messages come.
  bool arm() override;
  void disarm() override;

  // The request of the last connect().
  std::unique_ptr<exs::ConnectionRequest> request();

 private:
  friend class LoopbackLink;

  bool may_reach(const sockaddr*, exs::Reason&) override { return true; }
  exs::Result<std::unique_ptr<exs::Link>> connect(int descriptor, const sockaddr* peer, socklen_t peer_bytes,
                                                  const exs::ConnectParameters& parameters,
                                                  std::uint64_t link_token) override;
  exs::Result<std::unique_ptr<exs::PortListener>> listen(int, const exs::ListenParameters&,
                                                         std::uint64_t) override {
    return exs::failure(EOPNOTSUPP);
  }
  exs::Result<std::unique_ptr<exs::Link>> accept(std::unique_ptr<exs::ConnectionRequest> request,
                                                 int descriptor, const exs::ConnectParameters& parameters,
                                                 std::uint64_t link_token) override;

  void ring();

  exs::UniqueFd bell_;
  bool armed_ = false;
  std::vector<LoopbackLink*> links_;
  LoopbackLink* connecting_ = nullptr;
  exs::Fifo<exs::Completion> ready_;
  std::uint64_t arrivals_ = 0;
};

class LoopbackProvider final : public exs::Provider {
 public:
  [[nodiscard]] exs::ProviderId id() const noexcept override { return exs::ProviderId::kIwarp; }
  [[nodiscard]] std::string_view name() const noexcept override { return "loopback"; }
  exs::Status register_memory(exs::MemoryKey, std::span<std::byte>, exs::Access, int) override { return {}; }
  void deregister_memory(exs::MemoryKey) noexcept override {}
  exs::Result<std::unique_ptr<exs::Port>> open_port(exs::Reason& why_not) override;

  LoopbackPort* port = nullptr;  // the last port opened
};

}  // namespace call_cost
