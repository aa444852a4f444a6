#include "tools/sockets_agent/agent.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "src/base/destroy_elsewhere.h"
#include "tools/common/failure.h"
#include "tools/common/lines.h"
#include "tools/sockets_agent/connections.h"

namespace agent {
namespace {

using exs::sockets::between::Answer;
using exs::sockets::between::CardName;
using exs::sockets::between::kAgentName;
using exs::sockets::between::kInvitationMagic;
using exs::sockets::between::kRequestMagic;

constexpr std::size_t kClientsMax = 256;
constexpr std::size_t kCardsMax = 1024;
constexpr std::uint64_t kClientNs = 2'000'000'000;
constexpr std::uint64_t kCardNs = 5'000'000'000;
constexpr int kTickMs = 250;
constexpr int kUndisturbedMs = 100;

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

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

Descriptor make_socket(int family, int type, const char* what) {
  Descriptor made(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.valid()) tools::fail(what, errno);
  return made;
}

// Whoever has put something into a socket says how long its last close takes: nobody waits for that. Memory closes at once.
void close_elsewhere(std::vector<Descriptor> closed) {
  std::erase_if(closed, [](const Descriptor& one) { return ::fcntl(one.number(), F_GET_SEALS) >= 0; });
  const linger off{};
  for (const Descriptor& one : closed) ::setsockopt(one.number(), SOL_SOCKET, SO_LINGER, &off, sizeof off);
  if (!closed.empty()) exs::destroy_elsewhere(std::move(closed));
}

// The message of a called end brings a descriptor that nobody here needs.
void drop_message(int guest) {
  constexpr std::size_t kPassedMax = 253;  // by one message; what finds no room the kernel closes here
  char bytes[64];
  iovec part{bytes, sizeof bytes};
  alignas(cmsghdr) char room[CMSG_SPACE(kPassedMax * sizeof(int))];
  std::vector<Descriptor> passed;
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

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Agent::Agent(const std::string& address, std::uint16_t port, bool is_verbose) : is_verbose_(is_verbose) {
  listener_ = make_socket(AF_INET6, SOCK_STREAM, "cannot make a socket");
  const int on = 1;
  const int off = 0;
  ::setsockopt(listener_.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(listener_.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 name = name_to_listen_at(address, port);
  socklen_t length = sizeof name;
  if (::bind(listener_.number(), reinterpret_cast<sockaddr*>(&name), length) != 0 ||
      ::listen(listener_.number(), SOMAXCONN) != 0 ||
      ::getsockname(listener_.number(), reinterpret_cast<sockaddr*>(&name), &length) != 0)
    tools::fail("cannot listen at port " + std::to_string(port), errno);
  port_ = ntohs(name.sin6_port);
  announcement_ = make_socket(AF_UNIX, SOCK_DGRAM, "cannot make a Unix socket");
  announce();
  if (!is_announced_)
    tools::tell(
        STDERR_FILENO,
        "exs-sockets-agent: another process has the name by which programs see that an agent is here: "
        "another "
        "agent, or somebody who wants none here; serving all the same, and taking the name when it is free");
}

// Programs look for the name, whoever has it.
void Agent::announce() {
  if (is_announced_) return;
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  std::memcpy(own.sun_path + 1, kAgentName, sizeof kAgentName - 1);
  is_announced_ = ::bind(announcement_.number(), reinterpret_cast<sockaddr*>(&own),
                         offsetof(sockaddr_un, sun_path) + sizeof kAgentName) == 0;
}

void Agent::run() {
  for (;;) {
    // With all places taken by clients who have not been silent for long, others wait.
    std::vector<pollfd> polled{{listener_.number(), static_cast<short>(has_place() ? POLLIN : 0), 0}};
    for (const Client& client : clients_) polled.push_back({client.socket.number(), POLLIN, 0});
    for (const Card& card : cards_)
      polled.push_back({card.guest.valid() ? card.guest.number() : card.socket.number(), POLLIN, 0});
    if (::poll(polled.data(), polled.size(), has_place() ? kTickMs : kUndisturbedMs) < 0 && errno != EINTR)
      tools::fail("cannot wait", errno);
    clients_.remove_if([this](Client& client) { return !serve(client); });
    cards_.remove_if([this](Card& card) {
      if (serve(card)) return false;
      end(card);
      return true;
    });
    take_client();
    announce();
  }
}

// Who has been here longest, and has not asked, makes room.
bool Agent::has_place() const {
  return clients_.size() < kClientsMax ||
         now_ns() >= clients_.front().end_ns - kClientNs + std::uint64_t{kUndisturbedMs} * 1'000'000;
}

void Agent::take_client() {
  while (has_place()) {
    sockaddr_in6 name{};
    socklen_t length = sizeof name;
    Descriptor socket(::accept4(listener_.number(), reinterpret_cast<sockaddr*>(&name), &length,
                                SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return;
    if (clients_.size() >= kClientsMax) clients_.pop_front();
    clients_.push_back({std::move(socket), place_of(name), now_ns() + kClientNs});
    if (!serve(clients_.back())) clients_.pop_back();
  }
}

bool Agent::serve(Client& client) {
  auto* const bytes = reinterpret_cast<char*>(&client.request);
  const ssize_t count =
      ::recv(client.socket.number(), bytes + client.bytes, sizeof client.request - client.bytes, 0);
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return false;
  if (count > 0) client.bytes += static_cast<std::size_t>(count);
  if (client.bytes < sizeof client.request) return now_ns() < client.end_ns;
  const Answer answer{kRequestMagic, place_card(client), 0};
  ::send(client.socket.number(), &answer, sizeof answer, MSG_DONTWAIT | MSG_NOSIGNAL);
  return false;
}

Agent::Verdict Agent::place_card(const Client& client) {
  const Request& request = client.request;
  // Of what another host says of a connection, its own end is believed.
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
  Card card{Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), Descriptor(),
            now_ns() + kCardNs, *owner};
  const CardName name(request.caller, request.called);
  if (!card.socket.valid() ||
      ::bind(card.socket.number(), reinterpret_cast<const sockaddr*>(&name.address), name.length) != 0 ||
      ::listen(card.socket.number(), 1) != 0)
    return Verdict::kExhausted;
  card.invitation.magic = kInvitationMagic;
  card.invitation.meets_at = request.meets_at;
  card.invitation.token = request.token;
  cards_.push_back(std::move(card));
  say("placed", request);
  return Verdict::kPlaced;
}

// With what lies in its sockets unread, and in those of guests who were not let in.
void Agent::end(Card& card) {
  std::vector<Descriptor> left;
  left.push_back(std::move(card.socket));
  if (card.guest.valid()) left.push_back(std::move(card.guest));
  close_elsewhere(std::move(left));
}

bool Agent::serve(Card& card) {
  if (now_ns() >= card.end_ns) return false;
  if (!card.guest.valid()) {
    card.guest = Descriptor(::accept4(card.socket.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!card.guest.valid()) return true;
    ucred credentials{};
    socklen_t length = sizeof credentials;
    // The token is for who has the connection.
    if (::getsockopt(card.guest.number(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 ||
        (credentials.uid != card.owner && credentials.uid != 0))
      return false;
    ::send(card.guest.number(), &card.invitation, sizeof card.invitation, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  // Until the called end has read it and gone: what is unread here when we close would end its socket with an error.
  char byte;
  const ssize_t left = ::recv(card.guest.number(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (left > 0) drop_message(card.guest.number());
  return left > 0 || (left < 0 && errno == EAGAIN);
}

void Agent::say(const char* what, const Request& request) const {
  if (!is_verbose_) return;
  tools::tell(STDERR_FILENO, std::string("exs-sockets-agent: ") + what + ": " + text_of(request.caller) +
                                 " to " + text_of(request.called));
}

}  // namespace agent
