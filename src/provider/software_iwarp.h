// What the iwarp provider puts in front of the private data of its MPA frames, so that its like know each
// other. An exs peer on an iWARP device, which gets a request of that provider through rdma_cm, passes over
// it; what it answers has none, for it is a device that answers. No hello begins like this.
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
