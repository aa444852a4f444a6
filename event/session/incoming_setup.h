// The set-up of an accepted request. The responder decides which provider carries the connection.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <optional>

#include "event/session/connection_setup.h"

namespace exs {

class IncomingSetup final : public ConnectionSetup {
 public:
  // Called once, when the link is established. An error: the request could not be accepted, and the session
  // ends.
  using Accepted = std::function<void(Status)>;
  // std::bad_alloc: request and `done` are still the caller's.
  IncomingSetup(const Context& context, AcceptableRequest&& acceptable, Accepted&& done);

  // `why_no_device`: see Route::decide().
  void start(const Reason& why_no_device);
  void complete(const Completion& completion) override;
  void stop(Status why) override;
  [[nodiscard]] std::string what_failed(Status why) override;

 private:
  [[nodiscard]] const char* direction() const noexcept override { return "from"; }

  void take_request(std::optional<Role> way);
  Status begin_upgrade();
  void upgrade_ready(Status status);
  Result<Carrier> accept_as_it_came();
  Result<Carrier> accept_by_upgrade();
  void finish(Result<Carrier> carrier);
  void decline(Status why);
  void report_outcome(Status outcome);

  std::unique_ptr<ConnectionRequest> request_;
  const Role came_by_;
  const proto::Agreement agreement_;
  Accepted done_;
  std::unique_ptr<PendingUpgrade> upgrade_;
};

}  // namespace exs
