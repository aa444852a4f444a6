// SPDX-License-Identifier: BSD-2-Clause
#include "tools/top/lanes_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/socket_address.h"
#include "tools/lanes/process.h"

namespace top {
namespace {

using exs::sockets::Stage;
using lanes::SlotFacts;

// A socket that this process has closed, and another one of the family has not, stays in the memory.
constexpr int kReadsBetweenSearches = 5;
// Behind all records of a page.
constexpr std::uint64_t kFirstPlace = std::uint64_t{1} << 32U;

template <std::size_t size>
void put(char (&into)[size], const char* text) {
  std::strncpy(into, text, size - 1);
}

exs::InternetAddress address_of(const lanes::TcpPoint& point) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(point.port);
  std::copy(point.address.begin(), point.address.end(), std::begin(address.sin6_addr.s6_addr));
  if (!IN6_IS_ADDR_V4MAPPED(&address.sin6_addr))
    return exs::compact(exs::copy_of(reinterpret_cast<const sockaddr&>(address)));
  in_addr host{};
  std::memcpy(&host, point.address.data() + (point.address.size() - sizeof host), sizeof host);
  return exs::compact(exs::v4_address(host, point.port));
}

exs::stats::State state_of(const SlotFacts& slot) {
  if (slot.stage == Stage::kCalling || slot.stage == Stage::kOffered) return exs::stats::State::kConnecting;
  return slot.is_ended ? exs::stats::State::kClosing : exs::stats::State::kConnected;
}

// TCP carries what the ring does not.
ShownConnection shown(std::uint64_t inode, const SlotFacts& slot) {
  ShownConnection connection{.place = kFirstPlace + inode, .record = {}};
  connection.lane =
      std::make_shared<const ShownLane>(ShownLane{slot, lanes::why_not({&slot, nullptr, {}, false})});
  exs::stats::ConnectionRecord& record = connection.record;
  record.kind = exs::stats::ConnectionKind::kStream;
  record.state = state_of(slot);
  record.counters.bytes_sent = slot.ring_sent + slot.tcp_sent;
  record.counters.bytes_received = slot.ring_received + slot.tcp_received;
  put(record.label, "sockets");
  put(record.carrier, slot.sends_by_ring ? "ring" : "tcp");
  if (!connection.lane->why.code.empty()) put(record.refused, "ring");
  return connection;
}

}  // namespace

std::optional<LanesReader> LanesReader::open(const tools::ProcFolder& folder, int descriptor) {
  exs::UniqueFd memory = folder.open_descriptor(descriptor);
  if (!memory.valid()) return {};
  if (lanes::read_family(memory.get()).state != lanes::SocketsFamily::State::kReadable) return {};
  return LanesReader(std::move(memory), descriptor);
}

bool LanesReader::is_there(const tools::ProcFolder& folder) const {
  return lanes::is_family(folder.link("fd/" + std::to_string(descriptor_)));
}

std::vector<ShownConnection> LanesReader::read(const tools::ProcFolder& folder) {
  const lanes::SocketsFamily family = lanes::read_family(memory_.get());
  if (reads_left_-- <= 0 || !knows_all(family)) find_sockets(folder, family);
  std::vector<ShownConnection> connections;
  for (const auto& [inode, slot] : family.by_inode) {
    const auto socket = sockets_.find(inode);
    if (socket == sockets_.end()) continue;
    ShownConnection& connection = connections.emplace_back(shown(inode, slot));
    connection.record.socket = socket->second.descriptor;
    if (!socket->second.ends) continue;
    connection.record.ours = address_of(socket->second.ends->local);
    connection.record.peers = address_of(socket->second.ends->remote);
  }
  return connections;
}

bool LanesReader::knows_all(const lanes::SocketsFamily& family) const {
  return std::all_of(family.by_inode.begin(), family.by_inode.end(),
                     [this](const auto& slot) { return family_sockets_.contains(slot.first); });
}

void LanesReader::find_sockets(const tools::ProcFolder& folder, const lanes::SocketsFamily& family) {
  reads_left_ = kReadsBetweenSearches;
  sockets_.clear();
  family_sockets_.clear();
  for (const auto& [inode, slot] : family.by_inode) family_sockets_.insert(inode);
  folder.each_descriptor([&](int number, const std::string& target) {
    const std::uint64_t inode = lanes::inode_of(target);
    if (inode != 0 && family_sockets_.contains(inode)) sockets_[inode].descriptor = number;
  });
  if (sockets_.empty()) return;
  const lanes::TcpTable table(folder);
  for (auto& [inode, socket] : sockets_) {
    if (const lanes::TcpConnection* const ends = table.find(inode)) socket.ends = *ends;
  }
}

}  // namespace top
