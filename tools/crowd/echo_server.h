// The server: sends every message back on its connection, with one operation at a time on each.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <exs/exs.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/common/memory.h"
#include "tools/crowd/client_process.h"
#include "tools/crowd/progress.h"
#include "tools/crowd/settings.h"

namespace crowd {

class EchoServer {
 public:
  explicit EchoServer(const Settings& settings);
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return listener_.local_address().port(); }
  [[nodiscard]] const std::string& provider() const { return provider_; }

  // Serves until all client processes have finished the phase and one of two things holds: the goal since reset() is reached, or no
  // events arrive any more.
  void serve(std::vector<std::unique_ptr<ClientProcess>>& clients, const Goal& goal, Progress& progress);
  void reset() { echoed_ = 0; }

  // Counts the descriptors that connections have had and that the library still knows.
  [[nodiscard]] std::size_t open_sockets() const;
  [[nodiscard]] const ErrorCount& errors() const { return errors_; }

 private:
  struct Peer {
    exs::cpp::Socket socket;
    bool receiving = true;  // the pending operation is a receive; false: the send of the received message
  };

  // Returns the phase's progress: connections, or messages.
  [[nodiscard]] std::uint64_t done_of(const Goal& goal) const;
  [[nodiscard]] bool is_reached(const Goal& goal) const;
  void handle(const exs_event_t& event);
  void on_accept(const exs_event_t& event);
  void on_transfer(Peer& peer, const exs_event_t& event);
  // With a pool: receives messages as they arrive, and sends them back.
  void start_receiving(Peer& peer);
  void on_message(Peer& peer, const exs_event_t& event);
  void on_returned(const exs_event_t& event);
  void post(Peer& peer, std::size_t length_bytes);
  void drop(Peer& peer);

  const Settings settings_;
  exs::cpp::Queue queue_;
  tools::Slots slots_;
  std::optional<exs::cpp::ReceivePool> pool_;
  std::vector<Peer> peers_;
  std::vector<Peer*> free_peers_;
  std::vector<bool> descriptors_;  // true: a connection has had this descriptor
  std::string provider_ = "none";
  std::uint32_t open_ = 0;
  std::uint64_t echoed_ = 0;
  ErrorCount errors_;
  exs::cpp::Socket listener_;
};

}  // namespace crowd
