// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/sunrpc/client_handle.h"

#include <arpa/inet.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/annotations.h"
#include "base/check.h"
#include "base/drive_lock.h"
#include "exs/sunrpc.h"
#include "rpc/channel/process.h"
#include "rpc/sunrpc/client_link.h"
#include "rpc/sunrpc/encoder.h"
#include "rpc/sunrpc/no_copy.h"
#include "rpc/sunrpc/plain_handle.h"
#include "rpc/sunrpc/settings.h"
#include "rpc/sunrpc/unanswered.h"
#include "rpc/sunrpc/xdr_function.h"

namespace exs::rpc {
namespace {

constexpr std::int64_t kNsOfSecond = 1'000'000'000;
constexpr std::int64_t kNsOfMicrosecond = 1'000;
constexpr std::int64_t kForeverNs = 100'000'000 * kNsOfSecond;  // the longest time that libtirpc accepts
constexpr std::int64_t kLingerNs = 25 * kNsOfSecond;
constexpr std::size_t kLongSendsMax = 8;

std::int64_t nanoseconds(const timeval& time) {
  return time.tv_sec * kNsOfSecond + time.tv_usec * kNsOfMicrosecond;
}
// libtirpc refuses such a time.
bool is_bad(const timeval& time) {
  return time.tv_sec <= -1 || time.tv_sec > 100'000'000 || time.tv_usec <= -1 || time.tv_usec > 1'000'000;
}

class ClientHandle {
 public:
  explicit ClientHandle(CLIENT* client) : plain_(client), calls_left_(settings().after) {
    std::uint32_t program = 0;
    if (clnt_control(client, CLGET_PROG, &program) && program == kRpcbindProgram) may_ask_ = false;
  }
  static ClientHandle& of(CLIENT* client) {
    return *static_cast<ClientHandle*>(static_cast<void*>(client->cl_private));
  }

  static clnt_stat call(CLIENT* client, rpcproc_t procedure, xdrproc_t encode, void* arguments,
                        xdrproc_t decode, void* results, timeval limit) {
    ClientHandle& self = of(client);
    const LockGuard lock(self.mutex_);
    self.client_ = client;
    if (!self.has_link() && !is_zero(limit)) self.consider_link(self.has_limit_ ? self.limit_ : limit);
    if (self.goes_plain(limit)) return self.call_plain(procedure, encode, arguments, decode, results, limit);
    return self.call_by_link(procedure, encode, arguments, decode, results, limit);
  }
  static bool link(CLIENT* client) {
    ClientHandle& self = of(client);
    const LockGuard lock(self.mutex_);
    self.client_ = client;
    self.calls_left_ = 0;
    constexpr timeval kLimit = {25, 0};
    if (!self.has_link()) self.consider_link(kLimit);
    return self.has_link();
  }
  // Another thread may be in a call, so it takes no lock; what it reads never changes.
  static void abort(CLIENT* client) EXS_NO_THREAD_SAFETY_ANALYSIS {
    CLIENT plain = of(client).plain_.of(client);
    clnt_abort(&plain);
  }
  static void get_error(CLIENT* client, rpc_err* error) {
    ClientHandle& self = of(client);
    const LockGuard lock(self.mutex_);
    if (self.was_by_link_) {
      *error = self.error_;
      return;
    }
    CLIENT plain = self.plain_.of(client);
    clnt_geterr(&plain, error);
  }
  static bool_t free_results(CLIENT* /*client*/, xdrproc_t free, void* results) {
    XDR stream{};
    stream.x_op = XDR_FREE;
    return free(&stream, results);
  }
  static void destroy(CLIENT* client) {
    const std::unique_ptr<ClientHandle> self(&of(client));
    {
      const LockGuard lock(self->mutex_);
      self->client_ = client;
      if (self->has_link()) self->let_arrive();
      self->plain_.give_back(client);
    }
    clnt_destroy(client);
  }
  static bool_t control(CLIENT* client, u_int request, void* value) {
    ClientHandle& self = of(client);
    const LockGuard lock(self.mutex_);
    return self.control(request, value, client);
  }

 private:
  [[nodiscard]] bool has_link() const EXS_REQUIRES(mutex_) { return link_ != nullptr && is_own_process(); }
  // A call with limit zero (batched) goes by TCP. There the kernel queues as many as libtirpc promises, in their order, and holds their
  // sender back. Later calls go by TCP too, until one is answered: by the link they would overtake the batched ones.
  [[nodiscard]] bool goes_plain(const timeval& limit) const EXS_REQUIRES(mutex_) {
    return !has_link() || plain_.has_unanswered() || (is_zero(limit) && unanswered_.count() == 0);
  }

