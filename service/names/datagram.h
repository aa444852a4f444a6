// What is said by multicast: FORMAT.md in code, layout and seals. A name says nothing of the ID, and a record is sealed for those who
// know the ID. A question is as long as the longest answer, so nobody gets more sent to a third party than he has sent. Thread: any.
#pragma once

#include <optional>
#include <vector>

#include "service/names/id.h"
#include "service/names/record.h"

namespace exs::svc {

using DatagramNonce = std::array<std::uint8_t, 16>;

enum class DatagramType : std::uint8_t {
  kQuery = 1,        // to all: where is it?
  kAnswer = 2,       // to who has asked, or has announced an older record
  kAnnouncement = 3  // to all: it is here now
};

inline constexpr std::size_t kSealedAt = 4 + 4 + 16 + 16;
inline constexpr std::size_t kSealBytes = 24 + 16;
inline constexpr std::size_t kDatagramMax = kSealedAt + kSealBytes + kRecordMax;

struct Datagram {
  DatagramType type = DatagramType::kQuery;
  PublicName name{};
  DatagramNonce nonce{};
  Bytes whole;  // of who has received it
};

std::vector<std::uint8_t> encode_query(const PublicName& name, const DatagramNonce& nonce);
// kAnswer or kAnnouncement.
std::vector<std::uint8_t> encode_sealed(DatagramType type, const IdBytes& id, const DatagramNonce& nonce,
                                        Bytes record);
std::optional<Datagram> decode_datagram(Bytes bytes);
struct OpenedRecord {
  Record record;
  std::vector<std::uint8_t> bytes;
};
// That of this service; nothing, if there is none, or if it has not been sealed by who knows the ID.
std::optional<OpenedRecord> open_record(const Datagram& datagram, const IdBytes& id);

}  // namespace exs::svc
