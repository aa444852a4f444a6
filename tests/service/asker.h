// A sender of requests of all kinds to a service that may be killed, or move.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <random>

#include "tests/service/victim.h"

namespace exs::svc::test {

struct AskingSurvivor : Survivor {
  AskingSurvivor() { BOOST_REQUIRE(exs_svc_peer_trust(peer, EXS_SVC_TRUST_WRITE, 0) == 0); }
  struct Asked {
    Number number = 0;
    bool is_idempotent = false;
    std::string longs;  // empty: none
    std::string room;
    void* written = nullptr;  // in place of it, by the service
    int error = -1;           // it has not ended
  };

  // Requests of all kinds, in turn.
  void ask_what_fits(std::size_t most) {
    while (all.size() < most) {
      Asked& asked = all[static_cast<Number>(all.size())];
      asked.number = static_cast<Number>(all.size() - 1);
      asked.is_idempotent = asked.number % 2 == 0;
      if (asked.number % 3 == 0) asked.longs = pattern(1 + choice() % 200'000, asked.number);
      asked.room.resize(asked.number % 4 == 0 ? asked.longs.size() : 0);
      exs_svc_item_t item{&asked.number, sizeof asked.number};
      const exs_iovec_t piece{asked.longs.data(), asked.longs.size(), EXS_MHANDLE_UNREGISTERED, 0};
      if (asked.number % 4 == 1 && !asked.longs.empty()) {
        asked.written = exs_svc_return_alloc(peer, asked.longs.size());
        BOOST_REQUIRE(asked.written != nullptr);
      }
      exs_iovec_t room{asked.room.data(), asked.room.size(), EXS_MHANDLE_UNREGISTERED, 0};
      if (asked.written != nullptr) room = {asked.written, asked.longs.size(), EXS_MHANDLE_UNREGISTERED, 0};
      exs_svc_request_options_t how{};
      how.struct_bytes = sizeof how;
      how.flags = asked.is_idempotent ? EXS_SVC_IDEMPOTENT : 0;
      how.returns = room.iov_len == 0 ? nullptr : &room;
      how.returns_count = room.iov_len == 0 ? 0 : 1;
      if (exs_svc_request(peer, &item, 1, &piece, asked.longs.empty() ? 0 : 1, &how, &asked) == 0) continue;
      BOOST_REQUIRE(exs_svc_return_free(asked.written) == 0);
      all.erase(asked.number);
      return;
    }
  }
  void take_events() {
    node.step();
    for (const exs_svc_event_t& event : node.events) {
      BOOST_REQUIRE(event.type == EXS_SVC_EVT_REPLY);
      auto& asked = *static_cast<Asked*>(event.handle);
      BOOST_REQUIRE(asked.error == -1);
      asked.error = event.error;
      ++ended;
      if (event.error == 0) check_echo(asked, *event.message);
      exs_svc_release(event.message);
      BOOST_REQUIRE(exs_svc_return_free(asked.written) == 0);
    }
    node.events.clear();
  }
  static void check_echo(const Asked& asked, const exs_svc_message_t& message) {
    const Text text = text_of(&message);
    BOOST_REQUIRE(text.items.size() == 1U);
    BOOST_REQUIRE(text.items[0] ==
                  std::string(reinterpret_cast<const char*>(&asked.number), sizeof asked.number));
    BOOST_REQUIRE(text.longs.size() == (asked.longs.empty() ? 0U : 1U));
    if (!asked.longs.empty()) BOOST_REQUIRE((text.longs[0] == asked.longs));
    if (asked.written != nullptr) BOOST_REQUIRE(message.longs[0].data == asked.written);
    if (!asked.room.empty()) BOOST_REQUIRE((asked.room == asked.longs));
  }

  // What is promised of each, by what the service has executed. The number of those of which nobody knows.
  [[nodiscard]] std::size_t check_table(const std::vector<Number>& numbers) const {
    std::map<Number, int> executed;
    for (const Number number : numbers) ++executed[number];
    std::size_t unknown = 0;
    for (const auto& [number, asked] : all) {
      BOOST_REQUIRE_MESSAGE(asked.error == 0 || (asked.error == EOWNERDEAD && !asked.is_idempotent),
                            "request " << number << " ended with " << asked.error);
      if (asked.error == 0) BOOST_REQUIRE(executed[number] >= 1);
      if (!asked.is_idempotent) BOOST_REQUIRE(executed[number] <= 1);
      if (asked.error != 0) ++unknown;
    }
    return unknown;
  }

  std::map<Number, Asked> all;
  std::size_t ended = 0;
  std::mt19937 choice{5};  // NOLINT: the same each time
};

}  // namespace exs::svc::test
