// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/lane_world.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace exs::test::lane_world {

Log* g_log = nullptr;

std::uint64_t step(const std::function<std::uint64_t()>& body) {
  Log& log = *g_log;
  if (log.next < log.found.size()) return log.found[log.next++];
  if (!log.may_go_on) throw Suspended{};
  log.may_go_on = false;
  log.found.push_back(body());
  return log.found[log.next++];
}

namespace {

constexpr unsigned kByteBits = 8;
constexpr std::size_t kPackMax = 6;

// The bytes of an operation, at most kPackMax. Each copied piece is a step.
struct Bytes {
  std::uint8_t bytes[kPackMax] = {};
  std::size_t count = 0;
  std::size_t limit = 0;

  [[nodiscard]] std::size_t left() const { return limit - count; }
  void advance(std::size_t n) { count += n; }
  void copy_to(std::byte* to, std::size_t n) {
    step([&] {
      std::memcpy(to, bytes + count, n);
      return 0;
    });
    count += n;
  }
  void copy_from(const std::byte* from, std::size_t n) {
    const std::uint64_t packed = step([&] {
      std::uint64_t word = 0;
      std::memcpy(&word, from, n);
      return word;
    });
    std::memcpy(bytes + count, &packed, n);
    count += n;
  }
  // Takes the result of a TCP call: a count or an errno, and the bytes.
  long take(std::uint64_t packed) {
    const long result = static_cast<std::int8_t>(packed & 0xff);
    if (result > 0) {
      const std::uint64_t word = packed >> kByteBits;
      std::memcpy(bytes + count, &word, static_cast<std::size_t>(result));
    }
    return result;
  }
};

std::uint64_t pack(long result, const std::uint8_t* bytes = nullptr) {
  std::uint64_t word = 0;
  if (result > 0 && bytes != nullptr) std::memcpy(&word, bytes, static_cast<std::size_t>(result));
  return (word << kByteBits) | (static_cast<std::uint64_t>(result) & 0xff);
}

struct ModelWire {
  World& world;

