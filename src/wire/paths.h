// What two ends exchange about providers during the set-up, behind the hello, if the private data has room
// for it. FORMAT.md has the layout. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace exs::wire {

inline constexpr std::size_t kPathsOffset = 48;  // from the start of the private data
inline constexpr std::size_t kPathsBytesMax = 192;
inline constexpr std::size_t kPathsFactBytesMax = 100;
inline constexpr std::size_t kPathsWordsBytesMax = 128;
inline constexpr std::uint8_t kNoProvider = 0xff;

// The initiator's part.
struct PathsRequest {
  std::uint8_t allowed = 0;              // a bit each provider
  std::uint8_t preferred = kNoProvider;  // a provider's number
  std::uint8_t shm_reason = 0;           // why there is no invitation, where there is none
  std::span<const std::byte> words;      // the invitation; points into the message when decoded
  std::uint8_t device_reason = 0;        // why it comes by the network and not by an RDMA device
};

// The responder's part.
struct PathsReply {
  std::uint8_t chosen = kNoProvider;   // none: rejected
  std::uint8_t refused = kNoProvider;  // the provider that the rest is about
  std::uint8_t reason = 0;
  std::string_view fact;           // points into the message when decoded
  std::uint8_t device_reason = 0;  // why no RDMA device serves that end
};

struct PathsBytes {
  std::array<std::byte, kPathsBytesMax> bytes{};
  std::size_t length = 0;
  [[nodiscard]] std::span<const std::byte> view() const noexcept { return {bytes.data(), length}; }
};

// `fact` is cut, `words` must fit.
PathsBytes encode(const PathsRequest& request);
PathsBytes encode(const PathsReply& reply);
// ENOMSG: the private data hold no such block. EPROTO: a malformed one.
Result<PathsRequest> decode_paths_request(std::span<const std::byte> private_data);
Result<PathsReply> decode_paths_reply(std::span<const std::byte> private_data);

}  // namespace exs::wire
