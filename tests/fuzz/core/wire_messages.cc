// Everything that src/wire decodes: control messages, with what a short cut decodes as the whole decoder does, hellos, rejections, paths.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstring>

#include "src/wire/codec.h"
#include "src/wire/paths.h"
#include "tests/fuzz/fuzz.h"

namespace exs::fuzz::wire_messages {

using namespace exs::wire;

bool is_short_cut(MessageType type) {
  return type == MessageType::kImmediate;
}

void decode_message(const Bytes& bytes) {
  const auto message = decode(bytes);
  TaggedHead tagged;
  const bool is_tagged = decode_tagged(bytes, tagged);
  if (is_tagged)
    hold(message && message->header.type == MessageType::kTagged, "a tagged message is one to decode(), too");
  if (bytes.size() >= kHeaderBytes) {
    Header header;
    const bool is_immediate =
        decode_immediate(std::span<const std::byte, kHeaderBytes>(bytes.data(), kHeaderBytes), header);
    if (is_immediate)
      hold(message && is_short_cut(message->header.type), "an immediate is one to decode(), too");
  }
  if (!message) return;
  FixedBytes room;
  const auto fixed = encode(*message, room);
  hold(fixed.size() == fixed_bytes(message->header), "the length of the fixed part");
  hold(fixed.size() <= bytes.size() && std::memcmp(fixed.data(), bytes.data(), fixed.size()) == 0,
       "what is decoded is encoded to the same bytes");
  hold(message->payload_bytes == bytes.size() - fixed.size(), "the rest is payload");
  if (message->header.type != MessageType::kAdvert || (message->header.flags & kList) == 0) return;
  const auto list = std::span(bytes).subspan(fixed.size());
  for (std::size_t i = 0; i < list.size() / kListEntryBytes; ++i)
    hold(list_entry(list, i).length_bytes > 0, "no window of a list is empty");
}

void decode_private_data(const Bytes& bytes) {
  if (const auto hello = decode_hello(bytes))
    hold(hello->version_min <= hello->version_max, "versions in order");
  static_cast<void>(decode_rejection(bytes));
  static_cast<void>(decode_job_sizes(bytes));
  if (const auto request = decode_paths_request(bytes)) {
    hold(request->words.size() <= kPathsWordsBytesMax, "an invitation fits");
    static_cast<void>(encode(*request));
  }
  if (const auto reply = decode_paths_reply(bytes)) static_cast<void>(encode(*reply));
}

}  // namespace exs::fuzz::wire_messages

EXS_FUZZ_TARGET(wire_messages) {
  using namespace exs::fuzz::wire_messages;
  const bool is_private_data = input.below(4) == 0;
  const auto bytes = input.rest();
  is_private_data ? decode_private_data(bytes) : decode_message(bytes);
}
