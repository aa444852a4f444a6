// The messages of both ends over TCP before they have a link: calls of a SunRPC program of their own (rendezvous.x has it in its
// language).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rpc/rpc.h>

#include <array>
#include <cstdint>

#include "rpc/channel/frame.h"

namespace exs::rpc {

inline constexpr rpcprog_t kProgram = 0x20455853;
inline constexpr rpcvers_t kProgramVersion = 1;
inline constexpr rpcproc_t kOfferProcedure = 1;
inline constexpr rpcproc_t kEndProcedure = 2;

enum class OfferKind : std::uint32_t { kSunRpc = 0 };
inline constexpr std::uint32_t kLinkVersion = 1;

struct LinkOffer {
  std::uint32_t kind;
  std::uint32_t version;
  std::uint32_t inline_bytes;
};

enum class OfferRefusal : std::uint32_t {
  kNone = 0,
  kNoStream = 1,       // the transport keeps no connection
  kNoDescriptors = 2,  // most of the allowed descriptors are in use
  kOff = 3,            // EXS_SUNRPC
  kNoSocket = 4,       // exs could not start
  kVersion = 5,        // the server supports no offered version
};

// The server's answer. With a reason, the rest is zero.
struct OfferAnswer {
  OfferRefusal reason;
  std::uint32_t version;
  std::uint32_t port;
  std::uint32_t inline_bytes;
  std::uint32_t longest;
  std::array<char, kTokenBytes> token;
};

bool_t xdr_offer(XDR* stream, LinkOffer* offer);
bool_t xdr_answer(XDR* stream, OfferAnswer* answer);

}  // namespace exs::rpc
