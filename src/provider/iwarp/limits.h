// Bounds of the iwarp provider.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace exs::iwarp {

inline constexpr std::size_t kMessageBytesMax = 65000;
inline constexpr std::uint32_t kReadDepthMax = 1024;
inline constexpr std::uint64_t kTransferBytesMax = std::uint64_t{1} << 31;

// FPDUs of one link that a look takes, and the rest of the receive that brought the last; so many from hot links, and
// the others are looked at. Twenty bytes are an FPDU that carries and completes nothing, so bytes are no measure.
inline constexpr std::uint64_t kFpdusPerLook = 2048;

}  // namespace exs::iwarp
