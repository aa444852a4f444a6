// SPDX-License-Identifier: BSD-2-Clause
#include "perf/rpc_ping/stubs.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cerrno>
#include <deque>

#include "rpc_ping_exs.h"
#include "tools/common/clock.h"
#include "tools/common/failure.h"

namespace rpc_ping {
namespace {

void check(int told) {
  if (told != 0) throw tools::Failure(std::string("a call failed: ") + exs_rpc_errtext());
}

class StubCaller : public Caller {
 public:
  explicit StubCaller(exs_rpc_client_t* client) : client_(client) {
    if (client == nullptr) throw tools::Failure(std::string("cannot connect: ") + exs_rpc_errtext());
  }
  ~StubCaller() override { exs_rpc_close(client_); }

  std::span<const char> call(std::span<char> bytes) override {
    if (bytes.empty()) {
      check(nothing_1(client_, nullptr));
      return bytes;
    }
    blob inout{static_cast<unsigned>(bytes.size()), bytes.data()};
    check(echo_1(client_, &inout, nullptr));
    if (inout.blob_len != bytes.size()) throw tools::Failure("the server gave another number of bytes back");
    return bytes;
  }
  void begin(std::span<char> bytes) override {
    const blob argument{static_cast<unsigned>(bytes.size()), bytes.data()};
    exs_rpc_call_t* const call =
        bytes.empty() ? nothing_1_begin(client_, nullptr) : echo_1_begin(client_, &argument, nullptr);
    check(call == nullptr ? -1 : 0);
    calls_.push_back(call);
  }
  void end(std::span<char> bytes) override {
    blob result{static_cast<unsigned>(bytes.size()), bytes.data()};
    check(bytes.empty() ? nothing_1_end(calls_.front()) : echo_1_end(calls_.front(), &result));
    calls_.pop_front();
  }
  ServerUse use_of_server() override {
    server_use use{};
    check(use_1(client_, &use, nullptr));
    return {use.calls, use.cpu_ns};
  }
  std::string carrier() override {
    exs_rpc_client_info_t info{};
    info.struct_bytes = sizeof info;
    check(exs_rpc_client_status(client_, &info));
    return info.mapped != 0 ? "mapped" : info.provider;
  }

 private:
  exs_rpc_client_t* client_;
  std::deque<exs_rpc_call_t*> calls_;
};

std::unique_ptr<Caller> connect_with(std::uint32_t flags, const std::string& host, const std::string& port) {
  exs_rpc_client_options_t options{};
  options.struct_bytes = sizeof options;
  options.slots = kUnderWayMax;
  options.flags = flags;
  return std::make_unique<StubCaller>(rpc_ping_one_open(host.c_str(), port.c_str(), &options));
}

std::unique_ptr<Caller> connect_stubs(const std::string& host, const std::string& port) {
  return connect_with(0, host, port);
}
std::unique_ptr<Caller> connect_mapped_stubs(const std::string& host, const std::string& port) {
  return connect_with(EXS_RPC_MAPPED, host, port);
}

void serve_stubs(const std::string& host, const std::string& port, const Told& told) {
  exs_rpc_server_t* const server = exs_rpc_server_create(nullptr);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoul(port)));
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);  // checked by the command line
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  int bound = -1;
  if (server != nullptr && exs_rpc_server_add(server, &rpc_ping_one_service, nullptr) == 0)
    bound = exs_rpc_server_listen(server, generic, sizeof address);
  if (bound < 0) throw tools::Failure(exs_rpc_errtext());
  told(std::to_string(bound));
  exs_rpc_server_run(server);
  throw tools::Failure(exs_rpc_errtext());
}

std::uint64_t stub_calls_served = 0;

}  // namespace

Way stubs() {
  return {"stubs", "stubs of exs-rpcgen", nullptr, connect_stubs, serve_stubs};
}
Way mapped_stubs() {
  return {"mapped", "the same, short calls by memory that the server maps", nullptr, connect_mapped_stubs,
          serve_stubs};
}

}  // namespace rpc_ping

int nothing_1_serve(exs_rpc_request_t* /*request*/) {
  ++rpc_ping::stub_calls_served;
  return 0;
}
int echo_1_serve(blob* /*inout*/, exs_rpc_request_t* /*request*/) {
  ++rpc_ping::stub_calls_served;
  return 0;
}
int use_1_serve(server_use* result, exs_rpc_request_t* /*request*/) {
  static std::uint64_t told_cpu_ns = 0;
  const std::uint64_t cpu_ns = tools::process_cpu_ns();
  *result = {rpc_ping::stub_calls_served, cpu_ns - told_cpu_ns};
  told_cpu_ns = cpu_ns;
  rpc_ping::stub_calls_served = 0;
  return 0;
}
