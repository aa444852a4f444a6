// SPDX-License-Identifier: BSD-2-Clause
#include "src/wire/paths.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/log/log.h"

namespace exs::wire {
namespace {

constexpr std::size_t kFixedBytes = 6;
constexpr std::uint8_t kRequest = 1;
constexpr std::uint8_t kReply = 2;

static_assert(kFixedBytes + kPathsWordsBytesMax + 1 <= kPathsBytesMax);

PathsBytes block(std::uint8_t kind, std::array<std::uint8_t, 3> fields, std::span<const std::byte> rest,
                 std::uint8_t device_reason) {
  PathsBytes made;
  made.length = kFixedBytes + rest.size() + 1;
  made.bytes[0] = static_cast<std::byte>(kind);
  for (std::size_t i = 0; i < fields.size(); ++i) made.bytes[2 + i] = static_cast<std::byte>(fields[i]);
  made.bytes[5] = static_cast<std::byte>(rest.size());
  std::copy(rest.begin(), rest.end(), made.bytes.begin() + kFixedBytes);
  made.bytes[made.length - 1] = static_cast<std::byte>(device_reason);
  return made;
}

// Returns the bytes after the fixed ones, which it checks. ENOMSG, EPROTO.
Result<std::span<const std::byte>> rest_of(std::span<const std::byte> private_data, std::uint8_t kind,
                                           std::size_t longest) {
  if (private_data.size() <= kPathsOffset) return failure(ENOMSG);
  const auto from = private_data.subspan(kPathsOffset);
  if (from[0] == std::byte{0}) return failure(ENOMSG);  // padding
  const bool whole = from.size() >= kFixedBytes && from[0] == static_cast<std::byte>(kind) &&
                     from[1] == std::byte{0} && static_cast<std::size_t>(from[5]) <= longest &&
                     from.size() >= kFixedBytes + static_cast<std::size_t>(from[5]);
  if (whole) return from.subspan(kFixedBytes, static_cast<std::size_t>(from[5]));
  return failure(
      fault(LogLevel::kWarn, EPROTO, "malformed paths block of {} bytes, kind {}", from.size(), from[0]));
}

// Behind the rest; an older version sends none.
std::uint8_t device_reason_of(std::span<const std::byte> private_data, std::size_t rest_bytes) {
  const std::size_t offset = kPathsOffset + kFixedBytes + rest_bytes;
  return offset < private_data.size() ? static_cast<std::uint8_t>(private_data[offset]) : std::uint8_t{0};
}

std::uint8_t field(std::span<const std::byte> private_data, std::size_t index) {
  return static_cast<std::uint8_t>(private_data[kPathsOffset + 2 + index]);
}

}  // namespace

PathsBytes encode(const PathsRequest& request) {
  return block(kRequest, {request.allowed, request.preferred, request.shm_reason},
               request.words.first(std::min(request.words.size(), kPathsWordsBytesMax)),
               request.device_reason);
}

PathsBytes encode(const PathsReply& reply) {
  const std::string_view fact = reply.fact.substr(0, kPathsFactBytesMax);
  return block(kReply, {reply.chosen, reply.refused, reply.reason}, std::as_bytes(std::span(fact)),
               reply.device_reason);
}

Result<PathsRequest> decode_paths_request(std::span<const std::byte> private_data) {
  const auto words = rest_of(private_data, kRequest, kPathsWordsBytesMax);
  if (!words) return failure(words.error());
  return PathsRequest{field(private_data, 0), field(private_data, 1), field(private_data, 2), *words,
                      device_reason_of(private_data, words->size())};
}

Result<PathsReply> decode_paths_reply(std::span<const std::byte> private_data) {
  const auto fact = rest_of(private_data, kReply, kPathsFactBytesMax);
  if (!fact) return failure(fact.error());
  return PathsReply{field(private_data, 0),
                    field(private_data, 1),
                    field(private_data, 2),
                    {reinterpret_cast<const char*>(fact->data()), fact->size()},
                    device_reason_of(private_data, fact->size())};
}

}  // namespace exs::wire
