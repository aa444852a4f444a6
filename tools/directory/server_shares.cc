// The share of the directory that each connection and each host may use, and when claims are taken.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "base/check.h"

#include "tools/directory/server.h"

namespace exs::svc {
namespace {

constexpr std::uint64_t kSecondNs = 1'000 * kNsPerMs;
constexpr std::size_t kMessagesMax = 4'096;  // of a connection, in a second
// Of a host, in a second. Beyond it, connections with more than a few messages wait for the next second.
constexpr std::size_t kMessagesOfHostMax = 16'384;
constexpr std::size_t kMessagesFew = 64;
constexpr std::size_t kWaitingMax = std::size_t{64} << 10;

}  // namespace

bool DirectoryServer::count_message(Connection& connection, std::uint64_t now) {
  const auto count = [now](auto& of) {
    if (time_left(now, of.second_ns) >= kSecondNs) {
      of.second_ns = now;
      of.messages = 0;
    }
    return ++of.messages;
  };
  count(hosts_.at(connection.host));
  return count(connection) <= kMessagesMax;
}

bool DirectoryServer::may_say_more(Connection& connection, std::uint64_t now) {
  if (connection.waiting_bytes >= kWaitingMax || connection.budget.is_spent(now)) return false;
  const auto has_said = [now](const auto& of, std::size_t messages) {
    return time_left(now, of.second_ns) < kSecondNs && of.messages > messages;
  };
  return !has_said(hosts_.at(connection.host), kMessagesOfHostMax) || !has_said(connection, kMessagesFew);
}

bool DirectoryServer::may_claim(Connection& connection, std::uint64_t now) {
  return !connection.budget.is_spent(now) && !hosts_.at(connection.host).budget.is_spent(now);
}

bool DirectoryServer::has_claims(std::uint64_t now) {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [&](Number number) { return may_claim(connections_.at(number), now); });
}

// Takes one claim of each connection in turn.
void DirectoryServer::take_claims() {
  std::set<Number> worked;
  std::size_t tries = waiting_.size();
  for (int left = kClaimsInTurn; left > 0 && tries > 0;) {
    auto next = waiting_.upper_bound(last_worked_);
    if (next == waiting_.end()) next = waiting_.begin();
    const Number number = last_worked_ = in_hand_ = *next;
    Connection& connection = connections_.at(number);
    const std::uint64_t now = boottime_ns();
    --tries;
    if (!may_claim(connection, now)) continue;
    const Cost cost;
    const std::vector<std::uint8_t> bytes = std::move(connection.waiting.front());
    connection.waiting.pop_front();
    EXS_CHECK(connection.waiting_bytes >= bytes.size());
    connection.waiting_bytes -= bytes.size();
    if (!take(number, connection, *decode_directory(bytes), now)) {
      to_close_.insert(number);
      connection.waiting.clear();
    }
    if (connection.waiting.empty()) waiting_.erase(next);
    hosts_.at(connection.host).budget.spend(cost.ns(), now);
    connection.budget.spend(cost.ns(), now);
    worked.insert(number);
    tries = waiting_.size();
    --left;
  }
  for (const Number number : worked) flush(in_hand_ = number, connections_.at(number));
  in_hand_ = 0;
}

void DirectoryServer::read_again(std::uint64_t now) {
  for (auto number = paused_.begin(); number != paused_.end();) {
    Connection& connection = connections_.at(*number);
    if (!may_say_more(connection, now)) {
      ++number;
      continue;
    }
    const Number goes_on = *number;
    number = paused_.erase(number);
    watch_again(goes_on, connection);
  }
  for (auto host = hosts_.begin(); host != hosts_.end();) {
    const bool is_over = host->second.connections.empty() && host->second.budget.is_whole(now);
    host = is_over ? hosts_.erase(host) : std::next(host);
  }
}

}  // namespace exs::svc
