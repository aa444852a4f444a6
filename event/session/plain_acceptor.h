// The acceptor of an adopted listening socket. Each connection that it accepts is an adopted socket too. The
// rules of plain_session.h hold for the descriptor.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "event/session/acceptor.h"
#include "event/session/closed_socket_check.h"

namespace exs {

class PlainAcceptor final : public Acceptor {
 public:
  PlainAcceptor(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
                const AcceptorOptions& options, RegisterSession register_session);

  // --- Thread: shard ---
  void complete(const Completion& completion) override;

 private:
  class PlainListener;
  class PlainRequest;

  Result<std::unique_ptr<PortListener>> open_listener() override;
  std::unique_ptr<ConnectionRequest> next_acceptable(PortListener& listener,
                                                     proto::Agreement& agreement) override;
  void establish(Shard& shard, AcceptableRequest acceptable,
                 const std::shared_ptr<Handover>& handover) override;
  bool has_request() override;
  bool still_waits();

  std::unique_ptr<ConnectionRequest> accept_next();
  void watch();
  void unwatch();
  void starve(int error);

  // Thread: shard
  ClosedSocketCheck closed_check_;
  bool watched_ = false;
  bool is_short_ = false;  // of descriptors or memory, at the last accept
  Deadline starved_;       // set while descriptors or memory are short: the time of the next accept
};

}  // namespace exs
