// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/datagram.h"

#include "service/names/hash.h"
#include "service/names/key.h"

namespace exs::svc {
namespace {

constexpr std::uint32_t kDatagramMagic = 0x4558534d;  // "EXSM"
constexpr std::uint8_t kDatagramVersion = 1;
static_assert(kSealBytes ==
              crypto_aead_xchacha20poly1305_ietf_NPUBBYTES + crypto_aead_xchacha20poly1305_ietf_ABYTES);

std::array<std::uint8_t, crypto_aead_xchacha20poly1305_ietf_KEYBYTES> seal_key(const IdBytes& id) {
  return Hash<crypto_aead_xchacha20poly1305_ietf_KEYBYTES>("exs-svc seal").add(id).end();
}

void write_head(Writer& to, DatagramType type, const PublicName& name, const DatagramNonce& nonce) {
  to.number(kDatagramMagic);
  to.number(static_cast<std::uint8_t>(type));
  to.number(kDatagramVersion);
  to.number(std::uint16_t{0});
  to.raw(name);
  to.raw(nonce);
}

}  // namespace

std::vector<std::uint8_t> encode_query(const PublicName& name, const DatagramNonce& nonce) {
  std::vector<std::uint8_t> bytes(kDatagramMax);
  Writer writer(bytes);
  write_head(writer, DatagramType::kQuery, name, nonce);
  return bytes;
}

std::vector<std::uint8_t> encode_sealed(DatagramType type, const IdBytes& id, const DatagramNonce& nonce,
                                        Bytes record) {
  std::vector<std::uint8_t> bytes(kSealedAt + kSealBytes + record.size());
  Writer writer(bytes);
  write_head(writer, type, public_name(id), nonce);
  std::array<std::uint8_t, crypto_aead_xchacha20poly1305_ietf_NPUBBYTES> own;
  fill_random(own);
  writer.raw(own);
  const auto key = seal_key(id);
  crypto_aead_xchacha20poly1305_ietf_encrypt(bytes.data() + writer.written_bytes(), nullptr, record.data(),
                                             record.size(), bytes.data(), kSealedAt, nullptr, own.data(),
                                             key.data());
  return bytes;
}

std::optional<Datagram> decode_datagram(Bytes bytes) {
  if (bytes.size() > kDatagramMax) return {};
  Reader reader(bytes);
  const auto magic = reader.number<std::uint32_t>();
  const auto type = reader.number<std::uint8_t>();
  const auto version = reader.number<std::uint8_t>();
  const auto nothing = reader.number<std::uint16_t>();
  Datagram datagram{static_cast<DatagramType>(type), reader.array<16>(), reader.array<16>(), bytes};
  const Bytes rest = reader.raw(reader.left_bytes());
  if (!reader.good() || magic != kDatagramMagic || version != kDatagramVersion || nothing != 0) return {};
  switch (datagram.type) {
    case DatagramType::kQuery: {
      const bool is_padding = std::all_of(rest.begin(), rest.end(), [](auto byte) { return byte == 0; });
      return bytes.size() == kDatagramMax && is_padding ? std::optional(datagram) : std::nullopt;
    }
    case DatagramType::kAnswer:
    case DatagramType::kAnnouncement:
      return rest.size() > kSealBytes ? std::optional(datagram) : std::nullopt;
  }
  return {};
}

std::optional<OpenedRecord> open_record(const Datagram& datagram, const IdBytes& id) {
  if (datagram.type == DatagramType::kQuery || datagram.name != public_name(id)) return {};
  Reader reader(datagram.whole);
  const Bytes head = reader.raw(kSealedAt);
  const Bytes own = reader.raw(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES);
  const Bytes sealed = reader.raw(reader.left_bytes());
  const auto key = seal_key(id);
  std::vector<std::uint8_t> bytes(kRecordMax);
  unsigned long long count = 0;
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(bytes.data(), &count, nullptr, sealed.data(), sealed.size(),
                                                 head.data(), head.size(), own.data(), key.data()) != 0)
    return {};
  bytes.resize(count);
  std::optional<Record> record = decode_record(bytes, id);
  if (!record) return {};
  return OpenedRecord{std::move(*record), std::move(bytes)};
}

}  // namespace exs::svc
