// The role of a provider that sets up connections by itself: connecting, listening, accepting.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "src/provider/provider.h"

namespace exs {

class UpgradableRequest;

// An incoming connection whose peer waits for an answer. Belongs to no port, so any port of its provider may
// accept it. Destroyed unanswered: rejected with empty private data.
class ConnectionRequest {
 public:
  virtual ~ConnectionRequest() = default;
  // A provider may pad them with zeros.
  [[nodiscard]] virtual std::span<const std::byte> private_data() const noexcept = 0;
  // The kernel descriptor of the connection, or one that stands for it; the request closes it unless
  // release_descriptor() took it.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  virtual int release_descriptor() noexcept = 0;
  // Answers once, before or after release_descriptor() (then the descriptor must still be open). Rejects the
  // peer, with the reason in `private_data`.
  virtual void reject(std::span<const std::byte> private_data) noexcept = 0;
  [[nodiscard]] virtual bool peer_is_gone() const noexcept = 0;
  // Null: only a link of its own provider can carry this connection.
  [[nodiscard]] virtual UpgradableRequest* upgradable() noexcept { return nullptr; }
};

// Listens for peers of a provider that does not use the listening descriptor itself. They wait in it until a
// port takes them. Destroy to stop listening. Thread: the owner's.
class ProcessListener {
 public:
  virtual ~ProcessListener() = default;
  // It has taken the descriptor's own TCP port, so peers of the network come here, too.
  [[nodiscard]] virtual bool holds_tcp_port() const noexcept = 0;
};

// A provider that does not listen on the descriptor it is given. Thread: any.
class OwnListening {
 public:
  // `descriptor`: a TCP socket that is bound and does not listen yet. EADDRINUSE and the like as of
  // listen(2). Null: nothing of the provider's carries the address.
  virtual Result<std::unique_ptr<ProcessListener>> start_listening(int descriptor, int backlog) = 0;
  // EADDRINUSE: a listener uses that address and port in a way that bind(2) does not see.
  virtual Status check_address(const sockaddr& address) = 0;

 protected:
  ~OwnListening() = default;
};

// The incoming connections of one listening descriptor, or of one ProcessListener, as a port sees them.
// Destroy to stop listening (the descriptor stays open).
class PortListener {
 public:
  virtual ~PortListener() = default;
  // The oldest complete request, or nullptr.
  virtual std::unique_ptr<ConnectionRequest> next_request() = 0;
};

struct ConnectParameters {
  std::span<const std::byte> private_data;  // copied
  LinkDepths depths;
};

struct ListenParameters {
  std::uint32_t backlog = 0;  // requests waiting; while there are so many, further peers wait in the kernel
  std::uint64_t handshake_limit_ns = 0;  // from TCP accept to complete request
  ProcessListener* listening = nullptr;  // of a provider with OwnListening; outlives the PortListener
};

// Thread: shard.
class Connector {
 public:
  // A connect() to this peer is worth a try. Otherwise `why_not` has the reason. Asks no peer and takes
  // microseconds.
  virtual bool may_reach(const sockaddr* peer, Reason& why_not) = 0;
  // `descriptor`: a TCP socket of the caller, not yet connected, made non-blocking here; borrowed until the
  // link is destroyed. A provider that has no use for it takes from it the address to connect from, if it is
  // bound. kEstablished or kDisconnected follows (ECONNREFUSED: rejected, see private_data()).
  // The caller keeps the time limit: it closes the link when it has waited long enough.
  virtual Result<std::unique_ptr<Link>> connect(int descriptor, const sockaddr* peer, socklen_t peer_bytes,
                                                const ConnectParameters& parameters,
                                                std::uint64_t link_token) = 0;
  // `descriptor`: a listening TCP socket of the caller, or what OwnListening::start_listening was given;
  // borrowed.
  virtual Result<std::unique_ptr<PortListener>> listen(int descriptor, const ListenParameters& parameters,
                                                       std::uint64_t listener_token) = 0;
  // Takes a request of this provider, and its descriptor, borrowed from the caller, which must have called
  // release_descriptor(). The reply leaves no earlier than the next flush(), so receives posted before that
  // are in place in time.
  virtual Result<std::unique_ptr<Link>> accept(std::unique_ptr<ConnectionRequest> request, int descriptor,
                                               const ConnectParameters& parameters,
                                               std::uint64_t link_token) = 0;

 protected:
  ~Connector() = default;
};

}  // namespace exs
