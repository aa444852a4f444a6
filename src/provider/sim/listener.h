// A listening end of the simulated network, and the peers that wait there.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/fifo.h"
#include "base/unique_fd.h"
#include "src/provider/completion_queue.h"
#include "src/provider/connector.h"
#include "src/provider/sim/network.h"

namespace exs::sim {

// Thread: the owner's. The link that asks is known by its number, as it may go at any time.
class SimRequest final : public ConnectionRequest {
 public:
  SimRequest(std::shared_ptr<Network> network, std::uint64_t client, const AddressPair& ends,
             std::vector<std::byte> private_data, UniqueFd descriptor)
      : network_(std::move(network)),
        client_(client),
        ends_(ends),
        data_(std::move(private_data)),
        descriptor_(std::move(descriptor)),
        number_(descriptor_.get()) {}
  ~SimRequest() override { reject({}); }

  [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return data_; }
  [[nodiscard]] int descriptor() const noexcept override { return number_; }
  int release_descriptor() noexcept override { return descriptor_.release(); }
  void reject(std::span<const std::byte> private_data) noexcept override;
  [[nodiscard]] bool peer_is_gone() const noexcept override;

  // The accepting end answers.
  [[nodiscard]] std::uint64_t take_client() noexcept { return std::exchange(client_, 0); }
  // As the accepting end sees them.
  [[nodiscard]] const AddressPair& ends() const noexcept { return ends_; }
  [[nodiscard]] std::vector<std::byte> take_data() noexcept { return std::move(data_); }

 private:
  const std::shared_ptr<Network> network_;
  std::uint64_t client_;  // 0: answered
  const AddressPair ends_;
  std::vector<std::byte> data_;
  UniqueFd descriptor_;
  const int number_;
};

// Thread: the owner's; what needs the network's mutex: any.
class SimListening final : public ProcessListener {
 public:
  static Result<std::unique_ptr<ProcessListener>> start(std::shared_ptr<Network> network, int descriptor,
                                                        int backlog);
  ~SimListening() override;

  // The kernel's socket keeps the port and listens to nobody.
  [[nodiscard]] bool holds_tcp_port() const noexcept override { return true; }

  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] const sockaddr_storage& address() const noexcept { return address_; }
  [[nodiscard]] std::unique_ptr<SimRequest> next_request();

  // --- with the network's mutex ---
  [[nodiscard]] bool is_full() const noexcept { return requests_.count() >= backlog_; }
  // The next add() needs no memory.
  void make_room();
  void add(std::unique_ptr<SimRequest> request) noexcept;
  // The port that gets to know of requests from now on, and of those that wait. Null: none.
  void attach(SimPort* port);

 private:
  SimListening(std::shared_ptr<Network> network, std::uint64_t id, const sockaddr_storage& address,
               std::size_t backlog)
      : network_(std::move(network)), id_(id), address_(address), backlog_(backlog) {}
  void tell_port() noexcept;

  const std::shared_ptr<Network> network_;
  const std::uint64_t id_;
  const sockaddr_storage address_;
  const std::size_t backlog_;
  Fifo<std::unique_ptr<SimRequest>> requests_;
  SimPort* port_ = nullptr;
};

// Thread: shard.
class SimPortListener final : public PortListener {
 public:
  SimPortListener(SimPort& port, SimListening& listening, std::uint64_t token);
  ~SimPortListener() override;

  std::unique_ptr<ConnectionRequest> next_request() override { return listening_.next_request(); }
  [[nodiscard]] std::uint64_t id() const noexcept { return listening_.id(); }
  void tell();
  void refuse_one() noexcept { listening_.next_request().reset(); }

 private:
  SimPort& port_;
  SimListening& listening_;
  const std::uint64_t token_;
  const CompletionQueue::SourceHandle completions_;
};

}  // namespace exs::sim
