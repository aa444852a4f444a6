// One direction of a connection with a sender and a receiver. Each load, store and call of TCP is one step,
// so that a test can run the steps in every order. An operation is repeated from its beginning for each step,
// with the results of its earlier steps. So a moment consists of the values here alone, and equal moments
// need only one continuation.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sockets/lane/direction.h"
#include "sockets/lane/receiver.h"
#include "sockets/lane/sender.h"

namespace exs::test::lane_world {

inline constexpr std::uint8_t kBell = 255;
inline constexpr std::size_t kRingMax = 4;

// Thrown where the step after the requested one would begin.
struct Suspended {};

// The results of an operation's steps so far.
struct Log {
  std::vector<std::uint64_t> found;
  std::size_t next = 0;
  bool may_go_on = false;
};
extern Log* g_log;
std::uint64_t step(const std::function<std::uint64_t()>& body);

template <typename T>
class ModelWord {
 public:
  [[nodiscard]] T load() const {
    return static_cast<T>(step([&] { return value_; }));
  }
  void store(T value) {
    step([&] {
      value_ = value;
      return 0;
    });
  }
  T fetch_or(T bits) {
    return static_cast<T>(step([&] {
      const T before = value_;
      value_ |= bits;
      return before;
    }));
  }
  T fetch_and(T bits) {
    return static_cast<T>(step([&] {
      const T before = value_;
      value_ &= bits;
      return before;
    }));
  }
  T exchange(T value) {
    return static_cast<T>(step([&] {
      const T before = value_;
      value_ = value;
      return before;
    }));
  }
  template <typename Change>
  T update(const Change& change) {
    return static_cast<T>(step([&] {
      const T before = value_;
      value_ = change(before);
      return before;
    }));
  }
  bool exchange_if(T before, T after) {
    return step([&]() -> std::uint64_t {
             if (value_ != before) return 0;
             value_ = after;
             return 1;
           }) != 0;
  }
  void set(T value) { value_ = value; }
  [[nodiscard]] T value() const { return value_; }

 private:
  T value_{};
};
using Words = lane::Direction<ModelWord>;

struct Sizes {
  std::uint8_t items = 5;     // number of bytes sent: 1, 2, 3 ...
  std::size_t ring = 1;       // bytes
  std::size_t tcp = 3;        // bytes that TCP holds
  std::size_t at_a_time = 1;  // bytes of each send and each receive
  bool may_detach = false;    // the receiver may leave at any time
  bool may_return = false;    // it then resends the unread bytes, for a sender without further calls
  bool may_take = false;      // the receiver may leave with the unread bytes at any time
  bool may_look = false;      // the receiver may disarm and arm at any time
  bool wants_each = false;    // the receiver wants a bell for each put
  std::uint8_t wakes_at = 0;  // the sender wakes the receiver, without bytes, before this byte
};

enum class Phase : std::uint8_t { kReading, kLeaving, kTaking, kLeft };

// Two hashes of 64 bits. A collision among ten million moments is less likely than an error of the memory.
struct Fingerprint {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  bool operator==(const Fingerprint&) const = default;
};
struct FingerprintHash {
  std::size_t operator()(const Fingerprint& value) const { return value.first; }
};

struct World {
  Words words;
  std::uint8_t ring[kRingMax] = {};
  Words own;  // what the receiver has taken along
  std::uint8_t own_ring[kRingMax] = {};
  std::vector<std::uint8_t> tcp;
  std::uint64_t tcp_sent = 0;
  lane::SenderState sender;
  lane::ReceiverState receiver;
  std::uint8_t next_item = 1;
  std::uint8_t got = 0;
  Phase phase = Phase::kReading;
  Log sending;
  Log receiving;
  std::uint8_t receive_kind = 0;  // of the operation in progress

  explicit World(const Sizes& sizes);
  // Covers everything that a moment consists of.
  [[nodiscard]] Fingerprint fingerprint() const;
};

// Explores all moments by steps of the sender and of the receiver. A complaint describes what must not
// happen.
class Explorer {
 public:
  explicit Explorer(const Sizes& sizes) : sizes_(sizes) {}
  struct Result {
    std::size_t moments = 0;
    std::size_t ends = 0;      // moments in which everything has been read
    std::size_t hopeless = 0;  // moments from which no way leads to an end
    bool used_ring = false;
    bool turned = false;
    std::string complaint;
  };
  Result run(std::size_t moments_max);

 private:
  std::optional<World> step_sender(const World& before);
  std::optional<World> step_receiver(const World& before, std::uint8_t kind);
  // Returns whether it is an end.
  bool look_at(const World& world);
  void count_hopeless(const std::vector<bool>& ends);

  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
  };
  std::vector<Edge> edges_;

  Sizes sizes_;
  Result result_;
};

}  // namespace exs::test::lane_world
