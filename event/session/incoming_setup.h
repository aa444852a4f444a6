// The set-up of an accepted request: the responder decides which provider carries the connection.
#pragma once

#include <functional>
#include <optional>

#include "event/session/connection_setup.h"

namespace exs {

class IncomingSetup final : public ConnectionSetup {
 public:
  // `done` is called once, when the ends have found out how they reach each other. An error: the request could
  // not be accepted, the session has ended.
  using Accepted = std::function<void(Status)>;
  IncomingSetup(const Context& context, std::unique_ptr<ConnectionRequest> request,
                const proto::Agreement& agreement, Accepted done);

  // `why_no_device`: of the listening socket, see Route::decide.
  void start(const Reason& why_no_device);
  void complete(const Completion& completion) override;

 private:
  [[nodiscard]] const char* direction() const noexcept override { return "from"; }

  void take_request(std::optional<ProviderId> way);
  Status meet();
  void met(Status status);
  Result<Carrier> accept_as_it_came();
  Result<Carrier> accept_by_meeting();
  void finish(Result<Carrier> carrier);
  void decline(Status why);

  std::unique_ptr<ConnectionRequest> request_;
  const proto::Agreement agreement_;
  Accepted done_;
  std::unique_ptr<Meeting> meeting_;
};

}  // namespace exs
