// What the two ends say to each other over TCP, as calls of a SunRPC program of its own (rendezvous.x has it in its language), before
// they have a link.
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

enum class Kind : std::uint32_t { kSunRpc = 0 };
inline constexpr std::uint32_t kLinkVersion = 1;

struct Offer {
  std::uint32_t kind;
  std::uint32_t version;
  std::uint32_t inline_bytes;
};

enum class Reason : std::uint32_t {
  kNone = 0,
  kNoStream = 1,       // a transport that keeps no connection
  kNoDescriptors = 2,  // most of those that the process may have are taken
  kOff = 3,            // EXS_SUNRPC
  kNoSocket = 4,       // exs could not be started
  kVersion = 5,        // the server speaks none that was offered
};

// Of the server. With a reason, the rest is zero.
struct Answer {
  Reason reason;
  std::uint32_t version;
  std::uint32_t port;
  std::uint32_t inline_bytes;
  std::uint32_t longest;
  std::array<char, kTokenBytes> token;
};

bool_t xdr_offer(XDR* stream, Offer* offer);
bool_t xdr_answer(XDR* stream, Answer* answer);

}  // namespace exs::rpc
