// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "src/log/log.h"
#include "src/proto/connection.h"
#include "src/proto/hello.h"
#include "src/wire/messages.h"

using namespace exs;
using namespace exs::proto;

namespace hello_test {

Wishes wishes_of(std::uint32_t send, std::uint32_t receive, std::uint32_t small_bytes,
                 std::uint32_t read_depth) {
  return {SocketKind::kMessage, send, receive, small_bytes, read_depth, {}};
}

Wishes wishes_of_rank(std::uint32_t rank, std::uint32_t peer_rank, unsigned char key) {
  Wishes wishes = wishes_of(16, 16, 1024, 8);
  wishes.kind = SocketKind::kTagged;
  wishes.introduction.rank = rank;
  wishes.introduction.peer_rank = peer_rank;
  wishes.introduction.job_key[15] = std::byte{key};
  return wishes;
}

const Wishes kOurs = wishes_of(16, 32, 1024, 8);

std::vector<std::byte> bytes_of(const Hello& hello) {
  return {hello.view().begin(), hello.view().end()};
}

int error_of(const Wishes& ours, std::span<const std::byte> bytes) {
  const auto agreement = agree(ours, bytes);
  return agreement ? 0 : agreement.error().error();
}

}  // namespace hello_test

BOOST_AUTO_TEST_SUITE(hello_test)

BOOST_AUTO_TEST_CASE(the_hello_starts_with_the_magic_and_fits_private_data) {
  const Hello hello = make_hello(kOurs);
  BOOST_TEST(std::memcmp(hello.bytes.data(), "EXS1", 4) == 0);
  BOOST_TEST(hello.length_bytes <= kHelloBytesMax);
}

BOOST_AUTO_TEST_CASE(both_ends_compute_the_same_agreement) {
  const Wishes peer = wishes_of(20, 10, 4096, 4);
  const auto here = agree(kOurs, make_hello(peer).view());
  const auto there = agree(peer, make_hello(kOurs).view());
  BOOST_REQUIRE(here.has_value());
  BOOST_REQUIRE(there.has_value());
  // Expect: the lesser of what one wants to send and the other is ready to hold.
  BOOST_TEST(here->send_credits == 10U);
  BOOST_TEST(here->receive_credits == 20U);
  BOOST_TEST(there->send_credits == here->receive_credits);
  BOOST_TEST(there->receive_credits == here->send_credits);
  BOOST_TEST(here->small_bytes == 1024U);
  BOOST_TEST(there->small_bytes == 1024U);
  BOOST_TEST(here->reads_out == 4U);
  BOOST_TEST(here->reads_in == there->reads_out);
  BOOST_TEST(here->version == wire::kVersionMax);
}

BOOST_AUTO_TEST_CASE(wishes_beyond_the_wire_are_brought_into_range) {
  const Wishes greedy = wishes_of(0, 1'000'000, 0, 0);
  const auto agreement = agree(greedy, make_hello(greedy).view());
  BOOST_REQUIRE(agreement.has_value());
  // Expect: at least one credit and one read, at most what 16 bits hold.
  BOOST_TEST(agreement->send_credits == 1U);
  BOOST_TEST(agreement->receive_credits == 1U);
  BOOST_TEST(agreement->reads_out == 1U);
  BOOST_TEST(agreement->small_bytes == 0U);
}

BOOST_AUTO_TEST_CASE(a_hello_cut_anywhere_is_refused) {
  const auto whole = bytes_of(make_hello(kOurs));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    BOOST_TEST(error_of(kOurs, std::span(whole).first(length)) == EPROTO);
  }
}

