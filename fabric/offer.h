// The provider's offer, and whether it matches an application's request.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include <rdma/fabric.h>

namespace exs::fabric {

inline constexpr char kName[] = "exs";
inline constexpr std::uint32_t kVersion = FI_VERSION(1, 0);
inline constexpr std::uint32_t kProtocol = 0x80657873;  // of no standard: the upper bit, "exs"

inline constexpr std::uint64_t kCaps = FI_MSG | FI_TAGGED | FI_SEND | FI_RECV | FI_MULTI_RECV | FI_SOURCE |
                                       FI_DIRECTED_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM;
inline constexpr std::uint64_t kSendCaps = FI_MSG | FI_TAGGED | FI_SEND;
inline constexpr std::uint64_t kReceiveCaps =
    FI_MSG | FI_TAGGED | FI_RECV | FI_MULTI_RECV | FI_SOURCE | FI_DIRECTED_RECV;
inline constexpr std::uint64_t kSendFlags = FI_INJECT | FI_COMPLETION | FI_INJECT_COMPLETE |
                                            FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE |
                                            FI_MORE;
inline constexpr std::uint64_t kReceiveFlags = FI_COMPLETION | FI_MORE | FI_MULTI_RECV;

// The top bit marks messages without tags, so tags have 63 bits.
inline constexpr std::uint64_t kUntagged = std::uint64_t{1} << 63U;
// Alternating from the first bit on: the application may use any.
inline constexpr std::uint64_t kTagFormat = 0x5555555555555555;

inline constexpr std::size_t kInjectBytes = 1024;
inline constexpr std::size_t kPiecesMax = 64;
inline constexpr std::size_t kDataBytes = 8;
inline constexpr std::size_t kKeyBytes = 16;
// The default of FI_OPT_MIN_MULTI_RECV: a multi-receive buffer with less room left returns to the application.
inline constexpr std::size_t kMultiReceiveBytesLeft = 64;
// Operations need memory only, so there is no real limit. The number is for applications that ask.
inline constexpr std::size_t kDepth = 65536;

// The functions of fi_provider.
int get_info(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
             const fi_info* hints, fi_info** info);

}  // namespace exs::fabric
