// SPDX-License-Identifier: BSD-2-Clause
#include "tools/directory/server.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "base/check.h"
#include "tools/common/failure.h"
#include "tools/common/lines.h"

namespace exs::svc {
namespace {

constexpr std::size_t kClaimsMax = 1'024;  // of a connection
constexpr std::size_t kWatchesMax = 1'024;
constexpr std::size_t kOutMax = std::size_t{1} << 20;
constexpr std::size_t kReadAtOnce = 16'384;
constexpr std::uint64_t kGraceNs = 2'000 * kNsPerMs;
constexpr int kTurnMs = 20;
constexpr int kBacklog = 1'024;
constexpr int kBatch = 64;

}  // namespace

DirectoryServer::DirectoryServer(const sockaddr_storage& address, const std::string& journal_path,
                                 bool is_verbose, std::size_t places_of_host_max)
    : is_verbose_(is_verbose),
      places_of_host_max_(places_of_host_max),
      watch_(kernel::epoll_create1(EPOLL_CLOEXEC)),
      journal_(journal_path),
      leases_(
          kEntriesMax, kClaimsMax,
          [this](const auto& id, const auto& entry, Number overtaken) { changed(id, entry, overtaken); },
          [this](const auto& entry) { return keep(entry); }) {
  if (!watch_.valid()) tools::fail("epoll_create1", errno);
  if (const Status opened = journal_.open(leases_, kGraceNs, boottime_ns()); !opened.ok())
    tools::fail(opened.error() == EWOULDBLOCK ? journal_path + ": another directory has it" : journal_path,
                opened.error());
  // Without a complete file, the directory does not know what an earlier one has granted.
  if (journal_path.empty() || journal_.is_doubtful()) leases_.wait_until(boottime_ns() + kGraceNs);
  listen(address);
}

void DirectoryServer::listen(const sockaddr_storage& address) {
  listener_ = UniqueFd(kernel::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_.valid()) tools::fail("socket", errno);
  const int on = 1;
  kernel::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  address_ = address;
  socklen_t length = sizeof address_;
  if (kernel::bind(listener_.get(), as_sockaddr(address), address_bytes(address)) != 0 ||
      kernel::listen(listener_.get(), kBacklog) != 0 ||
      kernel::getsockname(listener_.get(), as_sockaddr(address_), &length) != 0)
    tools::fail("listen", errno);
  set_watched(0, listener_.get(), true, false, true);
}

void DirectoryServer::run() {
  for (;;) turn(leases_.is_any_held() || !connections_.empty() ? kTurnMs : -1);
}

void DirectoryServer::turn(int wait_ms) {
  try {
    serve(wait_ms);
  } catch (const std::bad_alloc&) {
    shed(boottime_ns());
  }
}

void DirectoryServer::serve(int wait_ms) {
  in_hand_ = 0;
  std::array<epoll_event, kBatch> events;
  const int count = kernel::epoll_wait(watch_.get(), events.data(), kBatch,
                                       has_claims(boottime_ns()) ? 0 : wait_of(wait_ms));
  const std::uint64_t now = boottime_ns();
  read_again(now);
  accept_again(now);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 == 0) {
      accept_all(now);
      continue;
    }
    const auto known = connections_.find(event.data.u64);
    if (known == connections_.end()) continue;
    in_hand_ = known->first;
    if ((event.events & EPOLLOUT) != 0) flush(known->first, known->second);
    if ((event.events & ~std::uint32_t{EPOLLOUT}) != 0) read_from(known->first, known->second);
    in_hand_ = 0;
  }
  take_claims();
  close_late_silent(now);
  leases_.end_late(now);
  close_all_that_are_to_be(now);
  if (const Status compacted = journal_.compact(leases_); !compacted.ok())
    tools::tell_limited(
        file_lines_, "exs-directory: the file",
        std::string("exs-directory: the file is not written anew: ") + std::strerror(compacted.error()));
}

// Closes the connection that could not be served for want of memory, because a message of it is lost. Closing may lack memory, too; then
// its leases end by their time.
void DirectoryServer::shed(std::uint64_t now) noexcept try {
  tools::tell_limited(file_lines_, "exs-directory: memory",
                      "exs-directory: no memory for all who want something");
  if (in_hand_ != 0) close(in_hand_, now);
} catch (const std::bad_alloc&) {
}

// ---------------------------------------------------------------- connections

