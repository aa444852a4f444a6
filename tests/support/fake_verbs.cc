// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/fake_verbs.h"

#include <netinet/in.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "base/unique_fd.h"
#include "src/provider/connector.h"
#include "src/provider/iwarp/iwarp.h"
#include "src/provider/registry.h"

namespace exs::test {
namespace {

// InfiniBand pads private data to these sizes.
constexpr std::size_t kRequestBytes = 56;
constexpr std::size_t kReplyBytes = 196;

std::vector<std::byte> padded(std::span<const std::byte> data, std::size_t bytes) {
  std::vector<std::byte> made(data.begin(), data.end());
  made.resize(std::max(made.size(), bytes));
  return made;
}

sockaddr_in name_of(int socket) {
  sockaddr_in name{};
  socklen_t length = sizeof name;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &length);
  return name;
}

sockaddr_in at_loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

class FakeListening final : public ProcessListener {
 public:
  FakeListening(UniqueFd socket, std::uint16_t network_port, bool holds_tcp_port)
      : socket_(std::move(socket)), network_port_(network_port), holds_tcp_port_(holds_tcp_port) {
    FakeVerbs::instance().listens(network_port, ntohs(name_of(socket_.get()).sin_port));
  }
  ~FakeListening() override { FakeVerbs::instance().listens_no_more(network_port_); }
  FakeListening(const FakeListening&) = delete;
  FakeListening& operator=(const FakeListening&) = delete;
  [[nodiscard]] bool holds_tcp_port() const noexcept override { return holds_tcp_port_; }
  [[nodiscard]] int socket() const { return socket_.get(); }

 private:
  const UniqueFd socket_;
  const std::uint16_t network_port_;
  const bool holds_tcp_port_;
};

class FakeRequest final : public ConnectionRequest {
 public:
  explicit FakeRequest(std::unique_ptr<ConnectionRequest> inner)
      : private_data_(padded(inner->private_data(), kRequestBytes)), inner_(std::move(inner)) {}
  [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return private_data_; }
  [[nodiscard]] int descriptor() const noexcept override { return inner_->descriptor(); }
  int release_descriptor() noexcept override { return inner_->release_descriptor(); }
  void reject(std::span<const std::byte> private_data) noexcept override { inner_->reject(private_data); }
  [[nodiscard]] bool peer_is_gone() const noexcept override { return inner_->peer_is_gone(); }
  std::unique_ptr<ConnectionRequest> take_inner() { return std::move(inner_); }

 private:
  const std::vector<std::byte> private_data_;
  std::unique_ptr<ConnectionRequest> inner_;
};

class FakeListener final : public PortListener {
 public:
  explicit FakeListener(std::unique_ptr<PortListener> inner) : inner_(std::move(inner)) {}
  std::unique_ptr<ConnectionRequest> next_request() override {
    auto request = inner_->next_request();
    if (!request) return nullptr;
    return std::make_unique<FakeRequest>(std::move(request));
  }

 private:
  std::unique_ptr<PortListener> inner_;
};

class FakeLink final : public Link {
 public:
  FakeLink(std::unique_ptr<Link> inner, UniqueFd own, int socket)
      : own_(std::move(own)), socket_(socket), inner_(std::move(inner)) {}

  Status post_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token) override {
    return inner_->post_send(header, payload, token);
  }
  Status post_recv(LocalSlice into, std::uint64_t token) override { return inner_->post_recv(into, token); }
  Status post_read(LocalSlice into, RemoteSlice from, std::uint64_t token) override {
    return inner_->post_read(into, from, token);
  }
  Status post_write(LocalSlice from, RemoteSlice to, std::uint64_t token) override {
    return inner_->post_write(from, to, token);
  }
  Result<RemoteSlice> expose(LocalSlice memory, Access access) override {
    return inner_->expose(memory, access);
  }
  Status withdraw(std::uint32_t key) override { return inner_->withdraw(key); }
  [[nodiscard]] std::span<const std::byte> private_data() const noexcept override {
    if (private_data_.empty()) private_data_ = padded(inner_->private_data(), kReplyBytes);
    return private_data_;
  }
  bool addresses(sockaddr_storage& ours, sockaddr_storage& peers) const noexcept override {
    sockaddr_in name = name_of(socket_);
    name.sin_addr.s_addr = htonl(kFakeOwnAddress);
    reinterpret_cast<sockaddr_in&>(ours) = name;
    name.sin_addr.s_addr = htonl(kFakePeerAddress);
    reinterpret_cast<sockaddr_in&>(peers) = name;
    return true;
  }
  void close() noexcept override { inner_->close(); }

 private:
  const UniqueFd own_;
  const int socket_;
  mutable std::vector<std::byte> private_data_;
  std::unique_ptr<Link> inner_;  // destroyed first, because it uses the descriptor
};

