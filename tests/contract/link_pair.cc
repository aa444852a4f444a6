#include "tests/contract/link_pair.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "src/base/clock.h"
#include "src/provider/connector.h"
#include "src/provider/iwarp/settings.h"
#include "src/provider/shm/settings.h"
#include "src/provider/shm/shm.h"
#include "src/provider/upgrade.h"
#include "src/provider/verbs/verbs.h"
#include "tests/support/fake_link.h"

namespace exs::contract {
namespace {

constexpr std::uint64_t kClientToken = 1;
constexpr std::uint64_t kServerToken = 2;
constexpr std::uint64_t kThirdToken = 3;  // of a listener, or an upgrade
constexpr std::uint32_t kSegmentPayload = 1436;

std::string_view provider_under_test() {
  const char* const name = std::getenv("EXS_PROVIDER");
  return name != nullptr ? name : "fake";
}

std::unique_ptr<Provider> make_provider(int variant) {
  const std::string_view name = provider_under_test();
  if (name == "iwarp") {
    iwarp::Settings settings = iwarp::settings_from_environment();
    settings.want_crc = (variant & 1) != 0;
    if ((variant & 2) != 0) settings.payload_max = kSegmentPayload;  // as strangers cut
    return iwarp::make_iwarp_provider(settings);
  }
  if (name == "shm") return shm::make_shm_provider(shm::settings_from_environment());
  if (name == "verbs") return verbs::make_verbs_provider();
  require(name == "fake", "EXS_PROVIDER is iwarp, shm, verbs or fake");
  return nullptr;
}

bool variant_shares_memory(int variant) {
  return provider_under_test() == "shm" && (variant & 1) != 0;
}

class PortEnd final : public End {
 public:
  PortEnd(Provider& provider, std::uint64_t token) : token_(token) {
    Reason why_not;
    auto opened = provider.open_port(why_not);
    require(opened.has_value(), std::string("open_port: ") + why_not.fact);
    port_ = std::move(*opened);
    if (SingleIssuer* const issuer = port_->single_issuer()) issuer->bind_thread();
  }
  bool turn() override {
    const std::size_t before = seen.size();
    port_->flush();
    port_->progress(monotonic_ns());
    collect();
    return seen.size() != before;
  }
  void collect() override {
    Completion batch[7];  // odd and small: poll() must cope with any room
    while (const std::size_t count = port_->poll(batch)) seen.insert(seen.end(), batch, batch + count);
  }
  Link& link() override { return *link_; }
  void destroy_link() override { link_.reset(); }
  Port* port() override { return port_.get(); }

  template <typename Made>
  void take_link(Made made, const char* how) {
    require(made.has_value(), how);
    link_ = std::move(*made);
  }
  [[nodiscard]] std::uint64_t token() const { return token_; }

 private:
  const std::uint64_t token_;
  std::unique_ptr<Port> port_;
  std::unique_ptr<Link> link_;
};

// Everything under way moves in each round.
class FakeEnd final : public End {
 public:
  FakeEnd(std::vector<std::string>& violations, const LinkDepths& depths) : link_(violations, depths) {}
  bool turn() override {
    const std::size_t before = seen.size();
    bool moved = false;
    while (link_.deliver_message() || link_.finish_send()) moved = true;
    while (link_.begin_read()) moved = true;
    while (link_.finish_read()) moved = true;
    if (link_.deliver_end()) moved = true;
    collect();
    return moved || seen.size() != before;
  }
  void collect() override {
    while (const auto completion = link_.poll()) {
      if (!destroyed_) seen.push_back(*completion);
    }
  }
  Link& link() override { return link_; }
  void destroy_link() override { destroyed_ = true; }
  Port* port() override { return nullptr; }
  [[nodiscard]] test::FakeLink& fake() { return link_; }

 private:
  test::FakeLink link_;
  bool destroyed_ = false;
};

sockaddr_in loopback_or_device() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const char* const device = std::getenv("EXS_TEST_ADDRESS");
  const bool by_device = provider_under_test() == "verbs" && device != nullptr;
  require(::inet_pton(AF_INET, by_device ? device : "127.0.0.1", &address.sin_addr) == 1, "an address");
  return address;
}

UniqueFd tcp_socket() {
  UniqueFd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  require(made.valid(), "socket");
  return made;
}

}  // namespace

struct Pair::Network {
  UniqueFd listening = tcp_socket();
  UniqueFd client = tcp_socket();
  UniqueFd server;
  sockaddr_in address = loopback_or_device();
  std::unique_ptr<ProcessListener> process_listener;
  std::unique_ptr<PortListener> port_listener;

