// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/record.h"

namespace exs::svc {
namespace {

constexpr std::uint8_t kRecordVersion = 1;
constexpr std::uint8_t kIp4 = 4;
constexpr std::uint8_t kIp6 = 6;

void write_address(Writer& to, const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    const auto& ip6 = reinterpret_cast<const sockaddr_in6&>(address);
    to.number(kIp6);
    to.number(ntohs(ip6.sin6_port));
    to.raw(ip6.sin6_addr.s6_addr);
    return;
  }
  const auto& ip4 = reinterpret_cast<const sockaddr_in&>(address);
  to.number(kIp4);
  to.number(ntohs(ip4.sin_port));
  to.number(ntohl(ip4.sin_addr.s_addr));
}

bool read_address(Reader& from, sockaddr_storage& address) {
  const auto family = from.number<std::uint8_t>();
  const auto port = from.number<std::uint16_t>();
  address = {};
  if (family == kIp4) {
    auto& ip4 = reinterpret_cast<sockaddr_in&>(address);
    ip4.sin_family = AF_INET;
    ip4.sin_port = htons(port);
    ip4.sin_addr.s_addr = htonl(from.number<std::uint32_t>());
  } else if (family == kIp6) {
    auto& ip6 = reinterpret_cast<sockaddr_in6&>(address);
    ip6.sin6_family = AF_INET6;
    ip6.sin6_port = htons(port);
    const Bytes bytes = from.raw(sizeof ip6.sin6_addr);
    std::copy(bytes.begin(), bytes.end(), ip6.sin6_addr.s6_addr);
  } else {
    return false;
  }
  return from.good();
}

Statement statement_of(Bytes content) {
  return Hash<32>("exs-svc record").add(content).end();
}

}  // namespace

std::vector<std::uint8_t> encode_record(const Record& record, const Key& key) {
  std::vector<std::uint8_t> bytes(kRecordMax);
  Writer writer(bytes);
  writer.number(kRecordVersion);
  writer.number(record.epoch);
  writer.number(record.instance);
  writer.raw(record.key);
  const std::size_t count = std::min(record.addresses.size(), kAddressesMax);
  writer.number(static_cast<std::uint8_t>(count));
  for (std::size_t i = 0; i < count; ++i) write_address(writer, record.addresses[i]);
  writer.raw(key.sign(statement_of(Bytes(bytes).first(writer.written_bytes()))));
  bytes.resize(writer.written_bytes());
  return bytes;
}

std::optional<Record> decode_record(Bytes bytes, const IdBytes& id) {
  std::optional<Record> record = decode_record(bytes);
  return record && id_of(record->key) == id ? std::move(record) : std::nullopt;
}

std::optional<Record> decode_record(Bytes bytes) {
  Reader reader(bytes);
  Record record;
  const auto version = reader.number<std::uint8_t>();
  record.epoch = reader.number<std::uint64_t>();
  record.instance = reader.number<std::uint64_t>();
  record.key = reader.array<32>();
  const auto count = reader.number<std::uint8_t>();
  if (!reader.good() || version != kRecordVersion || count < 1 || count > kAddressesMax) return {};
  record.addresses.resize(count);
  for (sockaddr_storage& address : record.addresses) {
    if (!read_address(reader, address)) return {};
  }
  const std::size_t signed_bytes = bytes.size() - reader.left_bytes();
  const Signature signature = reader.array<64>();
  if (!reader.ended()) return {};
  if (!is_signed(statement_of(bytes.first(signed_bytes)), signature, record.key)) return {};
  return record;
}

}  // namespace exs::svc
