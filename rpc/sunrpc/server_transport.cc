// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/sunrpc/server_transport.h"

#include <netinet/in.h>
#include <rpc/svc_mt.h>

#include <cstring>
#include <utility>

#include "rpc/sunrpc/encoder.h"
#include "rpc/sunrpc/no_copy.h"
#include "rpc/sunrpc/xdr_function.h"

namespace exs::rpc {
namespace {

// The transport whose request from a link this thread is serving.
thread_local ServerTransport* served_here = nullptr;

}  // namespace

const ServerTransport::Operations ServerTransport::kOperations = {receive, state,          get_arguments,
                                                                  reply,   free_arguments, destroy};

ServerTransport& ServerTransport::of(SVCXPRT* transport, LinkHost& host) {
  if (transport->xp_ops == &kOperations) return ours(transport);
  const std::shared_ptr<ServerTransport> made(new ServerTransport(transport, host));
  made->self_ = made;
  transport->xp_ops = &kOperations;
  transport->xp_p2 = made.get();
  return *made;
}

ServerTransport::ServerTransport(SVCXPRT* transport, LinkHost& host)
    : host_(host), transport_(transport), plain_(transport->xp_ops) {}

// While one thread serves all, it needs no lock, and takes none.
class EXS_SCOPED_CAPABILITY ServerTransport::TransportTurn {
 public:
  explicit TransportTurn(ServerTransport& transport)
      EXS_ACQUIRE(transport.mutex_) EXS_NO_THREAD_SAFETY_ANALYSIS
      : transport_(transport),
        has_mutex_(transport.host_.has_threads()) {
    if (has_mutex_) transport_.mutex_.lock();
  }
  ~TransportTurn() EXS_RELEASE() EXS_NO_THREAD_SAFETY_ANALYSIS {
    if (has_mutex_) transport_.mutex_.unlock();
  }
  TransportTurn(const TransportTurn&) = delete;
  TransportTurn& operator=(const TransportTurn&) = delete;

  // Leaves the mutex locked until state(). Returns false if nothing is locked.
  [[nodiscard]] bool hand_over() { return std::exchange(has_mutex_, false); }

