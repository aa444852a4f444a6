// A transport of libtirpc that answers requests by a link as well. Its TCP connection stays: with its descriptor, its place in the
// program's poll set, and its end. Thread: the one that serves requests.
//
// Design notes
//  1. If threads of the library serve links (exs_sunrpc_threads), another thread may serve requests by TCP at the same time. So serving
//     takes the lock: for a link in take(), for TCP from receive() to state(), and for the end in destroy().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rpc/rpc.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>

#include "rpc/channel/link.h"

namespace exs::rpc {

class ServerTransport : public std::enable_shared_from_this<ServerTransport> {
 public:
  // Puts our operations before those of the transport, if they are not there yet. Throws std::bad_alloc.
  static ServerTransport& of(SVCXPRT* transport);

  // Replies are written to `reply`.
  void take_link(std::unique_ptr<Link> link, MessageBuffer& reply) {
    link_ = std::move(link);
    reply_ = &reply;
    is_broken_ = false;
  }
  [[nodiscard]] Link* link() const { return link_.get(); }
  // Handles an event of the link: the program answers the received message. EXS_EVT_USER means that it was received before.
  void take(const exs_event_t& event);
  // The link is unusable. The connection may live on: for a child of the client, or without a link.
  void end();
  // Handles a request that arrived by the transport's own connection: later requests there are served before those of the link.
  static void end_link_of(SVCXPRT* transport);
  // The request uses RPCSEC_GSS, whose state all connections share.
  [[nodiscard]] bool has_gss_request() const;

 private:
  enum class Request { kNone, kWaits, kTaken, kBad };

  explicit ServerTransport(SVCXPRT* transport);

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

  using Lock = std::unique_lock<std::recursive_mutex>;
  // Empty while one thread serves all.
  Lock lock();
  void serve();
  [[nodiscard]] bool serves_here() const;
  bool_t decode_request(rpc_msg* message);
  bool_t reply_by_link(rpc_msg* message);

  std::shared_ptr<ServerTransport> self_;  // until destroy()
  std::recursive_mutex mutex_;
  bool has_lock_ = false;  // held by a request by TCP
  SVCXPRT* transport_;
  const Operations* plain_;
  std::unique_ptr<Link> link_;
  MessageBuffer* reply_ = nullptr;
  Request request_ = Request::kNone;
  bool is_broken_ = false;  // a reply could not be sent
  bool is_gone_ = false;    // the program has destroyed the transport
  std::uint32_t id_ = 0;
  XDR stream_{};
};

}  // namespace exs::rpc