// A link whose set-up never succeeds.
class DeadLink final : public Link {
 public:
  DeadLink(const Reason& why_not, std::vector<std::byte> private_data)
      : why_not_(why_not), private_data_(std::move(private_data)) {}
  Status post_send(std::span<const std::byte>, LocalSlice, std::uint64_t) override {
    return Status(ENOTCONN);
  }
  Status post_recv(LocalSlice, std::uint64_t) override { return Status(ENOTCONN); }
  Status post_read(LocalSlice, RemoteSlice, std::uint64_t) override { return Status(ENOTCONN); }
  Status post_write(LocalSlice, RemoteSlice, std::uint64_t) override { return Status(ENOTCONN); }
  Result<RemoteSlice> expose(LocalSlice, Access) override { return failure(ENOTCONN); }
  Status withdraw(std::uint32_t) override { return Status(); }
  [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return private_data_; }
  [[nodiscard]] Reason why_not() const noexcept override { return why_not_; }
  void close() noexcept override {}

 private:
  const Reason why_not_;
  const std::vector<std::byte> private_data_;
};

class FakePort final : public Port, private Connector {
 public:
  explicit FakePort(std::unique_ptr<Port> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] Connector* connector() noexcept override { return this; }
  [[nodiscard]] SingleIssuer* single_issuer() noexcept override { return inner_->single_issuer(); }