 private:
  ServerTransport& transport_;
  bool has_mutex_;
};

void ServerTransport::take_event(const exs_event_t& event) {
  const TransportTurn turn(*this);
  if (link_ == nullptr) return;
  const bool is_there = event.exs_evt_type == EXS_EVT_USER;
  switch (is_there ? MessageLink::News::kMessage : link_->take_event(event)) {
    case MessageLink::News::kNothing: break;
    case MessageLink::News::kEnd: end_link(); break;
    case MessageLink::News::kMessage:
      if (link_->type() != FrameType::kMessage) {
        end_link();
      } else if (is_there || !host_.has_threads() || !host_.pass_on(*this)) {
        serve();
      }
  }
}

bool ServerTransport::has_gss_request() const {
  constexpr std::size_t kFlavorOffset = 24;
  const auto bytes = link_->received();
  if (bytes.size() < kFlavorOffset + sizeof(std::uint32_t)) return false;
  std::uint32_t flavor = 0;
  std::memcpy(&flavor, bytes.data() + kFlavorOffset, sizeof flavor);
  return ntohl(flavor) == RPCSEC_GSS;
}

void ServerTransport::serve() {
  ServerTransport* const outer = std::exchange(served_here, this);
  request_ = RequestState::kWaits;
  {
    const DecodedMessage message(link_->received());
    svc_getreq_common(transport_->xp_fd);
  }
  served_here = outer;
  if (is_gone_) return;
  const bool is_bad = std::exchange(request_, RequestState::kNone) == RequestState::kBad;
  if (link_ != nullptr && (is_bad || is_broken_ || !link_->receive_next().ok())) end_link();
}

void ServerTransport::end_link() {
  if (link_ == nullptr) return;
  host_.forget(*this);
  link_.reset();
}

void ServerTransport::end_link_of(SVCXPRT* transport) {
  if (transport->xp_ops != &kOperations || ours(transport).serves_here()) return;
  ours(transport).end_link();
}

bool ServerTransport::serves_here() const {
  return served_here == this && request_ != RequestState::kNone;
}

bool_t ServerTransport::receive(SVCXPRT* transport, rpc_msg* message) {
  ServerTransport& self = ours(transport);
  if (self.serves_here() && self.request_ == RequestState::kWaits) {
    self.request_ = RequestState::kTaken;
    return self.decode_request(message);
  }
  TransportTurn turn(self);
  if (!self.has_lock_) self.has_lock_ = turn.hand_over();
  return self.plain_->xp_recv(transport, message);
}

bool_t ServerTransport::decode_request(rpc_msg* message) {
  const auto bytes = link_->received();
  auto* const start = const_cast<std::byte*>(bytes.data());
  xdrmem_create(&stream_, static_cast<char*>(static_cast<void*>(start)), static_cast<u_int>(bytes.size()),
                XDR_DECODE);
  if (!xdr_callmsg(&stream_, message)) {
    request_ = RequestState::kBad;
    return FALSE;
  }
  id_ = message->rm_xid;
  return TRUE;
}

// The end of a link is never reported here: the caller may hold descriptors that were ready before.
xprt_stat ServerTransport::state(SVCXPRT* transport) EXS_NO_THREAD_SAFETY_ANALYSIS {
  ServerTransport& self = ours(transport);
  if (self.serves_here()) return XPRT_IDLE;
  const xprt_stat state = self.plain_->xp_stat(transport);
  if (std::exchange(self.has_lock_, false)) self.mutex_.unlock();
  return state;
}

bool_t ServerTransport::get_arguments(SVCXPRT* transport, xdrproc_t decode, void* arguments) {
  ServerTransport& self = ours(transport);
  if (self.request_ != RequestState::kTaken) return self.plain_->xp_getargs(transport, decode, arguments);
  return SVCAUTH_UNWRAP(&SVC_XP_AUTH(transport), &self.stream_, decode, static_cast<caddr_t>(arguments));
}

bool_t ServerTransport::free_arguments(SVCXPRT* transport, xdrproc_t free, void* arguments) {
  ServerTransport& self = ours(transport);
  if (self.request_ != RequestState::kTaken) return self.plain_->xp_freeargs(transport, free, arguments);
  XDR stream{};
  stream.x_op = XDR_FREE;
  return free(&stream, arguments);
}

bool_t ServerTransport::reply(SVCXPRT* transport, rpc_msg* message) {
  ServerTransport& self = ours(transport);
  if (self.request_ != RequestState::kTaken) return self.plain_->xp_reply(transport, message);
  return self.reply_by_link(message);
}

bool_t ServerTransport::reply_by_link(rpc_msg* message) {
  if (is_broken_) return FALSE;  // the client may wait for the rest of what could not be sent
  const bool has_results =
      message->rm_reply.rp_stat == MSG_ACCEPTED && message->rm_reply.rp_acpt.ar_stat == SUCCESS;
  xdrproc_t encode = xdr_function(xdr_void);
  char* results = nullptr;
  if (has_results) {
    encode = std::exchange(message->acpted_rply.ar_results.proc, encode);
    results = std::exchange(message->acpted_rply.ar_results.where, nullptr);
  }
  message->rm_xid = id_;
  XdrEncoder encoder(*reply_);
  if (!xdr_replymsg(encoder.stream(), message)) return FALSE;
  if (has_results && !SVCAUTH_WRAP(&SVC_XP_AUTH(transport_), encoder.stream(), encode, results)) return FALSE;
  // The client learns at once that a reply cannot be sent.
  if (!link_->send(*reply_, encoder.bytes()).ok()) is_broken_ = true;
  return static_cast<bool_t>(!is_broken_);
}

void ServerTransport::destroy(SVCXPRT* transport) EXS_NO_THREAD_SAFETY_ANALYSIS {
  const std::shared_ptr<ServerTransport> self = ours(transport).self_;
  const TransportTurn turn(*self);
  self->is_gone_ = true;
  self->host_.forget(*self);
  transport->xp_ops = self->plain_;
  transport->xp_p2 = nullptr;
  self->link_.reset();
  self->self_.reset();
  if (std::exchange(self->has_lock_, false)) self->mutex_.unlock();
  transport->xp_ops->xp_destroy(transport);
}

}  // namespace exs::rpc
