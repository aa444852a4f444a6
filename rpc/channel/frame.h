// The header of each message of a link: its type and length. rpc/FORMAT.md has the bytes.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace exs::rpc {

enum class FrameType : std::uint8_t {
  kHello = 1,    // the connecting end's first frame; its token follows
  kWelcome = 2,  // the answer
  kMessage = 3,  // a message follows
  kLong = 4,     // the link's next message is a message of `length` bytes
};

struct LinkFrame {
  FrameType type;
  std::uint32_t length;
  bool has_all = false;  // the sender has received everything sent to it so far
};

inline constexpr std::size_t kFrameBytes = 8;
// The kernel's RPC over RDMA has the same limit for inline messages.
inline constexpr std::size_t kInlineBytes = 4096;
inline constexpr std::size_t kTokenBytes = 16;

inline void put_frame(const LinkFrame& frame, std::byte* at) {
  at[0] = static_cast<std::byte>(frame.type);
  at[1] = static_cast<std::byte>(frame.has_all);
  at[2] = at[3] = std::byte{0};
  for (unsigned i = 0; i < 4; ++i) at[4 + i] = static_cast<std::byte>(frame.length >> (24 - 8 * i));
}

// Returns false if the bytes are no header.
[[nodiscard]] inline bool get_frame(std::span<const std::byte> bytes, LinkFrame& frame) {
  if (bytes.size() < kFrameBytes || (bytes[2] | bytes[3]) != std::byte{0} || bytes[1] > std::byte{1})
    return false;
  frame.type = static_cast<FrameType>(bytes[0]);
  frame.has_all = bytes[1] != std::byte{0};
  frame.length = 0;
  for (unsigned i = 0; i < 4; ++i)
    frame.length = frame.length << 8U | std::to_integer<std::uint32_t>(bytes[4 + i]);
  return frame.type >= FrameType::kHello && frame.type <= FrameType::kLong;
}

}  // namespace exs::rpc
