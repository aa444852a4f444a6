// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/meeting.h"

#include <arpa/inet.h>
#include <fcntl.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace exs::test {
namespace {

constexpr int kBacklog = 8;

sockaddr_in address_for(const Provider& provider) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const bool by_device = provider.id() == ProviderId::kVerbs;
  const char* const text = by_device ? std::getenv("EXS_TEST_ADDRESS") : "127.0.0.1";
  require(text != nullptr && ::inet_pton(AF_INET, text, &address.sin_addr) == 1,
          "EXS_TEST_ADDRESS names the address of an RDMA device");
  return address;
}

std::span<const std::byte> bytes_in(std::string_view words) {
  return std::as_bytes(std::span(words));
}

UniqueFd tcp_socket() {
  UniqueFd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  require(made.valid(), "socket");
  return made;
}

template <typename Made>
auto the(Made made, const char* how) {
  require(made.has_value(), how);
  return std::move(*made);
}

}  // namespace

Meeting::Meeting(Provider& provider, DrivenPort& client, DrivenPort& server)
    : provider_(provider), client_(client), server_(server), listening_(tcp_socket()) {
  const int yes = 1;
  ::setsockopt(listening_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  address_ = address_for(provider);
  require(::bind(listening_.get(), address(), sizeof address_) == 0, "bind");
  socklen_t length = sizeof address_;
  ::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address_), &length);
}

Connection Meeting::join(const LinkDepths& depths, std::uint64_t client_token, std::uint64_t server_token) {
  return client_->connector() != nullptr ? join_by_network(depths, client_token, server_token)
                                         : join_by_upgrade(depths, client_token, server_token);
}

// ---------------------------------------------------------------- by the network

void Meeting::listen() {
  if (port_listener_) return;
  ListenParameters parameters{
      .backlog = kBacklog, .handshake_limit_ns = kHandshakeLimitNs, .listening = nullptr};
  if (OwnListening* const own = provider_.own_listening()) {
    process_listener_ = the(own->start_listening(listening_.get(), kBacklog), "start_listening");
    require(process_listener_ != nullptr, "start_listening: the address is a device's");
    parameters.listening = process_listener_.get();
  } else {
    require(::listen(listening_.get(), kBacklog) == 0, "listen");
  }
  port_listener_ =
      the(server_->connector()->listen(listening_.get(), parameters, kListenerToken), "Connector::listen");
}

void Meeting::stop_listening() {
  port_listener_.reset();
  process_listener_.reset();
}

SocketAndLink Meeting::connect(const LinkDepths& depths, std::uint64_t token, std::string_view words) {
  SocketAndLink made{tcp_socket(), nullptr};
  made.link = the(client_->connector()->connect(made.socket.get(), address(), sizeof address_,
                                                {bytes_in(words), depths}, token),
                  "Connector::connect");
  return made;
}

std::unique_ptr<ConnectionRequest> Meeting::await_request() {
  await({&client_, &server_}, server_, CompletionKind::kRequest, kListenerToken);
  auto request = port_listener_->next_request();
  require(request != nullptr, "next_request");
  return request;
}

SocketAndLink Meeting::accept(DrivenPort& at, std::unique_ptr<ConnectionRequest> request,
                              const LinkDepths& depths, std::uint64_t token, std::string_view words) {
  SocketAndLink made{UniqueFd(request->release_descriptor()), nullptr};
  made.link =
      the(at->connector()->accept(std::move(request), made.socket.get(), {bytes_in(words), depths}, token),
          "Connector::accept");
  return made;
}

Connection Meeting::join_by_network(const LinkDepths& depths, std::uint64_t client_token,
                                    std::uint64_t server_token) {
  listen();
  Connection made;
  made.client = connect(depths, client_token);
  made.server = accept(server_, await_request(), depths, server_token);
  const auto stands = [&](DrivenPort& where, std::uint64_t token) {
    return await({&client_, &server_}, where, CompletionKind::kEstablished, token).status.ok();
  };
  require(stands(client_, client_token), "client established");
  require(stands(server_, server_token), "server established");
  return made;
}

// ---------------------------------------------------------------- by an upgrade

void Meeting::connect_plainly(UniqueFd& client, UniqueFd& server) {
  require(::listen(listening_.get(), kBacklog) == 0, "listen");
  client = tcp_socket();
  require(::connect(client.get(), address(), sizeof address_) == 0, "connect");
  server = UniqueFd(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  require(server.valid(), "accept");
  for (const int socket : {client.get(), server.get()})
    require(::fcntl(socket, F_SETFL, O_NONBLOCK) == 0, "fcntl");
}

Connection Meeting::join_by_upgrade(const LinkDepths& depths, std::uint64_t client_token,
                                    std::uint64_t server_token) {
  Connection made;
  connect_plainly(made.client.socket, made.server.socket);
  Reason why_not;
  auto offered = client_->upgrade()->offer(why_not);
  require(offered.has_value(), std::string("offer: ") + why_not.fact);
  auto begun = the(server_->upgrade()->begin(offered->invitation, kUpgradeToken), "begin");
  require(await({&client_, &server_}, server_, CompletionKind::kUpgradeReady, kUpgradeToken).status.ok(),
          "upgrade ready");
  made.server.link = the(server_->upgrade()->adopt(std::move(begun), made.server.socket.get(),
                                                   {bytes_in("hello"), depths}, server_token),
                         "adopt");
  made.client.link = the(client_->upgrade()->adopt(std::move(offered->pending), made.client.socket.get(),
                                                   {bytes_in("welcome"), depths}, client_token),
                         "adopt");
  client_.turn();
  server_.turn();
  return made;
}

}  // namespace exs::test
