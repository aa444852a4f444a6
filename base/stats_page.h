// The layout of a process's statistics page. The page is a file in memory, which another process finds among the descriptors of its owner:
// /proc/PID/fd/N is a link to "/memfd:exs-stats (deleted)". The owner writes with plain stores, as it would to memory of its own
// (event/stats/stats_page.h). Who reads asks nothing of the owner, and trusts nothing that is there (tools/top/).
//
// The head comes first, then the records of the connections. All numbers are in the byte order of the machine. Each word of 64 bits is
// written in one piece; words beside each other may be of different moments.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/socket_address.h"

namespace exs::stats {

inline constexpr char kFileName[] = "exs-stats";
inline constexpr std::uint64_t kMagic = 0x3174617473737865;  // "exsstat1"
inline constexpr std::uint32_t kRecordsMax = 65'536;
inline constexpr std::size_t kErrorsMax = 16;

// What a connection has done. Thread: its shard, but for the snapshots, which any thread counts.
struct Counters {
  // Those that short messages touch come first, in one cache line.
  std::uint64_t sends_done = 0, receives_done = 0;  // operations that have ended, with or without an error
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  std::uint64_t immediates_sent = 0, immediate_bytes = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t stalled_since_ns = 0;  // CLOCK_MONOTONIC; 0: no send waits for a credit
  std::uint64_t stalled_ns = 0;        // before that
  std::uint64_t direct_bytes = 0;
  std::uint64_t adverts_sent = 0, adverts_received = 0;
  std::uint64_t acks_sent = 0, acks_received = 0;
  std::uint64_t credit_messages_sent = 0, credit_stalls = 0;
  std::uint64_t reads_posted = 0, control_messages_sent = 0;
  std::uint64_t writes_posted = 0, notices_sent = 0, notices_received = 0;
  std::uint64_t combined_sends = 0;
  std::uint64_t errors = 0, cancelled = 0, timed_out = 0;  // of the operations that have ended
  std::uint64_t snapshots = 0, snapshot_retries = 0;
};
inline constexpr std::size_t kCounters = sizeof(Counters) / sizeof(std::uint64_t);

enum class ConnectionKind : std::uint8_t { kNone, kMessages, kStream, kTagged, kPlain };
enum class State : std::uint8_t { kIdle, kConnecting, kConnected, kClosing, kEnded };

// Texts end with a zero byte, and are cut off where they are too long.
struct ConnectionRecord {
  alignas(64) Counters counters;
  std::uint32_t changes = 0;                    // odd while what follows is being changed
  ConnectionKind kind = ConnectionKind::kNone;  // kNone: nobody has the record
  State state = State::kIdle;
  std::uint8_t reason = 0;  // EXS_REASON_*: why `refused` does not carry the connection
  std::int32_t socket = -1;
  std::uint64_t opened_ns = 0;  // CLOCK_REALTIME
  char carrier[8] = {};         // "shm"; empty before the connection is up
  char refused[8] = {};         // a faster way; empty: there is none
  char fact[104] = {};
  char label[16] = {};  // EXS_SO_LABEL
  InternetAddress ours, peers;
};
static_assert(sizeof(ConnectionRecord) == 448);

// An error that ended connections. Those whose texts differ in digits alone are one.
struct ErrorLine {
  std::uint64_t count = 0;                  // 0: none
  std::uint64_t first_ns = 0, last_ns = 0;  // CLOCK_REALTIME
  std::int32_t error = 0;                   // errno
  char text[228] = {};                      // of the last one
};

struct PageHead {
  std::uint64_t magic = 0;  // written last
  std::uint32_t head_bytes = 0, record_bytes = 0, records_max = 0;
  std::uint32_t records_used = 0;  // no later record has ever been used
  std::int32_t process = 0;
  std::uint32_t error_changes = 0;  // odd while the errors are being changed
  std::uint64_t began_ns = 0;       // CLOCK_REALTIME
  char version[32] = {};
  std::uint64_t opened = 0;  // connections, closed ones among them
  Counters closed;           // the sum of those
  alignas(64) ErrorLine errors[kErrorsMax];
};
inline constexpr std::size_t kHeadBytes = 8192;  // whole pages
static_assert(sizeof(PageHead) <= kHeadBytes);

inline constexpr std::size_t kPageBytes = kHeadBytes + kRecordsMax * sizeof(ConnectionRecord);

}  // namespace exs::stats
