// A transport of libtirpc that answers requests by a link as well. It stays the transport of its TCP connection: its descriptor, its
// place among those that the program waits for, and its end. Thread: the one that serves requests.
//
// Design notes
// 1. Where threads of the library serve links (exs_sunrpc_threads), requests by TCP come to another thread at the same time. So whoever
//    serves one has the lock: of a link in take(), by TCP from receive() to state(), and for the end in destroy().
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
  // Puts our operations before those of the transport, if they are not there yet.
  static ServerTransport& of(SVCXPRT* transport);

  // Replies are written to `reply`.
  void take_link(std::unique_ptr<Link> link, MessageBuffer& reply) {
    link_ = std::move(link);
    reply_ = &reply;
    is_broken_ = false;
  }
  [[nodiscard]] Link* link() const { return link_.get(); }
  // An event of the link: lets the program answer what it has received. The message is of that kind, or it was received before.
  void take(const exs_event_t& event);
  // The link is of no use any more. The connection may be: to a child of the client, or to one that goes on without a link.
  void end();
  // By a request that has come by the transport's own connection: whatever that brings next is served before what the link may bring.
  static void end_link_of(SVCXPRT* transport);
  // By RPCSEC_GSS, which has memory of its own for all connections.
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
  // None while one thread serves all.
  Lock lock();
  void serve();
  [[nodiscard]] bool serves_here() const;
  bool_t decode_request(rpc_msg* message);
  bool_t reply_by_link(rpc_msg* message);

  std::shared_ptr<ServerTransport> self_;  // until destroy()
  std::recursive_mutex mutex_;
  bool has_lock_ = false;  // a request by TCP
  SVCXPRT* transport_;
  const Operations* plain_;
  std::unique_ptr<Link> link_;
  MessageBuffer* reply_ = nullptr;
  Request request_ = Request::kNone;
  bool is_broken_ = false;  // a reply could not be sent
  bool is_gone_ = false;    // the program has ended the transport
  std::uint32_t id_ = 0;
  XDR stream_{};
};

}  // namespace exs::rpc
