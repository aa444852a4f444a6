// The state of a world: processes, their descriptors, connections, and the bytes in transit. The model knows
// which calls would block for ever and which bytes are due. The plain world defines the results.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace twin {

inline constexpr std::size_t kProcesses = 4;  // A, its child, B, its child
inline constexpr std::size_t kConnections = 4;
inline constexpr std::size_t kSets = 3;    // epoll
inline constexpr std::size_t kWorlds = 2;  // plain, layered

// Toward one end of a connection. Between a fill and the next drain the worlds' counts differ.
struct Stream {
  std::array<std::uint64_t, kWorlds> sent = {};
  std::array<std::uint64_t, kWorlds> received = {};
  bool is_urgent = false;  // it had an urgent byte, so the due bytes are only known roughly
  bool is_ended = false;   // the sender has shut down

  [[nodiscard]] std::uint64_t due(std::size_t world) const {
    return sent[world] > received[world] ? sent[world] - received[world] : 0;
  }
  [[nodiscard]] std::uint64_t due_at_least() const { return std::min(due(0), due(1)); }
  [[nodiscard]] std::uint64_t due_at_most() const { return std::max(due(0), due(1)); }
};

struct End {
  bool is_open = false;  // a process holds it
  bool is_nonblocking = false;
  bool receives_no_more = false;
  bool is_inline = false;
  bool resets = false;  // on close: SO_LINGER 0
  int low_water = 1;
  std::size_t opener = 0;  // the process that connected or accepted it
};

struct Connection {
  enum class State { none, pending, established };
  State state = State::none;
  std::size_t listener = 0;  // root process that owns the listener
  std::uint64_t number = 0;  // of its streams
  bool is_reset = false;
  bool is_delayed = false;   // without TCP_NODELAY
  std::array<End, 2> ends;   // 0: the connecting end
  std::array<Stream, 2> to;  // to[e]: toward end e
  std::array<std::array<int, kWorlds>, 2> ports = {};
};

struct Handle {
  enum class Kind { listener, end, set };
  Kind kind = Kind::end;
  std::size_t index = 0;  // of a connection or a set; the root process of a listener
  std::size_t end = 0;
  bool is_cloexec = false;
};

struct Set {
  bool is_open = false;
  bool has_edges = false;  // some member is edge-triggered or one-shot
  bool is_nested = false;  // member of another set
};

struct Process {
  bool is_alive = false;
  bool had_child = false;
  std::array<int, kWorlds> pids = {};
  std::map<int, Handle> handles;  // by descriptor
};

struct Model {
  std::array<Process, kProcesses> processes;
  std::array<Connection, kConnections> connections;
  std::array<Set, kSets> sets;
  std::vector<std::size_t> pending;  // connections not accepted yet, oldest first
  std::array<std::array<int, kWorlds>, kProcesses> listener_ports = {};
  std::uint64_t connections_made = 0;

  static bool is_root(std::size_t process) { return process % 2 == 0; }

  // Descriptors of `process` for connection `index`, either end.
  [[nodiscard]] std::vector<int> ends_of(std::size_t process, std::size_t index) const;
  [[nodiscard]] std::vector<int> sets_of(std::size_t process) const;
  [[nodiscard]] int listener_of(std::size_t process, std::size_t root) const;
  // Finds a process that holds the end. False: there is none.
  bool find_holder(std::size_t index, std::size_t end, std::size_t& process, int& fd) const;
  [[nodiscard]] bool is_held(const Handle& handle) const;
  [[nodiscard]] bool is_held_by_opener(std::size_t index, std::size_t end) const;
};

inline std::vector<int> Model::ends_of(std::size_t process, std::size_t index) const {
  std::vector<int> numbers;
  for (const auto& [fd, handle] : processes[process].handles)
    if (handle.kind == Handle::Kind::end && handle.index == index) numbers.push_back(fd);
  return numbers;
}

inline std::vector<int> Model::sets_of(std::size_t process) const {
  std::vector<int> numbers;
  for (const auto& [fd, handle] : processes[process].handles)
    if (handle.kind == Handle::Kind::set) numbers.push_back(fd);
  return numbers;
}

inline int Model::listener_of(std::size_t process, std::size_t root) const {
  for (const auto& [fd, handle] : processes[process].handles)
    if (handle.kind == Handle::Kind::listener && handle.index == root) return fd;
  return -1;
}

inline bool Model::find_holder(std::size_t index, std::size_t end, std::size_t& process, int& fd) const {
  for (std::size_t i = 0; i < kProcesses; ++i) {
    if (!processes[i].is_alive) continue;
    for (const auto& [number, handle] : processes[i].handles) {
      if (handle.kind != Handle::Kind::end || handle.index != index || handle.end != end) continue;
      process = i;
      fd = number;
      return true;
    }
  }
  return false;
}

inline bool Model::is_held_by_opener(std::size_t index, std::size_t end) const {
  const Process& opener = processes[connections[index].ends[end].opener];
  return opener.is_alive && std::any_of(opener.handles.begin(), opener.handles.end(), [&](const auto& held) {
           const Handle& handle = held.second;
           return handle.kind == Handle::Kind::end && handle.index == index && handle.end == end;
         });
}

inline bool Model::is_held(const Handle& handle) const {
  for (const Process& process : processes) {
    if (!process.is_alive) continue;
    for (const auto& [number, other] : process.handles)
      if (other.kind == handle.kind && other.index == handle.index && other.end == handle.end) return true;
  }
  return false;
}

}  // namespace twin
