// A connection whose peer's request waits to be answered.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/unique_fd.h"
#include "src/provider/connector.h"
#include "src/provider/verbs/cm_channel.h"

namespace exs::verbs {

// Thread: the owner's; the channel's, which may be another one, says that the peer has gone.
class IncomingRequest final : public ConnectionRequest, public CmClient {
 public:
  // `descriptor` stands for the connection in the application.
  // `id` is that of the connect request with the parameters `said`.
  IncomingRequest(std::shared_ptr<CmChannel> channel, CmId id, const rdma_conn_param& said,
                  UniqueFd descriptor);
  ~IncomingRequest() override;

  [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return data_; }
  [[nodiscard]] int descriptor() const noexcept override { return number_; }
  int release_descriptor() noexcept override { return descriptor_.release(); }
  void reject(std::span<const std::byte> private_data) noexcept override;
  [[nodiscard]] bool peer_is_gone() const noexcept override { return gone_; }

  // The link's from now on. Until the id has moved to another channel its events still come here.
  CmId take_id() noexcept { return std::move(id_); }
  [[nodiscard]] const std::shared_ptr<CmChannel>& channel() const noexcept { return channel_; }
  [[nodiscard]] const rdma_conn_param& offered() const noexcept { return offered_; }

  void cm_event(const rdma_cm_event& event) override;

 private:
  const std::shared_ptr<CmChannel> channel_;
  CmId id_;
  UniqueFd descriptor_;
  const int number_;
  std::vector<std::byte> data_;
  rdma_conn_param offered_{};  // its numbers
  std::atomic<bool> gone_{false};
};

}  // namespace exs::verbs
