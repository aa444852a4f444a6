// SPDX-License-Identifier: BSD-2-Clause
#include "tools/explain/sockets_map.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "tools/common/units.h"

namespace explain {
namespace {

// One view of a connection: that of one of its ends.
struct End {
  const SocketsProcess* process;
  const SocketsConnection* connection;
};

std::string name_of(pid_t pid, const std::string& program) {
  return std::to_string(pid) + " " + program;
}

bool is_caller(const End& end) {
  return end.connection->slot && end.connection->slot->is_caller;
}

// The name of the other end. The port of an end that connected means nothing to anybody.
std::string peer_name_of(const End& end) {
  const SocketsConnection& connection = *end.connection;
  if (connection.peer != 0) return name_of(connection.peer, connection.peer_program);
  if (!connection.tcp) return "closed";
  const std::string address = connection.tcp->remote.text();
  return is_caller(end) || !connection.slot ? address : address.substr(0, address.rfind(':'));
}

// The ends of each connection, that of the caller first. Both ends of one are in the same network namespace.
std::vector<std::vector<End>> connections_of(const SocketsSurvey& survey) {
  using Key = std::tuple<pid_t, pid_t, lanes::TcpPoint, lanes::TcpPoint>;
  std::map<Key, std::size_t> known;
  std::vector<std::vector<End>> found;
  for (const SocketsProcess& process : survey.processes) {
    for (const SocketsConnection& connection : process.connections) {
      std::size_t place = found.size();
      if (connection.tcp && connection.peer != 0) {
        const auto [least, most] = std::minmax(process.pid, connection.peer);
        const auto [from, to] = std::minmax(connection.tcp->local, connection.tcp->remote);
        place = known.try_emplace({least, most, from, to}, place).first->second;
      }
      if (place == found.size()) found.emplace_back();
      found[place].push_back({&process, &connection});
    }
  }
  for (auto& ends : found) std::stable_partition(ends.begin(), ends.end(), is_caller);
  return found;
}

std::optional<std::uint64_t> bytes(const End& end, std::uint64_t SlotFacts::*count) {
  const auto& slot = end.connection->slot;
  return slot ? std::optional((*slot).*count) : std::nullopt;
}

Pair pair_of(const std::vector<End>& ends) {
  const End& one = ends.front();
  Pair pair;
  pair.connections = 1;
  pair.left = name_of(one.process->pid, one.process->program);
  pair.right = peer_name_of(one);
  pair.is_directed = one.connection->slot.has_value();
  pair.there = {one.connection->sends_by, one.connection->why.code, bytes(one, &SlotFacts::ring_sent),
                bytes(one, &SlotFacts::tcp_sent)};
  pair.back = {one.connection->receives_by, ends.size() > 1 ? ends.back().connection->why.code : "",
               bytes(one, &SlotFacts::ring_received), bytes(one, &SlotFacts::tcp_received)};
  if (pair.is_directed && !is_caller(one)) {
    std::swap(pair.left, pair.right);
    std::swap(pair.there, pair.back);
  }
  return pair;
}

void add(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& more) {
  sum = sum && more ? std::optional(*sum + *more) : std::nullopt;
}

void add(Pair& pair, const Pair& more) {
  pair.connections += more.connections;
  for (Traffic Pair::*way : {&Pair::there, &Pair::back}) {
    add((pair.*way).ring_bytes, (more.*way).ring_bytes);
    add((pair.*way).tcp_bytes, (more.*way).tcp_bytes);
  }
}

bool is_alike(const Pair& a, const Pair& b) {
  const auto parts = [](const Pair& pair) {
    return std::tie(pair.left, pair.right, pair.is_directed, pair.there.way, pair.there.reason, pair.back.way,
                    pair.back.reason);
  };
  return parts(a) == parts(b);
}

void add(std::vector<Pair>& pairs, Pair&& pair) {
  const auto same =
      std::find_if(pairs.begin(), pairs.end(), [&](const Pair& each) { return is_alike(each, pair); });
  if (same != pairs.end()) return add(*same, pair);
  // Behind the last one of its left end.
  const auto last =
      std::find_if(pairs.rbegin(), pairs.rend(), [&](const Pair& each) { return each.left == pair.left; });
  pairs.insert(last == pairs.rend() ? pairs.end() : last.base(), std::move(pair));
}

std::string count_of(const Pair& pair) {
  return std::to_string(pair.connections) + (pair.connections == 1 ? " connection" : " connections");
}

std::string words_of(const Traffic& traffic) {
  const auto told = [](const std::optional<std::uint64_t>& count) {
    return count ? std::to_string(*count) : std::string("unknown");
  };
  return traffic.way + ", bytes: " + told(traffic.ring_bytes) + " ring, " + told(traffic.tcp_bytes) + " tcp" +
         (traffic.reason.empty() ? "" : " (" + traffic.reason + ")");
}

}  // namespace

SocketsMap map_of(const SocketsSurvey& survey) {
  SocketsMap map;
  std::set<std::string> told;
  for (const auto& ends : connections_of(survey)) {
    ++map.connections;
    add(map.pairs, pair_of(ends));
    for (const End& end : ends) {
      const Explanation& why = end.connection->why;
      if (!why.code.empty() && told.insert(why.code).second)
        map.reasons.push_back(why.code + ": " + why.sentence);
    }
  }
  for (const SocketsProcess& process : survey.processes) {
    const std::string name = name_of(process.pid, process.program);
    if (!process.is_served)
      map.alone.push_back(name + ": " + process.why.code + ": " + process.why.fact);
    else if (process.connections.empty())
      map.alone.push_back(name + ": no TCP connections");
  }
  return map;
}

void print(const SocketsMap& map) {
  std::size_t right_width = 0;
  std::size_t there_width = 0;
  for (const Pair& pair : map.pairs) {
    right_width = std::max(right_width, pair.right.size());
    there_width = std::max(there_width, words_of(pair.there).size());
  }
  std::string left;
  for (const Pair& pair : map.pairs) {
    if (pair.left != left) std::printf("%s\n", pair.left.c_str());
    left = pair.left;
    std::printf("  %s %-*s  %-14s  > %-*s  < %s\n", pair.is_directed ? ">" : "-",
                static_cast<int>(right_width), pair.right.c_str(), count_of(pair).c_str(),
                static_cast<int>(there_width), words_of(pair.there).c_str(), words_of(pair.back).c_str());
  }
  for (const std::string& line : map.alone) std::printf("%s\n", line.c_str());
  for (const std::string& line : map.reasons) std::printf("%s\n", line.c_str());
}

}  // namespace explain
