// Two ports, joined by one link over the RDMA device that carries EXS_TEST_ADDRESS.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "src/provider/connector.h"
#include "src/provider/verbs/verbs.h"
#include "tests/support/driven_port.h"
#include "tests/support/meeting.h"
#include "tests/support/pattern.h"
#include "tests/support/registered_memory.h"

namespace exs::verbs::test {

inline constexpr std::uint64_t kClientToken = 1;
inline constexpr std::uint64_t kServerToken = 2;

using exs::test::DrivenPort;
using exs::test::Meeting;
using exs::test::pattern;
using exs::test::require;

inline sockaddr_in device_address() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const char* const text = std::getenv("EXS_TEST_ADDRESS");
  require(text != nullptr && ::inet_pton(AF_INET, text, &address.sin_addr) == 1,
          "EXS_TEST_ADDRESS names the address of an RDMA device");
  return address;
}

// As in any process: it stays, and so do its devices.
inline Provider& the_provider() {
  static Provider* const made = make_verbs_provider().release();
  return *made;
}

// Two ends in one process, driven by turns.
class DevicePair {
 public:
  explicit DevicePair(const LinkDepths& depths = {16, 16, 8, 8, 1024}) : depths_(depths) {}

  void connect(std::string_view words) {
    auto made = meeting.connect(depths_, kClientToken, words);
    client.reset();
    client_socket = std::move(made.socket);
    client = std::move(made.link);
  }
  void accept(std::unique_ptr<ConnectionRequest> request, std::string_view words) {
    auto made = meeting.accept(far, std::move(request), depths_, kServerToken, words);
    server.reset();
    placeholder = std::move(made.socket);
    server = std::move(made.link);
  }
  // Both ends stand, each with all receives posted.
  void join() {
    meeting.listen();
    connect("hello of the client");
    accept(meeting.await_request(), "hello of the server");
    require(await(far, CompletionKind::kEstablished, kServerToken).status.ok(), "accepted");
    require(await(near, CompletionKind::kEstablished, kClientToken).status.ok(), "established");
    for (std::uint64_t i = 0; i < depths_.receives; ++i) {
      post_receive(*client, client_slots, i);
      post_receive(*server, server_slots, i);
    }
  }
  void post_receive(Link& link, std::vector<std::byte>& slots, std::uint64_t slot) {
    slots.resize(std::size_t{depths_.receives} * depths_.message_bytes);
    const LocalSlice into{slots.data() + slot * depths_.message_bytes, depths_.message_bytes, {}};
    require(link.post_recv(into, slot).ok(), "post_recv");
  }
  Completion await(DrivenPort& where, CompletionKind kind, std::uint64_t link) {
    return exs::test::await({&near, &far}, where, kind, link);
  }

  Provider& provider = the_provider();
  DrivenPort near{provider};
  DrivenPort far{provider};
  Meeting meeting{provider, near, far};
  UniqueFd client_socket;
  UniqueFd placeholder;
  std::vector<std::byte> client_slots, server_slots;
  std::unique_ptr<Link> client, server;

 private:
  const LinkDepths depths_;
};

// Memory that the provider knows, full of a pattern.
struct Registered : exs::test::RegisteredMemory {
  explicit Registered(std::size_t length, unsigned seed = 1)
      : RegisteredMemory(&the_provider(), length, false) {
    fill(pattern(length, seed));
  }
};

}  // namespace exs::verbs::test