  // Asks for a link before a call with this limit; the question may take half of it. A batched call does not wait for a link.
  void consider_link(const timeval& limit) EXS_REQUIRES(mutex_) {
    if (!may_ask_ || is_zero(limit) || is_bad(limit) || settings().use == LinkUse::kOff) return;
    if (calls_left_ > 0) {
      --calls_left_;
      return;
    }
    CLIENT plain = plain_.of(client_);
    may_ask_ = false;
    link_ = ClientLink::connect(plain, nanoseconds(limit) / 2);
    owes_receive_ = false;
    if (link_ == nullptr) return;
    plain_.note_answer();
    id_ = plain_.id(client_);
    clnt_control(&plain, CLGET_PROG, &program_);
    clnt_control(&plain, CLGET_VERS, &version_);
  }

  clnt_stat call_plain(rpcproc_t procedure, xdrproc_t encode, void* arguments, xdrproc_t decode,
                       void* results, timeval limit) EXS_REQUIRES(mutex_) {
    was_by_link_ = false;
    if (has_link()) plain_.set_id(client_, id_);
    const clnt_stat told = plain_.call(client_, procedure, encode, arguments, decode, results, limit);
    if (has_link()) id_ = plain_.id(client_);
    return told;
  }

  clnt_stat call_by_link(rpcproc_t procedure, xdrproc_t encode, void* arguments, xdrproc_t decode,
                         void* results, timeval limit) EXS_REQUIRES(mutex_) {
    was_by_link_ = true;
    ++calls_by_link_;
    if (!has_limit_ && !is_bad(limit)) limit_ = limit;
    int refreshes = 2;
    for (;;) {
      error_ = {};
      if (!has_room() && !settle(Unanswered::kMost - 1, limit)) return error_.re_status;
      // While calls by the link are unanswered, a call of any length goes by it, so that it cannot overtake them.
      XdrEncoder encoder(message_, unanswered_.count() > 0 ? link_->longest_possible() : link_->longest());
      const bool is_encoded = encode_call(encoder, procedure, encode, arguments);
      if (!is_encoded && !encoder.is_full()) return fail(RPC_CANTENCODEARGS, 0);
      if (!is_encoded) {
        if (!settle(0, limit)) return error_.re_status;
        return call_plain(procedure, encode, arguments, decode, results, limit);
      }
      if (const Status sent = link_->link().send(message_, encoder.bytes()); !sent.ok()) {
        const bool had_unanswered = unanswered_.count() > 0;
        lose_link(RPC_CANTSEND, sent.error());
        // Earlier calls may be lost.
        if (had_unanswered) return error_.re_status;
        return call_plain(procedure, encode, arguments, decode, results, limit);
      }
      unanswered_.add(ntohl(id_));
      if (is_zero(limit)) {
        unanswered_.note_batched();
        return decode == nullptr ? RPC_SUCCESS : fail(RPC_TIMEDOUT, 0);
      }
      bool refresh = false;
      const clnt_stat told = await_reply(decode, results, refresh);
      if (!refresh || refreshes-- == 0) return told;
    }
  }

  [[nodiscard]] bool has_room() const EXS_REQUIRES(mutex_) {
    return unanswered_.count() < Unanswered::kMost && link_->link().long_sends() < kLongSendsMax;
  }
  // Waits until at most this many calls by the link are unanswered, and no long one is under way. The limit is that of the call. A
  // batched call waits as long as the server makes it, as by TCP. Returns false with the reason in error_.
  bool settle(std::size_t most, const timeval& limit) EXS_REQUIRES(mutex_) {
    return settle_within(most, is_zero(limit) ? kForeverNs : nanoseconds(limit_));
  }
  bool settle_within(std::size_t most, std::int64_t limit_ns) EXS_REQUIRES(mutex_) {
    while (unanswered_.count() > most || link_->link().long_sends() >= kLongSendsMax) {
      if (!unanswered_.ends_with_question() && !ask_for_answer()) return false;
      if (!receive(limit_ns)) return false;
      note_reply();
    }
    return true;
  }
  // Sends a call of NULLPROC; its reply proves that all calls before it are served.
  bool ask_for_answer() EXS_REQUIRES(mutex_) {
    XdrEncoder encoder(message_, link_->longest());
    const bool is_encoded = encode_call(encoder, NULLPROC, xdr_function(xdr_void), nullptr);
    const Status sent = is_encoded ? link_->link().send(message_, encoder.bytes()) : Status(ENOMEM);
    if (!sent.ok()) {
      lose_link(RPC_CANTSEND, sent.error());
      return false;
    }
    unanswered_.add_question(ntohl(id_));
    return true;
  }
  // The caller was told that these calls had left.
  void let_arrive() EXS_REQUIRES(mutex_) {
    if (unanswered_.has_batched()) settle_within(0, kLingerNs);
    plain_.let_arrive(client_);
  }

