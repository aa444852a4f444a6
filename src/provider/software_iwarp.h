// The prefix of the private data in the iwarp provider's MPA frames, by which its instances recognise each
// other. An exs peer on an iWARP device that gets such a request through rdma_cm skips the prefix. Its answer
// has none, because a device answers. No hello begins with this prefix.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace exs {

inline constexpr std::array<std::byte, 4> kSoftwareIwarpMark{std::byte{'E'}, std::byte{'X'}, std::byte{'S'},
                                                             std::byte{'W'}};

inline bool has_software_iwarp_mark(std::span<const std::byte> private_data) {
  return private_data.size() >= kSoftwareIwarpMark.size() &&
         std::equal(kSoftwareIwarpMark.begin(), kSoftwareIwarpMark.end(), private_data.begin());
}

inline std::span<const std::byte> without_software_iwarp_mark(std::span<const std::byte> private_data) {
  return has_software_iwarp_mark(private_data) ? private_data.subspan(kSoftwareIwarpMark.size())
                                               : private_data;
}

}  // namespace exs