  void flush() override { inner_->flush(); }
  void progress(std::uint64_t now_ns) override { inner_->progress(now_ns); }
  [[nodiscard]] std::uint64_t arrivals() const noexcept override { return inner_->arrivals(); }
  std::size_t poll(std::span<Completion> out) override {
    std::size_t count = 0;
    for (; count < out.size() && !completions_.empty(); ++count) {
      out[count] = completions_.front();
      completions_.pop_front();
    }
    return count + inner_->poll(out.subspan(count));
  }
  [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept override {
    return inner_->next_deadline_ns();
  }
  [[nodiscard]] int wait_fd() const noexcept override { return inner_->wait_fd(); }
  bool arm() override { return inner_->arm(); }
  void disarm() override { inner_->disarm(); }

 private:
  // Connector
  bool may_reach(const sockaddr*, Reason& why_not) override {
    if (FakeVerbs::instance().behaviour().connect != FakeVerbs::Connect::kUnreachable) return true;
    why_not = Reason::make(ReasonCode::kNoRoute, "by order of the test");
    return false;
  }
  Result<std::unique_ptr<Link>> connect(int, const sockaddr* peer, socklen_t,
                                        const ConnectParameters& parameters,
                                        std::uint64_t link_token) override {
    const auto behaviour = FakeVerbs::instance().behaviour();
    if (behaviour.connect == FakeVerbs::Connect::kRefused) return failure(behaviour.status);
    FakeVerbs::instance().note_attempt();
    if (parameters.private_data.size() > 48) return failure(EMSGSIZE);
    switch (behaviour.connect) {
      case FakeVerbs::Connect::kSilent: return std::make_unique<DeadLink>(Reason(), behaviour.private_data);
      case FakeVerbs::Connect::kEnds:
        return ends(behaviour.status, behaviour.reason, behaviour.private_data, link_token);
      default: break;
    }
    const auto network_port = ntohs(reinterpret_cast<const sockaddr_in*>(peer)->sin_port);
    const std::uint16_t port = FakeVerbs::instance().own_port(network_port);
    if (port == 0)
      return ends(Status(ECONNREFUSED), Reason::make(ReasonCode::kPeerLacks, "nobody"), {}, link_token);
    UniqueFd own(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_in address = at_loopback(port);
    auto link = inner_->connector()->connect(own.get(), reinterpret_cast<const sockaddr*>(&address),
                                             sizeof address, parameters, link_token);
    if (!link) return failure(link.error());
    const int socket = own.get();
    return std::make_unique<FakeLink>(std::move(*link), std::move(own), socket);
  }
  Result<std::unique_ptr<PortListener>> listen(int, const ListenParameters& parameters,
                                               std::uint64_t listener_token) override {
    auto& listening = static_cast<FakeListening&>(*parameters.listening);
    auto listener = inner_->connector()->listen(listening.socket(), parameters, listener_token);
    if (!listener) return failure(listener.error());
    return std::make_unique<FakeListener>(std::move(*listener));
  }
  Result<std::unique_ptr<Link>> accept(std::unique_ptr<ConnectionRequest> request, int descriptor,
                                       const ConnectParameters& parameters,
                                       std::uint64_t link_token) override {
    auto inner = static_cast<FakeRequest&>(*request).take_inner();
    if (!FakeVerbs::instance().behaviour().accepts) {
      inner->reject({});
      return failure(ENOMEM);
    }
    auto link = inner_->connector()->accept(std::move(inner), descriptor, parameters, link_token);
    if (!link) return failure(link.error());
    return std::make_unique<FakeLink>(std::move(*link), UniqueFd(), descriptor);
  }

  Result<std::unique_ptr<Link>> ends(Status status, const Reason& why_not,
                                     std::vector<std::byte> private_data, std::uint64_t token) {
    for (int i = 0; i < 2; ++i) completions_.push_back({CompletionKind::kDisconnected, status, 0, token, 0});
    return std::make_unique<DeadLink>(why_not, padded(private_data, kReplyBytes));
  }

  const std::unique_ptr<Port> inner_;
  std::deque<Completion> completions_;
};

class FakeVerbsProvider final : public Provider, private OwnListening {
 public:
  [[nodiscard]] ProviderId id() const noexcept override { return ProviderId::kVerbs; }
  [[nodiscard]] std::string_view name() const noexcept override { return "verbs"; }
  Status register_memory(MemoryKey key, std::span<std::byte> region, Access access, int shared_fd) override {
    return inner_->register_memory(key, region, access, shared_fd);
  }
  void deregister_memory(MemoryKey key) noexcept override { inner_->deregister_memory(key); }
  [[nodiscard]] OwnListening* own_listening() noexcept override { return this; }
  Result<std::unique_ptr<Port>> open_port(Reason& why_not) override {
    if (!FakeVerbs::instance().behaviour().port_opens) {
      why_not = Reason::make(ReasonCode::kNoDevice, "by order of the test");
      return failure(ENODEV);
    }
    auto inner = inner_->open_port(why_not);
    if (!inner) return failure(inner.error());
    return std::make_unique<FakePort>(std::move(*inner));
  }

 private:
  // OwnListening
  Result<std::unique_ptr<ProcessListener>> start_listening(int descriptor, int backlog) override {
    const auto behaviour = FakeVerbs::instance().behaviour();
    if (behaviour.listen == FakeVerbs::Listen::kNothing) return std::unique_ptr<ProcessListener>();
    if (behaviour.listen == FakeVerbs::Listen::kFails) return failure(behaviour.listen_error);
    const bool holds = behaviour.listen == FakeVerbs::Listen::kHoldsTcpPort;
    const std::uint16_t network_port = ntohs(name_of(descriptor).sin_port);
    if (network_port == 0) return failure(EINVAL);  // exs_listen has bound the socket to a port
    UniqueFd own(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    ::setsockopt(own.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const sockaddr_in address = at_loopback(holds ? network_port : 0);
    if (::bind(own.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(own.get(), backlog) != 0)
      return failure(errno);
    return std::make_unique<FakeListening>(std::move(own), network_port, holds);
  }
  Status check_address(const sockaddr&) override {
    return Status(FakeVerbs::instance().take_port() ? EADDRINUSE : 0);
  }

  const std::unique_ptr<Provider> inner_ = iwarp::make_iwarp_provider();
};

}  // namespace

FakeVerbs::FakeVerbs() : real_(providers().player(Role::kDevice)) {
  static auto* const provider = new FakeVerbsProvider;  // lives as long as the process, as all providers do
  providers().add(*provider, Role::kDevice);
}

FakeVerbs& FakeVerbs::instance() {
  static auto* const fake = new FakeVerbs;
  return *fake;
}

void FakeVerbs::behave(const Behaviour& behaviour) {
  std::lock_guard guard(mutex_);
  behaviour_ = behaviour;
  attempts_ = 0;
}

FakeVerbs::Behaviour FakeVerbs::behaviour() const {
  std::lock_guard guard(mutex_);
  return behaviour_;
}

int FakeVerbs::attempts() const {
  std::lock_guard guard(mutex_);
  return attempts_;
}

void FakeVerbs::note_attempt() {
  std::lock_guard guard(mutex_);
  ++attempts_;
}

bool FakeVerbs::take_port() {
  std::lock_guard guard(mutex_);
  return behaviour_.ports_taken > 0 && behaviour_.ports_taken-- > 0;
}

void FakeVerbs::listens(std::uint16_t network_port, std::uint16_t own_port) {
  std::lock_guard guard(mutex_);
  own_ports_[network_port] = own_port;
}

void FakeVerbs::listens_no_more(std::uint16_t network_port) {
  std::lock_guard guard(mutex_);
  own_ports_.erase(network_port);
}

std::uint16_t FakeVerbs::own_port(std::uint16_t network_port) const {
  std::lock_guard guard(mutex_);
  const auto found = own_ports_.find(network_port);
  return found == own_ports_.end() ? 0 : found->second;
}

}  // namespace exs::test
