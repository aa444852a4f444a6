// Functions that replace those of libtirpc. libtirpc calls its own functions through its table of symbols, so a library that is loaded
// before it replaces them: linked before it, or preloaded.
// SPDX-License-Identifier: BSD-2-Clause
#include <dlfcn.h>
#include <rpc/rpc.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/c_call.h"
#include "exs/sunrpc.h"
#include "rpc/sunrpc/client_handle.h"
#include "rpc/sunrpc/hub.h"
#include "rpc/sunrpc/rendezvous.h"
#include "rpc/sunrpc/settings.h"
#include "rpc/sunrpc/xdr_function.h"

#define EXS_EXPORT extern "C" __attribute__((visibility("default")))

namespace exs::rpc {
namespace {

constexpr char kName[] = "exs";

// The list of networks that a creator of handles has open for this name, and whether the current creator was given our entry.
thread_local void* wish = nullptr;
thread_local bool has_our_entry = false;

// Calls to rpcbind meanwhile do not count.
bool is_wished(rpcprog_t program) {
  return (wish != nullptr || has_our_entry) && program != kRpcbindProgram;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void answer_offer(SVCXPRT* transport) {
  LinkOffer offer{};
  if (!svc_getargs(transport, xdr_function(xdr_offer), &offer)) return svcerr_decode(transport);
  OfferAnswer answer{};
  try {
    answer = Hub::instance().answer(transport, offer);
  } catch (const std::bad_alloc&) {
    answer = {};
    answer.reason = OfferRefusal::kNoSocket;
  }
  svc_sendreply(transport, xdr_function(xdr_answer), &answer);
}

void dispatch(svc_req* request, SVCXPRT* transport) {
  if (request->rq_proc == NULLPROC) {
    svc_sendreply(transport, xdr_function(xdr_void), nullptr);
  } else if (request->rq_proc == kOfferProcedure) {
    answer_offer(transport);
  } else if (request->rq_proc == kEndProcedure) {
    ServerTransport::end_link_of(transport);
  } else {
    svcerr_noproc(transport);
  }
}

// Every transport of the process answers offers, because libtirpc finds programs by their numbers alone.
__attribute__((constructor)) void serve_offers() {
  if (settings().use == LinkUse::kOff) return;
  static SVCXPRT transport{};
  transport.xp_fd = -1;
  transport.xp_netid = const_cast<char*>(kName);
  svc_reg(&transport, kProgram, kProgramVersion, dispatch, nullptr);
}

}  // namespace
}  // namespace exs::rpc

using exs::rpc::LinkUse;
using exs::rpc::next;

EXS_EXPORT CLIENT* clnt_vc_create(int descriptor, const netbuf* address, rpcprog_t program, rpcvers_t version,
                                  u_int send_bytes, u_int receive_bytes) {
  using Create = CLIENT* (*)(int, const netbuf*, rpcprog_t, rpcvers_t, u_int, u_int);
  static const auto create = next<Create>("clnt_vc_create");
  CLIENT* const client = create(descriptor, address, program, version, send_bytes, receive_bytes);
  if (client == nullptr || exs::rpc::settings().use == LinkUse::kOff) return client;
  exs::rpc::adopt_client(client);
  if (!exs::rpc::is_wished(program) || exs::rpc::link_client(client) ||
      exs::rpc::settings().use != LinkUse::kRequire)
    return client;
  clnt_destroy(client);
  rpc_createerr.cf_stat = RPC_UNKNOWNPROTO;
  return nullptr;
}

// The network type "exs" is "tcp" with the wish for a link.
EXS_EXPORT void* __rpc_setconf(const char* type) {
  static const auto open = next<void* (*)(const char*)>("__rpc_setconf");
  const bool is_exs = type != nullptr && std::strcmp(type, exs::rpc::kName) == 0;
  void* const list = open(is_exs ? "tcp" : type);
  if (is_exs) exs::rpc::wish = list;
  return list;
}
EXS_EXPORT void __rpc_endconf(void* list) {
  static const auto close = next<void (*)(void*)>("__rpc_endconf");
  if (exs::rpc::wish == list) exs::rpc::wish = nullptr;
  close(list);
}

// The same holds for the network "exs" of NETPATH, and for callers that ask for its entry.
EXS_EXPORT netconfig* getnetconfigent(const char* network) {
  static const auto get = next<netconfig* (*)(const char*)>("getnetconfigent");
  const bool is_exs = network != nullptr && std::strcmp(network, exs::rpc::kName) == 0;
  netconfig* const entry = get(is_exs ? "tcp" : network);
  if (is_exs && entry != nullptr) entry->nc_device = const_cast<char*>(exs::rpc::kName);
  return entry;
}
EXS_EXPORT CLIENT* clnt_tli_create(int descriptor, const netconfig* network, netbuf* address,
                                   rpcprog_t program, rpcvers_t version, u_int send_bytes,
                                   u_int receive_bytes) {
  using Create = CLIENT* (*)(int, const netconfig*, netbuf*, rpcprog_t, rpcvers_t, u_int, u_int);
  static const auto create = next<Create>("clnt_tli_create");
  const char* const device = network == nullptr ? nullptr : network->nc_device;
  const bool is_ours = device != nullptr && std::strcmp(device, exs::rpc::kName) == 0;
  const bool had_our_entry = std::exchange(exs::rpc::has_our_entry, is_ours);
  CLIENT* const client = create(descriptor, network, address, program, version, send_bytes, receive_bytes);
  exs::rpc::has_our_entry = had_our_entry;
  return client;
}

EXS_EXPORT int exs_sunrpc_threads(unsigned threads) {
  return exs::c_call([&] { return exs::rpc::Hub::instance().use_threads(threads); });
}

EXS_EXPORT int exs_sunrpc_attach(CLIENT* client) {
  return exs::c_call([&] {
    int descriptor = -1;
    if (client == nullptr || !clnt_control(client, CLGET_FD, &descriptor)) return exs::Status(EINVAL);
    const bool has_link = exs::rpc::settings().use != LinkUse::kOff && exs::rpc::link_client(client);
    return has_link ? exs::Status() : exs::Status(EOPNOTSUPP);
  });
}
