// One end of the load under which perf/kill-check kills processes: eight connections at once, of four kinds, each with plain memory and
// with the library's. Both ends do the same on them: operations in both directions, posted again as they complete. The end of each
// connection is reported as a JSON line.
//
// perf-kill-load serve PROVIDER prints {"ports": [...]}, and runs until SIGTERM.
// perf-kill-load load PROVIDER PORT... runs until its connections have ended, and then its standard input.
// perf-kill-load witness PROVIDER PORT... does the same, and reports all the time how much it has moved.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/exs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "perf/support/endpoint.h"
#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"
#include "tools/common/json.h"

namespace {

using perf::Kind;
using perf::MemoryKind;
using tools::Json;

constexpr std::uint32_t kDepth = 4;  // of each direction
constexpr std::uint32_t kOperationsMax = 64;
constexpr int kQueueDepth = 4096;
constexpr std::uint64_t kLoadedMoves = 20;         // of each connection
constexpr std::int64_t kTellEveryNs = 20'000'000;  // of a witness

struct Lane {
  Kind kind;
  MemoryKind memory;
  std::uint64_t size_bytes;
};
constexpr std::array kLanes{
    Lane{Kind::normal, MemoryKind::plain, 256 << 10U},
    Lane{Kind::normal, MemoryKind::alloc, 256 << 10U},
    Lane{Kind::immediate, MemoryKind::plain, 64},
    Lane{Kind::immediate, MemoryKind::alloc, 64},
    Lane{Kind::persistent, MemoryKind::plain, 64 << 10U},
    Lane{Kind::persistent, MemoryKind::alloc, 64 << 10U},
    Lane{Kind::stream, MemoryKind::plain, 64 << 10U},
    Lane{Kind::stream, MemoryKind::alloc, 64 << 10U},
};

int socket_type_of(const Lane& lane) {
  return lane.kind == Kind::stream ? SOCK_STREAM : SOCK_SEQPACKET;
}

perf::ConnectionOptions options_for(const Lane& lane, const std::string& provider) {
  perf::Job job;
  job.kind = lane.kind;
  job.size_bytes = lane.size_bytes;
  job.depth = kDepth;
  return perf::client_options(provider, job);
}

void say(const Json::Object& line) {
  tools::print_json_line(line);
}

std::string name_of(int error) {
  const char* name = strerrorname_np(error);
  return name == nullptr ? std::to_string(error) : name;
}

// A connection and all operations pending on it. Reports its end and closes when destroyed.
class Link {
 public:
  Link(perf::Socket socket, const Lane& lane, perf::Queue& queue)
      : lane_(lane),
        queue_(queue),
        slots_(lane.size_bytes, std::size_t{2} * kDepth, lane.memory),
        provider_(perf::provider_of(socket)),
        socket_(std::move(socket)) {
    exs_fcntl(socket_.number(), EXS_F_SET_MAX_OPS, static_cast<int>(kOperationsMax));
  }
  ~Link() {
    const exs::cpp::Outcome close = socket_.close();
    const bool closed = close || close.error == std::errc::timed_out;
    say({{"ended", perf::name_of(lane_.kind) + std::string(" ") + perf::name_of(lane_.memory)},
         {"provider", provider_},
         {"operations", Json::Object(ends_.begin(), ends_.end())},
         {"last_ns", last_ns_},
         {"moved", moved_},
         {"fault", closed ? fault_ : "exs_close"}});
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void start() {
    const std::uint32_t sends = lane_.kind == Kind::persistent ? 1 : kDepth;
    for (std::uint32_t i = 0; i < sends; ++i) post(EXS_EVT_SEND, slots_.slot(i).data());
    for (std::uint32_t i = 0; i < kDepth; ++i) post(EXS_EVT_RECV, slots_.slot(kDepth + i).data());
  }

  void handle(const exs_event_t& event) {
    --open_;
    if (event.exs_evt_errno != 0 || (event.exs_evt_flags & EXS_EVF_EOF) != 0) {
      note_break();
      ++ends_[event.exs_evt_errno != 0 ? name_of(event.exs_evt_errno) : "end"];
      return;
    }
    ++moved_;
    if (!ending_) post(event.exs_evt_type, event.exs_evt_union.exs_evt_xfer.exs_evt_buf);
  }

  [[nodiscard]] bool is_over() const { return ending_ && open_ == 0; }
  [[nodiscard]] std::uint64_t moved() const { return moved_; }

 private:
  void note_break() {
    ending_ = true;
    last_ns_ = exs::monotonic_ns();
  }

  void post(int type, void* buffer) {
    const int flags = lane_.kind == Kind::stream ? 0 : perf::traits_of(lane_.kind).send_flags;
    const int descriptor = socket_.number();
    const int result =
        type == EXS_EVT_SEND
            ? exs_send(descriptor, buffer, lane_.size_bytes, flags, queue_.handle(), this, slots_.region())
            : exs_recv(descriptor, buffer, lane_.size_bytes, 0, queue_.handle(), this, slots_.region());
    if (result == 0) {
      ++open_;
      return;
    }
    // The connection refused this operation after it broke. Pending operations report the reason; there may be none.
    note_break();
    if (errno != EPIPE && errno != ENOTCONN) fault_ = "a post: " + name_of(errno);
  }

  const Lane& lane_;
  perf::Queue& queue_;
  perf::Slots slots_;
  const std::string provider_;
  perf::Socket socket_;
  std::map<std::string, std::uint64_t> ends_;
  std::string fault_;
  std::uint64_t last_ns_ = 0;
  std::uint64_t moved_ = 0;
  std::uint32_t open_ = 0;
  bool ending_ = false;
};

class End {
 public:
  explicit End(std::string provider)
      : provider_(std::move(provider)), queue_(kQueueDepth, perf::Wait::adaptive) {}

