// SPDX-License-Identifier: BSD-2-Clause
#include "tests/rpc/fast/everything_server.h"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstring>

namespace exs::test {
namespace {

std::atomic<EverythingState*> current{nullptr};

}  // namespace

EverythingServer::EverythingServer(const exs_rpc_server_options_t* options, std::uint16_t port)
    : server_(exs_rpc_server_create(options)) {
  BOOST_REQUIRE_MESSAGE(server_ != nullptr, exs_rpc_errtext());
  current = &state_;
  BOOST_REQUIRE_EQUAL(exs_rpc_server_add(server_, &everything_one_service, &state_), 0);
  sockaddr_in address = address_of_host(port);
  port_ = exs_rpc_server_listen(server_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  BOOST_REQUIRE_MESSAGE(port_ > 0, exs_rpc_errtext());
  thread_ = std::thread([this] { exs_rpc_server_run(server_); });
}

EverythingServer::~EverythingServer() {
  exs_rpc_server_stop(server_);
  thread_.join();
  exs_rpc_server_delete(server_);
  for (exs_rpc_request_t* const held : state_.held) exs_rpc_reply(held, 1, nullptr);
}

EverythingState& EverythingServer::state() {
  return *current;
}

void EverythingServer::wait_for_held(std::size_t count) {
  for (;;) {
    {
      const std::lock_guard lock(state().mutex);
      if (state().held.size() >= count) return;
    }
    std::this_thread::yield();
  }
}

}  // namespace exs::test