  bool encode_call(XdrEncoder& encoder, rpcproc_t procedure, xdrproc_t encode, void* arguments)
      EXS_REQUIRES(mutex_) {
    constexpr u_int kWords = 6;
    int32_t* const header = XDR_INLINE(encoder.stream(), kWords * BYTES_PER_XDR_UNIT);
    if (header == nullptr) return false;
    const std::uint32_t words[kWords] = {ntohl(--id_), CALL,     RPC_MSG_VERSION,
                                         program_,     version_, static_cast<std::uint32_t>(procedure)};
    for (u_int i = 0; i < kWords; ++i) header[i] = static_cast<int32_t>(htonl(words[i]));
    return AUTH_MARSHALL(client_->cl_auth, encoder.stream()) != 0 &&
           AUTH_WRAP(client_->cl_auth, encoder.stream(), encode, static_cast<caddr_t>(arguments)) != 0;
  }

  clnt_stat await_reply(xdrproc_t decode, void* results, bool& refresh) EXS_REQUIRES(mutex_) {
    const std::int64_t limit_ns = nanoseconds(limit_);
    for (;;) {
      if (!receive(limit_ns)) return error_.re_status;
      bool is_ours = false;
      const clnt_stat told = read_reply(decode, results, refresh, is_ours);
      if (!is_ours) {
        note_reply();
        continue;
      }
      link_->link().note_answer();
      unanswered_.clear();
      return told;
    }
  }
  // Receives a message, which is valid until the next call. Returns false with the reason in error_.
  bool receive(std::int64_t limit_ns) EXS_REQUIRES(mutex_) {
    const Status posted = std::exchange(owes_receive_, false) ? link_->link().receive_next() : Status();
    if (!posted.ok()) {
      lose_link(RPC_CANTRECV, posted.error());
      return false;
    }
    const MessageLink::News news = link_->wait(limit_ns);
    owes_receive_ = news == MessageLink::News::kMessage;
    if (news == MessageLink::News::kNothing) give_up_waiting();
    if (news == MessageLink::News::kEnd) lose_link(RPC_CANTRECV, ECONNRESET);
    return owes_receive_;
  }
  // Takes the reply to a call that nobody waits for any more.
  void note_reply() EXS_REQUIRES(mutex_) {
    std::uint32_t id = 0;
    const auto bytes = link_->link().received();
    if (bytes.size() < sizeof id) return;
    std::memcpy(&id, bytes.data(), sizeof id);
    unanswered_.answered(ntohl(id));
    if (unanswered_.count() == 0) link_->link().note_answer();
  }
  void give_up_waiting() EXS_REQUIRES(mutex_) {
    // The peer may be reading memory that the next call would write.
    if (link_->link().long_sends() > 0 && !unanswered_.has_batched()) {
      lose_link(RPC_TIMEDOUT, 0);
    } else {
      fail(RPC_TIMEDOUT, 0);
    }
  }

  clnt_stat read_reply(xdrproc_t decode, void* results, bool& refresh, bool& is_ours) EXS_REQUIRES(mutex_) {
    const auto bytes = link_->link().received();
    const DecodedMessage message(bytes);
    XDR stream{};
    auto* const start = const_cast<std::byte*>(bytes.data());
    xdrmem_create(&stream, static_cast<char*>(static_cast<void*>(start)), static_cast<u_int>(bytes.size()),
                  XDR_DECODE);
    rpc_msg reply{};
    reply.acpted_rply.ar_verf = _null_auth;
    reply.acpted_rply.ar_results.where = nullptr;
    reply.acpted_rply.ar_results.proc = xdr_function(xdr_void);
    if (link_->link().type() != FrameType::kMessage || !xdr_replymsg(&stream, &reply) ||
        reply.rm_xid != ntohl(id_))
      return RPC_FAILED;
    is_ours = true;
    _seterr_reply(&reply, &error_);
    if (error_.re_status != RPC_SUCCESS) {
      refresh = AUTH_REFRESH(client_->cl_auth, &reply) != 0;
      return error_.re_status;
    }
    if (!AUTH_VALIDATE(client_->cl_auth, &reply.acpted_rply.ar_verf)) {
      error_.re_status = RPC_AUTHERROR;
      error_.re_why = AUTH_INVALIDRESP;
    } else if (!AUTH_UNWRAP(client_->cl_auth, &stream, decode, static_cast<caddr_t>(results))) {
      error_.re_status = RPC_CANTDECODERES;
    }
    if (reply.acpted_rply.ar_verf.oa_base != nullptr) {
      stream.x_op = XDR_FREE;
      xdr_opaque_auth(&stream, &reply.acpted_rply.ar_verf);
    }
    return error_.re_status;
  }

