// What a program has that makes mistakes with sockets.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

#include "tests/mistakes/report.h"
#include "tests/support/exs_fixture.h"
#include "tests/support/raw_peer.h"

namespace exs::test {

struct Mistaken {
  InitializedLibrary library;
  Queue queue;
  LogLines log;

  [[nodiscard]] int post_send(int socket, Memory& memory, std::size_t bytes, int flags = 0) const {
    return exs_send(socket, memory.at(), bytes, flags, queue.handle(), nullptr, memory.handle());
  }
  [[nodiscard]] int post_receive(int socket, Memory& memory, std::size_t bytes, int flags = 0) const {
    return exs_recv(socket, memory.at(), bytes, flags, queue.handle(), nullptr, memory.handle());
  }
  // Connects to `address` and returns the outcome.
  std::string connect(int socket, sockaddr_in address, int limit_ms = 10'000) {
    BOOST_REQUIRE_EQUAL(set_option(socket, EXS_SO_CONNECT_TIMEOUT_MS, limit_ms), 0);
    BOOST_REQUIRE_EQUAL(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
    return queue.next_outcome(socket, EXS_EVT_CONNECT);
  }
  // A connect of a new socket that fails: its outcome and its sentence.
  void told_by_connect(const char* mistake, sockaddr_in address, int limit_ms, std::string_view words) {
    const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    const std::string outcome = connect(socket, address, limit_ms);
    told(mistake, "EXS_EVT_CONNECT " + outcome, error_text(socket), words);
    BOOST_TEST(exs_close(socket) == 0);
  }
  // The same with a server that answers so, and no more.
  void told_by_answer(const char* mistake, std::string_view answer, int limit_ms, std::string_view words) {
    const RawListener listening;
    const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    BOOST_REQUIRE_EQUAL(set_option(socket, EXS_SO_CONNECT_TIMEOUT_MS, limit_ms), 0);
    sockaddr_in address = listening.address();
    BOOST_REQUIRE_EQUAL(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
    RawPeer peer = listening.accept();
    peer.send(bytes_of(answer));
    const std::string outcome = queue.next_outcome(socket, EXS_EVT_CONNECT);
    told(mistake, "EXS_EVT_CONNECT " + outcome, error_text(socket), words);
    BOOST_TEST(exs_close(socket) == 0);
  }
};

}  // namespace exs::test
