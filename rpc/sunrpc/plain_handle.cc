// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/sunrpc/plain_handle.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>

#include "rpc/sunrpc/rendezvous.h"
#include "rpc/sunrpc/xdr_function.h"

namespace exs::rpc {
namespace {

constexpr timeval kNone = {0, 0};

// A write to a closed connection raises SIGPIPE, which would end an unprepared program.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoBrokenPipe() {
    constexpr timespec kAtOnce = {0, 0};
    if (!was_pending_) sigtimedwait(&signal_, nullptr, &kAtOnce);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t signal_;
  sigset_t before_;
  bool was_pending_ = false;
};

}  // namespace

clnt_stat PlainHandle::call(const CLIENT* client, rpcproc_t procedure, xdrproc_t encode, void* arguments,
                            xdrproc_t decode, void* results, timeval limit) {
  CLIENT plain = of(client);
  const clnt_stat told = clnt_call(&plain, procedure, encode, arguments, decode, results, limit);
  if (told == RPC_CANTENCODEARGS || told == RPC_CANTSEND || told == RPC_CANTRECV) return told;
  has_kept_ = is_zero(limit) && decode == nullptr;
  has_unanswered_ = has_kept_ || told == RPC_TIMEDOUT;
  has_batched_ = has_unanswered_ && (has_batched_ || has_kept_);
  has_asked_ = has_unanswered_ && (has_asked_ || !has_kept_);
  return told;
}

void PlainHandle::end_link(const CLIENT* client) const {
  call_exs(client, kEndProcedure, false, kNone);
}

void PlainHandle::let_arrive(const CLIENT* client) const {
  constexpr timeval kLinger = {25, 0};
  // If a connection is closed with unread answers, the kernel discards undelivered data.
  if (has_batched_ && has_asked_) return call_exs(client, NULLPROC, true, kLinger);
  if (has_kept_) call_exs(client, kEndProcedure, true, kNone);
}

void PlainHandle::call_exs(const CLIENT* client, rpcproc_t procedure, bool at_once, timeval limit) const {
  const NoBrokenPipe while_here;
  CLIENT plain = of(client);
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t ours = kProgram;
  std::uint32_t our_version = kProgramVersion;
  if (!clnt_control(&plain, CLGET_PROG, &program) || !clnt_control(&plain, CLGET_VERS, &version)) return;
  clnt_control(&plain, CLSET_PROG, &ours);
  clnt_control(&plain, CLSET_VERS, &our_version);
  plain.cl_auth = authnone_create();
  const xdrproc_t nothing = xdr_function(xdr_void);
  clnt_call(&plain, procedure, nothing, nullptr, at_once ? nothing : nullptr, nullptr, limit);
  clnt_control(&plain, CLSET_PROG, &program);
  clnt_control(&plain, CLSET_VERS, &version);
}

std::uint32_t PlainHandle::id(const CLIENT* client) const {
  CLIENT plain = of(client);
  std::uint32_t id = 0;
  clnt_control(&plain, CLGET_XID, &id);
  return htonl(id);
}

void PlainHandle::set_id(const CLIENT* client, std::uint32_t id) const {
  CLIENT plain = of(client);
  std::uint32_t next = ntohl(id) - 1;
  clnt_control(&plain, CLSET_XID, &next);
}

}  // namespace exs::rpc
