// The private data of a connection, of any provider: what two ends agree on, and what a rejection says.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/hello.h"

#include "src/provider/shm/identity.h"
#include "src/wire/codec.h"
#include "tests/fuzz/fuzz.h"

namespace exs::fuzz::wire_hello {

proto::Wishes any_wishes(Input& input) {
  proto::Wishes wishes;
  wishes.kind = static_cast<proto::SocketKind>(1 + input.below(3));
  wishes.send_credits = 1 + static_cast<std::uint32_t>(input.below(300));
  wishes.receive_credits = 1 + static_cast<std::uint32_t>(input.below(300));
  wishes.small_bytes = static_cast<std::uint32_t>(input.below(70'000));
  wishes.read_depth = 1 + static_cast<std::uint32_t>(input.below(64));
  wishes.introduction.rank = static_cast<std::uint32_t>(input.below(4));
  wishes.introduction.peer_rank =
      input.one_in(2) ? proto::Introduction::kAnyRank : static_cast<std::uint32_t>(input.below(4));
  wishes.introduction.id = input.below(3);
  wishes.introduction.peer_id = input.below(3);
  wishes.introduction.job_size = static_cast<std::uint32_t>(input.below(5));
  return wishes;
}

void check(const proto::Wishes& wishes, const proto::Agreement& agreed) {
  hold(agreed.kind == wishes.kind, "the kinds are the same");
  hold(agreed.send_credits > 0 && agreed.send_credits <= wishes.send_credits, "no more credits than wanted");
  hold(agreed.receive_credits > 0 && agreed.receive_credits <= wishes.receive_credits,
       "no more credits than held");
  hold(agreed.small_bytes <= wishes.small_bytes, "no longer messages than wanted");
  hold(agreed.reads_in <= wishes.read_depth && agreed.reads_out <= wishes.read_depth,
       "no more reads than wanted");
  static_cast<void>(proto::link_depths(agreed));
}

}  // namespace exs::fuzz::wire_hello

EXS_FUZZ_TARGET(wire_hello) {
  using exs::fuzz::Bytes;
  using namespace exs::fuzz::wire_hello;
  const auto wishes = any_wishes(input);
  // A hello of another end, changed a little or not at all; or anything.
  Bytes bytes;
  if (input.one_in(2)) {
    const auto hello = exs::proto::make_hello(any_wishes(input));
    bytes.assign(hello.view().begin(), hello.view().end());
    while (!input.has_ended()) bytes[input.below(bytes.size())] = static_cast<std::byte>(input.below(256));
  } else {
    bytes = input.rest();
  }
  const auto agreed = exs::proto::agree(wishes, bytes);
  if (agreed) {
    check(wishes, *agreed);
  } else {
    static_cast<void>(exs::proto::make_rejection(agreed.error(), wishes, bytes));
  }
  if (exs::proto::is_rejection(bytes)) static_cast<void>(exs::proto::rejection_reason(bytes));
  static_cast<void>(exs::proto::rejection_reason(bytes));
  static_cast<void>(exs::shm::Invitation::decode(bytes));
}
