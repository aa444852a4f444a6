// Cap'n Proto for comparison with exs-rpc-ping: its two-party RPC over a local socket. capnp-ping BYTES SECONDS
// SPDX-License-Identifier: BSD-2-Clause
#include <capnp/ez-rpc.h>

#include <capnp-ping.capnp.h>
#include "perf/peers/rpc_pair.h"

namespace {

class Server final : public Ping::Server {
  kj::Promise<void> echo(EchoContext context) override {
    context.getResults().setBytes(context.getParams().getBytes());
    return kj::READY_NOW;
  }
};

void serve(const std::string& address, int ready) {
  capnp::EzRpcServer server(kj::heap<Server>(), ("unix-abstract:" + address).c_str());
  server.getPort().wait(server.getWaitScope());  // returns when it listens
  if (write(ready, "", 1) != 1) return;
  kj::NEVER_DONE.wait(server.getWaitScope());
}

void call(const std::string& address, std::size_t bytes, double seconds) {
  capnp::EzRpcClient client("unix-abstract:" + address);
  Ping::Client ping = client.getMain<Ping>();
  const std::vector<kj::byte> argument(bytes, 'x');
  rpc_pair::measure(seconds, [&] {
    auto request = ping.echoRequest();
    request.setBytes(capnp::Data::Reader(argument.data(), argument.size()));
    if (request.send().wait(client.getWaitScope()).getBytes().size() != bytes) std::exit(1);
  });
}

}  // namespace

int main(int count, char** words) {
  return rpc_pair::run(count, words, serve, call);
}
