// Two ports, joined by one link over shared memory, with a loopback TCP connection for its end.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/unique_fd.h"
#include "src/provider/shm/settings.h"
#include "src/provider/shm/shm.h"
#include "tests/provider/iwarp/sockets.h"
#include "tests/provider/shm/halves.h"

namespace exs::shm::test {

inline constexpr std::uint64_t kMeetingToken = 100;
inline constexpr std::uint64_t kClientToken = 1;
inline constexpr std::uint64_t kServerToken = 2;

using iwarp::test::Socket;

inline std::span<const std::byte> text_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Bytes that tell position and seed, so that a misplaced one shows.
inline std::vector<std::byte> pattern(std::size_t length, unsigned seed = 1) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; ++i)
    bytes[i] = static_cast<std::byte>((i * 31 + i / 251 + seed) & 0xFF);
  return bytes;
}

// A port that the test turns, and its completions.
class PortDriver {
 public:
  explicit PortDriver(const Settings& settings = {}) : provider(make_shm_provider(settings)) {
    Reason why_not;
    Result<std::unique_ptr<Port>> opened = provider->open_port(why_not);
    require(opened.has_value(), "open_port");
    port = std::move(*opened);
  }

  // The machine's clock, and what the test adds to it.
  [[nodiscard]] std::uint64_t now_ns() const {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec) +
           ahead_ns;
  }
  void turn() {
    port->flush();
    port->progress(now_ns());
    collect();
  }
  void collect() {
    Completion batch[7];  // odd and small: poll() must cope with any room
    while (const std::size_t count = port->poll(batch)) seen.insert(seen.end(), batch, batch + count);
  }
  std::optional<Completion> take(CompletionKind kind, std::uint64_t link) {
    for (auto it = seen.begin(); it != seen.end(); ++it) {
      if (it->kind != kind || it->link != link) continue;
      const Completion found = *it;
      seen.erase(it);
      return found;
    }
    return std::nullopt;
  }
  // The completions of one link so far, in order.
  [[nodiscard]] std::string history(std::uint64_t link) const {
    std::string text;
    for (const Completion& completion : seen) {
      if (completion.link != link) continue;
      text += "SRrWEDQwM"[static_cast<int>(completion.kind)];
      text += std::to_string(completion.token) + ":" + std::to_string(completion.status.error()) + " ";
    }
    return text;
  }

  std::unique_ptr<Provider> provider;
  std::unique_ptr<Port> port;
  std::uint64_t ahead_ns = 0;
  std::deque<Completion> seen;
};

// Turns all drivers until `done()`; sleeps, armed, while there is nothing to do. Throws when nothing happens
// for long.
template <typename Done>
void drive_until(std::span<PortDriver* const> drivers, Done done) {
  for (;;) {
    for (PortDriver* driver : drivers) driver->turn();
    if (done()) return;
    bool quiet = true;
    std::vector<pollfd> waits;
    std::uint64_t wait_ns = std::uint64_t{iwarp::test::kWaitLimitMs} * 1'000'000;
    for (PortDriver* driver : drivers) {
      quiet = driver->port->arm() && quiet;
      waits.push_back({driver->port->wait_fd(), POLLIN, 0});
      const std::uint64_t due_ns = driver->port->next_deadline_ns();
      const std::uint64_t now_ns = driver->now_ns();
      wait_ns = std::min(wait_ns, due_ns > now_ns ? due_ns - now_ns : 0);
    }
    const bool final = wait_ns == std::uint64_t{iwarp::test::kWaitLimitMs} * 1'000'000;
    if (quiet) {
      const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(wait_ns / 1'000'000));
      require(ready > 0 || !final, "nothing happened for a long time");
    }
    for (PortDriver* driver : drivers) driver->port->disarm();
  }
}

inline Completion await(std::span<PortDriver* const> drivers, PortDriver& where, CompletionKind kind,
                        std::uint64_t link) {
  std::optional<Completion> found;
  drive_until(drivers, [&] {
    found = where.take(kind, link);
    return found.has_value();
  });
  return *found;
}

