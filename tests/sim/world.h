// A program of one thread that a seed draws: connections, messages, streams, persistent memory, cancels, shutdowns and
// closes, on a network that the same seed makes slow, lossy or short of memory. It keeps account of every operation, and says
// what went wrong.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "exs/exs.h"
#include "src/provider/sim/draws.h"

namespace exs::test::sim {

// What is wrong, in words.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a run shows to the outside, the same for the same seed.
struct Outcome {
  std::uint64_t events = 0;
  std::uint64_t failed = 0;  // events with an error
  std::uint64_t bytes = 0;   // that arrived and were right
  std::uint64_t hash = 0;    // of all events in their order
  std::uint64_t trace = 0;   // of all steps of the network
  std::uint64_t steps = 0;
};

// The network that the seed draws, as EXS_PROVIDER names it.
std::string network_of(std::uint64_t seed);

// A fault of the library that the world plays, to show that it would be found.
enum class Mutation : std::uint8_t { kNone, kByte, kLostEvent, kSecondEvent, kError, kLength };

class World {
 public:
  explicit World(std::uint64_t seed, Mutation mutation = Mutation::kNone);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Throws Wrong.
  void run();
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

 private:
  enum class Kind : std::uint8_t { kMessages, kStream, kPeerReads, kPeerWrites };
  // One direction of a connection, and what has been sent on it.
  struct Flow {
    std::uint64_t number = 0;
    struct Message {
      std::size_t length = 0;
      bool failed = false;   // its event says so
      bool skipped = false;  // a later one has arrived instead
      bool ended = false;
    };
    std::vector<Message> messages;
    std::size_t next_message = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t received_bytes = 0;
  };
  struct Link;
  struct End {
    int socket = -1;
    Link* link = nullptr;
    bool is_left = false;
    bool open = false;  // may be used
    bool is_closing = false;
    bool persistent = false;
    std::size_t sends = 0, receives = 0;  // open
    std::shared_ptr<std::vector<std::byte>> window;
  };
  struct Link {
    Kind kind = Kind::kMessages;
    in_port_t port = 0;  // of left
    End left, right;
    Flow to_right, to_left;
  };
  struct Operation {
    int type = 0;
    End* end = nullptr;  // null: of a listener
    int socket = -1;
    std::shared_ptr<std::vector<std::byte>> memory{};
    exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED;
    std::size_t length = 0;
    std::size_t message = 0;  // its index in the flow
    std::uint64_t offset = 0;
    bool all = false;
    bool done = false;
  };

  // --- actions ---
  void act();
  void listen_at(int type);
  void connect();
  void send(End& end);
  void send_message(End& end);
  void send_stream(End& end);
  void receive(End& end);
  void use_window(End& end);
  void cancel();
  void shut_down(End& end);
  void close(End& end);
  void finish();
  // --- accounts ---
  std::uint64_t begin(Operation operation);
  // `result`: of the call; takes the operation back if it failed.
  bool accepted(std::uint64_t id, int result);
  void take_events(int most, std::int64_t limit_ns);
  void take(const exs_event_t& event);
  // Takes the event as the mutation has it.
  void take_mutated(exs_event_t event);
  void take_connected(const Operation& operation, const exs_event_t& event);
  void take_accepted(const exs_event_t& event);
  void take_sent(Operation& operation, const exs_event_t& event);
  void take_received(Operation& operation, const exs_event_t& event);
  void check_message(Flow& flow, const Operation& operation, std::size_t length, bool truncated);
  void check_stream(Flow& flow, const Operation& operation, std::size_t length);
  void check_window(const Operation& operation, const exs_event_t& event);
  void check_at_end();
  [[nodiscard]] End* any_end();
  [[nodiscard]] std::shared_ptr<std::vector<std::byte>> memory_of(std::size_t length, std::uint64_t flow,
                                                                  std::uint64_t at);
  [[nodiscard]] static bool may_fail_with(int error);
  static Flow& flow_from(End& end) { return end.is_left ? end.link->to_right : end.link->to_left; }
  static Flow& flow_to(End& end) { return end.is_left ? end.link->to_left : end.link->to_right; }
  [[noreturn]] void wrong(const std::string& what) const { throw Wrong(what); }
  std::uint64_t below(std::uint64_t end) { return draws_.below(end); }
  bool one_in(std::uint64_t n) { return draws_.below(n) == 0; }

  exs::sim::Draws draws_;
  const Mutation mutation_;
  bool is_mutated_ = false;
  Outcome outcome_;
  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  struct Listener {
    int socket = -1;
    sockaddr_in address{};
  };
  Listener listeners_[2];  // of messages, of streams
  std::deque<std::unique_ptr<Link>> links_;
  std::map<int, std::uint64_t> closed_;  // sockets with a close event, until the number is used again
  std::deque<Operation> operations_;     // its index + 1 is the handle
  std::size_t open_ = 0;
  std::uint64_t flows_ = 0;
};

}  // namespace exs::test::sim
