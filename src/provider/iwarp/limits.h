// Bounds of the iwarp provider.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exs::iwarp {

inline constexpr std::size_t kMessageBytesMax = 65000;
inline constexpr std::uint32_t kReadDepthMax = 64;
inline constexpr std::uint64_t kTransferBytesMax = std::uint64_t{1} << 31;

}  // namespace exs::iwarp
