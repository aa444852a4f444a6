// One process of the stress test: opens and closes sockets, and threads use them at random. A table checks
// that every operation ends.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

#include "tests/support/exs_fixture.h"
#include "tests/support/operation_table.h"

namespace exs::test {

using Random = std::mt19937_64;
std::size_t below(Random& random, std::size_t limit);

// Thread: any.
class StressPeer {
 public:
  static constexpr std::size_t kOperations = 4096;
  static constexpr std::size_t kBufferBytes = 32'768;
  // The longest life of a socket, and the bound of an operation, which is much longer.
  static constexpr std::uint64_t kLifeNs = 3'000'000'000;
  static constexpr std::uint64_t kBoundNs = 120'000'000'000;
  // The bound of a poll of the listening socket, which may never report anything. It ends with the socket or
  // by cancellation, and finish() checks that.
  static constexpr std::uint64_t kNoBoundNs = UINT64_MAX / 2;
  // The longest time limit, which sockets with a fixed limit have, and the delay that a busy machine may add.
  static constexpr std::uint64_t kLimitNs = 400'000'000;
  static constexpr std::uint64_t kSlackNs = 60'000'000'000;

  // `type` is the type of all sockets.
  StressPeer(std::size_t slots, int type);

  // Calls a random function on a random socket.
  void act(Random& random);
  // Takes events for at most this time.
  void drain(std::size_t queue, std::int64_t timeout_ns);
  // Gives an empty slot a socket that connects to `port`; 0: a peer that does not listen now.
  void connect(Random& random, std::size_t slot, std::uint16_t port);
  // Puts accepted sockets into empty slots, posts accepts, and closes sockets whose life is over.
  void tend(Random& random, std::uint64_t now_ns);
  void listen(Random& random);
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::size_t empty_slot() const;  // or slots()
  [[nodiscard]] std::size_t slots() const { return slots_.size(); }
  // Resets or shuts down the kernel socket of a random slot, as a network or a faulty program may do.
  void break_connection(Random& random);
  void close_one(Random& random, std::size_t slot);
  // Closes all sockets and waits until every operation has ended, for at most kBoundNs. False: some have not.
  bool finish(Random& random);

  [[nodiscard]] OperationTable& operations() { return operations_; }
  [[nodiscard]] std::uint64_t cancels() const { return cancels_; }
  [[nodiscard]] std::uint64_t late_notices() const { return late_notices_; }
  [[nodiscard]] std::uint64_t closes() const { return closes_; }

 private:
  struct ConnectionSlot {
    std::atomic<int> socket{-1};
    std::atomic<bool> is_limited{false};  // has a fixed time limit in both directions
    std::atomic<std::uint32_t> births{0};
    std::atomic<std::uint64_t> dies_ns{0};
  };

  void prepare(Random& random, int socket);
  void limit(Random& random, int socket);
  bool limit_both(Random& random, int socket);
  void occupy(Random& random, std::size_t slot, int socket);
  template <typename Post>
  void post(int event_type, Post call);
  template <typename Post>
  std::optional<OperationTable::Ticket> post_within(std::uint64_t bound_ns, int event_type, Post call);
  void transfer(Random& random, ConnectionSlot& slot, int socket);
  std::optional<OperationTable::Ticket> transfer_within(std::uint64_t bound_ns, Random& random, int socket);
  std::optional<OperationTable::Ticket> receive_pooled(Random& random, int socket);
  void accept(Random& random);
  // Takes an event after which others of the same operation follow. False: it is no such event.
  bool take_part(const exs_event_t& event);
  void add_newcomer(const exs_event_t& event);
  void poll(Random& random, int socket, std::uint64_t bound_ns);
  void cancel(Random& random, int socket);
  void take(const exs_event_t& event);
  void check_error(const exs_event_t& event);
  exs_qhandle_t some_queue(Random& random);

  // The memory of a vector, which must live until the event.
  struct Vector {
    exs_msghdr_t message{};
    std::array<exs_iovec_t, 3> pieces{};
  };
  exs_msghdr_t* vector_of(Random& random, std::byte* buffer, std::size_t length_bytes, exs_mhandle_t region);

  const int type_;
  OperationTable operations_{kOperations};
  std::vector<Vector> vectors_{kOperations};
  // The second queue has few slots, so that some operations are refused and some wait for one.
  static constexpr int kFewSlots = 48;
  std::array<std::unique_ptr<Queue>, 2> queues_;
  Memory memory_{kOperations * kBufferBytes};
  // There are few buffers, so that receives wait for them.
  static constexpr std::uint32_t kPoolBuffers = 6;
  Memory pool_memory_{kPoolBuffers * kBufferBytes};
  exs_phandle_t pool_ = EXS_PHANDLE_INVALID;
  std::vector<ConnectionSlot> slots_;
  int listening_ = -1;
  std::atomic<int> open_accepts_{0};
  std::mutex mutex_;
  std::vector<int> newcomers_;
  std::atomic<std::uint64_t> cancels_{0};
  std::atomic<std::uint64_t> late_notices_{0};
  std::atomic<std::uint64_t> closes_{0};
};

}  // namespace exs::test
