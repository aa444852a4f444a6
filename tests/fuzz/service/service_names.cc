// What strangers send by multicast or relay: datagrams and records; and what users type: IDs, addresses, capabilities.
// No fuzzer forges a signature, so some records are signed here, and then changed a little or not at all.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>

#include "base/socket_address.h"
#include "service/names/address.h"
#include "service/names/capability.h"
#include "service/names/datagram.h"
#include "service/names/id.h"
#include "service/names/key.h"
#include "service/names/record.h"
#include "tests/fuzz/fuzz.h"

namespace exs::fuzz::service_names {

using namespace exs::svc;

void read_text(const std::string& text) {
  static_cast<void>(parse_id(text));
  if (const auto address = parse_address(text)) static_cast<void>(text_of(*address));
  if (const auto capability = parse_capability(text)) static_cast<void>(text_of(*capability));
}

const Key& signer() {
  static const std::array<std::uint8_t, Key::kSeedBytes> seed{1, 2, 3};
  static const Key key(seed);
  return key;
}

void relay(Input& input) {
  Record record{signer().public_key(), input.below(5), input.below(5), {}};
  for (std::size_t count = 1 + input.below(kAddressesMax); count > 0; --count)
    record.addresses.push_back(*exs::parse_address(input.one_in(2) ? "10.0.0.1:80" : "[::1]:7000"));
  auto bytes = encode_record(record, signer());
  if (input.one_in(3)) bytes[input.below(bytes.size())] ^= static_cast<std::uint8_t>(input.below(256));
  const auto read = decode_record(bytes, signer().id());
  if (read)
    hold(read->addresses.size() == record.addresses.size() && read->epoch == record.epoch, "the same record");
  DatagramNonce nonce{};
  auto sealed = encode_sealed(DatagramType::kAnswer, signer().id(), nonce, bytes);
  if (input.one_in(3)) sealed[input.below(sealed.size())] ^= static_cast<std::uint8_t>(input.below(256));
  const auto datagram = decode_datagram(sealed);
  if (datagram) static_cast<void>(open_record(*datagram, signer().id()));
}

}  // namespace exs::fuzz::service_names

EXS_FUZZ_TARGET(service_names) {
  using namespace exs::fuzz::service_names;
  const auto what = input.below(4);
  if (what == 3) return relay(input);
  if (what == 0) return read_text(input.rest_of_text());
  const auto own = input.rest();
  const exs::svc::Bytes bytes(reinterpret_cast<const std::uint8_t*>(own.data()), own.size());
  if (what == 1) {
    if (const auto record = decode_record(bytes))
      exs::fuzz::hold(!record->addresses.empty() && record->addresses.size() <= kAddressesMax,
                      "a record has addresses");
    return;
  }
  const auto datagram = decode_datagram(bytes);
  if (datagram) static_cast<void>(open_record(*datagram, exs::svc::IdBytes{}));
}
