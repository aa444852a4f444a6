// Two ports, joined by one link over the RDMA device that carries EXS_TEST_ADDRESS.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/base/unique_fd.h"
#include "src/provider/connector.h"
#include "src/provider/verbs/verbs.h"

namespace exs::verbs::test {

inline constexpr int kHangLimitMs = 30'000;
inline constexpr std::uint64_t kClientToken = 1;
inline constexpr std::uint64_t kServerToken = 2;
inline constexpr std::uint64_t kListenerToken = 3;

inline void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

inline sockaddr_in device_address() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const char* const text = std::getenv("EXS_TEST_ADDRESS");
  require(text != nullptr && ::inet_pton(AF_INET, text, &address.sin_addr) == 1,
          "EXS_TEST_ADDRESS names the address of an RDMA device");
  return address;
}

inline std::vector<std::byte> pattern(std::size_t length, unsigned seed = 1) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; ++i)
    bytes[i] = static_cast<std::byte>((i * 31 + i / 251 + seed) & 0xFF);
  return bytes;
}

// A TCP socket, bound to the device's address where that is asked for.
struct TcpSocket {
  explicit TcpSocket(bool bound) : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (!bound) return;
    const int yes = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address = device_address();
    require(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "bind");
  }
  [[nodiscard]] sockaddr_in address() const {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
    return address;
  }
  UniqueFd socket;
};

// A port that the test turns, and its completions.
class PortDriver {
 public:
  explicit PortDriver(Provider& provider) {
    Reason why_not;
    Result<std::unique_ptr<Port>> opened = provider.open_port(why_not);
    require(opened.has_value(), "open_port");
    port = std::move(*opened);
  }
  static std::uint64_t now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  }
  void turn() {
    port->flush();
    port->progress(now_ns());
    Completion batch[7];  // odd and small: poll() must cope with any room
    while (const std::size_t count = port->poll(batch)) seen.insert(seen.end(), batch, batch + count);
  }
  std::optional<Completion> take(CompletionKind kind, std::uint64_t link) {
    const auto found = std::find_if(seen.begin(), seen.end(), [&](const Completion& completion) {
      return completion.kind == kind && completion.link == link;
    });
    if (found == seen.end()) return std::nullopt;
    const Completion taken = *found;
    seen.erase(found);
    return taken;
  }

  std::unique_ptr<Port> port;
  std::deque<Completion> seen;
};

// Two ends in one process, driven by turns; sleeps, armed, while there is nothing to do.
class DevicePair {
 public:
  explicit DevicePair(const LinkDepths& depths = {16, 16, 8, 8, 1024})
      : provider(make_verbs_provider()), near(*provider), far(*provider), depths_(depths) {}
  ~DevicePair() {
    client.reset();
    server.reset();
    listener.reset();
  }

  void listen() {
    Result<std::unique_ptr<ProcessListener>> made =
        provider->own_listening()->start_listening(listening_socket.socket.get(), 8);
    require(made.has_value() && *made != nullptr, "start_listening");
    listening = std::move(*made);
    ListenParameters parameters;
    parameters.backlog = 8;
    parameters.listening = listening.get();
    auto opened = far.port->connector()->listen(listening_socket.socket.get(), parameters, kListenerToken);
    require(opened.has_value(), "listen");
    listener = std::move(*opened);
  }
  void connect(std::span<const std::byte> data) {
    const sockaddr_in to = listening_socket.address();
    auto made = near.port->connector()->connect(connecting_socket.socket.get(),
                                                reinterpret_cast<const sockaddr*>(&to), sizeof to,
                                                {data, depths_}, kClientToken);
    require(made.has_value(), "connect");
    client = std::move(*made);
  }
  std::unique_ptr<ConnectionRequest> await_request() {
    await(far, CompletionKind::kRequest, kListenerToken);
    auto request = listener->next_request();
    require(request != nullptr, "next_request");
    return request;
  }
  void accept(std::unique_ptr<ConnectionRequest> request, std::span<const std::byte> data) {
    placeholder = UniqueFd(request->release_descriptor());
    auto made =
        far.port->connector()->accept(std::move(request), placeholder.get(), {data, depths_}, kServerToken);
    require(made.has_value(), "accept");
    server = std::move(*made);
  }
  // Both ends stand, each with all receives posted.
  void join() {
    listen();
    connect(std::as_bytes(std::span("hello of the client")));
    accept(await_request(), std::as_bytes(std::span("hello of the server")));
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

  template <typename Done>
  void drive_until(Done done) {
    for (;;) {
      near.turn();
      far.turn();
      if (done()) return;
      const bool quiet = near.port->arm();
      if (!far.port->arm() || !quiet) continue;
      const std::uint64_t due_ns = std::min(near.port->next_deadline_ns(), far.port->next_deadline_ns());
      const std::uint64_t now_ns = PortDriver::now_ns();
      const std::uint64_t wait_ns = due_ns == kNoDeadline ? UINT64_MAX
                                    : due_ns > now_ns     ? due_ns - now_ns
                                                          : 0;
      const bool for_ever = wait_ns / 1'000'000 >= kHangLimitMs;
      pollfd waits[] = {{near.port->wait_fd(), POLLIN, 0}, {far.port->wait_fd(), POLLIN, 0}};
      const int ready = ::poll(waits, 2, for_ever ? kHangLimitMs : static_cast<int>(wait_ns / 1'000'000) + 1);
      require(ready > 0 || !for_ever, "nothing happened for a long time");
    }
  }
  Completion await(PortDriver& where, CompletionKind kind, std::uint64_t link) {
    std::optional<Completion> found;
    drive_until([&] {
      found = where.take(kind, link);
      return found.has_value();
    });
    return *found;
  }

  std::unique_ptr<Provider> provider;
  TcpSocket listening_socket{true};
  TcpSocket connecting_socket{false};
  std::unique_ptr<ProcessListener> listening;
  PortDriver near, far;
  std::unique_ptr<PortListener> listener;
  UniqueFd placeholder;
  std::vector<std::byte> client_slots, server_slots;
  std::unique_ptr<Link> client, server;

 private:
  const LinkDepths depths_;
};

// Memory that the provider knows.
class Registered {
 public:
  Registered(Provider& provider, std::size_t length, unsigned seed = 1)
      : bytes(pattern(length, seed)), provider_(provider), key_{next_key()} {
    require(provider.register_memory(key_, bytes, Access::kRemoteReadWrite, -1).ok(), "register_memory");
  }
  ~Registered() { provider_.deregister_memory(key_); }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  [[nodiscard]] LocalSlice slice(std::size_t offset, std::size_t length) {
    return {bytes.data() + offset, length, key_};
  }
  [[nodiscard]] LocalSlice all() { return slice(0, bytes.size()); }
  std::vector<std::byte> bytes;

 private:
  static std::uint32_t next_key() {
    static std::uint32_t last = 0;
    return ++last;
  }
  Provider& provider_;
  const MemoryKey key_;
};

}  // namespace exs::verbs::test