BOOST_AUTO_TEST_CASE(padding_with_zeros_is_accepted_and_any_other_is_not) {
  for (const std::size_t length : {48U, 56U, 196U}) {  // as InfiniBand pads a request and an answer
    auto bytes = bytes_of(make_hello(kOurs));
    const std::size_t whole = bytes.size();
    bytes.resize(length);
    BOOST_TEST(error_of(kOurs, bytes) == 0);
    for (const std::size_t place : {whole, length / 2, length - 1}) {
      auto spoilt = bytes;
      spoilt[place] = std::byte{1};
      BOOST_TEST(error_of(kOurs, spoilt) == EPROTO);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_field_is_checked) {
  const auto whole = bytes_of(make_hello(kOurs));
  const auto with = [&whole](std::size_t offset, unsigned value) {
    auto bytes = whole;
    bytes[offset] = static_cast<std::byte>(value);
    return error_of(kOurs, bytes);
  };
  BOOST_TEST(with(wire::kHelloMagicOffset, 'X') == EPROTO);
  BOOST_TEST(with(wire::kHelloVersionMinOffset, 0) == EPROTO);
  BOOST_TEST(with(wire::kHelloVersionMinOffset, wire::kVersionMax + 1U) == EPROTO);  // above version_max
  BOOST_TEST(with(wire::kHelloVersionMaxOffset, 0) == EPROTO);
  BOOST_TEST(with(wire::kHelloKindOffset, 2) == EPROTOTYPE);
  BOOST_TEST(with(wire::kHelloKindOffset, 0) == EPROTOTYPE);
  BOOST_TEST(with(wire::kHelloReserved1Offset, 1) == EPROTO);
  BOOST_TEST(with(wire::kHelloReserved2Offset, 1) == EPROTO);
  BOOST_TEST(with(wire::kHelloSendCreditsOffset + 1, 0) == EPROTO);
  BOOST_TEST(with(wire::kHelloReceiveCreditsOffset + 1, 0) == EPROTO);
  BOOST_TEST(with(wire::kHelloReadDepthOffset + 1, 0) == EPROTO);
}

BOOST_AUTO_TEST_CASE(the_highest_common_version_is_taken) {
  auto bytes = bytes_of(make_hello(kOurs));
  bytes[wire::kHelloVersionMaxOffset] = std::byte{9};
  bytes[wire::kHelloReserved1Offset] = std::byte{0x55};
  bytes.push_back(std::byte{0x55});
  // Expect: a newer peer that still speaks ours is fine, whatever it put where ours has nothing.
  const auto agreement = agree(kOurs, bytes);
  BOOST_REQUIRE(agreement.has_value());
  BOOST_TEST(agreement->version == wire::kVersionMax);
  bytes[wire::kHelloVersionMinOffset] = std::byte{wire::kVersionMax + 1};
  BOOST_TEST(error_of(kOurs, bytes) == EPROTONOSUPPORT);
}

BOOST_AUTO_TEST_CASE(a_rejection_tells_its_reason) {
  for (const int reason : {ECONNREFUSED, EPROTONOSUPPORT, EPROTOTYPE}) {
    BOOST_TEST(rejection_reason(make_rejection(reason).view()).error() == reason);
  }
  // Expect: anything else is a plain refusal.
  BOOST_TEST(rejection_reason(make_rejection(EIO).view()).error() == ECONNREFUSED);
  BOOST_TEST(rejection_reason({}).error() == ECONNREFUSED);
  // Expect: the same with zeros behind it, as InfiniBand pads it; zeros alone say nothing.
  for (const int reason : {ECONNREFUSED, EPROTONOSUPPORT, EPROTOTYPE, EOPNOTSUPP}) {
    auto padded = bytes_of(make_rejection(reason));
    padded.resize(148);
    BOOST_TEST(is_rejection(padded));
    BOOST_TEST(rejection_reason(padded).error() == reason);
  }
  BOOST_TEST(!is_rejection(std::vector<std::byte>(148)));
  BOOST_TEST(!is_rejection({}));
  BOOST_TEST(!is_rejection(make_hello(kOurs).view()));
  BOOST_TEST(rejection_reason(make_hello(kOurs).view()).error() == ECONNREFUSED);
  auto unknown = bytes_of(make_rejection(EPROTOTYPE));
  unknown[wire::kRejectReasonOffset] = std::byte{1};
  BOOST_TEST(rejection_reason(unknown).error() == ECONNREFUSED);
  // Expect: a rejection is no hello.
  BOOST_TEST(error_of(kOurs, make_rejection(EPROTOTYPE).view()) == EPROTO);
}

BOOST_AUTO_TEST_CASE(the_depths_leave_room_for_every_message) {
  Agreement agreement;
  agreement.send_credits = 5;
  agreement.receive_credits = 7;
  agreement.reads_out = 3;
  agreement.reads_in = 2;
  const LinkDepths depths = link_depths(agreement);
  BOOST_TEST(depths.receives == 5U + 7U + 5U + 12U);
  BOOST_TEST(depths.sends == depths.receives);
  BOOST_TEST(depths.reads_out == 3U);
  BOOST_TEST(depths.reads_in == 2U);
}

BOOST_AUTO_TEST_CASE(ranks_of_a_job_know_each_other) {
  Wishes ours = wishes_of_rank(3, 5, 1);
  Wishes listening = wishes_of_rank(5, Introduction::kAnyRank, 1);
  ours.introduction.eager_bytes_log2 = 16;
  ours.introduction.adverts_log2 = 9;
  const auto there = agree(listening, make_hello(ours).view());
  BOOST_REQUIRE(there.has_value());
  BOOST_TEST(there->tagged.peer_rank == 3U);
  BOOST_TEST(there->tagged.eager_bytes_out == 1U << 16U);
  BOOST_TEST(there->tagged.eager_bytes_in == 1U << 20U);
  BOOST_TEST(there->tagged.adverts_out == 512U);
  BOOST_TEST(there->tagged.adverts_in == 256U);
  const auto here = agree(ours, make_hello(wishes_of_rank(5, 3, 1)).view());
  BOOST_REQUIRE(here.has_value());
  BOOST_TEST(here->tagged.peer_rank == 5U);
}

BOOST_AUTO_TEST_CASE(ends_without_ranks_know_each_other_by_id) {
  const auto wishes_of = [](std::uint64_t id, std::uint64_t peer_id) {
    Wishes wishes = wishes_of_rank(0, Introduction::kAnyRank, 1);
    wishes.introduction.id = id;
    wishes.introduction.peer_id = peer_id;
    return wishes;
  };
  constexpr std::uint64_t kId = 0x123456789abcdef0, kPeerId = UINT64_MAX;
  const auto there = agree(wishes_of(kPeerId, 0), make_hello(wishes_of(kId, kPeerId)).view());
  BOOST_REQUIRE(there.has_value());
  BOOST_TEST(there->tagged.peer_id == kId);
  BOOST_TEST(agree(wishes_of(kId, kPeerId), make_hello(wishes_of(kPeerId, kId)).view()).has_value());
  BOOST_TEST(error_of(wishes_of(kId, kPeerId), make_hello(wishes_of(3, kId)).view()) == EACCES);
  BOOST_TEST(error_of(wishes_of(kId, 0), make_hello(wishes_of_rank(3, 0, 1)).view()) == EACCES);
  BOOST_TEST(error_of(wishes_of_rank(0, Introduction::kAnyRank, 1), make_hello(wishes_of(kId, 0)).view()) ==
             EACCES);
}

BOOST_AUTO_TEST_CASE(strangers_are_turned_away) {
  const Wishes listening = wishes_of_rank(5, Introduction::kAnyRank, 1);
  BOOST_TEST(error_of(listening, make_hello(wishes_of_rank(3, 5, 2)).view()) == EACCES);  // another job
  // The request means another rank.
  BOOST_TEST(error_of(listening, make_hello(wishes_of_rank(3, 4, 1)).view()) == EACCES);
  BOOST_TEST(error_of(wishes_of_rank(3, 5, 1), make_hello(wishes_of_rank(6, 3, 1)).view()) == EACCES);
  BOOST_TEST(error_of(listening, make_hello(kOurs).view()) == EPROTOTYPE);
  BOOST_TEST(error_of(kOurs, make_hello(listening).view()) == EPROTOTYPE);
  for (const int why : {EACCES, EALREADY})
    BOOST_TEST(rejection_reason(make_rejection(why).view()).error() == why);
}

BOOST_AUTO_TEST_CASE(an_introduction_that_makes_no_sense_is_malformed) {
  const Wishes listening = wishes_of_rank(5, Introduction::kAnyRank, 1);
  const auto with = [&](std::size_t offset, unsigned char value) {
    auto bytes = bytes_of(make_hello(wishes_of_rank(3, 5, 1)));
    bytes[offset] = std::byte{value};
    return error_of(listening, bytes);
  };
  BOOST_TEST(with(wire::kHelloEagerOffset, 9) == EPROTO);
  BOOST_TEST(with(wire::kHelloEagerOffset, 31) == EPROTO);
  BOOST_TEST(with(wire::kHelloAdvertsOffset, 21) == EPROTO);
  BOOST_TEST(with(wire::kHelloByIdOffset, 2) == EPROTO);
  BOOST_TEST(with(wire::kHelloReserved3Offset, 1) == EPROTO);
  auto bytes = bytes_of(make_hello(wishes_of_rank(3, 5, 1)));
  bytes[wire::kHelloVersionMaxOffset] = std::byte{1};
  BOOST_TEST(error_of(listening, bytes) == 0);
  for (const std::size_t reserved : {wire::kHelloReserved1Offset, wire::kHelloReserved2Offset}) {
    bytes[reserved] = std::byte{1};
    BOOST_TEST(error_of(listening, bytes) == EPROTO);  // of a version without the job's size
    bytes[reserved] = std::byte{0};
  }
  bytes.pop_back();
  BOOST_TEST(error_of(listening, bytes) == EPROTO);
}

// The end that refuses says both numbers, and both ends have them in words.
BOOST_AUTO_TEST_CASE(ends_that_count_their_job_differently_refuse_each_other) {
  const auto of_size = [](Wishes wishes, std::uint32_t size) {
    wishes.introduction.job_size = size;
    return wishes;
  };
  const auto words_of = [](Status status) {
    std::array<char, 512> room{};
    return std::string(room.data(), text_of_fault(status, room));
  };
  const Wishes asking = wishes_of_rank(3, 5, 1), listening = wishes_of_rank(5, Introduction::kAnyRank, 1);
  constexpr std::uint32_t kMany = (1U << 20U) - 1;
  BOOST_TEST(error_of(of_size(listening, kMany), make_hello(of_size(asking, kMany)).view()) == 0);
  const Hello hello = make_hello(of_size(asking, kMany));
  const auto refused = agree(of_size(listening, 7), hello.view());
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().error() == ERANGE);
  BOOST_TEST(words_of(refused.error())
                 .find("rank 3 counts 1048575 ranks in the job, and rank 5, which this is, "
                       "counts 7") == 0U);
  auto rejection = bytes_of(make_rejection(refused.error(), of_size(listening, 7), hello.view()));
  const Status reason = rejection_reason(rejection);
  BOOST_TEST(reason.error() == ERANGE);
  BOOST_TEST(words_of(reason).find("it counts 7 ranks in the job, and this process 1048575") == 0U);
  rejection.resize(wire::kRejectBytes);  // cut short
  BOOST_TEST(rejection_reason(rejection).error() == ECONNREFUSED);
  // A stranger hears no number.
  Wishes stranger = of_size(wishes_of_rank(3, 5, 2), 9);
  BOOST_TEST(error_of(of_size(listening, 7), make_hello(stranger).view()) == EACCES);
  const auto short_one = make_rejection(Status(EACCES), of_size(listening, 7), make_hello(stranger).view());
  BOOST_TEST(short_one.length_bytes == wire::kRejectBytes);
  // Who does not say, or does not count, is not refused for it.
  BOOST_TEST(error_of(of_size(listening, 7), make_hello(asking).view()) == 0);
  BOOST_TEST(error_of(listening, hello.view()) == 0);
  auto older = bytes_of(make_hello(asking));
  older[wire::kHelloVersionMaxOffset] = std::byte{1};
  BOOST_TEST(error_of(of_size(listening, 7), older) == 0);
  BOOST_TEST(agree(listening, older)->version == 1);
}

BOOST_AUTO_TEST_SUITE_END()
