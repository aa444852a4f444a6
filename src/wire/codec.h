// Bytes to messages and back. Layout only: whether a message is allowed at this point is for src/proto to
// say. Thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "src/base/status.h"
#include "src/wire/messages.h"

namespace exs::wire {

using FixedBytes = std::array<std::byte, kLongestFixedBytes>;

// Writes the fixed part of `message` (all of it but an immediate's payload) to the start of `into`; returns
// the bytes written.
std::span<const std::byte> encode(const Message& message, FixedBytes& into);

// EPROTO, with a log line: too short, too long, unknown type or status, a field set that must be zero, a
// window that wraps around the address space.
Result<Message> decode(std::span<const std::byte> bytes);

void encode_hello(const HelloFields& fields, std::span<std::byte, kHelloBytes> into);
// EPROTO: no magic, too short, version range upside down, credits or read depth zero. A hello that speaks
// only version 1 must end in zeros; what follows the fields of a later one is not ours to judge.
Result<HelloFields> decode_hello(std::span<const std::byte> bytes);

void encode_rejection(RejectReason reason, std::span<std::byte, kRejectBytes> into);
// EPROTO: no magic, too short or an unknown reason.
Result<RejectReason> decode_rejection(std::span<const std::byte> bytes);

}  // namespace exs::wire
