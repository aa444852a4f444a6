// A transport of libtirpc that answers requests by a link as well. Its TCP connection stays: with its descriptor, its place in the
// program's poll set, and its end. Thread: the one that serves requests.
//
// Design notes
//  1. If threads of the library serve links (exs_sunrpc_threads), another thread may serve requests by TCP at the same time. So serving
//     takes the lock: for a link in take_event(), for TCP from receive() to state(), and for the end in destroy(). A procedure may end
//     its own transport, so a thread may take the lock again; that, and a lock from one callback to the next, no analysis follows.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rpc/rpc.h>

#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/annotations.h"
#include "base/drive_lock.h"
#include "rpc/channel/message_link.h"

namespace exs::rpc {

class ServerTransport;

// The hub, as a transport uses it.
class LinkHost {
 public:
  // Threads of the library serve links.
  [[nodiscard]] bool has_threads() const { return has_threads_; }
  // Passes a message that the program's thread must serve, and all later ones, to that thread. Returns false if the caller should serve
  // it.
  [[nodiscard]] virtual bool pass_on(ServerTransport& transport) = 0;
  // The transport has no link any more, and may be gone.
  virtual void forget(const ServerTransport& transport) = 0;

 protected:
  ~LinkHost() = default;
  bool has_threads_ = false;
};

class ServerTransport : public std::enable_shared_from_this<ServerTransport> {
 public:
  // Puts our operations before those of the transport, if they are not there yet. Throws std::bad_alloc.
  static ServerTransport& of(SVCXPRT* transport, LinkHost& host);

  // Replies are written to `reply`.
  void take_link(std::unique_ptr<MessageLink> link, MessageBuffer& reply) {
    link_ = std::move(link);
    reply_ = &reply;
    is_broken_ = false;
  }
  [[nodiscard]] MessageLink* link() const { return link_.get(); }
  // Handles an event of the link: the program answers the received message. EXS_EVT_USER means that it was received before.
  void take_event(const exs_event_t& event);
  // The link is unusable. The connection may live on: for a child of the client, or without a link.
  void end_link();
  // Handles a request that arrived by the transport's own connection: later requests there are served before those of the link.
  static void end_link_of(SVCXPRT* transport);
  // The request uses RPCSEC_GSS, whose state all connections share.
  [[nodiscard]] bool has_gss_request() const;

 private:
  enum class RequestState { kNone, kWaits, kTaken, kBad };

  ServerTransport(SVCXPRT* transport, LinkHost& host);

  static ServerTransport& ours(SVCXPRT* transport) {
    return *static_cast<ServerTransport*>(transport->xp_p2);
  }
  static bool_t receive(SVCXPRT* transport, rpc_msg* message);
  static xprt_stat state(SVCXPRT* transport);
  static bool_t get_arguments(SVCXPRT* transport, xdrproc_t decode, void* arguments);
  static bool_t reply(SVCXPRT* transport, rpc_msg* message);
  static bool_t free_arguments(SVCXPRT* transport, xdrproc_t free, void* arguments);
  static void destroy(SVCXPRT* transport);
  using Operations = std::remove_cv_t<std::remove_pointer_t<decltype(SVCXPRT::xp_ops)>>;
  static const Operations kOperations;

  class TransportTurn;

  void serve() EXS_REQUIRES(mutex_);
  [[nodiscard]] bool serves_here() const;
  bool_t decode_request(rpc_msg* message);
  bool_t reply_by_link(rpc_msg* message);

  LinkHost& host_;
  std::shared_ptr<ServerTransport> self_;  // until destroy()
  RecursiveMutex mutex_;
  bool has_lock_ EXS_GUARDED_BY(mutex_) = false;  // held by a request by TCP
  SVCXPRT* transport_;
  const Operations* plain_;
  std::unique_ptr<MessageLink> link_;
  MessageBuffer* reply_ = nullptr;
  RequestState request_ = RequestState::kNone;
  bool is_broken_ = false;  // a reply could not be sent
  bool is_gone_ = false;    // the program has destroyed the transport
  std::uint32_t id_ = 0;
  XDR stream_{};
};

}  // namespace exs::rpc
