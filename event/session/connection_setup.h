// Finds the link of a session: OutgoingSetup tries the ways of a connect one after the other, IncomingSetup
// answers a request. The route decides which way is worth a try. A set-up ends when the link is established,
// or when its session ends.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/socket_address.h"
#include "event/engine/shard.h"
#include "event/session/route.h"
#include "event/session/session_options.h"

namespace exs {

// A request of a peer whose wishes fit ours, and by whose listener it came.
struct AcceptableRequest {
  std::unique_ptr<ConnectionRequest> request;
  Role role = Role::kNetwork;
  proto::Agreement agreement;
};

// The result of a set-up.
struct Carrier {
  std::unique_ptr<Link> link;
  Role role = Role::kNetwork;  // of its provider
  proto::Agreement agreement;
  std::unique_ptr<AddressPair> ends;  // null: the descriptor knows the addresses
};

// The session of a set-up, which outlives it. Thread: shard.
class SetupClient {
 public:
  virtual ~SetupClient() = default;
  // Names the session in the completions of its next link; those of earlier links are dropped.
  virtual std::uint64_t renew_token() = 0;
  // Connecting side: `deadline_ns` is that of the whole connect.
  virtual void connected(Carrier carrier, std::uint64_t deadline_ns) = 0;
  // Accepting side: the link is established; the peer may not know it yet. An error: the session has ended.
  virtual Status accepted(Carrier carrier) = 0;
  virtual void setup_failed(Status why) = 0;
};

// Thread: shard.
class ConnectionSetup : public std::enable_shared_from_this<ConnectionSetup> {
 public:
  struct Context {
    SetupClient& client;
    Shard& shard;
    int socket;
    const SessionOptions& options;
    Route& route;
  };
  virtual ~ConnectionSetup() = default;
  ConnectionSetup(const ConnectionSetup&) = delete;
  ConnectionSetup& operator=(const ConnectionSetup&) = delete;

  virtual void complete(const Completion& completion) = 0;
  // Closes the link, if there is one, and drops the upgrade. The session ends with `why`. Any thread may be
  // its last user and destroy the rest.
  virtual void stop(Status why);
  // The EXS_SO_ERROR_TEXT of a session that ends.
  [[nodiscard]] virtual std::string what_failed(Status why) = 0;
  // Logs why the session has ended, if EXS_EXPLAIN asks for it.
  virtual void explain(Status /*why*/) {}

 protected:
  explicit ConnectionSetup(const Context& context)
      : context_(context), token_(context.client.renew_token()) {}

  [[nodiscard]] SetupClient& client() const noexcept { return context_.client; }
  [[nodiscard]] Shard& shard() const noexcept { return context_.shard; }
  [[nodiscard]] int socket() const noexcept { return context_.socket; }
  [[nodiscard]] const SessionOptions& options() const noexcept { return context_.options; }
  [[nodiscard]] Route& route() const noexcept { return context_.route; }
  [[nodiscard]] std::uint64_t token() const noexcept { return token_; }
  [[nodiscard]] proto::Hello hello() const { return proto::make_hello(options().wishes); }
  void drop_link();
  // The upgrade of the provider for one host, if the route found one.
  [[nodiscard]] ConnectionUpgrade* upgrade() {
    shard().assert_held();
    return shard().port(Role::kSameHost)->upgrade();
  }
  void renew_token() { token_ = client().renew_token(); }
  // `taken` carries the connection; `limit`: what limits it, if anything.
  [[nodiscard]] Carrier settle(Role taken, const proto::Agreement& agreement, const Reason& limit);
  // Logs how the connection found its provider, if EXS_EXPLAIN asks for it. `peer`: null: the descriptor
  // knows it.
  void tell_route(int error, const sockaddr_storage* peer) const;

  std::unique_ptr<Link> link_;

 private:
  [[nodiscard]] virtual const char* direction() const noexcept = 0;
  // Null: the descriptor knows it.
  [[nodiscard]] virtual const sockaddr_storage* peer() const noexcept { return nullptr; }

  const Context context_;
  std::uint64_t token_;
};

}  // namespace exs