void DirectoryServer::read_from(Number number, Connection& connection) {
  const Cost cost;
  std::array<std::uint8_t, kReadAtOnce> bytes;
  const ssize_t count = kernel::recv(connection.descriptor.get(), bytes.data(), bytes.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    to_close_.insert(number);
    return;
  }
  const std::uint64_t now = boottime_ns();  // all of it was sent before
  connection.in.insert(connection.in.end(), bytes.begin(), bytes.begin() + count);
  Bytes left(connection.in);
  bool is_good = true;
  while (is_good) {
    const std::optional<std::size_t> length = directory_message_bytes(left);
    if (length && *length == 0) break;
    is_good = length && hear(number, connection, left.first(*length), now);
    if (is_good) left = left.subspan(*length);
  }
  if (!is_good) to_close_.insert(number);
  connection.in.erase(connection.in.begin(), connection.in.end() - static_cast<std::ptrdiff_t>(left.size()));
  flush(number, connection);
  connection.budget.spend(cost.ns(), now);
  if (!may_say_more(connection, now)) {
    paused_.insert(number);
    watch_again(number, connection);
  }
}

bool DirectoryServer::hear(Number number, Connection& connection, Bytes bytes, std::uint64_t now) {
  const auto message = decode_directory(bytes);
  if (!message || !count_message(connection, now)) return false;
  const bool waits = message->type == DirectoryType::kClaim ||
                     (!connection.waiting.empty() && message->type != DirectoryType::kRenew);
  if (!waits || !connection.has_greeted) return take(number, connection, *message, now);
  connection.waiting.emplace_back(bytes.begin(), bytes.end());
  connection.waiting_bytes += bytes.size();
  waiting_.insert(number);
  return true;
}

// ---------------------------------------------------------------- what they are told

void DirectoryServer::say(Connection& connection, const DirectoryMessage& message) {
  append_directory(connection.out, message);
}

void DirectoryServer::flush(Number number, Connection& connection) {
  std::vector<std::uint8_t>& out = connection.out;
  if (out.empty()) return;
  const ssize_t count = kernel::send(connection.descriptor.get(), out.data(), out.size(), MSG_NOSIGNAL);
  if (count > 0) out.erase(out.begin(), out.begin() + count);
  if ((count < 0 && errno != EAGAIN && errno != EINTR) || out.size() > kOutMax) to_close_.insert(number);
  watch_again(number, connection);
}

void DirectoryServer::watch_again(Number number, Connection& connection) {
  set_watched(number, connection.descriptor.get(), !paused_.contains(number), !connection.out.empty());
}

void DirectoryServer::set_watched(Number number, int descriptor, bool reads, bool writes, bool is_new) const {
  epoll_event event{};
  event.events = (reads ? std::uint32_t{EPOLLIN} : 0U) | (writes ? std::uint32_t{EPOLLOUT} : 0U);
  event.data.u64 = number;
  kernel::epoll_ctl(watch_.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event);
}

// Closing one may notify others, which may have to be closed then.
void DirectoryServer::close_all_that_are_to_be(std::uint64_t now) {
  while (!to_close_.empty()) close(to_close_.extract(to_close_.begin()).value(), now);
}

void DirectoryServer::close(Number number, std::uint64_t now) {
  const auto known = connections_.find(number);
  if (known == connections_.end()) return;
  for (const IdBytes& id : known->second.watches) unwatch(number, id);
  Host& host = hosts_.at(known->second.host);  // the host stays until it has been idle for a while
  host.connections.erase(number);
  if (known->second.has_greeted) {
    EXS_CHECK(host.greeted > 0);
    --host.greeted;
  }
  silent_.erase(number);
  waiting_.erase(number);
  paused_.erase(number);
  connections_.erase(known);
  leases_.leave(number, now);
}

// ---------------------------------------------------------------- what they say

bool DirectoryServer::take(Number number, Connection& connection, const DirectoryMessage& message,
                           std::uint64_t now) {
  if (message.type == DirectoryType::kGreeting) return greeted(number, connection);
  if (!connection.has_greeted) return false;
  switch (message.type) {
    case DirectoryType::kClaim: return claim(number, connection, message, now);
    case DirectoryType::kRenew:
      if (std::exchange(connection.renewed_ns, now) != now) leases_.renew(number, now);
      say(connection, {.type = DirectoryType::kRenewed, .number = message.number});
      return true;
    case DirectoryType::kRelease: leases_.release(number, message.id, now); return true;
    case DirectoryType::kFind: tell_of(connection, message.id); return true;
    case DirectoryType::kWatch: return watch(number, connection, message.id);
    case DirectoryType::kUnwatch:
      if (connection.watches.erase(message.id) != 0) unwatch(number, message.id);
      return true;
    default: return false;
  }
}

