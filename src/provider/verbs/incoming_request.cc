// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/verbs/incoming_request.h"

#include <algorithm>
#include <utility>

#include "src/provider/software_iwarp.h"

namespace exs::verbs {
namespace {

constexpr std::size_t kRejectDataMax = 148;  // of an InfiniBand reject

}  // namespace

IncomingRequest::IncomingRequest(std::shared_ptr<CmChannel> channel, CmId id, const rdma_conn_param& said,
                                 UniqueFd descriptor)
    : channel_(std::move(channel)),
      id_(std::move(id)),
      descriptor_(std::move(descriptor)),
      number_(descriptor_.get()) {
  id_->context = static_cast<CmClient*>(this);
  const auto* const bytes = static_cast<const std::byte*>(said.private_data);
  if (bytes != nullptr) {
    const auto data = without_software_iwarp_mark({bytes, said.private_data_len});
    data_.assign(data.begin(), data.end());
  }
  offered_.responder_resources = said.responder_resources;
  offered_.initiator_depth = said.initiator_depth;
}

IncomingRequest::~IncomingRequest() {
  if (id_) reject({});
}

void IncomingRequest::reject(std::span<const std::byte> private_data) noexcept {
  if (!id_) return;
  const auto length = static_cast<std::uint8_t>(std::min(private_data.size(), kRejectDataMax));
  ::rdma_reject(id_.get(), private_data.data(), length);
  id_.reset();
}

// Whatever comes before the answer ends the attempt.
void IncomingRequest::cm_event(const rdma_cm_event&) {
  gone_ = true;
}

}  // namespace exs::verbs
