// What moves with a service.
// SPDX-License-Identifier: BSD-2-Clause
#include "service/wire/handover.h"
#include "tests/fuzz/fuzz.h"

EXS_FUZZ_TARGET(service_handover) {
  using namespace exs::svc;
  const auto own = input.rest();
  const Bytes bytes(reinterpret_cast<const std::uint8_t*>(own.data()), own.size());
  static_cast<void>(decode_handover_head(bytes));
  const auto handover = decode_handover(bytes);
  if (!handover) return;
  const auto encoded = encode_handover(*handover);
  const auto again = decode_handover(encoded);
  exs::fuzz::hold(again && again->flows.size() == handover->flows.size() &&
                      again->messages.size() == handover->messages.size(),
                  "the same handover");
}
