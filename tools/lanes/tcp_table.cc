// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lanes/tcp_table.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <sstream>
#include <string_view>

namespace lanes {
namespace {

constexpr unsigned kListening = 10;
constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

template <typename Number>
bool parse(std::string_view text, int base, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc() && at == end;
}

// Parses "0100007F:1F90": the address is one or four 32-bit numbers in the machine's byte order.
bool parse_point(std::string_view text, TcpPoint& point) {
  constexpr std::size_t kWordDigits = 8;
  const std::size_t digits = std::min(text.find(':'), text.size());
  if (digits + 1 >= text.size() || !parse(text.substr(digits + 1), 16, point.port)) return false;
  const bool is_v4 = digits == kWordDigits;
  if (!is_v4 && digits != 4 * kWordDigits) return false;
  if (is_v4) std::copy(kMapped.begin(), kMapped.end(), point.address.begin());
  std::uint8_t* to = point.address.data() + (is_v4 ? kMapped.size() : 0);
  for (std::size_t at = 0; at < digits; at += kWordDigits, to += sizeof(std::uint32_t)) {
    std::uint32_t word = 0;
    if (!parse(text.substr(at, kWordDigits), 16, word)) return false;
    std::memcpy(to, &word, sizeof word);
  }
  return true;
}

}  // namespace

std::string TcpPoint::text() const {
  const bool is_v4 = std::equal(kMapped.begin(), kMapped.end(), address.begin());
  std::array<char, INET6_ADDRSTRLEN> words{};
  ::inet_ntop(is_v4 ? AF_INET : AF_INET6, address.data() + (is_v4 ? kMapped.size() : 0), words.data(),
              words.size());
  const std::string name(words.data());
  return (is_v4 ? name : "[" + name + "]") + ":" + std::to_string(port);
}

const char* name_of_tcp_state(unsigned state) {
  constexpr const char* kNames[] = {"closed",     "established", "syn-sent",  "syn-received",
                                    "fin-wait-1", "fin-wait-2",  "time-wait", "closed",
                                    "close-wait", "last-ack",    "listening", "closing"};
  return state < std::size(kNames) ? kNames[state] : "unknown";
}

TcpTable::TcpTable(const tools::ProcFolder& process) {
  for (const char* name : {"net/tcp", "net/tcp6"}) {
    std::string table;
    if (process.read(name, table) == 0) add(table);
  }
}

void TcpTable::add(const std::string& table) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream columns(line);
    std::string number, local, remote, state, skipped;
    std::uint64_t inode = 0;
    columns >> number >> local >> remote >> state;
    for (int i = 0; i < 5; ++i) columns >> skipped;  // queues, timer, timeouts, user, probes
    TcpConnection connection;
    if (!(columns >> inode) || !parse(std::string_view(state), 16, connection.state) ||
        connection.state == kListening || !parse_point(local, connection.local) ||
        !parse_point(remote, connection.remote))
      continue;
    if (inode != 0) by_inode_.emplace(inode, connection);  // 0: no process has accepted it yet
    by_points_.emplace(std::pair(connection.local, connection.remote), inode);
  }
}

const TcpConnection* TcpTable::find(std::uint64_t inode) const {
  const auto found = by_inode_.find(inode);
  return found == by_inode_.end() ? nullptr : &found->second;
}

std::uint64_t TcpTable::peer_of(const TcpConnection& connection) const {
  const auto found = by_points_.find({connection.remote, connection.local});
  return found == by_points_.end() ? 0 : found->second;
}

bool TcpTable::is_redirected(const TcpConnection& connection) const {
  constexpr unsigned kEstablished = 1;
  const auto is_loopback = [](const TcpPoint& point) {
    constexpr std::array<std::uint8_t, 13> kBegin{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
    return std::equal(kBegin.begin(), kBegin.end(), point.address.begin());
  };
  const bool is_inside = connection.local.address == connection.remote.address ||
                         (is_loopback(connection.local) && is_loopback(connection.remote));
  return is_inside && connection.state == kEstablished &&
         !by_points_.contains({connection.remote, connection.local});
}

}  // namespace lanes
