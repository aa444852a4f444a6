// Peers, another user's and allowed ones, who leave a descriptor at a port whose last close takes as long as they like.
// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/provider/shm/raw_end.h"
#include "tests/support/child_process.h"

using namespace exs;
using namespace exs::shm;
using namespace exs::shm::test;

namespace stranger_test {

constexpr uid_t kNobody = 65534;
constexpr std::uint64_t kToken = 5;

// A TCP connection within the process. The sender has bytes under way that nobody reads, so its last close waits an hour.
struct Lingering {
  UniqueFd sender, reader;

  Lingering() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    socklen_t bytes = sizeof address;
    const UniqueFd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sender = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    require(::bind(listening.get(), name, bytes) == 0 && ::listen(listening.get(), 1) == 0 &&
                ::getsockname(listening.get(), name, &bytes) == 0 &&
                ::connect(sender.get(), name, bytes) == 0,
            "a TCP connection");
    reader = UniqueFd(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::array<std::byte, 65536> bulk{};
    while (::send(sender.get(), bulk.data(), bulk.size(), MSG_DONTWAIT) > 0) continue;
    const linger hour{1, 3600};
    require(::setsockopt(sender.get(), SOL_SOCKET, SO_LINGER, &hour, sizeof hour) == 0, "SO_LINGER");
  }
};

// Leaves the sender in the connection at that socket, whose acceptor has the last of its descriptors then.
RawEnd leave_lingering(const RandomId& socket, Lingering&& left) {
  RawEnd end(socket);
  const int descriptor = left.sender.get();
  require(end.connected && end.send(ControlPacket{}, {&descriptor, 1}), "a packet with a descriptor");
  left.sender.reset();
  return end;
}

// What an allowed peer passes in place of a doorbell, besides what belongs there, and behind what anybody receives.
void pass_lingering(const RandomId& socket) {
  const UniqueFd memfd = make_memfd(kSegmentBytes, kGoodSeals);
  for (const std::size_t count : {2, 10}) {
    RawEnd end(socket);
    std::vector<Lingering> lingering(count - 1);
    std::vector<int> descriptors{memfd.get()};
    for (const Lingering& one : lingering) descriptors.push_back(one.sender.get());
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(10 * sizeof(int))> control{};
    ControlPacket packet = greeting(PacketKind::kConnectorGreeting);
    iovec piece{&packet, sizeof packet};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), descriptors.data(), count * sizeof(int));
    // With all of both still being closed the port accepts others: fewer than kClosingMax threads do that.
    for (int i = 0; i < 2; ++i)
      require(::sendmsg(end.descriptor(), &message, MSG_NOSIGNAL) > 0, "packets with descriptors");
    for (Lingering& one : lingering) {
      one.sender.reset();
      [[maybe_unused]] const int kept = one.reader.release();
    }
  }
}

RandomId socket_of(const ShmUpgrade& pending) {
  const std::optional<Invitation> invitation = Invitation::decode(pending.invitation());
  require(invitation.has_value(), "invitation");
  return invitation->socket_id;
}

}  // namespace stranger_test

BOOST_AUTO_TEST_SUITE(stranger_test)

BOOST_AUTO_TEST_CASE(what_a_stranger_left_is_closed_where_it_holds_up_nobody) {
  if (::geteuid() != 0) {
    BOOST_TEST_MESSAGE("skipped: it takes root to be another user");
    return;
  }
  Half serving, responder;
  std::optional<Half> leaving;
  leaving.emplace();
  const auto pending = serving.invite();
  const RandomId at_serving = socket_of(*pending);
  const RandomId at_leaving = socket_of(*leaving->invite());
  const exs::test::PortPipe ready;
  exs::test::Child stranger([&] {
    require(::setuid(kNobody) == 0, "setuid");
    Lingering one, another;
    const RawEnd ends[] = {leave_lingering(at_serving, std::move(one)),
                           leave_lingering(at_leaving, std::move(another))};
    ready.tell(1);
    for (;;) ::pause();
  });
  BOOST_TEST(ready.hear() == 1);
  // Expect: a port that refuses him, and one that goes while he waits, come back at once.
  leaving.reset();
  BOOST_TEST(closing() == 1U);
  while (closing() < 2) serving.turn();
  // Expect: others are served meanwhile.
  Half* both[] = {&serving, &responder};
  const auto request = responder.join(pending->invitation(), kToken);
  BOOST_TEST(await(both, responder, kToken).status.ok());
  BOOST_TEST(closing() == 2U);
  // Both close when his ends are gone.
  stranger.kill();
  while (closing() > 0) std::this_thread::yield();
}

BOOST_AUTO_TEST_CASE(what_an_allowed_peer_passes_is_closed_where_it_holds_up_nobody) {
  Half serving, responder;
  const auto pending = serving.invite();
  const RandomId at_serving = socket_of(*pending);
  const exs::test::PortPipe ready;
  exs::test::Child peer([&] {
    pass_lingering(at_serving);
    ready.tell(1);
    for (;;) ::pause();
  });
  BOOST_TEST(ready.hear() == 1);
  // Expect: others are served meanwhile, and all is closed though what was passed could still be sent.
  Half* both[] = {&serving, &responder};
  const auto request = responder.join(pending->invitation(), kToken);
  BOOST_TEST(await(both, responder, kToken).status.ok());
  while (closing() > 0) std::this_thread::yield();
}

BOOST_AUTO_TEST_SUITE_END()
