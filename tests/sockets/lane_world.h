// One direction of a connection, with a sender and a receiver whose every load, store and call of TCP is one step, so that a
// test can run the steps in each order there is. An operation is run again from its beginning for each of its steps, with what
// the steps before had found; so all there is to a moment is the values here, and two equal ones need to be gone on from once.
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

// Thrown where the step after the one that was asked for would begin.
struct Suspended {};

// What the steps of an operation have found so far.
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
  std::uint8_t items = 5;     // sent in all: bytes 1, 2, 3 ...
  std::size_t ring = 1;       // bytes
  std::size_t tcp = 3;        // bytes that TCP holds
  std::size_t at_a_time = 1;  // bytes of a send and of a receive
  bool may_detach = false;    // the receiver leaves, at any time
  bool may_return = false;    // and resends what is unread, for a sender that makes no more calls
  bool may_take = false;      // the receiver leaves with what is unread, at any time
  bool may_look = false;      // the receiver disarms and arms, at any time
  bool wants_each = false;    // the receiver wants a bell for each put
  std::uint8_t wakes_at = 0;  // the sender wakes the receiver, for nothing, before this byte
};

enum class Phase : std::uint8_t { kReading, kLeaving, kTaking, kLeft };

// Two hashes of 64 bits each: that two of ten million different moments have both alike is less likely than that memory errs.
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
  std::uint8_t receive_kind = 0;  // of the operation under way

  explicit World(const Sizes& sizes);
  // Of all there is to a moment.
  [[nodiscard]] Fingerprint fingerprint() const;
};

// The moments after one step of the sender, and of the receiver. A complaint says what must not have happened.
class Explorer {
 public:
  explicit Explorer(const Sizes& sizes) : sizes_(sizes) {}
  struct Result {
    std::size_t moments = 0;
    std::size_t ends = 0;      // in which all has been read
    std::size_t hopeless = 0;  // from which no way leads to an end
    bool used_ring = false;
    bool turned = false;
    std::string complaint;
  };
  Result run(std::size_t moments_max);

 private:
  std::optional<World> step_sender(const World& before);
  std::optional<World> step_receiver(const World& before, std::uint8_t kind);
  // Whether it is an end.
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