  clnt_stat fail(clnt_stat status, int error) EXS_REQUIRES(mutex_) {
    error_.re_status = status;
    error_.re_errno = error;
    return status;
  }
  // Later calls go by TCP. The server drops the calls by the link that it has not begun when the first of these arrives.
  void lose_link(clnt_stat status, int error) EXS_REQUIRES(mutex_) {
    link_.reset();
    may_ask_ = false;
    plain_.set_id(client_, id_);
    if (unanswered_.count() > 0) plain_.end_link(client_);
    unanswered_.clear();
    fail(status, error);
  }

  bool_t tell_about(exs_sunrpc_info_t& told) const EXS_REQUIRES(mutex_) {
    exs_sunrpc_info_t info{};
    if (told.struct_bytes > sizeof info) return FALSE;
    info.struct_bytes = told.struct_bytes;
    info.by_exs = has_link() ? 1 : 0;
    info.calls = calls_by_link_;
    if (has_link()) {
      MessageLink& link = link_->link();
      socklen_t length = sizeof info.provider;
      exs_getsockopt(link.socket(), SOL_EXS, EXS_SO_PROVIDER, info.provider, &length);
      info.bytes_sent = link.sent_bytes();
      info.bytes_received = link.received_bytes();
    }
    std::memcpy(&told, &info, told.struct_bytes);
    return TRUE;
  }

  bool_t control(u_int request, void* value, CLIENT* client) EXS_REQUIRES(mutex_) {
    if (request == EXS_SUNRPC_GET_INFO && value != nullptr)
      return tell_about(*static_cast<exs_sunrpc_info_t*>(value));
    CLIENT plain = plain_.of(client);
    if (!has_link() || value == nullptr) {
      const bool_t done = clnt_control(&plain, request, value);
      if (done && request == CLSET_TIMEOUT) set_limit(value);
      return done;
    }
    switch (request) {
      case CLGET_TIMEOUT: std::memcpy(value, &limit_, sizeof limit_); return TRUE;
      case CLGET_XID: *static_cast<std::uint32_t*>(value) = ntohl(id_); return TRUE;
      case CLSET_XID: id_ = htonl(*static_cast<const std::uint32_t*>(value) + 1); return TRUE;
      case CLSET_PROG: std::memcpy(&program_, value, sizeof program_); break;
      case CLSET_VERS: std::memcpy(&version_, value, sizeof version_); break;
      default: break;
    }
    const bool_t done = clnt_control(&plain, request, value);
    if (done && request == CLSET_TIMEOUT) set_limit(value);
    return done;
  }
  void set_limit(const void* value) EXS_REQUIRES(mutex_) {
    std::memcpy(&limit_, value, sizeof limit_);
    has_limit_ = true;
  }

  Mutex mutex_;
  PlainHandle plain_ EXS_GUARDED_BY(mutex_);
  CLIENT* client_ EXS_GUARDED_BY(mutex_) = nullptr;  // of the current call
  std::uint32_t calls_left_ EXS_GUARDED_BY(mutex_);
  bool may_ask_ EXS_GUARDED_BY(mutex_) = true;
  std::unique_ptr<ClientLink> link_ EXS_GUARDED_BY(mutex_);
  MessageBuffer message_ EXS_GUARDED_BY(mutex_);
  // The ID of the last call as libtirpc keeps it: each call decrements the word of the message, in whatever byte order.
  std::uint32_t id_ EXS_GUARDED_BY(mutex_) = 0;
  std::uint32_t program_ EXS_GUARDED_BY(mutex_) = 0;
  std::uint32_t version_ EXS_GUARDED_BY(mutex_) = 0;
  timeval limit_ = {};
  bool has_limit_ = false;
  std::uint64_t calls_by_link_ = 0;
  bool was_by_link_ = false;
  Unanswered unanswered_;      // calls by the link
  bool owes_receive_ = false;  // the next receive is posted after the next call has left
  rpc_err error_ = {};
};

}  // namespace

bool adopt_client(CLIENT* client) {
  static std::remove_pointer_t<decltype(client->cl_ops)> operations = {
      ClientHandle::call,         ClientHandle::abort,   ClientHandle::get_error,
      ClientHandle::free_results, ClientHandle::destroy, ClientHandle::control};
  if (client->cl_ops == &operations) return true;
  auto* const handle = new (std::nothrow) ClientHandle(client);
  if (handle == nullptr) return false;
  client->cl_private = handle;
  client->cl_ops = &operations;
  return true;
}

bool link_client(CLIENT* client) {
  return adopt_client(client) && ClientHandle::link(client);
}

}  // namespace exs::rpc
