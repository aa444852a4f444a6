// The receiving half of a connection after the handshake: any split of the byte stream in, placed bytes and
// finished messages out. Knows no socket, so a test can feed it byte by byte.
//
// Design notes
//  1. Every header is checked before one byte of its payload is placed; a message is reported only after the
//     CRC of its last FPDU. A bad CRC can leave placed bytes behind, but only in memory the peer may write.
//  2. Between calls nothing of the input is kept but a partial header or trailer.
//  3. After the first fault, or a Terminate of the peer, all further input is ignored.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/fifo.h"
#include "src/provider/iwarp/fpdu.h"
#include "src/provider/iwarp/read_budget.h"
#include "src/provider/iwarp/terminate.h"
#include "src/provider/posted_receives.h"
#include "src/provider/window_table.h"

namespace exs::iwarp {

// Called synchronously, in stream order. It must not call back into the receiver, except to take new posts.
class ReceiverClient {
 public:
  virtual ~ReceiverClient() = default;
  // Offers a message instead of a posted receive. True: taken; the receive can take another message, and its
  // token is not reported. May end the stream.
  virtual bool takes_message(std::span<const std::byte> message) = 0;
  virtual void message_received(std::uint64_t token, std::uint32_t length_bytes) = 0;
  virtual void read_completed(std::uint64_t token) = 0;
  // A checked request; `source` is its first byte. The answer is owed until Receiver::read_answered().
  virtual void read_requested(const ReadRequest& request, const std::byte* source) = 0;
};

enum class ReceiverState : std::uint8_t { kOpen, kFaulted, kTerminated };

// The peer's violation, and the code to send.
struct ReceiverFault {
  TerminateCode code;
  const char* what = "";
  std::size_t header_bytes = 0;  // of header() that are worth quoting
  bool is_ours = false;          // the peer did nothing wrong: memory of ours is gone
};

struct PostedRead {
  std::span<std::byte> memory;
  std::uint32_t sink_stag = 0;
  std::uint64_t token = 0;
};

// Thread: shard.
class Receiver {
 public:
  Receiver(ReceiverClient& client, WindowTable& windows, ReadBudget& reads) noexcept
      : client_(client), windows_(windows), reads_(reads) {}

  void configure(bool crc, std::uint32_t inbound_reads_max) noexcept;

  void post_receive(const PostedReceive& receive) { receives_.push(receive); }
  // Call it in the order of the requests.
  void post_read(const PostedRead& read) { posted_reads_.push_back(read); }
  void read_answered() noexcept { --inbound_reads_; }

  // Takes all of `bytes`. False once the stream is over (state() says how).
  bool consume(std::span<const std::byte> bytes);

  // The destination of the next payload, so that it can be received there directly. Empty between payloads.
  // After n bytes of it were filled, call placed(n).
  [[nodiscard]] std::span<std::byte> payload_target() const noexcept;
  void placed(std::size_t bytes);
  // The bytes between that payload and the next one: the trailer and a tagged header.
  [[nodiscard]] std::size_t bytes_between_payloads() const noexcept;
  // Much payload is expected that is worth receiving directly.
  [[nodiscard]] bool bulk_expected() const noexcept;

  [[nodiscard]] bool at_fpdu_boundary() const noexcept { return stage_ == Stage::kHeader && collected_ == 0; }
  [[nodiscard]] bool writes_into(std::uint32_t stag) const noexcept;
  [[nodiscard]] bool crc_on() const noexcept { return crc_on_; }
  [[nodiscard]] bool fpdu_seen() const noexcept { return fpdus_ > 0; }
  // The number so far, including FPDUs that complete nothing.
  [[nodiscard]] std::uint64_t fpdus() const noexcept { return fpdus_; }

  [[nodiscard]] ReceiverState state() const noexcept { return state_; }
  [[nodiscard]] const ReceiverFault& fault() const noexcept { return fault_; }
  [[nodiscard]] std::span<const std::byte> header() const noexcept { return header_; }
  [[nodiscard]] std::span<const std::byte> terminate_word() const noexcept { return terminate_word_; }