  std::uint64_t front(std::size_t limit, bool takes) {
    const std::size_t count = std::min({limit, world.tcp.size(), kPackMax});
    if (count == 0) return pack(-EAGAIN);
    const std::uint64_t packed = pack(static_cast<long>(count), world.tcp.data());
    if (takes) world.tcp.erase(world.tcp.begin(), world.tcp.begin() + static_cast<long>(count));
    return packed;
  }
  long receive(Bytes& sink, std::size_t limit) {
    const long count = sink.take(step([&] { return front(limit, true); }));
    if (count > 0) sink.advance(static_cast<std::size_t>(count));
    return count;
  }
  long peek(Bytes& sink, std::size_t limit) {
    return sink.take(step([&] { return front(limit, false); }));
  }
  long peek_behind(std::size_t, Bytes&) { return 0; }
  long look() {
    return static_cast<std::int8_t>(step([&] { return pack(world.tcp.empty() ? -EAGAIN : 1); }));
  }
  static bool is_at_mark() { return false; }
  static void await_bells(std::uint32_t) {}
  long unread() {
    return static_cast<long>(step([&] { return world.tcp.size(); }));
  }
  long drop(std::size_t count) {
    return static_cast<std::int8_t>(step([&] { return front(count, true) & 0xff; }));
  }
  long take_bells(std::uint32_t count) {
    return static_cast<std::int8_t>(step([&]() -> std::uint64_t {
      const std::size_t limit = std::min<std::size_t>(count, world.tcp.size());
      for (std::size_t i = 0; i < limit; ++i)
        if (world.tcp[i] != kBell) return pack(-EPROTO);
      return front(limit, true) & 0xff;
    }));
  }
  static bool is_read_unseen() { return false; }
  long ring_bell() {
    step([&] {
      world.tcp.push_back(kBell);
      ++world.tcp_sent;
      return 0;
    });
    return 0;
  }
  long send_back(const lane::Ring& ring, std::uint64_t position, std::uint64_t start, std::size_t count) {
    step([&] {
      struct ToTcp {
        World& world;
        void copy_from(const std::byte* from, std::size_t n) {
          for (std::size_t i = 0; i < n; ++i) world.tcp.push_back(static_cast<std::uint8_t>(from[i]));
          world.tcp_sent += n;
        }
      } to_tcp{world};
      ring.get(position, start, count, to_tcp);
      return 0;
    });
    return 0;
  }
  // By the sender's own descriptor, which the receiver has borrowed.
  std::int64_t sent_by_peer() { return sent(); }
  static void break_off() { throw std::logic_error("bytes are sent between those that are sent again"); }
  bool resend_first(std::size_t count) {
    if (count == 0) return true;
    step([&] {
      for (std::size_t i = 0; i < count; ++i) world.tcp.push_back(world.tcp[i]);
      world.tcp.erase(world.tcp.begin(), world.tcp.begin() + static_cast<long>(count));
      world.tcp_sent += count;
      return 0;
    });
    return true;
  }
  bool resend(const lane::Ring& ring, std::uint64_t position, std::uint64_t start, std::size_t count) {
    return count == 0 || send_back(ring, position, start, count) == 0;
  }
  // The sender repeats its step until the word has changed.
  static bool await(const ModelWord<std::uint32_t>& word, std::uint32_t value) {
    if (word.value() == value && g_log->next == g_log->found.size()) throw Suspended{};
    return word.load() != value;
  }
  std::int64_t sent() {
    return static_cast<std::int64_t>(step([&] { return world.tcp_sent; }));
  }
};

lane::Ring ring_of(World& world, const Sizes& sizes) {
  return {reinterpret_cast<std::byte*>(world.ring), sizes.ring};
}

// A send that does not wait, like Sending in sockets/preload/transfer/sending.cc.
void send(World& world, const Sizes& sizes) {
  ModelWire wire{world};
  lane::Sender<ModelWord, ModelWire> sender(world.sender, world.words, ring_of(world, sizes), wire);
  if (world.next_item == sizes.wakes_at) sender.wake();
  Bytes source;
  source.limit = std::min<std::size_t>(sizes.at_a_time, sizes.items + 1U - world.next_item);
  for (std::size_t i = 0; i < source.limit; ++i)
    source.bytes[i] = static_cast<std::uint8_t>(world.next_item + i);
  while (source.left() > 0) {
    if (sender.is_open()) {
      if (sender.peer_left()) {
        sender.take_back();
      } else if (const std::size_t room = sender.room(); room > 0) {
        sender.put(source, std::min(room, source.left()));
      } else {
        sender.turn();
      }
    } else if (!sender.may_open() || !sender.open()) {
      sender.begin_tcp();
      const std::uint64_t took = step([&]() -> std::uint64_t {
        if (world.tcp.size() >= sizes.tcp) return 0;
        world.tcp.push_back(source.bytes[source.count]);
        ++world.tcp_sent;
        return 1;
      });
      sender.end_tcp();
      if (took == 0) break;
      source.advance(1);
    }
  }
  world.next_item = static_cast<std::uint8_t>(world.next_item + source.count);
}
// A sender with nothing to send takes the bytes back when its peer leaves.
void wake_sender(World& world, const Sizes& sizes) {
  ModelWire wire{world};
  lane::Sender<ModelWord, ModelWire> sender(world.sender, world.words, ring_of(world, sizes), wire);
  if (sender.is_open() && sender.peer_left()) sender.take_back();
}

enum Kind : std::uint8_t { kReceive, kLeave, kTake, kLook, kArm, kKinds };

std::string take_items(World& world, const Bytes& sink, long count) {
  for (long i = 0; i < count; ++i) {
    if (sink.bytes[i] == kBell) return "a bell is read as a byte";
    if (sink.bytes[i] != world.got + 1) return "a byte is out of order";
    ++world.got;
  }
  return {};
}

std::string receive(World& world, const Sizes& sizes, std::uint8_t kind) {
  ModelWire wire{world};
  const bool owns = world.phase == Phase::kTaking;
  lane::Receiver<ModelWord, ModelWire> receiver(
      world.receiver, owns ? world.own : world.words,
      {reinterpret_cast<std::byte*>(owns ? world.own_ring : world.ring), sizes.ring}, wire);
  Bytes sink;
  sink.limit = sizes.at_a_time;
  if (world.phase == Phase::kLeft) return take_items(world, sink, wire.receive(sink, sink.limit));
  if (world.phase == Phase::kLeaving || world.phase == Phase::kTaking) {
    using Left = decltype(receiver)::Left;
    const Left left = receiver.has_left();
    if (left == Left::kNever) return "a byte is taken for a bell";
    if (left == Left::kYes) world.phase = Phase::kLeft;
    if (left == Left::kYes) return {};
    if (sizes.may_return && !owns && receiver.return_unread()) return {};
    if (left != Left::kBehind && !owns) return {};
  }
  switch (kind) {
    case kLeave:
      receiver.leave();
      world.phase = Phase::kLeaving;
      return {};
    case kTake: {
      const bool took =
          receiver.leave_with(world.own, [&](const lane::Ring&, std::uint64_t, std::uint64_t, std::size_t) {
            step([&] {
              std::memcpy(world.own_ring, world.ring, sizeof world.ring);
              return 0;
            });
          });
      world.phase = took ? Phase::kTaking : Phase::kLeaving;
      return {};
    }
    case kLook: receiver.look_by_itself(); return {};
    case kArm: receiver.stop_looking(); return {};
    default: break;
  }
  const long count = receiver.receive(sink);
  if (count == -EPROTO) return "the protocol is broken";
  return take_items(world, sink, count);
}

}  // namespace