  Network() {
    const int yes = 1;
    ::setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    require(::bind(listening.get(), as_sockaddr(), sizeof address) == 0, "bind");
    socklen_t length = sizeof address;
    ::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &length);
  }
  [[nodiscard]] const sockaddr* as_sockaddr() const { return reinterpret_cast<const sockaddr*>(&address); }
  void listen() const { require(::listen(listening.get(), 8) == 0, "listen"); }
};

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

int variants() {
  const std::string_view name = provider_under_test();
  return name == "iwarp" ? 4 : name == "shm" ? 2 : 1;
}

std::vector<std::byte> pattern(std::size_t length, unsigned seed) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; ++i)
    bytes[i] = static_cast<std::byte>((i * 31 + i / 251 + seed) & 0xFF);
  return bytes;
}

std::optional<Completion> End::take(CompletionKind kind) {
  const auto found =
      std::find_if(seen.begin(), seen.end(), [kind](const Completion& one) { return one.kind == kind; });
  if (found == seen.end()) return std::nullopt;
  const Completion taken = *found;
  seen.erase(found);
  return taken;
}

Pair::Pair(int variant_wanted, const LinkDepths& depths)
    : variant(variant_wanted), provider(make_provider(variant_wanted)) {
  if (is_fake()) {
    auto client_fake = std::make_unique<FakeEnd>(violations_, depths);
    auto server_fake = std::make_unique<FakeEnd>(violations_, depths);
    test::FakeLink::join(client_fake->fake(), server_fake->fake());
    client_end = std::move(client_fake);
    server_end = std::move(server_fake);
    return;
  }
  open_ports();
  network_ = std::make_unique<Network>();
  if (client_end->port()->connector() != nullptr) {
    join_by_network(depths);
  } else {
    join_by_upgrade(depths);
  }
}

Pair::~Pair() {
  if (is_fake()) return;
  client_end->destroy_link();
  server_end->destroy_link();
  if (network_) network_->port_listener.reset();
}

void Pair::open_ports() {
  client_end = std::make_unique<PortEnd>(*provider, kClientToken);
  server_end = std::make_unique<PortEnd>(*provider, kServerToken);
}