  // Includes the one that is being filled.
  [[nodiscard]] std::size_t receives_posted() const noexcept {
    return receives_.count() + (filling_.has_value() ? 1 : 0);
  }
  // Takes them away, the oldest first; the one that is being filled comes last.
  template <typename Each>
  void take_receives(Each&& each) {
    const PostedReceives taken = std::exchange(receives_, {});
    const std::optional<PostedReceive> last = std::exchange(filling_, std::nullopt);
    taken.for_each(each);
    if (last) each(*last);
  }
  void drop_receives() noexcept {
    receives_.clear();
    filling_.reset();
  }
  [[nodiscard]] Fifo<PostedRead>& reads() noexcept { return posted_reads_; }
  // Forgets posts and targets; further input is ignored.
  void stop() noexcept;

 private:
  enum class Stage : std::uint8_t { kHeader, kPayload, kTrailer };

  // The steady case of all that follows: a whole SEND in one FPDU at the head of `bytes`. False: it is something else, or wrong, and
  // nothing has changed.
  bool take_short(std::span<const std::byte>& bytes);
  bool take_header(std::span<const std::byte>& bytes);
  void take_payload(std::span<const std::byte>& bytes);
  bool take_trailer(std::span<const std::byte>& bytes);
  // Fills header_ or trailer_ up to `wanted` bytes; true when that many are there.
  bool collect(std::span<std::byte> into, std::size_t wanted, std::span<const std::byte>& bytes);

  bool check_controls();
  bool begin_fpdu();
  bool begin_write(const TaggedHeader& header);
  bool begin_read_response(const TaggedHeader& header);
  bool begin_send(const UntaggedHeader& header);
  bool begin_read_request(const UntaggedHeader& header);
  bool begin_terminate(const UntaggedHeader& header);
  bool finish_fpdu();
  bool finish_read_request();
  void finish_send();
  void finish_read_response();

  bool fail(TerminateCode code, const char* what, bool quote_header);
  // False: the program has unmapped it, which ends the stream.
  bool still_has(std::span<const std::byte> memory);
  void advance_payload(std::size_t bytes);
  [[nodiscard]] bool is_whole_message(std::span<const std::byte> bytes) const noexcept;

  ReceiverClient& client_;
  WindowTable& windows_;
  ReadBudget& reads_;

  // What every short message touches comes first, as in IwarpLink.
  ReceiverState state_ = ReceiverState::kOpen;
  Stage stage_ = Stage::kHeader;
  bool crc_on_ = false;
  Opcode opcode_ = Opcode::kWrite;
  bool last_ = false;
  std::uint8_t collected_ = 0;      // bytes of header_ or trailer_ that are there
  std::uint8_t header_wanted_ = 0;  // 0: not known yet
  std::uint32_t payload_left_ = 0;
  std::uint32_t payload_bytes_ = 0;
  std::uint32_t next_message_[kQueues] = {1, 1, 1};
  std::uint64_t fpdus_ = 0;
  PostedReceives receives_;
  std::optional<PostedReceive> filling_;  // by the SEND in progress

  std::byte* target_ = nullptr;  // next payload byte; null: the payload is dropped
  std::uint32_t running_crc_ = 0;
  std::uint32_t message_bytes_ = 0;  // of the SEND in progress
  std::uint32_t read_bytes_ = 0;     // of the oldest read, already placed
  std::uint32_t inbound_reads_ = 0;
  std::uint32_t inbound_reads_max_ = 0;
  std::array<std::byte, kHeaderBytesMax> header_{};
  std::array<std::byte, kTrailerBytesMax> trailer_{};
  std::array<std::byte, kTerminateWordBytes> terminate_word_{};
  ReceiverFault fault_;
  // A whole SEND in the bytes that are being consumed. Most are taken from there, without writing to a
  // receive.
  std::span<const std::byte> unplaced_;
  Fifo<PostedRead> posted_reads_;
};

}  // namespace exs::iwarp
