// A server of everything.x and its client.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/rpc/fast/everything_server.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {

struct CloseClient {
  void operator()(exs_rpc_client_t* client) const { exs_rpc_close(client); }
};
using Client = std::unique_ptr<exs_rpc_client_t, CloseClient>;

constexpr std::int64_t kMillisecond = 1'000'000;

inline bool is_mapped(exs_rpc_client_t* client) {
  exs_rpc_client_info_t info{};
  info.struct_bytes = sizeof info;
  BOOST_REQUIRE_EQUAL(exs_rpc_client_status(client, &info), 0);
  return info.mapped != 0;
}

inline Client open_client(const std::string& port, const exs_rpc_client_options_t* options = nullptr) {
  exs_rpc_client_options_t wishes{};
  if (options != nullptr) wishes = *options;
  wishes.struct_bytes = sizeof wishes;
  if ((wishes.flags & EXS_RPC_ON_QUEUE) == 0) wishes.flags |= client_flags();
  Client client(everything_one_open(host(), port.c_str(), &wishes));
  BOOST_REQUIRE_MESSAGE(client != nullptr, exs_rpc_errtext());
  if (client_flags() == wishes.flags) BOOST_TEST(is_mapped(client.get()) == (client_flags() != 0));
  return client;
}
inline Client open_client(const EverythingServer& server, const exs_rpc_client_options_t* options = nullptr) {
  return open_client(server.port(), options);
}

struct EverythingFixture {
  EverythingServer server;
  Client client = open_client(server);
  exs_rpc_context_t context{};

  // A call that does not answer by itself; `held` with it.
  exs_rpc_call_t* begin_held(exs_rpc_context_t* its_context = nullptr, std::size_t held = 1) const {
    exs_rpc_call_t* const call = hold_1_begin(client.get(), its_context);
    BOOST_REQUIRE(call != nullptr);
    EverythingServer::wait_for_held(held);
    return call;
  }
};

}  // namespace exs::test
