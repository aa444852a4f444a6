// The other process of faults_test.
//   rpc-stub-peer server        serves everything.x, prints its port
//   rpc-stub-peer client PORT   calls for ever, prints a line after the first call
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdio>
#include <cstring>

#include "tests/rpc/fast/everything_server.h"

namespace {

int serve() {
  static exs::test::EverythingState state;
  exs_rpc_server_t* const server = exs_rpc_server_create(nullptr);
  sockaddr_in address = exs::test::address_of_host(0);
  if (server == nullptr || exs_rpc_server_add(server, &everything_one_service, &state) != 0) return 1;
  const int port = exs_rpc_server_listen(server, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  std::printf("%d\n", port);
  std::fflush(stdout);
  return exs_rpc_server_run(server);
}

int call(const char* port) {
  exs_rpc_client_options_t options{};
  options.struct_bytes = sizeof options;
  options.flags = exs::test::client_flags();
  exs_rpc_client_t* const client = everything_one_open(exs::test::host(), port, &options);
  if (client == nullptr) return 1;
  for (int i = 0;; ++i) {
    int sum = 0;
    if (add_1(client, i, 1, &sum, nullptr) != 0 || sum != i + 1) return 1;
    if (i == 0) std::printf("called\n");
    if (i == 0) std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count == 2 && std::strcmp(words[1], "server") == 0) return serve();
  return count == 3 ? call(words[2]) : 2;
}