 protected:
  Link& add(perf::Socket socket, const Lane& lane) {
    return *links_.emplace_back(std::make_unique<Link>(std::move(socket), lane, queue_));
  }
  void remove(const Link& link) {
    links_.remove_if([&link](const auto& one) { return one.get() == &link; });
  }

  const std::string provider_;
  perf::Queue queue_;
  std::list<std::unique_ptr<Link>> links_;
};

class Server : public End {
 public:
  explicit Server(const std::string& provider) : End(provider) {
    Json::Array ports;
    for (const Lane& lane : kLanes) {
      const perf::ConnectionOptions connection_options = options_for(lane, provider_);
      listeners_.push_back(listeners_.empty() ? perf::listen_on("127.0.0.1", 0, connection_options)
                                              : perf::listen_beside(listeners_.front(), socket_type_of(lane),
                                                                    connection_options));
      ports.emplace_back(perf::local_port(listeners_.back()));
      accept(listeners_.back());
    }
    say({{"ports", ports}});
  }

  void run() {
    std::array<exs_event_t, perf::kEventBatch> events;
    while (!tools::interrupted()) {
      const std::size_t taken = queue_.take(events, kTellEveryNs);
      for (std::size_t i = 0; i < taken; ++i) handle(events[i]);
    }
  }

 private:
  void accept(const perf::Socket& listener) {
    if (exs_accept(listener.number(), nullptr, 0, queue_.handle(), nullptr) == -1)
      tools::fail("exs_accept", errno);
  }

  void handle(const exs_event_t& event) {
    if (event.exs_evt_type == EXS_EVT_ACCEPT) {
      accepted(event);
      return;
    }
    auto& link = *static_cast<Link*>(event.exs_evt_ahandle);
    link.handle(event);
    if (link.is_over()) remove(link);
  }

  void accepted(const exs_event_t& event) {
    for (std::size_t i = 0; i < listeners_.size(); ++i) {
      if (listeners_[i].number() != event.exs_evt_socket) continue;
      accept(listeners_[i]);
      if (event.exs_evt_errno != 0) return;
      say({{"opened", i}});
      Link& link = add(perf::Socket(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket), kLanes[i]);
      link.start();
      if (link.is_over()) remove(link);
      return;
    }
  }

  std::vector<perf::Socket> listeners_;
};

class Client : public End {
 public:
  Client(const std::string& provider, bool talks) : End(provider), talks_(talks) {}

  void run(char** ports) {
    say({{"started", getpid()}});
    try {
      connect(ports);
    } catch (const tools::Failure& failure) {
      links_.clear();
      say({{"not_connected", failure.what()}, {"at_ns", exs::monotonic_ns()}});
    }
    for (const auto& link : links_) link->start();
    std::array<exs_event_t, perf::kEventBatch> events;
    while (!links_.empty() && !tools::interrupted()) {
      std::erase_if(links_, [](const auto& link) { return link->is_over(); });
      if (links_.empty()) break;
      const std::size_t taken = queue_.take(events, kTellEveryNs);
      for (std::size_t i = 0; i < taken; ++i)
        static_cast<Link*>(events[i].exs_evt_ahandle)->handle(events[i]);
      tell();
    }
    links_.clear();
    say({{"gone", true}});
    char byte = 0;
    while (!tools::interrupted() && read(STDIN_FILENO, &byte, 1) > 0) continue;
  }

 private:
  void connect(char** ports) {
    std::vector<perf::Socket> sockets;
    for (std::size_t i = 0; i < kLanes.size(); ++i) {
      const perf::ConnectionOptions connection_options = options_for(kLanes[i], provider_);
      const auto port = static_cast<std::uint16_t>(std::stoi(ports[i]));
      sockets.push_back(i == 0 ? perf::connect_to("127.0.0.1", port, connection_options, queue_)
                               : perf::connect_beside(sockets.front(), port, socket_type_of(kLanes[i]),
                                                      connection_options, queue_));
    }
    for (std::size_t i = 0; i < kLanes.size(); ++i) add(std::move(sockets[i]), kLanes[i]);
  }

  void tell() {
    if (!loaded_) {
      for (const auto& link : links_) {
        if (link->moved() < kLoadedMoves) return;
      }
      loaded_ = true;
      say({{"loaded", true}});
    }
    const std::uint64_t now_ns = exs::monotonic_ns();
    if (!talks_ || now_ns < tell_ns_) return;
    tell_ns_ = now_ns + kTellEveryNs;
    Json::Array moved;
    for (const auto& link : links_) moved.emplace_back(link->moved());
    say({{"moved", moved}});
  }

  const bool talks_;
  bool loaded_ = false;
  std::uint64_t tell_ns_ = 0;
};

}  // namespace

int main(int argc, char** argv) try {
  const std::string role = argc > 2 ? argv[1] : "";
  const bool is_client = role == "load" || role == "witness";
  if (is_client ? argc != 3 + static_cast<int>(kLanes.size()) : role != "serve" || argc != 3) return 2;
  tools::catch_interrupts();
  const perf::Library library;
  if (is_client) {
    Client(argv[2], role == "witness").run(argv + 3);
  } else {
    Server(argv[2]).run();
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "perf-kill-load: %s\n", error.what());
  return 1;
}