void Pair::join_by_network(const LinkDepths& depths) {
  auto& client = static_cast<PortEnd&>(*client_end);
  auto& server = static_cast<PortEnd&>(*server_end);
  ListenParameters parameters{.backlog = 8, .handshake_limit_ns = 5'000'000'000, .listening = nullptr};
  if (OwnListening* const own = provider->own_listening()) {
    auto started = own->start_listening(network_->listening.get(), 8);
    require(started.has_value() && *started != nullptr, "start_listening");
    network_->process_listener = std::move(*started);
    parameters.listening = network_->process_listener.get();
  } else {
    network_->listen();
    require(::fcntl(network_->listening.get(), F_SETFL, O_NONBLOCK) == 0, "fcntl");
  }
  auto listener = server.port()->connector()->listen(network_->listening.get(), parameters, kThirdToken);
  require(listener.has_value(), "listen");
  network_->port_listener = std::move(*listener);
  client.take_link(client.port()->connector()->connect(network_->client.get(), network_->as_sockaddr(),
                                                       sizeof network_->address, {bytes_of("hello"), depths},
                                                       kClientToken),
                   "connect");
  await(server, CompletionKind::kRequest);
  auto request = network_->port_listener->next_request();
  require(request != nullptr, "next_request");
  network_->server = UniqueFd(request->release_descriptor());
  server.take_link(server.port()->connector()->accept(std::move(request), network_->server.get(),
                                                      {bytes_of("welcome"), depths}, kServerToken),
                   "accept");
  require(await(client, CompletionKind::kEstablished).status.ok(), "client established");
  require(await(server, CompletionKind::kEstablished).status.ok(), "server established");
}

// Over a TCP connection that nobody else uses.
void Pair::join_by_upgrade(const LinkDepths& depths) {
  auto& client = static_cast<PortEnd&>(*client_end);
  auto& server = static_cast<PortEnd&>(*server_end);
  network_->listen();
  require(::connect(network_->client.get(), network_->as_sockaddr(), sizeof network_->address) == 0,
          "connect");
  network_->server = UniqueFd(::accept(network_->listening.get(), nullptr, nullptr));
  require(network_->server.valid(), "accept");
  for (const int socket : {network_->client.get(), network_->server.get()})
    require(::fcntl(socket, F_SETFL, O_NONBLOCK) == 0, "fcntl");
  Reason why_not;
  auto offered = client.port()->upgrade()->offer(why_not);
  require(offered.has_value(), std::string("offer: ") + why_not.fact);
  auto begun = server.port()->upgrade()->begin(offered->invitation, kThirdToken);
  require(begun.has_value(), "begin");
  require(await(server, CompletionKind::kUpgradeReady).status.ok(), "upgrade ready");
  server.take_link(server.port()->upgrade()->adopt(std::move(*begun), network_->server.get(),
                                                   {bytes_of("hello"), depths}, kServerToken),
                   "adopt");
  client.take_link(client.port()->upgrade()->adopt(std::move(offered->pending), network_->client.get(),
                                                   {bytes_of("welcome"), depths}, kClientToken),
                   "adopt");
  client.turn();
  server.turn();
}

void Pair::drive_until(const std::function<bool()>& done) {
  for (int idle = 0; idle < 3;) {
    const bool client_moved = client_end->turn();
    const bool moved = server_end->turn() || client_moved;
    for (const std::string& violation : violations_) throw std::runtime_error(violation);
    if (done()) return;
    if (is_fake()) {
      idle = moved ? 0 : idle + 1;
      continue;
    }
    Port& one = *client_end->port();
    Port& other = *server_end->port();
    const bool one_is_quiet = one.arm();
    const bool quiet = other.arm() && one_is_quiet;
    if (quiet) {
      const std::uint64_t due_ns = std::min(one.next_deadline_ns(), other.next_deadline_ns());
      const std::uint64_t now_ns = monotonic_ns();
      const std::uint64_t wait_ms = due_ns == kNoDeadline ? UINT64_MAX
                                    : due_ns > now_ns     ? (due_ns - now_ns) / 1'000'000
                                                          : 0;
      const bool for_ever = wait_ms >= static_cast<std::uint64_t>(kHangLimitMs);
      pollfd waits[] = {{one.wait_fd(), POLLIN, 0}, {other.wait_fd(), POLLIN, 0}};
      const int ready = ::poll(waits, 2, for_ever ? kHangLimitMs : static_cast<int>(wait_ms));
      require(ready > 0 || !for_ever, "nothing happened for a long time");
    }
    one.disarm();
    other.disarm();
  }
  throw std::runtime_error("nothing is under way any more");
}

Completion Pair::await(End& end, CompletionKind kind) {
  std::optional<Completion> found;
  drive_until([&] {
    found = end.take(kind);
    return found.has_value();
  });
  return *found;
}

void Pair::first_message() {
  Memory room(*this, 8);
  require(server().post_recv(room.slice(), 0).ok(), "post_recv");
  require(client().post_send(bytes_of("first"), {}, 0).ok(), "post_send");
  server_gets(CompletionKind::kReceive);
  client_gets(CompletionKind::kSend);
}

std::size_t Pair::message_bytes_max() const {
  return provider_under_test() == "verbs" ? kDepths.message_bytes : 65'000;
}

// ---------------------------------------------------------------- memory

Memory::Memory(Pair& pair, std::size_t bytes) : provider_(pair.provider.get()), bytes_(bytes) {
  static std::uint32_t last_key = 0;
  const std::size_t mapped = std::max<std::size_t>(bytes, 1);
  const bool shared = variant_shares_memory(pair.variant);
  if (shared) {
    fd_ = UniqueFd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    require(fd_.valid() && ::ftruncate(fd_.get(), static_cast<off_t>(mapped)) == 0, "memfd");
    require(::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0, "seals");
  }
  void* const start = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                             shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd_.get(), 0);
  require(start != MAP_FAILED, "mmap");
  start_ = static_cast<std::byte*>(start);
  if (provider_ == nullptr) return;
  key_.value = ++last_key;
  require(provider_->register_memory(key_, {start_, mapped}, Access::kRemoteReadWrite, fd_.get()).ok(),
          "register");
}

Memory::Memory(Pair& pair, std::span<const std::byte> content) : Memory(pair, content.size()) {
  if (!content.empty()) std::memcpy(start_, content.data(), content.size());
}

Memory::~Memory() {
  if (provider_ != nullptr) provider_->deregister_memory(key_);
  ::munmap(start_, std::max<std::size_t>(bytes_, 1));
}

bool Memory::holds(std::span<const std::byte> expected, std::size_t offset) const {
  return std::equal(expected.begin(), expected.end(), start_ + offset);
}

}  // namespace exs::contract
