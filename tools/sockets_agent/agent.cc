// SPDX-License-Identifier: BSD-2-Clause
#include "tools/sockets_agent/agent.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/destroy_elsewhere.h"
#include "tools/common/failure.h"
#include "tools/common/lines.h"
#include "tools/sockets_agent/connections.h"

namespace agent {
namespace {

using exs::sockets::between::AgentAnswer;
using exs::sockets::between::CardName;
using exs::sockets::between::kAgentName;
using exs::sockets::between::kInvitationMagic;
using exs::sockets::between::kRequestMagic;

constexpr std::size_t kClientsMax = 512;
constexpr std::size_t kCardsMax = 1024;
constexpr std::uint64_t kClientNs = 2'000'000'000;
constexpr std::uint64_t kCardNs = 5'000'000'000;
constexpr std::uint64_t kTickNs = 250'000'000;
// The time to ask if others need the place: silent clients may arrive at 5,120 a second.
constexpr std::uint64_t kUndisturbedNs = 100'000'000;
constexpr std::uint64_t kRestNs = 100'000'000;

Place16 place_of(const sockaddr_in6& name) {
  Place16 place{};
  std::memcpy(place.address, &name.sin6_addr, sizeof place.address);
  place.port = ntohs(name.sin6_port);
  return place;
}

std::string text_of(const Place16& place) {
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET6, place.address, text, sizeof text);
  return "[" + std::string(text) + "]:" + std::to_string(place.port);
}

sockaddr_in6 name_to_listen_at(const std::string& address, std::uint16_t port) {
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_port = htons(port);
  name.sin6_addr = in6addr_any;
  if (!address.empty() && ::inet_pton(AF_INET6, ("::ffff:" + address).c_str(), &name.sin6_addr) != 1)
    throw tools::UsageError("\"" + address + "\" is no address");
  return name;
}

exs::UniqueFd make_socket(int family, int type, const char* what) {
  exs::UniqueFd made(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.valid()) tools::fail(what, errno);
  return made;
}

// Closing a socket may take as long as its owner has set, so another thread does it. Memory closes at once.
void close_elsewhere(std::vector<exs::UniqueFd> closed) {
  std::erase_if(closed, [](const exs::UniqueFd& one) { return ::fcntl(one.get(), F_GET_SEALS) >= 0; });
  const linger off{};
  for (const exs::UniqueFd& one : closed) ::setsockopt(one.get(), SOL_SOCKET, SO_LINGER, &off, sizeof off);
  if (!closed.empty()) exs::destroy_elsewhere(std::move(closed));
}

// A message of a called end carries a descriptor that is not needed here.
void drop_message(int guest) {
  // The limit of one message; the kernel closes those without room here.
  constexpr std::size_t kPassedMax = 253;
  char bytes[64];
  iovec part{bytes, sizeof bytes};
  alignas(cmsghdr) char room[CMSG_SPACE(kPassedMax * sizeof(int))];
  std::vector<exs::UniqueFd> passed;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  if (::recvmsg(guest, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0) return;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= control->cmsg_len; at += sizeof(int)) {
      int descriptor = -1;
      std::memcpy(&descriptor, reinterpret_cast<char*>(control) + at, sizeof descriptor);
      passed.emplace_back(descriptor);
    }
  }
  close_elsewhere(std::move(passed));
}

}  // namespace

Agent::Agent(const std::string& address, std::uint16_t port, bool is_verbose)
    : listener_(make_socket(AF_INET6, SOCK_STREAM, "cannot make a socket")), is_verbose_(is_verbose) {
  const int on = 1;
  const int off = 0;
  ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(listener_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 name = name_to_listen_at(address, port);
  socklen_t length = sizeof name;
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&name), length) != 0 ||
      ::listen(listener_.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&name), &length) != 0)
    tools::fail("cannot listen at port " + std::to_string(port), errno);
  port_ = ntohs(name.sin6_port);
  polled_.reserve(1 + kClientsMax + kCardsMax);
  announcement_ = make_socket(AF_UNIX, SOCK_DGRAM, "cannot make a Unix socket");
  announce();
  if (!is_announced_)
    tools::tell(
        STDERR_FILENO,
        "exs-sockets-agent: another process has the name by which programs see that an agent is here: "
        "another "
        "agent, or somebody who wants none here; serving all the same, and taking the name when it is free");
}

// Programs look for this name, whichever process has it.
void Agent::announce() {
  if (is_announced_) return;
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  std::memcpy(own.sun_path + 1, kAgentName, sizeof kAgentName - 1);
  is_announced_ = ::bind(announcement_.get(), reinterpret_cast<sockaddr*>(&own),
                         offsetof(sockaddr_un, sun_path) + sizeof kAgentName) == 0;
}

void Agent::run() {
  for (;;) {
    try {
      turn();
    } catch (const std::bad_alloc&) {
      rest_until(exs::monotonic_ns() + kRestNs);
    }
  }
}

void Agent::turn() {
  wait();
  now_ns_ = exs::monotonic_ns();
  if (now_ns_ >= accepts_ns_) accepts_ns_ = 0;
  const pollfd* polled = polled_.data();
  const bool has_clients = (polled++)->revents != 0;
  const auto is_due = [&](const auto& one) { return (polled++)->revents != 0 || now_ns_ >= one.end_ns; };
  clients_.remove_if([&](Client& client) { return is_due(client) && !serve(client); });
  cards_.remove_if([&](Card& card) {
    if (!is_due(card) || serve(card)) return false;
    end(card);
    return true;
  });
  if (has_clients) take_clients();
  announce();
}

