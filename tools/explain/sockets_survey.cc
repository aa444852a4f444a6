// SPDX-License-Identifier: BSD-2-Clause
#include "tools/explain/sockets_survey.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "tools/common/proc_folder.h"
#include "tools/lanes/process.h"
#include "tools/lanes/why.h"

namespace explain {
namespace {

using lanes::Loaded;
using lanes::ProcessView;
using lanes::SocketsFamily;
using lanes::TcpTable;
using FamilyState = SocketsFamily::State;

// The processes that hold each socket, as far as they could be examined.
class Holders {
 public:
  explicit Holders(const std::vector<ProcessView>& views) {
    for (const ProcessView& view : views)
      for (const auto& [inode, numbers] : view.sockets) add(inode, view);
  }
  [[nodiscard]] const ProcessView* find(std::uint64_t inode) const {
    const auto found = by_inode_.find(inode);
    return found == by_inode_.end() ? nullptr : found->second;
  }

 private:
  void add(std::uint64_t inode, const ProcessView& view) {
    const ProcessView*& holder = by_inode_[inode];
    if (holder == nullptr || (!holder->family && view.family)) holder = &view;
  }
  std::map<std::uint64_t, const ProcessView*> by_inode_;
};

// A process's statement about a socket counts only if it has that socket.
const SlotFacts* slot_of(const ProcessView* view, std::uint64_t inode) {
  if (view == nullptr || !view->family || !view->sockets.contains(inode)) return nullptr;
  const auto found = view->family->by_inode.find(inode);
  return found == view->family->by_inode.end() ? nullptr : &found->second;
}

bool share_rings(const SlotFacts& slot, const SlotFacts& peer) {
  return slot.capacity != 0 && slot.capacity == peer.capacity && slot.is_caller != peer.is_caller;
}

// The two numbers may be a little apart in time, or nonsense.
std::optional<std::uint64_t> bytes_between(std::uint64_t written, std::uint64_t consumed,
                                           std::uint64_t capacity) {
  const std::uint64_t bytes = written - consumed;
  if (bytes <= capacity) return bytes;
  if (consumed - written <= capacity) return 0;
  return std::nullopt;
}

void find_lanes(const SlotFacts& slot, const SlotFacts* peer, SocketsConnection& connection) {
  connection.sends_by = slot.sends_by_ring ? "ring" : "tcp";
  connection.receives_by = "tcp";
  if (peer != nullptr && !share_rings(slot, *peer)) peer = nullptr;
  if (slot.capacity == 0) {
    connection.unread = connection.unread_by_peer = 0;
    return;
  }
  if (peer != nullptr) connection.unread_by_peer = bytes_between(slot.written, peer->consumed, slot.capacity);
  if (!slot.receives_in_lane) {
    connection.unread = 0;
  } else if (slot.is_carried) {
    connection.receives_by = "carried";
    connection.unread = bytes_between(slot.written_carried, slot.consumed, slot.capacity);
  } else if (peer != nullptr) {
    connection.receives_by = peer->sends_by_ring ? "ring" : "tcp";
    connection.unread = bytes_between(peer->written, slot.consumed, slot.capacity);
  } else {
    connection.receives_by = slot.is_in_stretch ? "ring" : "tcp";
  }
}

// Returns nothing if the process's files may not be read.
std::optional<bool> is_loaded(const ProcessView& view) {
  if (view.family) return true;
  const Loaded loaded = lanes::find_library(tools::ProcFolder(view.pid));
  if (loaded == Loaded::kNotReadable || loaded == Loaded::kEnded) return std::nullopt;
  return loaded == Loaded::kYes || loaded == Loaded::kWithoutFile;
}

// Returns nothing if the socket is no TCP connection.
std::optional<SocketsConnection> connection_of(const ProcessView& view, std::uint64_t inode,
                                               const TcpTable& table, const Holders& holders) {
  const TcpConnection* const tcp = table.find(inode);
  const SlotFacts* const slot = slot_of(&view, inode);
  if (tcp == nullptr && slot == nullptr) return std::nullopt;
  SocketsConnection connection;
  connection.descriptors = view.sockets.at(inode);
  connection.inode = inode;
  connection.sends_by = connection.receives_by = "tcp";
  const std::uint64_t peer_inode = tcp == nullptr ? 0 : table.peer_of(*tcp);
  const ProcessView* const peer = peer_inode == 0 ? nullptr : holders.find(peer_inode);
  if (tcp != nullptr) connection.tcp = *tcp;
  if (peer != nullptr) {
    connection.peer = peer->pid;
    connection.peer_program = peer->program;
  }
  if (slot != nullptr) {
    connection.slot = *slot;
    find_lanes(*slot, slot_of(peer, peer_inode), connection);
  }
  lanes::Ends ends;
  ends.slot = slot;
  ends.peer = slot_of(peer, peer_inode);
  ends.is_redirected = tcp != nullptr && table.is_redirected(*tcp);
  if (peer != nullptr) ends.peer_is_loaded = is_loaded(*peer);
  connection.why = lanes::why_not(ends);
  return connection;
}

Explanation reason_of_error(int error) {
  if (error == ESRCH || error == ENOENT)
    return {"no-process", "there is no such process, or it has ended", "pgrep PROGRAM"};
  if (error == EACCES || error == EPERM)
    return {"no-permission", "it is another user's, or may not be looked into",
            "run exs-explain as its user, or as root"};
  return {"unreadable", std::strerror(error), ""};
}

Explanation reason_of(const SocketsFamily& family) {
  switch (family.state) {
    case FamilyState::kReadable: return {};
    case FamilyState::kOtherVersion:
      return {"other-version", "its libexs_sockets.so is of another version than this exs-explain",
              "run the exs-explain of that version"};
    case FamilyState::kDamaged:
      return {"damaged", "what it says to be the memory of its connections is not that",
              "run the exs-explain of its version"};
    case FamilyState::kUnreadable: break;
  }
  return {"out-of-reach", "the memory of its connections cannot be opened",
          "run exs-explain as its user, or as root"};
}

Explanation reason_of(Loaded loaded) {
  switch (loaded) {
    case Loaded::kYes: return {};
    case Loaded::kNo:
      return {"not-loaded", "it was started without exs-run, or cannot be served", "exs-run --check PROGRAM"};
    case Loaded::kOff: return {"off", "EXS_SOCKETS=off in its environment", "start it without"};
    case Loaded::kWithoutFile:
      return {"out-of-reach",
              "its connections are in memory without a file, which the kernel refused or the program closed",
              ""};
    case Loaded::kEnded: return reason_of_error(ESRCH);
    case Loaded::kNotReadable: break;
  }
  return {"no-permission", "the files that it has mapped may not be looked at",
          "run exs-explain as its user, or as root"};
}

// Explains why a process has no memory, or no readable memory.
Explanation reason_of(const ProcessView& view) {
  if (view.error != 0) return reason_of_error(view.error);
  return view.family ? reason_of(*view.family) : reason_of(lanes::find_library(tools::ProcFolder(view.pid)));
}

// The tables of the network namespaces, each read once.
class Tables {
 public:
  const TcpTable& of(pid_t pid) {
    const tools::ProcFolder folder(pid);
    const std::string space = folder.link("ns/net");
    auto found = tables_.find(space);
    if (found == tables_.end() || space.empty())
      found = tables_.insert_or_assign(space, TcpTable(folder)).first;
    return found->second;
  }

