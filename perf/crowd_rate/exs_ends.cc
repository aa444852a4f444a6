// The two ends over exs: one queue for the client, and one for each thread of the server.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/exs.h>

#include <array>
#include <cerrno>

#include "perf/crowd_rate/ends.h"
#include "perf/support/endpoint.h"
#include "tools/common/failure.h"
#include "tools/common/sockets.h"

namespace crowd_rate {
namespace {

constexpr std::uint32_t kConnectingMax = 128;
// A connection has at most a receive and two sends pending, the server's listener an accept for each.
constexpr std::uint32_t kSlotsEach = 4;

int queue_depth(const Settings& settings) {
  return static_cast<int>(settings.connections * kSlotsEach + kBatch);
}

void check(const exs_event_t& event, const std::string& what) {
  if (event.exs_evt_errno != 0) tools::fail_of(event.exs_evt_socket, what, event.exs_evt_errno);
  if ((event.exs_evt_flags & EXS_EVF_EOF) != 0) throw tools::Failure(what + ": the other end has gone");
}

class ExsClient final : public Client {
 public:
  explicit ExsClient(const Settings& settings)
      : settings_(settings),
        queue_(queue_depth(settings), settings.wait),
        slots_(settings.size_bytes, std::size_t{2} * settings.connections, tools::MemoryKind::plain) {}

  void open(const std::vector<std::uint16_t>& ports) override {
    sockets_.reserve(settings_.connections);
    for (std::uint32_t connected = 0; connected < settings_.connections;) {
      while (sockets_.size() < settings_.connections && sockets_.size() - connected < kConnectingMax)
        start_connect(ports[sockets_.size() % ports.size()]);
      for (const exs_event_t& event : take()) check(event, "cannot connect");
      connected += taken_;
    }
  }

  void send(std::uint32_t connection) override {
    const int socket = sockets_[connection].number();
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle carries a number
    const auto handle = reinterpret_cast<exs_ahandle_t>(std::uintptr_t{connection});
    const std::span<std::byte> request = slots_.slot(std::uint64_t{2} * connection);
    const std::span<std::byte> room = slots_.slot(std::uint64_t{2} * connection + 1);
    number_message(request, connection);
    if (exs_recv(socket, room.data(), room.size(), 0, queue_.handle(), handle, slots_.region()) != 0)
      perf::fail_post(socket, "exs_recv", errno);
    if (exs_send(socket, request.data(), request.size(), 0, queue_.handle(), handle, slots_.region()) != 0)
      perf::fail_post(socket, "exs_send", errno);
  }

  std::span<const std::uint32_t> wait() override {
    std::size_t responses = 0;
    while (responses == 0) {
      for (const exs_event_t& event : take()) {
        check(event, "the connection broke");
        if (event.exs_evt_type != EXS_EVT_RECV) continue;
        const auto connection =
            static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(event.exs_evt_ahandle));
        check_message(perf::received(event), connection, settings_.size_bytes);
        responses_[responses++] = connection;
      }
    }
    return {responses_.data(), responses};
  }

  [[nodiscard]] std::string provider() const override { return sockets_.front().provider(); }

 private:
  void start_connect(std::uint16_t port) {
    exs::cpp::Socket& socket = sockets_.emplace_back(exs::cpp::Socket::create());
    tools::set_provider(socket, settings_.provider);
    const exs::cpp::Outcome connect =
        socket.connect(exs::cpp::Address("127.0.0.1", port), {queue_.handle(), nullptr});
    if (!connect) tools::fail("exs_connect", connect.error.value());
  }

  std::span<const exs_event_t> take() {
    taken_ = static_cast<std::uint32_t>(queue_.take(events_, kSilenceMaxNs));
    if (taken_ == 0) throw tools::Failure("nothing came from the server for 30 s");
    return {events_.data(), taken_};
  }

  const Settings& settings_;
  const perf::Library library_;
  perf::Queue queue_;
  tools::Slots slots_;
  std::vector<exs::cpp::Socket> sockets_;
  std::array<exs_event_t, kBatch> events_{};
  std::array<std::uint32_t, kBatch> responses_{};
  std::uint32_t taken_ = 0;
};

// Each connection has two buffers: one is sent back, and the next message arrives in the other.
class ExsServer final : public Server {
 public:
  explicit ExsServer(const Settings& settings)
      : queue_(queue_depth(settings), settings.wait),
        slots_(settings.size_bytes, std::size_t{2} * settings.connections, tools::MemoryKind::plain),
        peers_(settings.connections),
        listener_(exs::cpp::Socket::create()) {
    tools::set_provider(listener_, settings.provider);
    tools::listen_at(listener_, exs::cpp::Address("127.0.0.1", 0), kBacklog, "127.0.0.1, port 0");
    if (const auto accept = listener_.accept_all({queue_.handle()}); !accept)
      tools::fail("exs_accept", accept.error.value());
  }

  [[nodiscard]] std::uint16_t port() const override { return perf::local_port(listener_); }

  void serve() override {
    std::array<exs_event_t, kBatch> events{};
    for (;;) {
      const std::size_t taken = queue_.take(events, -1);
      for (std::size_t i = 0; i < taken; ++i) handle(events[i]);
    }
  }

 private:
  struct Peer {
    exs::cpp::Socket socket;
    std::uint32_t next_buffer = 0;  // 0 or 1: for the next message
  };

  void handle(const exs_event_t& event) {
    check(event, "the server");
    if (event.exs_evt_type == EXS_EVT_ACCEPT) {
      if (accepted_ == peers_.size()) throw tools::Failure("more connections than there should be");
      Peer& peer = peers_[accepted_++];
      peer.socket = exs::cpp::Socket(exs_event_new_socket(&event));
      receive(peer);
    } else if (event.exs_evt_type == EXS_EVT_RECV) {
      Peer& peer = *static_cast<Peer*>(event.exs_evt_ahandle);
      receive(peer);
      const std::span<const std::byte> message = perf::received(event);
      if (exs_send(peer.socket.number(), message.data(), message.size(), 0, queue_.handle(), &peer,
                   slots_.region()) != 0) {
        perf::fail_post(peer.socket.number(), "exs_send", errno);
      }
    }
  }

  void receive(Peer& peer) {
    const auto index = static_cast<std::uint64_t>(&peer - peers_.data());
    const std::span<std::byte> room = slots_.slot(2 * index + peer.next_buffer);
    peer.next_buffer ^= 1U;
    if (exs_recv(peer.socket.number(), room.data(), room.size(), 0, queue_.handle(), &peer,
                 slots_.region()) != 0) {
      perf::fail_post(peer.socket.number(), "exs_recv", errno);
    }
  }

  perf::Queue queue_;
  tools::Slots slots_;
  std::vector<Peer> peers_;
  std::size_t accepted_ = 0;
  exs::cpp::Socket listener_;
};

}  // namespace

std::unique_ptr<Client> make_exs_client(const Settings& settings) {
  return std::make_unique<ExsClient>(settings);
}

std::unique_ptr<Server> make_exs_server(const Settings& settings) {
  return std::make_unique<ExsServer>(settings);
}

}  // namespace crowd_rate
