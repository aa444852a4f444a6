// A transport of libtirpc that answers requests by a link as well. It stays the transport of its TCP connection: its descriptor, its
// place among those that the program waits for, and its end. Thread: the one that serves requests.
#pragma once

#include <rpc/rpc.h>

#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "rpc/channel/link.h"

namespace exs::rpc {

class ServerTransport {
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
  [[nodiscard]] SVCXPRT* transport() const { return transport_; }
  // Lets the program answer what the link has received. Afterwards this object may be gone.
  void serve();
  // The link is of no use any more. The connection may be: to a child of the client, or to one that goes on without a link.
  void end();

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

  bool_t decode_request(rpc_msg* message);
  bool_t reply_by_link(rpc_msg* message);

  SVCXPRT* transport_;
  const Operations* plain_;
  std::unique_ptr<Link> link_;
  MessageBuffer* reply_ = nullptr;
  Request request_ = Request::kNone;
  bool is_broken_ = false;   // a reply could not be sent
  bool* is_gone_ = nullptr;  // to be told to who serves
  std::uint32_t id_ = 0;
  XDR stream_{};
};

}  // namespace exs::rpc
