// Messages to a directory and from it, and the leases that they change.
// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/directory_wire.h"
#include "tests/fuzz/fuzz.h"
#include "tools/directory/leases.h"

namespace exs::fuzz::service_directory {

using namespace exs::svc;

void read_stream(std::span<const std::byte> own) {
  svc::Bytes left(reinterpret_cast<const std::uint8_t*>(own.data()), own.size());
  for (;;) {
    const auto length = directory_message_bytes(left);
    if (!length || *length == 0) return;
    hold(*length <= kDirectoryMessageMax, "a message is not too long");
    if (*length > left.size()) return;
    if (const auto message = decode_directory(left.first(*length))) {
      std::vector<std::uint8_t> again;
      append_directory(again, *message);
      hold(decode_directory(again).has_value(), "an encoded message is one");
    }
    left = left.subspan(*length);
  }
}

constexpr std::size_t kEntriesMax = 8, kOfOneMax = 4;

Leases::Entry any_entry(Input& input) {
  Leases::Entry entry;
  entry.record.key[0] = static_cast<std::uint8_t>(input.below(12));
  entry.record.epoch = input.below(4);
  entry.record.instance = input.below(3);
  entry.bytes.resize(1 + input.below(4));
  entry.holder = 1 + input.below(4);
  entry.lease_ns = static_cast<std::int64_t>(1 + input.below(100));
  entry.is_fenced = input.one_in(2);
  return entry;
}

// Some holders, some services, and a clock.
void change_leases(Input& input) {
  std::int64_t now = 0;
  Leases leases(
      kEntriesMax, kOfOneMax, [](const IdBytes&, const Leases::Entry&, Leases::Holder) {},
      [&input](const Leases::Entry&) { return !input.one_in(8); });
  for (int steps = 0; steps < 200 && !input.has_ended(); ++steps) {
    const Leases::Holder holder = 1 + input.below(4);
    switch (input.below(8)) {
      case 0: leases.renew(holder, now); break;
      case 1: leases.release(holder, id_of(any_entry(input).record.key), now); break;
      case 2: leases.leave(holder, now); break;
      case 3: now += static_cast<std::int64_t>(input.below(200)); break;
      case 4: leases.end_late(now); break;
      case 5: leases.wait_until(now + static_cast<std::int64_t>(input.below(50))); break;
      default: {
        Leases::Entry entry = any_entry(input);
        entry.until_ns = now + entry.lease_ns;
        static_cast<void>(leases.claim(std::move(entry), now));
        break;
      }
    }
    hold(leases.entries().size() <= kEntriesMax, "no more services than there is room for");
    for (Leases::Holder one = 1; one <= 4; ++one)
      hold(leases.held_by(one) <= kOfOneMax, "no more of one holder than it may have");
  }
}

}  // namespace exs::fuzz::service_directory

EXS_FUZZ_TARGET(service_directory) {
  using namespace exs::fuzz::service_directory;
  if (input.one_in(2)) return change_leases(input);
  read_stream(input.rest());
}
