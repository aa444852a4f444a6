// Statements that are signed and proven when a flow is opened. Each includes the nonces of both ends of the link, so it is worthless on
// another link. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
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

// The token that ties a bulk connection to its link. Only the two ends of the link know both nonces.
inline Nonce bulk_token(const LinkNonces& nonces) {
  return Hash<32>("exs-svc bulk").add(nonces.initiators).add(nonces.acceptors).end();
}

// The token that ties a lane to its flow and link.
inline Nonce lane_token(const LinkNonces& nonces, std::uint32_t alias) {
  return Hash<32>("exs-svc lane").add(nonces.initiators).add(nonces.acceptors).number(alias).end();
}

}  // namespace exs::svc
