// What is signed and proven when a flow is opened. It says the numbers with which both ends of the link have greeted, so it is worth
// nothing on another. Thread: any.
#pragma once

#include "service/names/key.h"

namespace exs::svc {

struct LinkNonces {
  const Nonce& initiators;
  const Nonce& acceptors;
};

inline Statement flow_statement(const LinkNonces& nonces, std::uint32_t alias, const IdBytes& target,
                                std::uint64_t client, std::uint64_t flow_number) {
  return Hash<32>("exs-svc flow")
      .add(nonces.initiators)
      .add(nonces.acceptors)
      .number(alias)
      .add(target)
      .number(client)
      .number(flow_number)
      .end();
}

inline Statement answer_statement(const Statement& flow, std::uint64_t instance, std::uint64_t accepted,
                                  bool is_known) {
  return Hash<32>("exs-svc flow ok")
      .add(flow)
      .number(instance)
      .number(accepted)
      .number(static_cast<std::uint8_t>(is_known))
      .end();
}

// What a bulk connection shows of the link that it belongs to. Only the two ends of that know both numbers.
inline Nonce bulk_token(const LinkNonces& nonces) {
  return Hash<32>("exs-svc bulk").add(nonces.initiators).add(nonces.acceptors).end();
}

// What the lane of a flow shows, likewise.
inline Nonce lane_token(const LinkNonces& nonces, std::uint32_t alias) {
  return Hash<32>("exs-svc lane").add(nonces.initiators).add(nonces.acceptors).number(alias).end();
}

}  // namespace exs::svc
