// A server for hostile peers: checks that a peer leaves its state unchanged, and counts the log lines.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "src/log/log.h"
#include "tests/support/exs_fixture.h"
#include "tests/support/raw_peer.h"

namespace exs::test {

// Captures the library's log; the destructor copies it to standard error.
class CapturedLog {
 public:
  CapturedLog() {
    tell_left_out();  // so that no line is left out here
    ::fflush(stderr);
    ::dup2(captured_.get(), STDERR_FILENO);
  }
  ~CapturedLog() {
    ::dup2(real_.get(), STDERR_FILENO);
    const std::string text = this->text();
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  [[nodiscard]] std::string text() const {
    std::string text(1 << 16, '\0');
    const ssize_t length = ::pread(captured_.get(), text.data(), text.size(), 0);
    text.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
    return text;
  }
  // Waits for a line: the peer may see its end before the line is written. ctest limits the wait.
  [[nodiscard]] std::size_t lines_once_there() const {
    while (lines() == 0) std::this_thread::yield();
    return lines();
  }
  [[nodiscard]] std::size_t lines() const {
    const std::string text = this->text();
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

 private:
  const UniqueFd captured_{::memfd_create("log", MFD_CLOEXEC)};
  const UniqueFd real_{::dup(STDERR_FILENO)};
};

struct HostileServer {
  InitializedLibrary library;
  Queue queue{512};
  Memory memory{1 << 16};
  int listening = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  sockaddr_in address = loopback();

  explicit HostileServer(int handshake_ms = 10'000, int backlog = 16) {
    ::setenv("EXS_LOG", "info", 1);
    socklen_t length = sizeof address;
    set_option(listening, EXS_SO_CONNECT_TIMEOUT_MS, handshake_ms);
    exs_bind(listening, generic(address), length);
    exs_listen(listening, backlog);
    BOOST_REQUIRE_EQUAL(exs_getsockname(listening, generic(address), &length), 0);
    serve_a_good_client();
    await_engines();  // so that all descriptors that the library opens once are open
  }
  ~HostileServer() { exs_close(listening); }

  void post_accept() { BOOST_REQUIRE_EQUAL(exs_accept(listening, nullptr, 0, queue.handle(), nullptr), 0); }
  int accepted() {
    return queue.next_of(listening, EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  }
  int receive(int socket, std::size_t length_bytes = 4096) {
    return exs_recv(socket, memory.at(1 << 15), length_bytes, 0, queue.handle(), nullptr, memory.handle());
  }
  int send(int socket, std::size_t length_bytes = 4096) {
    return exs_send(socket, memory.at(), length_bytes, 0, queue.handle(), nullptr, memory.handle());
  }

  // Accepts a well-behaved client, receives a message from it, and sees it close.
  void serve_a_good_client() {
    const int client = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    post_accept();
    BOOST_REQUIRE_EQUAL(exs_connect(client, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
    BOOST_REQUIRE_EQUAL(queue.next_outcome(client, EXS_EVT_CONNECT), "0");
    const int served = accepted();
    BOOST_REQUIRE_EQUAL(receive(served), 0);
    BOOST_REQUIRE_EQUAL(send(client), 0);
    BOOST_REQUIRE_EQUAL(queue.next_outcome(served, EXS_EVT_RECV), "0");
    BOOST_REQUIRE_EQUAL(queue.next_outcome(client, EXS_EVT_SEND), "0");
    BOOST_REQUIRE_EQUAL(exs_close(client), 0);
    BOOST_REQUIRE_EQUAL(exs_close(served), 0);
  }

  // The engine may hold a closed descriptor for a moment longer.
  static void await_descriptors(std::size_t count) {
    while (open_descriptors() > count) std::this_thread::yield();
    BOOST_TEST(open_descriptors() == count);
  }
};

}  // namespace exs::test
