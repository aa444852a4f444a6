// One direction's message ring in shared memory: written by one process, read by one other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/status.h"
#include "src/base/unique_fd.h"

namespace exs::shm {

// A memfd that is sealed against shrinking and growing, and mapped.
class Mapping {
 public:
  // New and zero. ENOMEM, EMFILE, EPERM ...: memfd_create, or what followed, was refused.
  static Result<Mapping> create(std::size_t bytes, UniqueFd& descriptor_out);
  // Of a peer. EPROTO: not a memfd of this very size with both seals.
  static Result<Mapping> of_peer(int descriptor, std::size_t bytes);
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// What a message is to the two ports; the rest of the meaning is link.h's.
struct RecordHeader {
  std::uint32_t link = 0;   // the reader's link number; 0: to the channel
  std::uint16_t kind = 0;   // link.h
  std::uint16_t flags = 0;
  std::uint32_t length_bytes = 0;
};

inline constexpr std::size_t kRecordBytesMax = 72 * 1024;  // the protocol's longest message, and then some

// Thread: shard of the writing port.
class RingWriter {
 public:
  RingWriter() = default;
  explicit RingWriter(std::span<std::byte> segment);  // ours: made anew
  // Appends `first` and `second` as one record; the reader sees all of it or nothing. False: no room now.
  bool write(const RecordHeader& header, std::span<const std::byte> first,
             std::span<const std::byte> second = {});
  // No room was found: the reader is asked to ring when there is.
  void ask_for_room();
  // EPROTO: the reader's side of the segment holds nonsense.
  [[nodiscard]] Status status() const noexcept;
};

// A record in the ring. `copy` may be called with parts, in order.
class Record;

// Thread: shard of the reading port.
class RingReader {
 public:
  RingReader() = default;
  explicit RingReader(std::span<std::byte> segment);  // the peer's
  // The oldest record. False: none yet, or status() is not ok.
  bool peek(RecordHeader& header);
  // Copies `into.size()` bytes of the record, from `offset` (both within length_bytes).
  void copy(std::size_t offset, std::span<std::byte> into) const;
  // Done with it. True: the writer waits for room and must be rung.
  bool pop();
  [[nodiscard]] Status status() const noexcept;
};

}  // namespace exs::shm
