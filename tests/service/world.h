// Nodes in one process, whose events a test takes by turns. Thread: one.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exs/service.h"

namespace exs::svc::test {

constexpr std::int64_t kMs = 1'000'000;
// Only a hang takes as long.
constexpr int kTurnsMax = 60'000;

struct KeyFree {
  void operator()(exs_svc_key_t* key) const { exs_svc_key_free(key); }
};
using OwnedKey = std::unique_ptr<exs_svc_key_t, KeyFree>;
inline OwnedKey make_key() {
  OwnedKey key(exs_svc_key_create());
  BOOST_REQUIRE(key != nullptr);
  return key;
}
inline exs_svc_id_t id_of(const OwnedKey& key) {
  exs_svc_id_t id{};
  BOOST_REQUIRE(exs_svc_key_id(key.get(), &id) == 0);
  return id;
}

struct Text {
  std::string from;
  std::vector<std::string> items;
  std::vector<std::string> longs;
};
inline std::vector<std::string> texts_of(const exs_svc_item_t* items, std::uint32_t count) {
  std::vector<std::string> texts;
  for (std::uint32_t i = 0; i < count; ++i)
    texts.emplace_back(static_cast<const char*>(items[i].data), items[i].length);
  return texts;
}
inline Text text_of(const exs_svc_message_t* message) {
  return {std::string(reinterpret_cast<const char*>(message->from.bytes), sizeof message->from.bytes),
          texts_of(message->items, message->items_count), texts_of(message->longs, message->longs_count)};
}

inline std::vector<exs_svc_item_t> items_of(const std::vector<std::string>& texts) {
  std::vector<exs_svc_item_t> items;
  for (const std::string& text : texts) items.push_back({const_cast<char*>(text.data()), text.size()});
  return items;
}
// Which stay where they are.
inline std::vector<exs_iovec_t> pieces_of(const std::vector<std::string>& texts) {
  std::vector<exs_iovec_t> pieces;
  for (const std::string& text : texts)
    pieces.push_back({const_cast<char*>(text.data()), text.size(), EXS_MHANDLE_UNREGISTERED, 0});
  return pieces;
}
// 0, or the errno.
inline int send_long(exs_svc_peer_t* peer, const std::vector<std::string>& texts,
                     const std::vector<std::string>& longs, void* handle = nullptr) {
  const std::vector<exs_svc_item_t> items = items_of(texts);
  const std::vector<exs_iovec_t> pieces = pieces_of(longs);
  return exs_svc_send_long(peer, items.data(), static_cast<int>(items.size()), pieces.data(),
                           static_cast<int>(pieces.size()), handle) == 0
             ? 0
             : errno;
}
inline int request(exs_svc_peer_t* peer, const std::vector<std::string>& texts, void* handle = nullptr,
                   const exs_svc_request_options_t* options = nullptr,
                   const std::vector<std::string>& longs = {}) {
  const std::vector<exs_svc_item_t> items = items_of(texts);
  const std::vector<exs_iovec_t> pieces = pieces_of(longs);
  return exs_svc_request(peer, items.data(), static_cast<int>(items.size()), pieces.data(),
                         static_cast<int>(pieces.size()), options, handle) == 0
             ? 0
             : errno;
}
inline int reply(const exs_svc_message_t* message, std::int32_t status, const std::vector<std::string>& texts,
                 const std::vector<std::string>& longs = {}, std::uint32_t flags = 0,
                 void* handle = nullptr) {
  const std::vector<exs_svc_item_t> items = items_of(texts);
  const std::vector<exs_iovec_t> pieces = pieces_of(longs);
  return exs_svc_reply(message, status, items.data(), static_cast<int>(items.size()), pieces.data(),
                       static_cast<int>(pieces.size()), flags, handle) == 0
             ? 0
             : errno;
}

// 0, or the errno.
inline int send(exs_svc_peer_t* peer, const std::vector<std::string>& texts) {
  const std::vector<exs_svc_item_t> items = items_of(texts);
  return exs_svc_send_short(peer, items.data(), static_cast<int>(items.size())) == 0 ? 0 : errno;
}

// Looks for peers for a minute where the test does not say how long: on a busy machine, two seconds are no sign of anything.
inline exs_svc_node_options_t patient(const exs_svc_node_options_t* options) {
  exs_svc_node_options_t result = options == nullptr ? exs_svc_node_options_t{} : *options;
  result.struct_bytes = sizeof result;
  if (result.find_ns == 0) result.find_ns = 60'000 * kMs;
  return result;
}

// A node whose events wait here. Messages that nobody has taken are released at the end.
class TestNode {
 public:
  explicit TestNode(const exs_svc_node_options_t* options = nullptr)
      : options_(patient(options)), node_(exs_svc_node_open(&options_)) {
    BOOST_REQUIRE_MESSAGE(node_ != nullptr, exs_svc_errtext());
  }
  ~TestNode() { close(); }
  TestNode(const TestNode&) = delete;
  TestNode& operator=(const TestNode&) = delete;
  void close() {
    for (const exs_svc_event_t& event : events) exs_svc_release(event.message);
    events.clear();
    exs_svc_node_close(node_);
    node_ = nullptr;
  }
  [[nodiscard]] exs_svc_node_t* get() const { return node_; }
  // Takes what there is, for a moment. False: it could not.
  [[nodiscard]] bool take() {
    std::array<exs_svc_event_t, 16> batch;
    const int count = node_ == nullptr ? 0 : exs_svc_wait(node_, batch.data(), most_events, kMs / 4);
    events.insert(events.end(), batch.begin(), batch.begin() + std::max(count, 0));
    return count >= 0;
  }
  // The same in the thread of the test, as Boost.Test wants.
  void step() { BOOST_REQUIRE(take()); }
  exs_svc_t* open(const OwnedKey& key, const exs_svc_options_t* options = nullptr,
                  void* handle = nullptr) const {
    exs_svc_t* const service = exs_svc_open(node_, key.get(), options, handle);
    BOOST_REQUIRE_MESSAGE(service != nullptr, exs_svc_errtext());
    return service;
  }
  exs_svc_peer_t* peer(const OwnedKey& key, exs_svc_t* from = nullptr, const exs_svc_cap_t* cap = nullptr,
                       void* handle = nullptr) const {
    const exs_svc_id_t id = id_of(key);
    exs_svc_peer_t* const peer = exs_svc_peer_open(node_, from, &id, cap, handle);
    BOOST_REQUIRE_MESSAGE(peer != nullptr, exs_svc_errtext());
    return peer;
  }