World::World(const Sizes& sizes) {
  words.turn.set(lane::kNoTurn);
  words.sleep.set(sizes.wants_each ? lane::kArmed | lane::kEach : lane::kArmed);
  words.ready.set(1);
}

Fingerprint World::fingerprint() const {
  thread_local std::string key;
  key.assign(1, '-');  // makes the second hash read its input at another offset
  const auto add = [&](std::uint64_t value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const std::uint64_t value :
       {words.written.value(), words.start.value(), words.mark.value(), words.turn.value(),
        words.consumed.value(), words.claimed.value(), own.written.value(), own.start.value(),
        own.mark.value(), own.turn.value(), own.consumed.value(), sender.written, sender.start,
        receiver.consumed, receiver.position, receiver.tcp_left, tcp_sent})
    add(value);
  for (const std::uint32_t value :
       {words.epoch.value(), words.final.value(), words.passed.value(), words.sleep.value(),
        words.claim.value(), words.in_tcp.value(), own.epoch.value(), own.passed.value(), own.sleep.value(),
        sender.epoch, sender.in_tcp, sender.bells, sender.rung, receiver.passed, receiver.entered,
        receiver.due, receiver.taken, receiver.taken_before})
    add(value);
  key.push_back(static_cast<char>(sender.open | sender.final << 1 | receiver.looks << 3 |
                                  receiver.leaving << 4 | own.final.value() << 5 | receiver.broken << 6));
  key.push_back(static_cast<char>(phase));
  key.push_back(static_cast<char>(next_item));
  key.push_back(static_cast<char>(got));
  key.push_back(static_cast<char>(receive_kind));
  key.append(reinterpret_cast<const char*>(ring), sizeof ring);
  key.append(reinterpret_cast<const char*>(own_ring), sizeof own_ring);
  key.append(tcp.begin(), tcp.end());
  for (const Log* log : {&sending, &receiving}) {
    add(log->found.size());
    for (const std::uint64_t value : log->found) add(value);
  }
  const std::hash<std::string_view> hash;
  return {hash(key), hash(std::string_view(key).substr(1))};
}

std::optional<World> Explorer::step_sender(const World& before) {
  const bool has_items = before.next_item <= sizes_.items;
  const bool is_woken = before.phase == Phase::kLeaving && before.sender.open && !sizes_.may_return;
  if (!has_items && !is_woken && before.sending.found.empty()) return std::nullopt;
  World world = before;
  g_log = &world.sending;
  world.sending.next = 0;
  world.sending.may_go_on = true;
  const lane::SenderState state = world.sender;
  try {
    if (has_items) {
      send(world, sizes_);
    } else {
      wake_sender(world, sizes_);
    }
    world.sending = {};
  } catch (const Suspended&) {
    world.sender = state;
  }
  return world;
}

