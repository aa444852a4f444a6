// gRPC for comparison with exs-rpc-ping: blocking calls over a local socket, without encryption. grpc-ping BYTES SECONDS
// SPDX-License-Identifier: BSD-2-Clause
#include <grpcpp/grpcpp.h>

#include <grpc-ping.grpc.pb.h>
#include "perf/peers/rpc_pair.h"

namespace {

class Server final : public Ping::Service {
  grpc::Status Echo(grpc::ServerContext*, const Blob* argument, Blob* result) override {
    result->set_content(argument->content());
    return grpc::Status::OK;
  }
};

void serve(const std::string& address, int ready) {
  Server service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix-abstract:" + address, grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || write(ready, "", 1) != 1) return;
  server->Wait();
}

void call(const std::string& address, std::size_t bytes, double seconds) {
  grpc::ChannelArguments options;
  options.SetMaxReceiveMessageSize(-1);
  const auto ping = Ping::NewStub(
      grpc::CreateCustomChannel("unix-abstract:" + address, grpc::InsecureChannelCredentials(), options));
  Blob argument;
  argument.set_content(std::string(bytes, 'x'));
  rpc_pair::measure(seconds, [&] {
    grpc::ClientContext context;
    Blob result;
    const grpc::Status status = ping->Echo(&context, argument, &result);
    if (!status.ok() || result.content().size() != bytes) {
      std::fprintf(stderr, "grpc-ping: %s\n", status.error_message().c_str());
      std::exit(1);
    }
  });
}

}  // namespace

int main(int count, char** words) {
  return rpc_pair::run(count, words, serve, call);
}
