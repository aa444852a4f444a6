// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/sunrpc/rendezvous.h"

namespace exs::rpc {

bool_t xdr_offer(XDR* stream, LinkOffer* offer) {
  return static_cast<bool_t>(xdr_uint32_t(stream, &offer->kind) && xdr_uint32_t(stream, &offer->version) &&
                             xdr_uint32_t(stream, &offer->inline_bytes));
}

bool_t xdr_answer(XDR* stream, OfferAnswer* answer) {
  auto reason = static_cast<std::uint32_t>(answer->reason);
  if (!xdr_uint32_t(stream, &reason)) return FALSE;
  answer->reason = static_cast<OfferRefusal>(reason);
  if (answer->reason != OfferRefusal::kNone) return TRUE;
  return static_cast<bool_t>(
      xdr_uint32_t(stream, &answer->version) && xdr_uint32_t(stream, &answer->port) &&
      xdr_uint32_t(stream, &answer->inline_bytes) && xdr_uint32_t(stream, &answer->longest) &&
      xdr_opaque(stream, answer->token.data(), static_cast<u_int>(answer->token.size())));
}

}  // namespace exs::rpc
