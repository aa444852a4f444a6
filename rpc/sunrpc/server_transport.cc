#include "rpc/sunrpc/server_transport.h"

#include <rpc/svc_mt.h>

#include <utility>

#include "rpc/sunrpc/encoder.h"
#include "rpc/sunrpc/hub.h"
#include "rpc/sunrpc/no_copy.h"
#include "rpc/sunrpc/xdr_function.h"

namespace exs::rpc {

const ServerTransport::Operations ServerTransport::kOperations = {receive, state,          get_arguments,
                                                                  reply,   free_arguments, destroy};

ServerTransport& ServerTransport::of(SVCXPRT* transport) {
  if (transport->xp_ops == &kOperations) return ours(transport);
  return *new ServerTransport(transport);
}

ServerTransport::ServerTransport(SVCXPRT* transport) : transport_(transport), plain_(transport->xp_ops) {
  transport->xp_ops = &kOperations;
  transport->xp_p2 = this;
}

void ServerTransport::serve() {
  bool is_gone = false;
  is_gone_ = &is_gone;
  request_ = Request::kWaits;
  {
    const DecodedMessage message(link_->received());
    svc_getreq_common(transport_->xp_fd);
  }
  if (is_gone) return;
  is_gone_ = nullptr;
  const bool is_bad = std::exchange(request_, Request::kNone) == Request::kBad;
  if (link_ != nullptr && (is_bad || is_broken_ || !link_->receive_next())) end();
}

void ServerTransport::end() {
  if (link_ == nullptr) return;
  Hub::instance().forget(*this);
  link_.reset();
}

bool_t ServerTransport::receive(SVCXPRT* transport, rpc_msg* message) {
  ServerTransport& self = ours(transport);
  if (self.request_ != Request::kWaits) return self.plain_->xp_recv(transport, message);
  self.request_ = Request::kTaken;
  return self.decode_request(message);
}

bool_t ServerTransport::decode_request(rpc_msg* message) {
  const auto bytes = link_->received();
  auto* const start = const_cast<std::byte*>(bytes.data());
  xdrmem_create(&stream_, static_cast<char*>(static_cast<void*>(start)), static_cast<u_int>(bytes.size()),
                XDR_DECODE);
  if (!xdr_callmsg(&stream_, message)) {
    request_ = Request::kBad;
    return FALSE;
  }
  id_ = message->rm_xid;
  return TRUE;
}

// What ends the link is never told from here: whoever calls may hold descriptors that were ready before.
xprt_stat ServerTransport::state(SVCXPRT* transport) {
  ServerTransport& self = ours(transport);
  return self.request_ == Request::kNone ? self.plain_->xp_stat(transport) : XPRT_IDLE;
}

bool_t ServerTransport::get_arguments(SVCXPRT* transport, xdrproc_t decode, void* arguments) {
  ServerTransport& self = ours(transport);
  if (self.request_ != Request::kTaken) return self.plain_->xp_getargs(transport, decode, arguments);
  return SVCAUTH_UNWRAP(&SVC_XP_AUTH(transport), &self.stream_, decode, static_cast<caddr_t>(arguments));
}

bool_t ServerTransport::free_arguments(SVCXPRT* transport, xdrproc_t free, void* arguments) {
  ServerTransport& self = ours(transport);
  if (self.request_ != Request::kTaken) return self.plain_->xp_freeargs(transport, free, arguments);
  XDR stream{};
  stream.x_op = XDR_FREE;
  return free(&stream, arguments);
}

bool_t ServerTransport::reply(SVCXPRT* transport, rpc_msg* message) {
  ServerTransport& self = ours(transport);
  if (self.request_ != Request::kTaken) return self.plain_->xp_reply(transport, message);
  return self.reply_by_link(message);
}

bool_t ServerTransport::reply_by_link(rpc_msg* message) {
  const bool has_results =
      message->rm_reply.rp_stat == MSG_ACCEPTED && message->rm_reply.rp_acpt.ar_stat == SUCCESS;
  xdrproc_t encode = xdr_function(xdr_void);
  char* results = nullptr;
  if (has_results) {
    encode = std::exchange(message->acpted_rply.ar_results.proc, encode);
    results = std::exchange(message->acpted_rply.ar_results.where, nullptr);
  }
  message->rm_xid = id_;
  Encoder encoder(*reply_);
  if (!xdr_replymsg(encoder.stream(), message)) return FALSE;
  if (has_results && !SVCAUTH_WRAP(&SVC_XP_AUTH(transport_), encoder.stream(), encode, results)) return FALSE;
  // A client is told at once of a reply that cannot be sent.
  if (!link_->send(*reply_, encoder.bytes())) is_broken_ = true;
  return static_cast<bool_t>(!is_broken_);
}

void ServerTransport::destroy(SVCXPRT* transport) {
  const std::unique_ptr<ServerTransport> self(&ours(transport));
  if (self->is_gone_ != nullptr) *self->is_gone_ = true;
  Hub::instance().forget(*self);
  transport->xp_ops = self->plain_;
  transport->xp_p2 = nullptr;
  self->link_.reset();
  transport->xp_ops->xp_destroy(transport);
}

}  // namespace exs::rpc