void Agent::wait() {
  polled_.clear();
  polled_.push_back({accepts_ns_ == 0 ? listener_.get() : -1, POLLIN, 0});
  for (const Client& client : clients_) polled_.push_back({client.socket.get(), POLLIN, 0});
  for (const Card& card : cards_)
    polled_.push_back({card.guest.valid() ? card.guest.get() : card.socket.get(), POLLIN, 0});
  std::uint64_t limit_ns = kTickNs;
  if (accepts_ns_ != 0)
    limit_ns = std::min(limit_ns, accepts_ns_ - std::min(accepts_ns_, exs::monotonic_ns()));
  const timespec limit{0, static_cast<long>(limit_ns)};
  if (::ppoll(polled_.data(), polled_.size(), &limit, nullptr) >= 0) return;
  for (pollfd& one : polled_) one.revents = 0;
  if (errno == ENOMEM) ::nanosleep(&limit, nullptr);
  if (errno != EINTR && errno != ENOMEM) tools::fail("cannot wait", errno);
}

void Agent::take_clients() {
  while (make_room() && take_client()) continue;
}

// Returns false if no other client is waiting.
bool Agent::take_client() {
  sockaddr_in6 name{};
  socklen_t length = sizeof name;
  exs::UniqueFd socket(
      ::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&name), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) {
    const bool is_scarcity = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return is_scarcity && drop_silent();
  }
  clients_.push_back({std::move(socket), place_of(name), now_ns_ + kClientNs});
  if (!serve(clients_.back())) clients_.pop_back();
  return true;
}

bool Agent::make_room() {
  return clients_.size() < kClientsMax || drop_silent();
}

bool Agent::drop_silent() {
  const std::uint64_t had_time_ns =
      clients_.empty() ? now_ns_ + kRestNs : clients_.front().end_ns - kClientNs + kUndisturbedNs;
  if (now_ns_ < had_time_ns) {
    rest_until(had_time_ns);
    return false;
  }
  // The request may have arrived since.
  static_cast<void>(serve(clients_.front()));
  clients_.pop_front();
  return true;
}

void Agent::rest_until(std::uint64_t time_ns) {
  accepts_ns_ = time_ns;
}

bool Agent::serve(Client& client) {
  auto* const bytes = reinterpret_cast<char*>(&client.request);
  const ssize_t count =
      ::recv(client.socket.get(), bytes + client.bytes, sizeof client.request - client.bytes, 0);
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return false;
  if (count > 0) client.bytes += static_cast<std::size_t>(count);
  if (client.bytes < sizeof client.request) return now_ns_ < client.end_ns;
  const AgentAnswer answer{kRequestMagic, place_card(client), 0};
  ::send(client.socket.get(), &answer, sizeof answer, MSG_DONTWAIT | MSG_NOSIGNAL);
  return false;
}

Agent::Verdict Agent::place_card(const Client& client) {
  const Request& request = client.request;
  // The connection's own end here is the authority on what another host says about it.
  if (request.magic != kRequestMagic ||
      std::memcmp(request.caller.address, client.from.address, sizeof client.from.address) != 0) {
    say("refused", request);
    return Verdict::kRefused;
  }
  const std::optional<uid_t> owner = owner_of(request.called, request.caller);
  if (!owner) {
    say("not here", request);
    return Verdict::kNotHere;
  }
  if (cards_.size() >= kCardsMax) return Verdict::kExhausted;
  Card card{exs::UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
            exs::UniqueFd(), now_ns_ + kCardNs, *owner};
  const CardName name(request.caller, request.called);
  if (!card.socket.valid() ||
      ::bind(card.socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.length) != 0 ||
      ::listen(card.socket.get(), 1) != 0)
    return Verdict::kExhausted;
  card.invitation.magic = kInvitationMagic;
  card.invitation.meets_at = request.meets_at;
  card.invitation.token = request.token;
  cards_.push_back(std::move(card));
  say("placed", request);
  return Verdict::kPlaced;
}

// Closes the card's sockets with unread data, and those of guests in its backlog.
void Agent::end(Card& card) {
  std::vector<exs::UniqueFd> left;
  left.push_back(std::move(card.socket));
  if (card.guest.valid()) left.push_back(std::move(card.guest));
  close_elsewhere(std::move(left));
}

bool Agent::serve(Card& card) {
  if (now_ns_ >= card.end_ns) return false;
  if (!card.guest.valid()) {
    card.guest = exs::UniqueFd(::accept4(card.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!card.guest.valid()) return errno == EAGAIN;  // without a descriptor, the connection stays on TCP
    ucred credentials{};
    socklen_t length = sizeof credentials;
    // Only the owner of the connection may get the token.
    if (::getsockopt(card.guest.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 ||
        (credentials.uid != card.owner && credentials.uid != 0))
      return false;
    ::send(card.guest.get(), &card.invitation, sizeof card.invitation, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  // Keeps the guest until the called end has read the invitation and closed. Unread data here would end its socket with an error.
  char byte;
  const ssize_t left = ::recv(card.guest.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (left > 0) drop_message(card.guest.get());
  return left > 0 || (left < 0 && errno == EAGAIN);
}

void Agent::say(const char* what, const Request& request) const {
  if (!is_verbose_) return;
  tools::tell(STDERR_FILENO, std::string("exs-sockets-agent: ") + what + ": " + text_of(request.caller) +
                                 " to " + text_of(request.called));
}

}  // namespace agent