// Two ends of a TCP connection.
struct TcpPair {
  TcpPair() {
    iwarp::test::ListeningSocket listening;
    client = iwarp::test::connect_to(listening);
    server = iwarp::test::accept_from(listening);
    for (const int socket : {client.get(), server.get()}) {
      require(::fcntl(socket, F_SETFL, O_NONBLOCK) == 0, "fcntl");
    }
  }
  Socket client;
  Socket server;
};

// As exs_alloc makes it: a memfd that peers can map, or the application's own.
class Memory {
 public:
  Memory(Provider& provider, std::size_t bytes, bool shared) : provider_(provider), bytes_(bytes) {
    if (shared) {
      fd_ = UniqueFd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
      require(fd_.valid() && ::ftruncate(fd_.get(), static_cast<off_t>(bytes)) == 0, "memfd");
      require(::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0, "seals");
    }
    void* const start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                               shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd_.get(), 0);
    require(start != MAP_FAILED, "mmap");
    start_ = static_cast<std::byte*>(start);
    static std::uint32_t next_key = 1;
    key_.value = next_key++;
    require(provider.register_memory(key_, span(), Access::kRemoteReadWrite, fd_.get()).ok(), "register");
  }
  Memory(Memory&&) = delete;
  ~Memory() {
    provider_.deregister_memory(key_);
    ::munmap(start_, bytes_);
  }
  void fill(std::span<const std::byte> bytes) { std::memcpy(start_, bytes.data(), bytes.size()); }
  [[nodiscard]] std::span<std::byte> span() const { return {start_, bytes_}; }
  [[nodiscard]] LocalSlice slice() const { return {start_, bytes_, key_}; }
  [[nodiscard]] LocalSlice slice(std::size_t offset, std::size_t bytes) const {
    return {start_ + offset, bytes, key_};
  }

 private:
  Provider& provider_;
  UniqueFd fd_;
  std::byte* start_ = nullptr;
  std::size_t bytes_;
  MemoryKey key_;
};

inline LocalSlice slice_of(std::span<std::byte> memory) {
  return {memory.data(), memory.size(), {}};
}

struct PairOptions {
  Settings client;
  Settings server;
  LinkDepths depths{64, 64, 16, 16};
};

struct LinkPair {
  explicit LinkPair(const PairOptions& options = {})
      : depths(options.depths), client_port(options.client), server_port(options.server) {}

  // The server's link first, then the client's.
  void join_server() {
    Reason why;
    auto offered = client_port.port->upgrade()->offer(why);
    require(offered.has_value(), std::string("offer: ") + why.fact);
    offer = std::move(*offered);
    auto upgrade = server_port.port->upgrade()->begin(offer.invitation, kMeetingToken);
    require(upgrade.has_value(), "begin");
    require(await(both(), server_port, CompletionKind::kUpgradeReady, kMeetingToken).status.ok(), "ready");
    server = adopt(server_port, std::move(*upgrade), tcp.server, "hello", kServerToken);
  }
  void join_client() {
    client = adopt(client_port, std::move(offer.pending), tcp.client, "welcome", kClientToken);
  }
  void join() {
    join_server();
    join_client();
    // Expect: the server's link hears the client's greeting.
    client_port.port->flush();
    server_port.turn();
  }

  Completion client_gets(CompletionKind kind) { return await(both(), client_port, kind, kClientToken); }
  Completion server_gets(CompletionKind kind) { return await(both(), server_port, kind, kServerToken); }
  std::span<PortDriver* const> both() { return drivers_; }

  LinkDepths depths;
  PortDriver client_port;
  PortDriver server_port;
  TcpPair tcp;
  UpgradeOffer offer;
  std::unique_ptr<Link> client;
  std::unique_ptr<Link> server;

 private:
  std::unique_ptr<Link> adopt(PortDriver& driver, std::unique_ptr<PendingUpgrade> upgrade,
                              const Socket& socket, std::string_view words, std::uint64_t token) {
    auto link =
        driver.port->upgrade()->adopt(std::move(upgrade), socket.get(), {text_bytes(words), depths}, token);
    require(link.has_value(), "adopt");
    return std::move(*link);
  }

  PortDriver* drivers_[2] = {&client_port, &server_port};
};

}  // namespace exs::shm::test
