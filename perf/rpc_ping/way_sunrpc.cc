// SPDX-License-Identifier: BSD-2-Clause
#include "perf/rpc_ping/way_sunrpc.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rpc/rpc.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "exs/sunrpc.h"
#include "tools/common/clock.h"
#include "tools/common/failure.h"

namespace rpc_ping {
namespace {

constexpr rpcprog_t kProgram = 0x20455850;
constexpr rpcvers_t kVersion = 1;
constexpr rpcproc_t kEcho = 1;
constexpr rpcproc_t kUse = 2;
constexpr timeval kLimit = {25, 0};

// The struct that rpcgen makes of `typedef opaque blob<>`.
struct Blob {
  u_int length;
  char* bytes;
};
bool_t xdr_blob(XDR* stream, Blob* blob) {
  return xdr_bytes(stream, &blob->bytes, &blob->length, UINT32_MAX);
}
bool_t xdr_use(XDR* stream, ServerUse* use) {
  return static_cast<bool_t>(xdr_uint64_t(stream, &use->calls) != 0 &&
                             xdr_uint64_t(stream, &use->cpu_ns) != 0);
}
template <typename Function>
xdrproc_t xdr_function(Function* function) {
  return reinterpret_cast<xdrproc_t>(reinterpret_cast<void (*)()>(function));
}

bool_t xdr_blob_in_place(XDR* stream, Blob* blob) {
  return exs_xdr_bytes(stream, &blob->bytes, &blob->length, UINT32_MAX);
}

const auto kNothing = xdr_function(xdr_void);
const auto kCopied = xdr_function(xdr_blob);
const auto kInPlace = xdr_function(xdr_blob_in_place);

class SunRpcCaller : public Caller {
 public:
  SunRpcCaller(CLIENT* client, const char* carrier, xdrproc_t code = kCopied)
      : client_(client), carrier_(carrier), code_(code) {
    if (client == nullptr) throw tools::Failure(clnt_spcreateerror("cannot connect"));
  }
  ~SunRpcCaller() override {
    auth_destroy(client_->cl_auth);
    clnt_destroy(client_);
  }

  std::span<const char> call(std::span<char> bytes) override {
    if (bytes.empty()) {
      ask(NULLPROC, kNothing, nullptr, kNothing, nullptr);
      return bytes;
    }
    Blob blob{static_cast<u_int>(bytes.size()), bytes.data()};
    Blob result{static_cast<u_int>(bytes.size()), bytes.data()};
    ask(kEcho, code_, &blob, code_, &result);
    if (result.length != bytes.size()) throw tools::Failure("the server gave another number of bytes back");
    const std::span<const char> place(result.bytes, result.length);
    if (result.bytes != bytes.data()) clnt_freeres(client_, code_, static_cast<void*>(&result));
    return place;
  }
  ServerUse use_of_server() override {
    ServerUse use;
    ask(kUse, kNothing, nullptr, xdr_function(xdr_use), &use);
    return use;
  }
  std::string carrier() override {
    exs_sunrpc_info_t info{};
    info.struct_bytes = sizeof info;
    const bool is_by_exs = clnt_control(client_, EXS_SUNRPC_GET_INFO, &info) != 0 && info.by_exs != 0;
    return is_by_exs ? info.provider : carrier_;
  }

 private:
  void ask(rpcproc_t procedure, xdrproc_t encode, void* argument, xdrproc_t decode, void* result) {
    if (clnt_call(client_, procedure, encode, argument, decode, result, kLimit) != RPC_SUCCESS)
      throw tools::Failure(clnt_sperror(client_, "a call failed"));
  }

