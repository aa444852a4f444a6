// One end of a few connections. Every kind of transfer is under way on them all the time, in both directions,
// until they break. A table checks that every operation ends.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/exs_fixture.h"
#include "tests/support/operation_table.h"

namespace exs::test {

// Thread: the one that created it.
class Load {
 public:
  // The time limit of operations, with EXS_TIMEOUT_CANCEL. Persistent operations have none.
  static constexpr std::int64_t kLimitNs = 2'000'000'000;
  // The delay that a slow machine may add, and the longest time of any operation.
  static constexpr std::uint64_t kSlackNs = 60'000'000'000;
  static constexpr std::uint64_t kInTimeNs = kLimitNs + kSlackNs;
  static constexpr std::uint64_t kBoundNs = 180'000'000'000;
  static constexpr std::size_t kOwned = 2;  // connections that have a persistent operation of ours

  enum class Side { kClient, kServer };
  // `bound_ns`: an operation that takes longer is a violation.
  Load(Side side, std::uint64_t bound_ns);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // --- the server: one port for messages, one for streams
  struct Ports {
    std::uint16_t messages = 0;
    std::uint16_t streams = 0;
  };
  [[nodiscard]] Ports listen();
  // False: not all connections came before `is_over` returned true.
  bool accept_all(const std::function<bool()>& is_over);
  // --- the client
  void connect_all(const Ports& ports);

  // Posts the first operations of every connection; each event posts the next one while the connection works.
  void start();
  // Takes events until every connection has carried `transfers` more, or all are broken. False: not in time.
  bool run_for(std::uint64_t transfers);
  void drain(std::int64_t timeout_ns);
  // After this call no operations are posted.
  void stop_posting() { is_posting_ = false; }
  // Takes events until at most this many operations are open. False: not in time.
  bool await_open(std::size_t count, std::uint64_t limit_ns);
  // Takes events until no operation is open: after a fault they end with it or at their time limits. False:
  // not in time; the open operations are printed.
  bool await_endings(std::uint64_t limit_ns);
  // Takes events until each connection has had an error or refuses operations. False: not in time.
  // `but_windows`: without connections that have persistent memory, which a device may serve while its owner
  // is stopped.
  bool await_breaks(bool but_windows, std::uint64_t limit_ns);
  // No connection has had an error so far.
  [[nodiscard]] bool is_whole() const;
  void close_all();

  // The persistent operations of this end have ended with an error.
  [[nodiscard]] bool owned_failed() const;
  [[nodiscard]] OperationTable& operations() { return operations_; }
  [[nodiscard]] bool data_were_right() const { return data_were_right_; }
  [[nodiscard]] std::string report() const;

 private:
  // The use of a connection. "Lent": its owner has a persistent send, which the peer reads; "offered": a
  // persistent receive, which the peer writes.
  enum class Kind { kMessages, kStream, kClientLends, kServerLends, kClientOffers, kServerOffers };
  static constexpr std::array kKinds = {Kind::kMessages,    Kind::kStream,       Kind::kClientLends,
                                        Kind::kServerLends, Kind::kClientOffers, Kind::kServerOffers};
  static constexpr std::size_t kBufferBytes = 65'536;
  static constexpr std::size_t kSlots = 128;
  static constexpr int kDepth = 3;  // sends, and receives, under way on a connection

  struct Connection {
    Kind kind = Kind::kMessages;
    int socket = -1;
    std::uint64_t sends = 0;  // posted
    std::uint64_t done = 0;
    std::uint64_t failed = 0;
    int error = 0;           // the first
    bool is_broken = false;  // takes no more operations
  };

  static int type_of(Kind kind);
  static const char* name_of(Kind kind);
  [[nodiscard]] bool owns_window(Kind kind) const;
  void prepare(int socket);
  int listen_at(int type, std::uint16_t& port);
  void begin(Connection& connection);
  void send_next(Connection& connection);
  void receive_next(Connection& connection);
  template <typename Post>
  void post(Connection& connection, int event_type, std::uint64_t bound_ns, Post call);
  void take(const exs_event_t& event);
  void take_transfer(const exs_event_t& event);
  void check(const exs_event_t& event, const Connection& connection);
  [[nodiscard]] std::byte* buffer_of(std::size_t slot);
  template <typename Condition>
  bool drain_until(std::uint64_t limit_ns, Condition holds);

  // The memory of a vector, which must live until the event.
  struct Vector {
    exs_msghdr_t message{};
    std::array<exs_iovec_t, 3> pieces{};
  };

  const Side side_;
  const std::uint64_t bound_ns_;
  OperationTable operations_{kSlots};
  Queue queue_{4 * kSlots, EXS_WAIT_NOTIFY};
  Memory sent_{kBufferBytes};  // the same bytes in every transfer
  Memory received_{kSlots * kBufferBytes};
  std::vector<Vector> vectors_{kSlots};
  std::vector<Connection> connections_;
  std::array<int, 2> listening_{-1, -1};  // messages, streams
  bool is_posting_ = true;
  bool data_were_right_ = true;
};

}  // namespace exs::test
