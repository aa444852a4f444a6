// Nodes in one process, whose events a test takes by turns. Thread: one.
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
};
inline Text text_of(const exs_svc_message_t* message) {
  Text text{std::string(reinterpret_cast<const char*>(message->from.bytes), sizeof message->from.bytes), {}};
  for (std::uint32_t i = 0; i < message->items_count; ++i)
    text.items.emplace_back(static_cast<const char*>(message->items[i].data), message->items[i].length);
  return text;
}

// 0, or the errno.
inline int send(exs_svc_peer_t* peer, const std::vector<std::string>& texts) {
  std::vector<exs_svc_item_t> items;
  for (const std::string& text : texts) items.push_back({const_cast<char*>(text.data()), text.size()});
  return exs_svc_send_short(peer, items.data(), static_cast<int>(items.size())) == 0 ? 0 : errno;
}

// A node whose events wait here. Messages that nobody has taken are released at the end.
class TestNode {
 public:
  explicit TestNode(const exs_svc_node_options_t* options = nullptr) : node_(exs_svc_node_open(options)) {
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
    const int count =
        node_ == nullptr ? 0 : exs_svc_wait(node_, batch.data(), static_cast<int>(batch.size()), kMs / 4);
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

 private:
  exs_svc_node_t* node_;
};

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

}  // namespace exs::svc::test
