// SPDX-License-Identifier: BSD-2-Clause
#include "tests/explain/man_in_the_middle.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <span>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "src/provider/iwarp/mpa.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace {

// Of an MPA request of exs, before the private data: depths of reads, and the mark.
constexpr std::size_t kPreambleBytes = 8;
constexpr std::size_t kLengthOffset = 18;

void require(bool condition) {
  if (!condition) std::abort();
}

UniqueFd listen_somewhere(sockaddr_in& address) {
  UniqueFd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  address = loopback();
  socklen_t length = sizeof address;
  require(::bind(listening.get(), generic(address), sizeof address) == 0 &&
          ::listen(listening.get(), 1) == 0 &&
          ::getsockname(listening.get(), generic(address), &length) == 0);
  return listening;
}

std::vector<std::byte> read_whole(int from, std::size_t count) {
  std::vector<std::byte> bytes(count);
  require(::recv(from, bytes.data(), count, MSG_WAITALL) == static_cast<ssize_t>(count));
  return bytes;
}

void write_whole(int to, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // its end is seen on the next read
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

void pass_request(int client, int server, const Change& change) {
  auto header = read_whole(client, iwarp::kMpaHeaderBytes);
  const auto length = load_be<std::uint16_t>(header.data() + kLengthOffset);
  require(length >= kPreambleBytes);
  const auto preamble = read_whole(client, kPreambleBytes);
  auto private_data = read_whole(client, length - kPreambleBytes);
  change(private_data);
  store_be(header.data() + kLengthOffset, static_cast<std::uint16_t>(kPreambleBytes + private_data.size()));
  header.insert(header.end(), preamble.begin(), preamble.end());
  header.insert(header.end(), private_data.begin(), private_data.end());
  write_whole(server, header);
}

void pass_on(int client, int server) {
  std::array<pollfd, 2> ends{pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
  std::vector<std::byte> piece(1 << 16);
  while (::poll(ends.data(), ends.size(), -1) > 0) {
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].revents == 0) continue;
      const ssize_t got = ::recv(ends[i].fd, piece.data(), piece.size(), 0);
      if (got <= 0) return;
      write_whole(ends[1 - i].fd, std::span(piece).first(static_cast<std::size_t>(got)));
    }
  }
}

}  // namespace

std::uint16_t ManInTheMiddle::stand_before(std::uint16_t port_of_server) {
  sockaddr_in own{};
  const UniqueFd listening = listen_somewhere(own);
  child_ = std::make_unique<Child>([&] {
    ::alarm(kHangLimitSeconds);
    const UniqueFd client(::accept(listening.get(), nullptr, nullptr));
    const UniqueFd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback(port_of_server);
    require(client.valid() && ::connect(server.get(), generic(address), sizeof address) == 0);
    pass_request(client.get(), server.get(), change_);
    pass_on(client.get(), server.get());
  });
  return ntohs(own.sin_port);
}

}  // namespace exs::test