std::size_t DirectoryServer::places_of(const HostBytes& host) const {
  std::size_t places = 0;
  for (const Number number : hosts_.at(host).connections) places += leases_.held_by(number);
  return places;
}

bool DirectoryServer::claim(Number number, Connection& connection, const DirectoryMessage& message,
                            std::uint64_t now) {
  std::optional<Record> record = decode_record(message.record);
  if (!record ||
      !is_signed(claim_statement(connection.nonce, message.record), message.signature, record->key))
    return false;
  const IdBytes id = id_of(record->key);
  const std::uint64_t lease_ns = std::uint64_t{message.number} * kNsPerMs;
  Leases::Entry entry{
      std::move(*record), {message.record.begin(), message.record.end()}, number, lease_ns, 0, true,
      message.is_fenced};
  const Leases::Entry* const known = leases_.find(id);
  const bool is_its_own = known != nullptr && known->is_held && known->holder == number;
  if (!is_its_own && places_of(connection.host) >= places_of_host_max_) {
    say(connection, {.type = DirectoryType::kNoRoom, .id = id});
    return true;
  }
  switch (leases_.claim(std::move(entry), now)) {
    case Leases::Answer::kHeld: say(connection, {.type = DirectoryType::kHeld, .id = id}); break;
    case Leases::Answer::kNoRoom: say(connection, {.type = DirectoryType::kNoRoom, .id = id}); break;
    case Leases::Answer::kWait:
      say(connection, {.type = DirectoryType::kWait, .id = id});
      ask_for(id, message.record);
      break;
    case Leases::Answer::kNewerKnown: {
      const Leases::Entry& newer = *leases_.find(id);
      say(connection, {.type = newer.is_held ? DirectoryType::kOvertaken : DirectoryType::kOutdated,
                       .record = newer.bytes});
      break;
    }
  }
  return true;
}

// Asks the holder to give the service back.
void DirectoryServer::ask_for(const IdBytes& id, Bytes newer) {
  const Leases::Entry* const entry = leases_.find(id);
  const auto holder = entry == nullptr ? connections_.end() : connections_.find(entry->holder);
  if (holder == connections_.end()) return;
  say(holder->second, {.type = DirectoryType::kWanted, .record = newer});
  flush(holder->first, holder->second);
}

bool DirectoryServer::watch(Number number, Connection& connection, const IdBytes& id) {
  if (connection.watches.size() == kWatchesMax && !connection.watches.contains(id)) return false;
  connection.watches.insert(id);
  watchers_[id].insert(number);
  tell_of(connection, id);
  return true;
}

void DirectoryServer::unwatch(Number number, const IdBytes& id) {
  const auto watchers = watchers_.find(id);
  if (watchers == watchers_.end()) return;
  watchers->second.erase(number);
  if (watchers->second.empty()) watchers_.erase(watchers);
}

void DirectoryServer::tell_of(Connection& connection, const IdBytes& id) {
  const Leases::Entry* const entry = leases_.find(id);
  if (entry == nullptr || !entry->is_held) return say(connection, {.type = DirectoryType::kNobody, .id = id});
  say(connection, {.type = DirectoryType::kRecord, .record = entry->bytes});
}

bool DirectoryServer::keep(const Leases::Entry& entry) {
  const Status written = journal_.write(entry);
  if (written.ok()) return true;
  tools::tell_limited(file_lines_, "exs-directory: the file",
                      "exs-directory: " + text_of(id_of(entry.record.key)) +
                          " is not in the file: " + std::strerror(written.error()));
  return false;
}

void DirectoryServer::changed(const IdBytes& id, const Leases::Entry& entry, Number overtaken) {
  if (is_verbose_) tools::tell(STDERR_FILENO, text_of(id) + (entry.is_held ? " held" : " lost"));
  if (!entry.is_held || !entry.is_fenced) keep(entry);  // otherwise it was kept before
  if (const auto former = connections_.find(overtaken); former != connections_.end()) {
    say(former->second, {.type = DirectoryType::kOvertaken, .record = entry.bytes});
    flush(former->first, former->second);
  }
  const auto watchers = watchers_.find(id);
  if (watchers == watchers_.end()) return;
  for (const Number number : watchers->second) {
    Connection& connection = connections_.at(number);
    tell_of(connection, id);
    flush(number, connection);
  }
}

}  // namespace exs::svc
