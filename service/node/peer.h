// A service to send to, from this side: where it is, the way there, and what it has not taken. Thread: holder of the node's lock.
//
// Design notes
//  1. Nothing is asked for before there is something to send. Then it goes: found, linked, opened; and back to the start when any of
//     that breaks, until `find_ns` after the last time that it was open. A service that is found and does not answer computes, and is
//     waited for.
//  2. A peer that the program has closed stays until its messages are taken, or its link is gone: exs may be sending from their
//     memory.
#pragma once

#include <optional>
#include <vector>

#include "exs/service.h"
#include "service/flow/outgoing.h"
#include "service/names/capability.h"
#include "service/names/record.h"
#include "service/node/frame_memory.h"
#include "service/node/link.h"

namespace exs::svc {

class Node;

// What a peer needs of its node.
class PeerHost {
 public:
  // Begins a search, whose answer has the number that is returned.
  virtual std::uint64_t find(const IdBytes& id, std::int64_t limit_ns) = 0;
  // NULL: there is no way to begin.
  virtual Link* link_to(const sockaddr_storage& address) = 0;
  virtual void tell(const exs_svc_event_t& event) = 0;
  virtual void wake_at(std::int64_t time_ns) = 0;
  virtual FrameMemory& memory() = 0;
  // The program has closed the peer, which may be destroyed when this step is over.
  virtual void has_ended(Peer& peer) = 0;

 protected:
  ~PeerHost() = default;
};

class Peer {
 public:
  struct Config {
    Node* node = nullptr;
    IdBytes target{};
    std::optional<Key> from;
    std::optional<Capability> capability;
    std::uint64_t client = 0;
    std::int64_t find_ns = 0;
    void* handle = nullptr;
  };
  Peer(PeerHost& host, Config config);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // 0, or errno: EAGAIN, ENOMEM.
  int send(std::span<const Bytes> items);
  // 0, or EAGAIN: one is under way.
  int ping();
  void close();
  [[nodiscard]] Node& node() const noexcept { return *config_.node; }

  // None: nobody.
  void found(std::uint64_t search, const std::vector<sockaddr_storage>& addresses);
  void link_is_up();
  void link_has_gone(int error);
  void frame_arrived(const Header& header, Bytes frame);
  // What could not leave before.
  void send_all();
  void look_at_clock(std::int64_t now_ns);
  [[nodiscard]] std::int64_t due_ns() const noexcept { return due_ns_; }

 private:
  enum class State { kIdle, kFinding, kPausing, kLinking, kOpening, kOpen };

  [[nodiscard]] bool has_work() const noexcept { return !outgoing_.is_empty() || pinged_ns_ != 0; }
  void begin();
  void search();
  void pause(int error);
  void try_next_address();
  void open_flow();
  void opened(const Header& header, Bytes frame);
  void refused(const Header& header, Bytes frame);
  void acknowledged(std::uint64_t number);
  void not_taken(std::uint64_t number, Bytes frame);
  void answered(int error);
  void leave_link();
  void lose(int error);
  void send_later();
  void send_ping();
  void tell(std::int32_t type, std::int32_t error, std::uint64_t count, std::uint64_t elapsed_ns = 0);
  [[nodiscard]] auto giving_back() {
    return [this](FrameMemory::Slot slot) { host_.memory().give_back(slot); };
  }

  PeerHost& host_;
  const Config config_;
  const std::uint64_t flow_number_ = random_number();
  State state_ = State::kIdle;
  bool is_closed_ = false;
  Outgoing outgoing_;
  std::int64_t pinged_ns_ = 0;  // 0: no ping is under way
  std::uint64_t pings_ = 0;
  std::int64_t give_up_ns_ = 0;
  std::int64_t due_ns_ = kNever;
  int error_ = 0;  // why the last way there did not work
  std::uint64_t search_ = 0;
  std::vector<sockaddr_storage> addresses_;  // to be tried, the next one last
  Link* link_ = nullptr;
  std::uint32_t alias_ = 0;
};

}  // namespace exs::svc

struct exs_svc_peer final : exs::svc::Peer {
  using Peer::Peer;
};
