// Where a service is: a statement of the service, signed by it, so anybody may relay it. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <vector>

#include "service/names/key.h"

namespace exs::svc {

inline constexpr std::size_t kAddressesMax = 4;
inline constexpr std::size_t kRecordMax = 1 + 8 + 8 + 32 + 1 + kAddressesMax * (1 + 2 + 16) + 64;

struct Record {
  PublicKey key{};
  std::uint64_t epoch = 0;                  // the higher one is newer
  std::uint64_t instance = 0;               // another number after each start
  std::vector<sockaddr_storage> addresses;  // 1..kAddressesMax, of IPv4 and IPv6
};

std::vector<std::uint8_t> encode_record(const Record& record, const Key& key);
// Returns the record if its signature is valid, else nothing. With an ID, the record must belong to that service.
std::optional<Record> decode_record(Bytes bytes);
std::optional<Record> decode_record(Bytes bytes, const IdBytes& id);

// Compares two records of one service.
inline bool is_newer(const Record& one, const Record& other) {
  return one.epoch != other.epoch ? one.epoch > other.epoch : one.instance > other.instance;
}

}  // namespace exs::svc
