// Batches of socket calls: the ring for the engine thread, plain calls for every other, the same results.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "src/provider/iwarp/syscall_backend.h"
#include "src/provider/iwarp/uring_backend.h"
#include "tests/provider/iwarp/link_pair.h"

using namespace exs;
using namespace exs::iwarp;
using namespace exs::iwarp::test;

namespace backend_test {

// Sixteen socket pairs with a message waiting in every second one, and a job to receive from each.
struct Batch {
  Batch() {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      int ends[2];
      require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
      near_ends[i] = Socket(ends[0]);
      far_ends[i] = Socket(ends[1]);
      if (i % 2 == 0) write_all(far_ends[i], pattern(i + 1));
      entries[i] = {rooms[i].data(), rooms[i].size()};
      jobs[i].descriptor = near_ends[i].get();
      jobs[i].message.msg_iov = &entries[i];
      jobs[i].message.msg_iovlen = 1;
    }
  }
  void check_received() const {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const std::int64_t expected = i % 2 == 0 ? static_cast<std::int64_t>(i + 1) : -EAGAIN;
      BOOST_TEST(jobs[i].result == expected);
      const std::vector<std::byte> sent = pattern(i + 1);
      if (i % 2 == 0) BOOST_TEST((std::equal(sent.begin(), sent.end(), rooms[i].begin())));
    }
  }
  std::array<Socket, 16> near_ends, far_ends;
  std::array<std::array<std::byte, 64>, 16> rooms{};
  std::array<iovec, 16> entries{};
  std::array<IoJob, 16> jobs;
};

bool ring_is_refused() {
  if (UringBackend::probe().ok()) return false;
  BOOST_TEST_MESSAGE("SKIPPED: this kernel or its policy refuses io_uring");
  return true;
}

}  // namespace backend_test

BOOST_AUTO_TEST_SUITE(backend_test)

BOOST_AUTO_TEST_CASE(plain_calls) {
  Batch batch;
  SyscallBackend backend;
  backend.perform(batch.jobs);
  batch.check_received();
}

BOOST_AUTO_TEST_CASE(ring_serves_its_engine_thread_alone) {
  if (ring_is_refused()) return;
  UringBackend backend;
  Batch unbound;
  backend.perform(unbound.jobs);
  unbound.check_received();
  BOOST_TEST(backend.batches_through_ring() == 0U);
  std::thread engine([&] {
    backend.single_issuer()->bind_thread();
    for (int i = 0; i < 100; ++i) {
      Batch batch;
      backend.perform(batch.jobs);
      batch.check_received();
    }
    Batch alone;
    backend.perform(std::span(alone.jobs).first(1));
  });
  engine.join();
  // Expect: one system call's worth for each batch, none for a single job.
  BOOST_TEST(backend.batches_through_ring() == 100U);
  Batch elsewhere;
  backend.perform(elsewhere.jobs);
  elsewhere.check_received();
  BOOST_TEST(backend.batches_through_ring() == 100U);
}

BOOST_AUTO_TEST_CASE(ring_sends_and_reports_errors) {
  if (ring_is_refused()) return;
  UringBackend backend;
  backend.single_issuer()->bind_thread();
  Batch batch;
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) batch.jobs[i].is_send = true;
  batch.far_ends[3].close();
  batch.jobs[5].descriptor = -1;
  backend.perform(batch.jobs);
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    const std::int64_t expected = i == 3 ? -EPIPE : i == 5 ? -EBADF : 64;
    BOOST_TEST(batch.jobs[i].result == expected);
  }
}

BOOST_AUTO_TEST_CASE(unknown_backend_is_refused_with_its_errno) {
  Settings settings;
  settings.backend = BackendChoice::kUnknown;
  exs::Reason why_not;
  BOOST_TEST(make_iwarp_provider(settings)->open_port(why_not).error().error() == EINVAL);
}

// Threads take turns at driving one port, as the holders of a drive lock do; the ring's owner is one of them.
BOOST_AUTO_TEST_CASE(any_thread_may_drive_next) {
  for (const BackendChoice backend : {BackendChoice::kEpoll, BackendChoice::kAutomatic}) {
    PairOptions options;
    options.client.backend = backend;
    options.server.backend = backend;
    LinkPair pair(options);
    pair.join();
    constexpr std::uint64_t kMessages = 400;
    std::byte room[8];
    std::thread engine;
    std::uint64_t got = 0;
    for (std::uint64_t turn = 0; got < kMessages; ++turn) {
      const auto work = [&] {
        if (turn % 2 == 1) pair.server_port.become_engine();
        BOOST_REQUIRE(pair.server->post_recv({room, sizeof room, {}}, got).ok());
        BOOST_REQUIRE(pair.client->post_send(bytes_of("turn"), {}, got).ok());
        BOOST_REQUIRE(pair.server_gets(CompletionKind::kReceive).token == got);
        BOOST_REQUIRE(pair.client_gets(CompletionKind::kSend).token == got);
        ++got;
      };
      if (turn % 2 == 0) {
        work();
      } else {
        std::thread(work).join();
      }
    }
  }
}

// Many links of one port at once, so that batches really form.
BOOST_AUTO_TEST_CASE(many_links_of_one_port) {
  constexpr std::uint64_t kLinks = 40;
  for (const BackendChoice backend : {BackendChoice::kEpoll, BackendChoice::kAutomatic}) {
    Settings settings;
    settings.backend = backend;
    PortDriver clients(settings, true);
    PortDriver servers(settings, true);
    const DrivenPorts both = {&clients, &servers};
    ListeningSocket listening;
    const std::unique_ptr<PortListener> listener =
        *servers->connector()->listen(listening.socket.get(), {8, 0}, kListenerToken);
    std::vector<Socket> sockets;
    std::vector<std::unique_ptr<Link>> client_links, server_links;
    std::vector<std::vector<std::byte>> rooms(kLinks, std::vector<std::byte>(3000)), sinks = rooms;
    const LinkDepths depths{4, 4, 4, 4};
    for (std::uint64_t i = 0; i < kLinks; ++i) {
      sockets.push_back(tcp_socket());
      client_links.push_back(*clients->connector()->connect(sockets.back().get(), listening.as_sockaddr(),
                                                            sizeof listening.address, {{}, depths}, i));
    }
    std::vector<std::byte> memory = pattern(100'000);
    std::vector<RemoteSlice> windows;
    while (server_links.size() < kLinks) {
      await(both, servers, CompletionKind::kRequest, kListenerToken);
      std::unique_ptr<ConnectionRequest> request = listener->next_request();
      sockets.emplace_back(request->release_descriptor());
      const std::uint64_t token = 1000 + server_links.size();
      server_links.push_back(
          *servers->connector()->accept(std::move(request), sockets.back().get(), {{}, depths}, token));
      windows.push_back(*server_links.back()->expose(slice_of(memory), Access::kRemoteRead));
      BOOST_REQUIRE(server_links.back()->post_recv(slice_of(rooms[token - 1000]), token).ok());
    }
    for (std::uint64_t i = 0; i < kLinks; ++i) await(both, clients, CompletionKind::kEstablished, i);
    const std::vector<std::byte> message = pattern(3000);
    for (std::uint64_t i = 0; i < kLinks; ++i) {
      BOOST_REQUIRE(client_links[i]->post_send(message, {}, i).ok());
    }
    for (std::uint64_t i = 0; i < kLinks; ++i) {
      BOOST_TEST(await(both, servers, CompletionKind::kReceive, 1000 + i).length_bytes == 3000U);
      BOOST_TEST((rooms[i] == message));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
