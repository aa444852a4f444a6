// MPA connection set-up: one frame each way before the FPDUs (RFC 5044, RFC 6581). No sockets, no clocks.
//
//   0 16 bytes key   16 u8 flags   17 u8 revision   18 u16 private data length
//   20 private data; with the enhanced flag it begins with u16 IRD | A,B and u16 ORD | C,D
// Peers that are this provider put "EXSW" in front of the user's private data: it stands for 64 KiB FPDUs.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace exs::iwarp {

inline constexpr std::size_t kMpaHeaderBytes = 20;
inline constexpr std::size_t kMpaPrivateMax = 256;     // what common peers accept, enhanced block included
inline constexpr std::uint32_t kUserPrivateMax = 248;  // without the enhanced block

enum class MpaRole : std::uint8_t { kRequest, kReply };

// One frame as we mean it.
struct MpaFrame {
  MpaRole role = MpaRole::kRequest;
  std::uint8_t revision = 2;
  bool markers = false;
  bool crc = false;
  bool rejected = false;
  bool enhanced = true;                     // IRD and ORD are there; always with revision 2
  std::uint16_t inbound_reads = 0;          // IRD of the sender
  std::uint16_t outbound_reads = 0;         // ORD of the sender
  bool peer_to_peer = false;                // A
  bool ready_by_write = false;              // C
  bool ready_by_read = false;               // D
  bool is_exs = false;                      // this provider, not exs on an iWARP device
  std::span<const std::byte> private_data;  // the user's part
};

struct MpaBytes {
  std::array<std::byte, kMpaHeaderBytes + kMpaPrivateMax> bytes;
  std::size_t length = 0;
};
// The begin of each reply. It may arrive before the rest: then its sender has the request and has not
// decided.
inline constexpr std::size_t kMpaKeyBytes = 16;

// The private data must fit.
MpaBytes encode_mpa(const MpaFrame& frame);

// Collects one frame from a stream in any pieces.
class MpaCollector {
 public:
  explicit MpaCollector(MpaRole expected) noexcept : expected_(expected) {}

  enum class Progress : std::uint8_t { kMore, kComplete, kBad };
  // Room for the next bytes: one more than any frame can have, so that excess bytes of a peer are noticed.
  [[nodiscard]] std::span<std::byte> room() noexcept { return std::span(bytes_).subspan(collected_); }
  Progress filled(std::size_t bytes) noexcept;
  // Valid after kComplete. The private data lie in the collector.
  [[nodiscard]] MpaFrame frame() const noexcept;
  // Valid after kBad.
  [[nodiscard]] const char* problem() const noexcept { return problem_; }
  // The first bytes, as far as they can be printed.
  [[nodiscard]] std::string beginning() const;

 private:
  Progress bad(const char* problem) noexcept {
    problem_ = problem;
    return Progress::kBad;
  }

  MpaRole expected_;
  const char* problem_ = "";
  std::size_t collected_ = 0;
  std::array<std::byte, kMpaHeaderBytes + kMpaPrivateMax + 1> bytes_;
};

// Our answer to an accepted request; private data and is_exs depend on the request.
MpaFrame reply_to(const MpaFrame& request, bool want_crc, std::uint32_t reads_in, std::uint32_t reads_out);
// Our answer to a refused request.
MpaFrame rejection_of(const MpaFrame& request);

}  // namespace exs::iwarp