  std::deque<exs_svc_event_t> events;
  int most_events = 16;  // to be taken at a time; others stay with the node

 private:
  exs_svc_node_options_t options_;
  exs_svc_node_t* node_;
};

// Bytes that say where they are, so none is taken for another.
inline std::string pattern(std::size_t bytes, std::size_t seed) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>((i * 2654435761U + seed) >> 11);
  return text;
}

// What only a program does that is wrong.
inline void check_refused(int result, int error) {
  BOOST_TEST(result == -1);
  BOOST_TEST(errno == error);
  BOOST_TEST(exs_svc_errtext()[0] != '\0');
}

// Turns of all nodes until something is so.
inline void turn_until(const std::vector<TestNode*>& nodes, const std::function<bool()>& is_so) {
  for (int turn = 0; turn < kTurnsMax; ++turn) {
    if (is_so()) return;
    for (TestNode* const node : nodes) node->step();
  }
  BOOST_REQUIRE_MESSAGE(false, "a hang");
}

// The next event of this type at `at`, others of which stay where they are.
inline exs_svc_event_t next_event(const std::vector<TestNode*>& nodes, TestNode& at, int type) {
  exs_svc_event_t found{};
  turn_until(nodes, [&] {
    for (auto it = at.events.begin(); it != at.events.end(); ++it) {
      if (it->type != type) continue;
      found = *it;
      at.events.erase(it);
      return true;
    }
    return false;
  });
  return found;
}
inline Text next_text(const std::vector<TestNode*>& nodes, TestNode& at) {
  const exs_svc_event_t event = next_event(nodes, at, EXS_SVC_EVT_MESSAGE);
  Text text = text_of(event.message);
  exs_svc_release(event.message);
  return text;
}
inline std::size_t count_events(const TestNode& at, int type) {
  return static_cast<std::size_t>(std::count_if(
      at.events.begin(), at.events.end(), [&](const exs_svc_event_t& event) { return event.type == type; }));
}

// Two nodes, which have turns together; the key of a service that either may be.
struct TwoNodes {
  TestNode left;
  TestNode right;
  OwnedKey key = make_key();
  const std::vector<TestNode*> both{&left, &right};

  exs_svc_event_t next(TestNode& at, int type) { return next_event(both, at, type); }
  std::string next_item(TestNode& at) {
    const Text text = next_text(both, at);
    return text.items.empty() ? std::string("none") : text.items.front();
  }
};

}  // namespace exs::svc::test
