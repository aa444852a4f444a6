// Plain TCP as one would write it by hand: non-blocking sockets with TCP_NODELAY, level-triggered epoll, a read and a write for each
// message.
// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/socket_address.h"
#include "perf/crowd_rate/ends.h"
#include "tools/common/failure.h"

namespace crowd_rate {
namespace {

using tools::fail;

int checked(int result, const char* what) {
  if (result == -1) fail(what, errno);
  return result;
}

sockaddr_storage loopback(std::uint16_t port) {
  return exs::v4_address(in_addr{htonl(INADDR_LOOPBACK)}, port);
}

void set_nodelay(int descriptor) {
  const int on = 1;
  checked(setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
}

void write_message(int descriptor, std::span<const std::byte> message) {
  const ssize_t written = ::send(descriptor, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (written != static_cast<ssize_t>(message.size())) fail("send", written == -1 ? errno : EAGAIN);
}

// Reads what has arrived, perhaps nothing.
std::size_t read_some(int descriptor, std::span<std::byte> room) {
  const ssize_t got = ::recv(descriptor, room.data(), room.size(), MSG_DONTWAIT);
  if (got > 0) return static_cast<std::size_t>(got);
  if (got == 0) throw tools::Failure("the other end has gone");
  if (errno != EAGAIN) fail("recv", errno);
  return 0;
}

// The readable sockets, by the number that each was added with.
class Epoll {
 public:
  explicit Epoll(const Settings& settings)
      : set_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
        timeout_ms_(settings.wait == perf::Wait::busy ? 0 : -1) {}
  ~Epoll() { close(set_); }
  Epoll(const Epoll&) = delete;
  Epoll& operator=(const Epoll&) = delete;

  void add(int descriptor, std::uint32_t number) {
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.u32 = number;
    checked(epoll_ctl(set_, EPOLL_CTL_ADD, descriptor, &wanted), "epoll_ctl");
  }
  std::span<const epoll_event> wait() {
    const int count = epoll_wait(set_, events_.data(), kBatch, timeout_ms_);
    if (count == -1 && errno != EINTR) fail("epoll_wait", errno);
    return {events_.data(), static_cast<std::size_t>(count > 0 ? count : 0)};
  }

 private:
  const int set_;
  const int timeout_ms_;
  std::array<epoll_event, kBatch> events_{};
};

class EpollClient final : public Client {
 public:
  explicit EpollClient(const Settings& settings)
      : settings_(settings), epoll_(settings), message_(settings.size_bytes) {}
  ~EpollClient() override {
    for (const Connection& connection : connections_) close(connection.descriptor);
  }
  EpollClient(const EpollClient&) = delete;
  EpollClient& operator=(const EpollClient&) = delete;

  void open(const std::vector<std::uint16_t>& ports) override {
    for (std::uint32_t number = 0; number < settings_.connections; ++number) {
      const int descriptor = checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
      connections_.push_back({descriptor, 0, std::vector<std::byte>(settings_.size_bytes)});
      const sockaddr_storage server = loopback(ports[number % ports.size()]);
      checked(connect(descriptor, exs::as_sockaddr(server), sizeof(sockaddr_in)), "connect");
      set_nodelay(descriptor);
      epoll_.add(descriptor, number);
    }
  }

  void send(std::uint32_t connection) override {
    number_message(message_, connection);
    write_message(connections_[connection].descriptor, message_);
  }

  std::span<const std::uint32_t> wait() override {
    std::size_t responses = 0;
    while (responses == 0) {
      for (const epoll_event& event : epoll_.wait()) {
        if (has_response(event.data.u32)) responses_[responses++] = event.data.u32;
      }
    }
    return {responses_.data(), responses};
  }

  [[nodiscard]] std::string provider() const override { return "tcp"; }

 private:
  struct Connection {
    int descriptor;
    std::size_t got;  // bytes of a partial response
    std::vector<std::byte> room;
  };

  bool has_response(std::uint32_t number) {
    Connection& connection = connections_[number];
    connection.got += read_some(connection.descriptor, std::span(connection.room).subspan(connection.got));
    if (connection.got < connection.room.size()) return false;
    connection.got = 0;
    check_message(connection.room, number, settings_.size_bytes);
    return true;
  }

  const Settings& settings_;
  Epoll epoll_;
  std::vector<std::byte> message_;
  std::vector<Connection> connections_;
  std::array<std::uint32_t, kBatch> responses_{};
};

// Sends back the bytes that have arrived, whole message or not.
class EpollServer final : public Server {
 public:
  explicit EpollServer(const Settings& settings) : epoll_(settings), room_(settings.size_bytes) {
    sockaddr_storage address = loopback(0);
    sockaddr* const generic = exs::as_sockaddr(address);
    socklen_t length = sizeof(sockaddr_in);
    checked(bind(listener_, generic, length), "bind");
    checked(listen(listener_, kBacklog), "listen");
    checked(getsockname(listener_, generic, &length), "getsockname");
    port_ = exs::port_number(address);
    epoll_.add(listener_, static_cast<std::uint32_t>(listener_));
  }
  ~EpollServer() override { close(listener_); }
  EpollServer(const EpollServer&) = delete;
  EpollServer& operator=(const EpollServer&) = delete;

  [[nodiscard]] std::uint16_t port() const override { return port_; }

  void serve() override {
    for (;;) {
      for (const epoll_event& event : epoll_.wait()) {
        const int descriptor = static_cast<int>(event.data.u32);
        if (descriptor == listener_) {
          accept_one();
        } else if (const std::size_t got = read_some(descriptor, room_); got > 0) {
          write_message(descriptor, std::span(room_).first(got));
        }
      }
    }
  }

 private:
  void accept_one() {
    const int peer = checked(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK), "accept");
    set_nodelay(peer);
    epoll_.add(peer, static_cast<std::uint32_t>(peer));
  }

  Epoll epoll_;
  std::vector<std::byte> room_;
  const int listener_ = checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  std::uint16_t port_ = 0;
};

}  // namespace

std::unique_ptr<Client> make_epoll_client(const Settings& settings) {
  return std::make_unique<EpollClient>(settings);
}

std::unique_ptr<Server> make_epoll_server(const Settings& settings) {
  return std::make_unique<EpollServer>(settings);
}

}  // namespace crowd_rate
