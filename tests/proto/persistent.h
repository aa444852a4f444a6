// A pair of connections and short ways to post what persistence is about.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "src/wire/codec.h"
#include "tests/proto/connection_pair.h"

namespace exs::proto {

inline Operation operation_on(Bytes& memory) {
  Operation operation;
  operation.memory = {memory.data(), memory.size(), {}};
  return operation;
}
inline Operation persistent_on(Bytes& memory, bool notify = false) {
  Operation operation = operation_on(memory);
  operation.persistent = true;
  operation.notify = notify;
  return operation;
}
inline Operation at_offset_on(Bytes& memory, std::uint64_t offset) {
  Operation operation = operation_on(memory);
  operation.at_offset = true;
  operation.offset = offset;
  return operation;
}

// Started, the responder ready.
struct PersistentPair : ConnectionPair {
  explicit PersistentPair(const Agreement& agreement = agreement_of(4, 32, 2)) : ConnectionPair(agreement) {
    BOOST_REQUIRE(start());
    run();
  }
  ~PersistentPair() {
    for (const auto& violation : violations) BOOST_ERROR(violation);
    BOOST_TEST(initiator.failures.empty());
    BOOST_TEST(responder.failures.empty());
    BOOST_TEST(!initiator.late);
    BOOST_TEST(!responder.late);
  }
  void send(const Operation& operation) { initiator.connection.post_send(operation); }
  void receive(const Operation& operation) { responder.connection.post_receive(operation); }
  // The messages that `end` has posted from its n-th on.
  static std::vector<wire::MessageType> said(const End& end, std::size_t from) {
    std::vector<wire::MessageType> types;
    for (std::size_t i = from; i < end.link.sent().size(); ++i)
      types.push_back(wire::decode(end.link.sent()[i])->header.type);
    return types;
  }
  void close_both() {
    initiator.connection.close();
    run();
    responder.connection.close();
    run();
    BOOST_TEST(initiator.closed_count == 1);
    BOOST_TEST(responder.closed_count == 1);
    BOOST_TEST(initiator.link.windows() + responder.link.windows() == 0U);
  }
};

using Errors = std::vector<int>;
using Types = std::vector<wire::MessageType>;

}  // namespace exs::proto
