// Which connections get a place, and which ones make room.
// SPDX-License-Identifier: BSD-2-Clause
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tools/directory/server.h"

namespace exs::svc {
namespace {

constexpr std::size_t kGreetedMax = 4'096;
constexpr std::size_t kOfOneHostMax = 256;
constexpr std::size_t kSilentMax = 512;
constexpr std::uint64_t kGreetNs = 2'000 * kNsPerMs;
// The time to greet if others need the place: silent connections may arrive at 5,120 a second.
constexpr std::uint64_t kUndisturbedNs = 100 * kNsPerMs;
constexpr std::uint64_t kRestNs = 100 * kNsPerMs;
constexpr int kAcceptsInTurn = 64;

void set(int socket, int level, int option, int value) {
  kernel::setsockopt(socket, level, option, &value, sizeof value);
}

bool is_scarcity(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

int DirectoryServer::wait_of(int wait_ms) const {
  if (accepts_ns_ == 0) return wait_ms;
  const std::uint64_t left_ns = time_left(accepts_ns_, boottime_ns());
  const int rest_ms = static_cast<int>((left_ns + kNsPerMs - 1) / kNsPerMs);
  return wait_ms < 0 ? rest_ms : std::min(wait_ms, rest_ms);
}

void DirectoryServer::accept_all(std::uint64_t now) {
  for (int i = 0; i < kAcceptsInTurn && make_room(now); ++i)
    if (!accept_one(now)) return;
}

// Returns false if no other connection is waiting.
bool DirectoryServer::accept_one(std::uint64_t now) {
  sockaddr_storage from{};
  socklen_t length = sizeof from;
  UniqueFd descriptor(
      kernel::accept4(listener_.get(), as_sockaddr(from), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!descriptor.valid()) return is_scarcity(errno) && drop_silent(now);
  begin(std::move(descriptor), host_of(from), now);
  return true;
}

void DirectoryServer::begin(UniqueFd descriptor, const HostBytes& host, std::uint64_t now) {
  const int socket = descriptor.get();
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  // Frees the place of a host that has vanished; its leases have ended before.
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  const Number number = in_hand_ = ++last_number_;
  std::set<Number>& of_host = hosts_[host].connections;
  Connection& connection = connections_[number];
  connection.descriptor = std::move(descriptor);
  connection.host = host;
  connection.since_ns = now;
  of_host.insert(number);
  silent_.insert(number);
  fill_random(connection.nonce);
  set_watched(number, socket, true, false, true);
  say(connection, {.type = DirectoryType::kGreeting, .nonce = connection.nonce});
  flush(number, connection);
  in_hand_ = 0;
}

bool DirectoryServer::make_room(std::uint64_t now) {
  return silent_.size() < kSilentMax || drop_silent(now);
}

bool DirectoryServer::drop_silent(std::uint64_t now) {
  const std::uint64_t had_time_ns =
      silent_.empty() ? now + kRestNs : connections_.at(*silent_.begin()).since_ns + kUndisturbedNs;
  if (now < had_time_ns) {
    rest_until(had_time_ns);
    return false;
  }
  drop_oldest_silent(now);
  return true;
}

// Closes the connection unless it has greeted: a starved server has not read the greeting yet.
void DirectoryServer::drop_oldest_silent(std::uint64_t now) {
  const Number oldest = in_hand_ = *silent_.begin();
  read_from(oldest, connections_.at(oldest));
  if (silent_.contains(oldest)) close(oldest, now);
  in_hand_ = 0;
}

void DirectoryServer::close_late_silent(std::uint64_t now) {
  while (!silent_.empty() && now >= connections_.at(*silent_.begin()).since_ns + kGreetNs)
    drop_oldest_silent(now);
}

// Connections that are not accepted wait in the kernel.
void DirectoryServer::rest_until(std::uint64_t time_ns) {
  accepts_ns_ = time_ns;
  set_watched(0, listener_.get(), false, false);
}

void DirectoryServer::accept_again(std::uint64_t now) {
  if (accepts_ns_ == 0 || now < accepts_ns_) return;
  accepts_ns_ = 0;
  set_watched(0, listener_.get(), true, false);
}

// Returns false if the connection has greeted before, or if there is no place.
bool DirectoryServer::greeted(Number number, Connection& connection) {
  Host& host = hosts_.at(connection.host);
  const bool may_stay = host.greeted < kOfOneHostMax && connections_.size() - silent_.size() < kGreetedMax;
  if (connection.has_greeted || !may_stay) return false;
  connection.has_greeted = true;
  ++host.greeted;
  silent_.erase(number);
  return true;
}

}  // namespace exs::svc
