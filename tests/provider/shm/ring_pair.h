// A segment with its writer and its reader, and messages that tell when a byte is wrong.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "src/provider/shm/ring.h"
#include "tests/support/pattern.h"

namespace exs::test {

struct RingPair {
  RingPair() {
    auto made = shm::Mapping::create(shm::kSegmentBytes, descriptor);
    if (!made) std::abort();
    mapping = std::move(*made);
    writer = shm::RingWriter(mapping.bytes());
    reader = shm::RingReader(mapping.bytes());
  }
  std::byte* at(std::size_t offset) { return mapping.bytes().data() + offset; }
  // Byte `offset` of slot `number`.
  std::byte* slot(std::uint64_t number, std::size_t offset = 0) {
    return at(shm::kSlotsOffset + number % shm::kSlots * shm::kSlotBytes + offset);
  }
  template <typename Integer>
  void poke(std::byte* where, Integer value) {
    shm::shared_word<Integer>(where).store(value);
  }
  template <typename Integer>
  Integer look(std::byte* where) {
    return shm::shared_word<Integer>(where).load();
  }

  UniqueFd descriptor;
  shm::Mapping mapping;
  shm::RingWriter writer;
  shm::RingReader reader;
};

// Message `number` of any length: no two beginnings are the same, nor are bytes a slot apart.
EXS_NOT_INSTRUMENTED inline std::vector<std::byte> numbered_message(std::uint64_t number,
                                                                    std::size_t length_bytes) {
  std::vector<std::byte> message(length_bytes);
  std::byte* const to = message.data();
  for (std::size_t i = 0; i < length_bytes; ++i) {
    to[i] = static_cast<std::byte>((number * 0x9E37'79B9U + i * 31 + i / 120 + (number >> 8U)) & 0xFFU);
  }
  return message;
}

inline shm::RecordHeader numbered_header(std::uint64_t number) {
  shm::RecordHeader header;
  header.link = static_cast<std::uint32_t>(number * 3 + 1);
  header.kind = static_cast<std::uint16_t>(number % 60'000);
  header.flags = static_cast<std::uint16_t>(~number);
  return header;
}

// Some length for message `number`: mostly small, sometimes the longest.
inline std::size_t numbered_length(std::uint64_t number) {
  const std::uint64_t dice = number * 0x9E37'79B9'7F4A'7C15U >> 32U;
  if (dice % 64 == 0) return shm::kRecordBytesMax - dice / 64 % 2;
  if (dice % 8 == 0) return dice / 8 % shm::kRecordBytesMax;
  return dice / 8 % 300;
}

inline bool write_numbered(shm::RingWriter& writer, std::uint64_t number) {
  const auto message = numbered_message(number, numbered_length(number));
  const std::size_t cut = message.empty() ? 0 : number * 7 % (message.size() + 1);
  const std::span<const std::byte> all(message);
  return writer.write(numbered_header(number), all.first(cut), all.subspan(cut));
}

// The record that peek() showed is message `number`.
inline bool is_numbered(const shm::RingReader& reader, const shm::RecordHeader& header,
                        std::uint64_t number) {
  const shm::RecordHeader expected = numbered_header(number);
  const auto message = numbered_message(number, numbered_length(number));
  if (header.link != expected.link || header.kind != expected.kind || header.flags != expected.flags ||
      header.length_bytes != message.size()) {
    return false;
  }
  std::vector<std::byte> found(message.size());
  const std::size_t cut = message.empty() ? 0 : number * 5 % (message.size() + 1);
  reader.copy(cut, std::span(found).subspan(cut));
  reader.copy(0, std::span(found).first(cut));
  return equal_bytes(found, message);
}

}  // namespace exs::test