std::optional<World> Explorer::step_receiver(const World& before, std::uint8_t kind) {
  if (before.receiving.found.empty()) {
    const bool may =
        kind == kReceive || (kind == kLeave && sizes_.may_detach && before.phase == Phase::kReading) ||
        (kind == kTake && sizes_.may_take && before.phase == Phase::kReading) ||
        (kind == kLook && sizes_.may_look && !before.receiver.looks && before.phase == Phase::kReading) ||
        (kind == kArm && before.receiver.looks && before.phase == Phase::kReading);
    if (!may) return std::nullopt;
  } else if (kind != before.receive_kind) {
    return std::nullopt;
  }
  World world = before;
  world.receive_kind = kind;
  g_log = &world.receiving;
  world.receiving.next = 0;
  world.receiving.may_go_on = true;
  const lane::ReceiverState state = world.receiver;
  const Phase phase = world.phase;
  const std::uint8_t got = world.got;
  try {
    const std::string complaint = receive(world, sizes_, kind);
    if (!complaint.empty() && result_.complaint.empty()) result_.complaint = complaint;
    world.receiving = {};
    world.receive_kind = 0;
  } catch (const Suspended&) {
    world.receiver = state;
    world.phase = phase;
    world.got = got;
  }
  return world;
}

// The unread bytes of a ring precede what a turned sender has sent by TCP since, so they cannot be sent now.
// The layer resets the connection.
bool is_given_up(const World& world, const Sizes& sizes) {
  return !sizes.may_return && world.phase == Phase::kLeaving && !world.sender.open &&
         world.words.written.value() != world.words.consumed.value();
}

bool Explorer::look_at(const World& world) {
  const bool sender_rests = world.sending.found.empty();
  const bool receiver_rests = world.receiving.found.empty();
  if (world.sender.open) result_.used_ring = true;
  if (world.sender.epoch > 1) result_.turned = true;
  const bool unread = world.got + 1 < world.next_item;
  if (sender_rests && receiver_rests && unread && !world.receiver.looks && world.tcp.empty() &&
      (world.phase == Phase::kReading || world.phase == Phase::kTaking) && result_.complaint.empty())
    result_.complaint = "bytes are unread, and TCP is not readable";
  if (world.phase == Phase::kLeft && std::find(world.tcp.begin(), world.tcp.end(), kBell) != world.tcp.end())
    result_.complaint = "a bell comes after the receiver has left";
  if (world.got != sizes_.items || !sender_rests || !receiver_rests) return is_given_up(world, sizes_);
  ++result_.ends;
  return true;
}

// Walks back from the ends.
void Explorer::count_hopeless(const std::vector<bool>& ends) {
  std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) { return a.to < b.to; });
  std::vector<bool> has_hope = ends;
  std::vector<std::uint32_t> open;
  for (std::uint32_t moment = 0; moment < ends.size(); ++moment)
    if (ends[moment]) open.push_back(moment);
  while (!open.empty()) {
    const std::uint32_t to = open.back();
    open.pop_back();
    auto edge = std::lower_bound(edges_.begin(), edges_.end(), to,
                                 [](const Edge& a, std::uint32_t moment) { return a.to < moment; });
    for (; edge != edges_.end() && edge->to == to; ++edge) {
      if (has_hope[edge->from]) continue;
      has_hope[edge->from] = true;
      open.push_back(edge->from);
    }
  }
  result_.hopeless = static_cast<std::size_t>(std::count(has_hope.begin(), has_hope.end(), false));
}

Explorer::Result Explorer::run(std::size_t moments_max) {
  std::unordered_map<Fingerprint, std::uint32_t, FingerprintHash> seen;
  std::deque<World> open;
  std::vector<bool> ends;
  open.emplace_back(sizes_);
  seen.emplace(open.front().fingerprint(), 0);
  while (!open.empty() && result_.complaint.empty() && seen.size() < moments_max) {
    const World world = std::move(open.front());
    open.pop_front();
    const auto from = static_cast<std::uint32_t>(ends.size());  // in the order of their discovery
    ends.push_back(look_at(world));
    const auto go = [&](std::optional<World> next) {
      if (!next) return;
      const auto [at, is_new] = seen.emplace(next->fingerprint(), static_cast<std::uint32_t>(seen.size()));
      edges_.push_back({from, at->second});
      if (is_new) open.push_back(std::move(*next));
    };
    go(step_sender(world));
    for (std::uint8_t kind = 0; kind < kKinds; ++kind) go(step_receiver(world, kind));
  }
  result_.moments = seen.size();
  if (open.empty()) count_hopeless(ends);
  return result_;
}

}  // namespace exs::test::lane_world
