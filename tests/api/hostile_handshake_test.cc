// Peers whose handshake is invalid: the server logs one line, keeps no descriptor, and serves other clients.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "src/provider/iwarp/mpa.h"
#include "tests/api/hostile_server.h"

namespace exs::test {
namespace hostile_handshake_test {

struct Server : HostileServer {
  Server() : HostileServer(500) {}

  // Connections that the kernel has for the listener, and the server has not accepted.
  static std::size_t not_accepted(sockaddr_in listener) {
    constexpr unsigned kListen = 10;
    std::ifstream table("/proc/net/tcp");
    std::string line;
    while (std::getline(table, line)) {
      unsigned port = 0;
      unsigned state = 0;
      unsigned queued = 0;
      if (std::sscanf(line.c_str(), " %*u: %*x:%x %*x:%*x %x %*x:%x", &port, &state, &queued) == 3 &&
          state == kListen && port == ntohs(listener.sin_port))
        return queued;
    }
    BOOST_FAIL("the listener is not in /proc/net/tcp");
    return 0;
  }

  // Peers that connect, or begin to, and say nothing.
  static std::vector<UniqueFd> silent_peers(int count, sockaddr_in to) {
    std::vector<UniqueFd> peers;
    for (int i = 0; i < count; ++i) {
      UniqueFd peer(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      const int result = ::connect(peer.get(), generic(to), sizeof to);
      BOOST_TEST((result == 0 || errno == EINPROGRESS));
      peers.push_back(std::move(peer));
    }
    return peers;
  }

  // The server drops the connection of `attack`; the accept that was posted before stays for the next client.
  template <typename Attack>
  void expect_dropped(Attack attack) {
    post_accept();
    const std::size_t descriptors = open_descriptors();
    {
      const CapturedLog log;
      RawPeer peer(address);
      attack(peer);
      peer.await_end();
      BOOST_TEST(log.lines_once_there() == 1U);
    }
    await_descriptors(descriptors);
    // The accept posted above takes the good client; the one that serve_a_good_client() posts stays open.
    serve_a_good_client();
  }
};

iwarp::MpaBytes request_frame(bool markers) {
  iwarp::MpaFrame frame;
  frame.markers = markers;
  frame.is_exs = true;
  return iwarp::encode_mpa(frame);
}

}  // namespace hostile_handshake_test

BOOST_FIXTURE_TEST_SUITE(hostile_handshake_test, Server)

BOOST_AUTO_TEST_CASE(garbage_instead_of_a_request) {
  expect_dropped([](RawPeer& peer) { peer.send(bytes_of("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")); });
}

BOOST_AUTO_TEST_CASE(one_wrong_byte) {
  expect_dropped([](RawPeer& peer) { peer.send(bytes_of("X")); });
}

BOOST_AUTO_TEST_CASE(nothing_at_all) {
  expect_dropped([](RawPeer&) {});
}

BOOST_AUTO_TEST_CASE(nothing_and_then_the_end) {
  expect_dropped([](RawPeer& peer) { peer.end_sending(); });
}

BOOST_AUTO_TEST_CASE(half_a_request_and_silence) {
  expect_dropped([](RawPeer& peer) { peer.send(bytes_of("MPA ID R")); });
}

BOOST_AUTO_TEST_CASE(half_a_request_and_the_end) {
  expect_dropped([](RawPeer& peer) {
    peer.send(bytes_of("MPA ID Req Frame"));
    peer.end_sending();
  });
}

BOOST_AUTO_TEST_CASE(a_request_that_drips_is_not_given_more_time) {
  expect_dropped([](RawPeer& peer) {
    const Bytes key = bytes_of("MPA ID Req Frame");
    for (std::size_t i = 0; i < key.size(); ++i) peer.send(std::span(key).subspan(i, 1));
  });
}

BOOST_AUTO_TEST_CASE(private_data_longer_than_any) {
  expect_dropped([](RawPeer& peer) {
    Bytes bytes = bytes_of("MPA ID Req Frame");
    for (const int byte : {0x10, 2, 0xff, 0xff}) bytes.push_back(static_cast<std::byte>(byte));
    bytes.resize(2000);
    peer.send(bytes);
  });
}

BOOST_AUTO_TEST_CASE(an_unknown_revision) {
  expect_dropped([](RawPeer& peer) {
    Bytes bytes = bytes_of("MPA ID Req Frame");
    for (const int byte : {0x10, 3, 0, 0}) bytes.push_back(static_cast<std::byte>(byte));
    peer.send(bytes);
  });
}

BOOST_AUTO_TEST_CASE(bytes_that_follow_the_request) {
  expect_dropped([](RawPeer& peer) {
    const iwarp::MpaBytes frame = request_frame(false);
    Bytes bytes(frame.bytes.begin(), frame.bytes.begin() + static_cast<std::ptrdiff_t>(frame.length));
    bytes.resize(bytes.size() + 40);
    peer.send(bytes);
  });
}

BOOST_AUTO_TEST_CASE(markers_are_asked_for) {
  expect_dropped([](RawPeer& peer) {
    const iwarp::MpaBytes frame = request_frame(true);
    peer.send(std::span(frame.bytes).first(frame.length));
  });
}

BOOST_AUTO_TEST_CASE(a_request_that_is_no_hello_of_ours) {
  expect_dropped([](RawPeer& peer) { peer.request_with({}); });
}

BOOST_AUTO_TEST_CASE(a_hello_of_garbage) {
  expect_dropped([](RawPeer& peer) { peer.request_with(bytes_of("EXS1 but not really, no")); });
}

BOOST_AUTO_TEST_CASE(a_hello_of_another_version) {
  expect_dropped([](RawPeer& peer) {
    wire::HelloFields hello = honest_hello();
    hello.version_min = hello.version_max = 7;
    peer.request(hello);
  });
}

BOOST_AUTO_TEST_CASE(a_good_request_whose_peer_is_gone_before_it_is_accepted) {
  const std::size_t descriptors = open_descriptors();
  RawPeer peer(address);
  peer.request(honest_hello());
  peer.reset();
  serve_a_good_client();
  await_descriptors(descriptors);
}

BOOST_AUTO_TEST_CASE(more_silent_peers_than_the_backlog_delay_a_good_one_and_no_more) {
  const std::size_t descriptors = open_descriptors();
  std::vector<UniqueFd> peers = silent_peers(40, address);
  serve_a_good_client();
  peers.clear();
  serve_a_good_client();
  await_descriptors(descriptors);
}

BOOST_AUTO_TEST_CASE(a_good_client_does_not_wait_for_the_time_limit_of_silent_peers) {
  constexpr int kHourMs = 3'600'000;
  constexpr std::size_t kBacklog = 64;
  constexpr std::size_t kPlaces = 128;  // for handshakes under way
  constexpr std::size_t kGroup = 20;
  HostileServer patient(kHourMs, kBacklog);
  for (const int groups : {1, 9}) {
    const std::size_t descriptors = open_descriptors();
    std::vector<UniqueFd> peers;
    for (int i = 0; i < groups; ++i) {
      // The backlog never overflows: of connections beyond the kernel may lose the end, and the server would keep them
      // for the hour.
      while (not_accepted(patient.address) > kBacklog - kGroup) std::this_thread::yield();
      for (UniqueFd& peer : silent_peers(kGroup, patient.address)) peers.push_back(std::move(peer));
    }
    // The last ones wait behind a server that is full, which may have dropped some to take others by now.
    const std::size_t places = std::min(peers.size(), kPlaces - kGroup);
    while (open_descriptors() < descriptors + peers.size() + places) std::this_thread::yield();
    patient.serve_a_good_client();
    peers.clear();
    patient.await_descriptors(descriptors);
  }
}

BOOST_AUTO_TEST_CASE(peers_that_hang_up_at_once_leave_nothing_behind) {
  const std::size_t descriptors = open_descriptors();
  for (int i = 0; i < 100; ++i) {
    RawPeer peer(address);
    if (i % 2 == 0) peer.reset();
  }
  serve_a_good_client();
  await_descriptors(descriptors);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
