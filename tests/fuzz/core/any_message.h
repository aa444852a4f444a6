// Control messages that are right in form, with fields that are nearly right.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "src/provider/provider.h"
#include "src/wire/codec.h"
#include "tests/fuzz/fuzz.h"

namespace exs::fuzz {

// What the peer has counted so far.
struct MessageNumbers {
  std::uint32_t data = 1;             // of its next data message
  std::vector<std::uint32_t> ours;    // of messages that it may answer
  std::deque<std::uint32_t> adverts;  // of ours, without an answer
  std::size_t heard = 0;              // of ours

  // Looks at what we have said since.
  void hear(const std::vector<Bytes>& said) {
    for (; heard < said.size(); ++heard) {
      const auto message = wire::decode(said[heard]);
      if (!message || message->header.sequence == 0) continue;
      ours.push_back(message->header.sequence);
      if (message->header.type == wire::MessageType::kAdvert) adverts.push_back(message->header.sequence);
    }
  }
};

inline wire::Advert any_window(Input& input, const std::vector<RemoteSlice>& windows) {
  if (windows.empty() || input.one_in(6))
    return {input.number<std::uint64_t>(), input.near(100), input.number<std::uint32_t>()};
  const RemoteSlice& window = windows[input.below(windows.size())];
  wire::Advert advert{window.address, window.length_bytes, window.key};
  if (input.one_in(4)) advert.length_bytes = 1 + input.below(window.length_bytes);
  return advert;
}

inline wire::Label any_label(Input& input) {
  wire::Label label;
  label.bits = input.one_in(8) ? input.number<std::uint64_t>() : input.below(4);
  label.data = input.below(5);
  label.returned_bytes = input.one_in(3) ? static_cast<std::uint32_t>(input.near(64)) : 0;
  label.id = static_cast<std::uint32_t>(input.below(4));
  return label;
}

inline std::uint32_t any_sequence(Input& input, wire::MessageType type, MessageNumbers& numbers) {
  if (input.one_in(8)) return static_cast<std::uint32_t>(input.near(numbers.data));
  if (wire::is_data(type)) return numbers.data++;
  if (type == wire::MessageType::kAck && !numbers.adverts.empty() && !input.one_in(4)) {
    const std::uint32_t oldest = numbers.adverts.front();
    numbers.adverts.pop_front();
    return oldest;
  }
  if (numbers.ours.empty() || input.one_in(4)) return static_cast<std::uint32_t>(input.below(8));
  return input.one_in(2) ? numbers.ours.back() : numbers.ours[input.below(numbers.ours.size())];
}

// More often than others those that answer something, or carry data.
inline wire::MessageType any_type(Input& input) {
  using enum wire::MessageType;
  static constexpr std::array kFrequent{kAdvert, kImmediate,    kAck,    kAck,     kCredit,
                                        kOffer,  kNotice,       kRevoke, kRelease, kRecallAck,
                                        kTagged, kTaggedAdvert, kFetch};
  return input.one_in(3) ? static_cast<wire::MessageType>(1 + input.below(23)) : input.pick(kFrequent);
}

inline Bytes any_message(Input& input, const std::vector<RemoteSlice>& windows, MessageNumbers& numbers) {
  wire::Message message;
  const auto type = any_type(input);
  message.header.type = type;
  message.header.flags = input.one_in(3) ? static_cast<std::uint8_t>(input.below(32)) : 0;
  message.header.credits = input.one_in(2) ? static_cast<std::uint16_t>(input.below(3)) : 0;
  if (input.one_in(32)) message.header.credits = input.number<std::uint16_t>();
  message.header.sequence = any_sequence(input, type, numbers);
  message.advert = any_window(input, windows);
  message.target_offset = input.below(200);
  message.ack = {static_cast<wire::AckStatus>(input.one_in(3) ? input.below(6) : 0), input.below(160)};
  message.usage = {input.below(200), input.below(200), static_cast<std::uint32_t>(input.below(3))};
  message.total_bytes = input.near(message.usage.bytes);
  message.label = any_label(input);
  message.held_bytes = input.near(100);
  message.ignore = input.below(4);
  wire::FixedBytes room;
  const auto fixed = wire::encode(message, room);
  Bytes bytes(fixed.begin(), fixed.end());
  if (!wire::is_data(type)) return bytes;
  const bool is_list = type == wire::MessageType::kTaggedAdvert || type == wire::MessageType::kFetched ||
                       (type == wire::MessageType::kAdvert && (message.header.flags & wire::kList) != 0);
  if (!is_list || input.one_in(8)) {
    const std::size_t payload = input.below(72);
    bytes.resize(bytes.size() + payload, std::byte{0x5a});
    return bytes;
  }
  const std::size_t entries = 1 + input.below(3);
  const std::size_t start = bytes.size();
  bytes.resize(start + entries * wire::kListEntryBytes);
  for (std::size_t i = 0; i < entries; ++i)
    wire::encode_list_entry(any_window(input, windows), std::span(bytes).subspan(start), i);
  return bytes;
}

}  // namespace exs::fuzz
