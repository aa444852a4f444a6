// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/resolver.h"

#include "service/names/address.h"

namespace exs::svc {

std::vector<std::uint8_t> encode_publication(const Publication& place, bool with_loopback) {
  Record record = place.record;
  if (!with_loopback)
    std::erase_if(record.addresses, [](const auto& address) { return is_loopback(address); });
  return record.addresses.empty() ? std::vector<std::uint8_t>() : encode_record(record, place.key);
}

}  // namespace exs::svc
