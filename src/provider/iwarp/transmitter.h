// The sending half of a connection: a queue of messages in, iovecs for sendmsg out. Knows no socket.
//
// Design notes
//  1. A message is cut into FPDUs only when the socket may take them: until then it is one queue entry.
//  2. Messages are never interleaved. Our own and the answers to the peer's reads take turns message
//     by message.
//  3. Small payloads are copied behind their header when posted, so that many messages become one iovec.
//     Large ones are sent from where they lie.
//  4. A read that exceeds the budget holds back what was posted behind it, as a hardware send queue would.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/fifo.h"
#include "src/provider/iwarp/chunk_pool.h"
#include "src/provider/iwarp/fpdu.h"
#include "src/provider/iwarp/read_budget.h"

namespace exs::iwarp {

enum class MessageKind : std::uint8_t {
  kHandshake,
  kSend,
  kWrite,
  kReadRequest,
  kReadResponse,
  kNudge,
  kShort,  // the rest of a short SEND
};

// Called synchronously. It must not call back into the transmitter.
class TransmitterClient {
 public:
  virtual ~TransmitterClient() = default;
  virtual void message_left(MessageKind kind, std::uint64_t token) = 0;
  virtual void message_dropped(MessageKind kind, std::uint64_t token) = 0;
};

// Thread: shard.
class Transmitter {
 public:
  static constexpr std::size_t kPiecesMax = 256;
  static constexpr std::size_t kPiecesPerFpdu = 5;

  Transmitter(TransmitterClient& client, ChunkPool& chunks, ReadBudget& reads) noexcept
      : arena_(chunks), client_(client), reads_(reads) {}
  ~Transmitter();
  Transmitter(const Transmitter&) = delete;
  Transmitter& operator=(const Transmitter&) = delete;

  // Call it before open(). The payload limits are those of one FPDU.
  void configure(bool crc, std::uint32_t tagged_payload_max, std::uint32_t untagged_payload_max) noexcept;
  // FPDUs may leave from now on.
  void open() noexcept { open_ = true; }
  [[nodiscard]] bool is_open() const noexcept { return open_; }

  // An MPA frame: leaves at once, ahead of every FPDU.
  void queue_handshake(std::span<const std::byte> frame);
  void queue_send(std::span<const std::byte> header, std::span<const std::byte> payload, std::uint64_t token);
  void queue_write(std::span<const std::byte> payload, std::uint32_t stag, std::uint64_t offset,
                   std::uint64_t token);
  void queue_read(const ReadRequest& request, std::uint64_t token);
  // A write of no bytes, which no window has to allow. No read that is held back delays it.
  void queue_nudge();
  void queue_response(const ReadRequest& request, const std::byte* source);

  // The way of a short SEND past the queues, which are empty: the caller builds its FPDU, hands it to the socket, and says how much of
  // it has left. The rest, if any, is kept, and leaves next.
  static constexpr std::size_t kShortMax = 512;  // bytes of header and payload
  using ShortFrame = std::array<std::byte, kUntaggedHeaderBytes + kShortMax + kTrailerBytesMax>;
  [[nodiscard]] bool may_send_short(std::size_t bytes) const noexcept {
    return bytes <= std::min<std::size_t>(kShortMax, untagged_max_) && open_ && pieces_.empty() &&
           !in_message_ && own_.empty() && responses_.empty() && pieces_.has_room() && arena_.has_spare();
  }
  // Returns its length. 0: the payload is not there, and nothing has changed.
  [[nodiscard]] std::size_t build_short(ShortFrame& frame, std::span<const std::byte> header,
                                        std::span<const std::byte> payload) const noexcept;
  void short_left(std::span<const std::byte> frame, std::size_t sent) noexcept;

  // Lists what comes next, at most about a megabyte. The memory listed stays valid until sent() covers it.
  // Returns how many entries were written; 0: nothing can be sent now.
  std::size_t gather(std::span<iovec> out);
  void sent(std::size_t bytes);
  [[nodiscard]] bool has_work() const noexcept;
  // Some message has been cut into FPDUs.
  [[nodiscard]] bool has_begun() const noexcept { return begun_; }
  [[nodiscard]] std::uint32_t sends_queued() const noexcept { return sends_queued_; }

  // Drops every message. At most the rest of an FPDU remains, of which the peer has a part. It still refers
  // to its message's memory. The caller must send it at once, before it reports anything, or never.
  void abandon();
  // Queues one last frame behind that rest. Call abandon() first.
  void queue_terminate(std::span<const std::byte> frame) { queue_handshake(frame); }
  void clear();

 private:
  struct Message {
    MessageKind kind = MessageKind::kSend;
    std::uint64_t token = 0;
    FrameArena::Piece frame;  // header room, then `copied_bytes`, then trailer room; or none
    std::uint32_t copied_bytes = 0;
    const std::byte* payload = nullptr;  // what follows the copied bytes
    std::uint64_t payload_bytes = 0;
    std::uint32_t stag = 0;
    std::uint64_t offset = 0;
    std::uint32_t number = 0;  // MSN
    std::uint64_t done = 0;    // bytes of copied and payload already in pieces
  };
  // One piece of memory to send.
  struct Piece {
    const std::byte* start = nullptr;
    std::size_t bytes = 0;
    Chunk* release = nullptr;  // once sent
    bool ends_fpdu = false;
    bool ends_message = false;
    MessageKind kind = MessageKind::kSend;
    std::uint64_t token = 0;
  };

  static bool is_tagged(MessageKind kind) {
    return kind == MessageKind::kWrite || kind == MessageKind::kReadResponse || kind == MessageKind::kNudge;
  }
  static std::size_t header_room(MessageKind kind) {
    return is_tagged(kind) ? kTaggedHeaderBytes : kUntaggedHeaderBytes;
  }
  void queue_payload(Message message, std::span<const std::byte> header, std::span<const std::byte> payload);
  bool choose_next();
  void build_fpdu();
  void build_whole(Message& message);
  void build_segment(Message& message, std::uint32_t payload_max);
  void store_header(std::byte* to, const Message& message, std::uint32_t payload_bytes, bool last) const;
  void store_trailer(std::byte* to, std::size_t covered_bytes, std::uint32_t running_crc) const;
  void push_piece(const Piece& piece);
  void end_message(Message& message, Piece last_piece);
  void pop_piece();

  // What every short message touches comes first, as in IwarpLink.
  FrameArena arena_;
  bool open_ = false;
  bool crc_on_ = false;
  bool in_message_ = false;
  bool begun_ = false;
  bool last_was_response_ = false;
  bool mid_fpdu_ = false;  // the front piece continues an FPDU whose start has left
  std::uint32_t untagged_max_ = kPayloadMax;
  std::uint32_t next_send_number_ = 1;
  Fifo<Message> own_;
  Fifo<Message> responses_;  // and nudges
  Fifo<Piece> pieces_;

  TransmitterClient& client_;
  ReadBudget& reads_;
  std::uint32_t tagged_max_ = kPayloadMax;
  std::uint32_t next_read_number_ = 1;
  std::uint32_t sends_queued_ = 0;
  std::size_t front_sent_ = 0;   // bytes of the front piece that have left
  std::size_t built_bytes_ = 0;  // in pieces_, less front_sent_
  Message current_;
};

}  // namespace exs::iwarp