  CLIENT* client_;
  const char* carrier_;
  xdrproc_t code_;  // of arguments and results
};

std::uint64_t calls_served = 0;
xdrproc_t served_code = kCopied;

// As in rpcgen's dispatch, the argument is allocated, and freed after the reply.
void echo(SVCXPRT* transport) {
  Blob blob{0, nullptr};
  if (!svc_getargs(transport, served_code, &blob)) return svcerr_decode(transport);
  ++calls_served;
  svc_sendreply(transport, served_code, &blob);
  svc_freeargs(transport, served_code, &blob);
}
void do_nothing(SVCXPRT* transport) {
  ++calls_served;
  svc_sendreply(transport, kNothing, nullptr);
}
void tell_use(SVCXPRT* transport) {
  static std::uint64_t told_cpu_ns = 0;
  const std::uint64_t cpu_ns = tools::process_cpu_ns();
  ServerUse use{calls_served, cpu_ns - told_cpu_ns};
  told_cpu_ns = cpu_ns;
  calls_served = 0;
  svc_sendreply(transport, xdr_function(xdr_use), &use);
}
void dispatch(svc_req* request, SVCXPRT* transport) {
  switch (request->rq_proc) {
    case NULLPROC: return do_nothing(transport);
    case kEcho: return echo(transport);
    case kUse: return tell_use(transport);
    default: svcerr_noproc(transport);
  }
}

[[noreturn]] void serve_at(int listener) {
  SVCXPRT* const transport = svc_vc_create(listener, 0, 0);
  if (transport == nullptr || !svc_reg(transport, kProgram, kVersion, dispatch, nullptr))
    throw tools::Failure("libtirpc makes no server");
  svc_run();
  throw tools::Failure("svc_run() has ended");
}

int listen_at(const sockaddr* address, socklen_t length) {
  const int listener = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (listener != -1) setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (listener == -1 || bind(listener, address, length) == -1 || listen(listener, SOMAXCONN) == -1)
    tools::fail("cannot listen", errno);
  return listener;
}

sockaddr_in address_of(const std::string& host, const std::string& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoul(port)));
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);  // checked by the command line
  return address;
}

void serve_tcp(const std::string& host, const std::string& port, const Told& told) {
  sockaddr_in address = address_of(host, port);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const int listener = listen_at(generic, length);
  if (getsockname(listener, generic, &length) == -1) tools::fail("cannot listen", errno);
  told(std::to_string(ntohs(address.sin_port)));
  serve_at(listener);
}
std::unique_ptr<Caller> connect_coded(const std::string& host, const std::string& port, xdrproc_t code) {
  sockaddr_in address = address_of(host, port);
  int descriptor = RPC_ANYSOCK;
  return std::make_unique<SunRpcCaller>(clnttcp_create(&address, kProgram, kVersion, &descriptor, 0, 0),
                                        "tcp", code);
}
std::unique_ptr<Caller> connect_tcp(const std::string& host, const std::string& port) {
  return connect_coded(host, port, kCopied);
}
std::unique_ptr<Caller> connect_in_place(const std::string& host, const std::string& port) {
  return connect_coded(host, port, kInPlace);
}
void serve_in_place(const std::string& host, const std::string& port, const Told& told) {
  served_code = kInPlace;
  serve_tcp(host, port, told);
}

// An abstract name, so that no file is left behind.
sockaddr_un local_address(const std::string& port, socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "exs-rpc-ping-" + port;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}
void serve_local(const std::string& /*host*/, const std::string& port, const Told& told) {
  const std::string name = port == "0" ? std::to_string(getpid()) : port;
  socklen_t length = 0;
  const sockaddr_un address = local_address(name, length);
  const int listener = listen_at(reinterpret_cast<const sockaddr*>(&address), length);
  told(name);
  serve_at(listener);
}
// libtirpc's clntunix_create() takes paths only.
std::unique_ptr<Caller> connect_local(const std::string& /*host*/, const std::string& name) {
  socklen_t length = 0;
  sockaddr_un address = local_address(name, length);
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor == -1 || connect(descriptor, reinterpret_cast<const sockaddr*>(&address), length) == -1)
    tools::fail("cannot connect", errno);
  const netbuf server{sizeof address, length, &address};
  return std::make_unique<SunRpcCaller>(clnt_vc_create(descriptor, &server, kProgram, kVersion, 0, 0),
                                        "unix");
}

}  // namespace

Way sunrpc_by_tcp() {
  return {"tcp", "libtirpc over TCP", nullptr, connect_tcp, serve_tcp};
}
Way sunrpc_by_local_socket() {
  return {"unix", "libtirpc over a local socket", nullptr, connect_local, serve_local};
}
Way sunrpc_by_exs() {
  return {"sunrpc", "libtirpc, and libexs-sunrpc.so before it", "optimized", connect_tcp, serve_tcp};
}
Way sunrpc_reduced() {
  return {"sunrpc-reduced", "the same, with memory that exs does not know", "reduced", connect_tcp,
          serve_tcp};
}
Way sunrpc_without_copies() {
  return {"sunrpc-no-copy", "the same, with opaque data that stay in the messages", "optimized",
          connect_in_place, serve_in_place};
}

}  // namespace rpc_ping