 private:
  std::map<std::string, TcpTable> tables_;
};

SocketsProcess look_at(const ProcessView& view, Tables& tables, const Holders& holders) {
  SocketsProcess process;
  process.pid = view.pid;
  process.program = view.program;
  process.why = reason_of(view);
  process.is_served = process.why.code.empty();
  if (!process.is_served) return process;
  const TcpTable& table = tables.of(view.pid);
  for (const auto& [inode, numbers] : view.sockets)
    if (auto connection = connection_of(view, inode, table, holders))
      process.connections.push_back(*std::move(connection));
  std::sort(process.connections.begin(), process.connections.end(),
            [](const auto& a, const auto& b) { return a.descriptors < b.descriptors; });
  return process;
}

}  // namespace

SocketsSurvey survey_sockets(pid_t pid) {
  std::vector<pid_t> pids = tools::all_processes();
  // A thread ID is not in the list, and shows the files of its process.
  if (pid != 0 && std::find(pids.begin(), pids.end(), pid) == pids.end()) pids.push_back(pid);
  std::vector<ProcessView> views;
  lanes::ProcessReader reader;
  for (const pid_t each : pids) views.push_back(reader.read(each, tools::ProcFolder(each)));
  const Holders holders(views);
  Tables tables;
  SocketsSurvey survey;
  for (const ProcessView& view : views) {
    if (pid != 0 && view.pid != pid) continue;
    SocketsProcess process = look_at(view, tables, holders);
    if (process.why.code == "no-permission" && pid == 0) ++survey.out_of_reach;
    const bool has_library =
        process.is_served || view.family || process.why.code == "off" || process.why.code == "out-of-reach";
    if (pid != 0 || has_library) survey.processes.push_back(std::move(process));
  }
  return survey;
}

}  // namespace explain
