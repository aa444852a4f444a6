// A connection whose MPA request is complete and waits to be answered.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "src/provider/iwarp/mpa.h"
#include "src/provider/upgrade.h"

namespace exs::iwarp {

// Thread: the owner's; belongs to no port.
class IncomingRequest final : public ConnectionRequest, private UpgradableRequest {
 public:
  // Takes `descriptor`. `collector` holds the complete request.
  IncomingRequest(int descriptor, std::unique_ptr<MpaCollector> collector);
  ~IncomingRequest() override;
  IncomingRequest(const IncomingRequest&) = delete;
  IncomingRequest& operator=(const IncomingRequest&) = delete;

  [[nodiscard]] std::span<const std::byte> private_data() const noexcept override {
    return frame_.private_data;
  }
  [[nodiscard]] int descriptor() const noexcept override { return descriptor_; }
  int release_descriptor() noexcept override;
  void reject(std::span<const std::byte> private_data) noexcept override;
  [[nodiscard]] bool peer_is_gone() const noexcept override;
  [[nodiscard]] UpgradableRequest* upgradable() noexcept override { return this; }

  [[nodiscard]] const MpaFrame& frame() const noexcept { return frame_; }

  // Lets an exs peer know that its request is here and waits, by the first bytes of the reply, which are always the same.
  void tell_received() noexcept;
  // The part of the reply that is still to be sent.
  [[nodiscard]] std::span<const std::byte> unsent_of(const MpaBytes& reply) const noexcept {
    return std::span(reply.bytes).first(reply.length).subspan(sent_bytes_);
  }

 private:
  Status grant(std::span<const std::byte> private_data) override;
  bool send_rest(const MpaBytes& reply) noexcept;

  const int descriptor_;
  bool owned_ = true;  // the descriptor, until it is released
  bool answered_ = false;
  std::size_t sent_bytes_ = 0;  // of the reply
  std::unique_ptr<MpaCollector> collector_;
  MpaFrame frame_;  // its private data lie in the collector
};

}  // namespace exs::iwarp
