// Multicast datagrams: FORMAT.md in code, layout and seals. A name does not reveal the ID, and a record is sealed for those who know the
// ID. A query is as long as the longest answer, so a forged source address amplifies nothing. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <vector>

#include "service/names/id.h"
#include "service/names/record.h"

namespace exs::svc {

using DatagramNonce = std::array<std::uint8_t, 16>;

enum class DatagramType : std::uint8_t {
  kQuery = 1,        // to all: where is the service?
  kAnswer = 2,       // to the sender of a query, or of an older record
  kAnnouncement = 3  // to all: the service is here now
};

inline constexpr std::size_t kSealedAt = 4 + 4 + 16 + 16;
inline constexpr std::size_t kSealBytes = 24 + 16;
inline constexpr std::size_t kDatagramMax = kSealedAt + kSealBytes + kRecordMax;

struct Datagram {
  DatagramType type = DatagramType::kQuery;
  PublicName name{};
  DatagramNonce nonce{};
  Bytes whole;  // bytes of the receiver's buffer
};

std::vector<std::uint8_t> encode_query(const PublicName& name, const DatagramNonce& nonce);
// `type` is kAnswer or kAnnouncement.
std::vector<std::uint8_t> encode_sealed(DatagramType type, const IdBytes& id, const DatagramNonce& nonce,
                                        Bytes record);
std::optional<Datagram> decode_datagram(Bytes bytes);
struct OpenedRecord {
  Record record;
  std::vector<std::uint8_t> bytes;
};
// Returns the record of this service. Empty if there is none, or if its seal does not match the ID.
std::optional<OpenedRecord> open_record(const Datagram& datagram, const IdBytes& id);

}  // namespace exs::svc
