// Terminate messages: the reason that a peer gets before we close (RFC 5040 section 4.8). We send the RFC's
// layout. Received ones are only logged, because widespread peers swap its nibbles.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/provider/iwarp/fpdu.h"

namespace exs::iwarp {

struct TerminateCode {
  std::uint8_t layer = 0;
  std::uint8_t type = 0;
  std::uint8_t code = 0;
  friend bool operator==(const TerminateCode&, const TerminateCode&) = default;
};

inline constexpr TerminateCode kReadBadStag{0, 1, 0};
inline constexpr TerminateCode kReadBounds{0, 1, 1};
inline constexpr TerminateCode kAccessDenied{0, 1, 2};
inline constexpr TerminateCode kReadOffsetWraps{0, 1, 4};
inline constexpr TerminateCode kRdmapVersion{0, 2, 5};
inline constexpr TerminateCode kUnexpectedOpcode{0, 2, 6};
inline constexpr TerminateCode kTooManyReads{0, 2, 7};
inline constexpr TerminateCode kCannotInvalidate{0, 2, 9};
inline constexpr TerminateCode kTaggedBadStag{1, 1, 0};
inline constexpr TerminateCode kTaggedBounds{1, 1, 1};
inline constexpr TerminateCode kTaggedOffsetWraps{1, 1, 3};
inline constexpr TerminateCode kTaggedVersion{1, 1, 4};
inline constexpr TerminateCode kBadQueue{1, 2, 1};
inline constexpr TerminateCode kNoReceive{1, 2, 2};
inline constexpr TerminateCode kBadMessageNumber{1, 2, 3};
inline constexpr TerminateCode kBadMessageOffset{1, 2, 4};
inline constexpr TerminateCode kMessageTooLong{1, 2, 5};
inline constexpr TerminateCode kUntaggedVersion{1, 2, 6};
inline constexpr TerminateCode kBadCrc{2, 0, 2};
inline constexpr TerminateCode kBadFraming{2, 0, 3};

inline constexpr std::size_t kTerminateWordBytes = 4;
inline constexpr std::size_t kTerminateFrameMax =
    kUntaggedHeaderBytes + kTerminateWordBytes + kLengthFieldBytes + kReadRequestBytes + kTrailerBytesMax;

// A whole FPDU. `offending` is the header of the FPDU that is complained about, from its length field on, or
// empty when it could not be trusted.
struct TerminateFrame {
  std::array<std::byte, kTerminateFrameMax> bytes;
  std::size_t length = 0;
};
TerminateFrame make_terminate(TerminateCode code, std::span<const std::byte> offending, bool with_crc);

}  // namespace exs::iwarp
