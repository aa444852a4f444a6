// Messages with tags and without, as an application of libfabric sends and receives them.
// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fabric/world.h"

namespace exs::test {
namespace {

constexpr std::uint64_t kWideTag = 0x4000'0000'1234'5678;
constexpr std::uint64_t kAllTagBits = ~std::uint64_t{0};

ssize_t tsend(Side& side, Bytes bytes, fi_addr_t to, std::uint64_t tag, void* context = nullptr) {
  const Bytes& from = side.keep(std::move(bytes));
  return fi_tsend(side.ep.get(), from.data(), from.size(), nullptr, to, tag, context);
}

ssize_t trecv(Side& side, Bytes& into, std::uint64_t tag, std::uint64_t ignore = 0,
              fi_addr_t from = FI_ADDR_UNSPEC, void* context = nullptr) {
  return fi_trecv(side.ep.get(), into.data(), into.size(), nullptr, from, tag, ignore, context);
}

ssize_t trecvmsg(Side& side, Bytes& into, std::uint64_t tag, std::uint64_t ignore, std::uint64_t flags,
                 void* context) {
  const iovec piece{into.data(), into.size()};
  fi_msg_tagged message{};
  message.msg_iov = &piece;
  message.iov_count = 1;
  message.addr = FI_ADDR_UNSPEC;
  message.tag = tag;
  message.ignore = ignore;
  message.context = context;
  return fi_trecvmsg(side.ep.get(), &message, flags);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(transfers, TwoSides)

BOOST_AUTO_TEST_CASE(a_message_of_any_length_arrives_whole) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{9000}, std::size_t{3 << 20}}) {
    BOOST_TEST_CONTEXT(bytes << " bytes") {
      const Bytes& sent = a.keep(pattern(bytes, 1));
      Bytes got(bytes);
      int here = 0, there = 0;
      BOOST_REQUIRE_EQUAL(trecv(b, got, kWideTag, 0, FI_ADDR_UNSPEC, &there), 0);
      BOOST_REQUIRE_EQUAL(tsend(a, sent, to_b, kWideTag, &here), 0);
      const fi_cq_tagged_entry received = b.next();
      BOOST_TEST(received.op_context == &there);
      BOOST_TEST(received.flags == (FI_RECV | FI_TAGGED));
      BOOST_TEST(received.len == bytes);
      BOOST_TEST(received.tag == kWideTag);
      BOOST_TEST((got == sent));
      const fi_cq_tagged_entry left = a.next();
      BOOST_TEST(left.op_context == &here);
      BOOST_TEST(left.flags == (FI_SEND | FI_TAGGED));
    }
  }
}

BOOST_AUTO_TEST_CASE(messages_with_and_without_tags_do_not_mix) {
  Bytes tagged(8), untagged(8);
  const Bytes &one = a.keep(pattern(8, 1)), &two = a.keep(pattern(8, 2));
  BOOST_REQUIRE_EQUAL(trecv(b, tagged, 0, kAllTagBits), 0);
  BOOST_REQUIRE_EQUAL(fi_recv(b.ep.get(), untagged.data(), 8, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  BOOST_REQUIRE_EQUAL(fi_send(a.ep.get(), one.data(), 8, nullptr, to_b, nullptr), 0);
  BOOST_TEST(b.next().flags == (FI_RECV | FI_MSG));
  BOOST_TEST((untagged == one));
  BOOST_REQUIRE_EQUAL(tsend(a, two, to_b, 0), 0);
  BOOST_TEST(b.next().flags == (FI_RECV | FI_TAGGED));
  BOOST_TEST((tagged == two));
}

BOOST_AUTO_TEST_CASE(data_goes_with_a_message) {
  Bytes got(8);
  const Bytes& sent = a.keep(pattern(8, 1));
  BOOST_REQUIRE_EQUAL(trecv(b, got, kWideTag), 0);
  BOOST_REQUIRE_EQUAL(
      fi_tsenddata(a.ep.get(), sent.data(), 8, nullptr, 0xfedc'ba98'7654'3210, to_b, kWideTag, nullptr), 0);
  const fi_cq_tagged_entry received = b.next();
  BOOST_TEST(received.flags == (FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA));
  BOOST_TEST(received.data == 0xfedc'ba98'7654'3210U);
  BOOST_REQUIRE_EQUAL(fi_recv(b.ep.get(), got.data(), 8, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  BOOST_REQUIRE_EQUAL(fi_injectdata(a.ep.get(), sent.data(), 8, 5, to_b), 0);
  BOOST_TEST(b.next().data == 5U);
}

// Nobody hears of it, and the memory is free at once.
BOOST_AUTO_TEST_CASE(injected_messages_leave_no_completion) {
  Bytes memory = pattern(64, 1);
  BOOST_REQUIRE_EQUAL(fi_tinject(a.ep.get(), memory.data(), 64, to_b, kWideTag), 0);
  std::fill(memory.begin(), memory.end(), 0);
  Bytes got(64);
  BOOST_REQUIRE_EQUAL(trecv(b, got, kWideTag), 0);
  b.next();
  BOOST_TEST((got == pattern(64, 1)));
  BOOST_TEST(a.is_quiet());
  const Bytes longer(a.info->tx_attr->inject_size + 1);
  BOOST_TEST(fi_tinject(a.ep.get(), longer.data(), longer.size(), to_b, kWideTag) == -FI_EMSGSIZE);
}

BOOST_AUTO_TEST_CASE(receives_may_name_the_source) {
  Side c;
  const fi_addr_t c_to_b = c.know(b);
  const fi_addr_t a_at_b = b.know(a), c_at_b = b.know(c);
  Bytes from_a(8), from_c(8), from_any(8);
  BOOST_REQUIRE_EQUAL(trecv(b, from_a, kWideTag, 0, a_at_b), 0);
  BOOST_REQUIRE_EQUAL(trecv(b, from_c, kWideTag, 0, c_at_b), 0);
  BOOST_REQUIRE_EQUAL(tsend(c, pattern(8, 3), c_to_b, kWideTag), 0);
  fi_addr_t source = FI_ADDR_NOTAVAIL;
  b.next(&source);
  BOOST_TEST(source == c_at_b);
  BOOST_TEST((from_c == pattern(8, 3)));
  BOOST_REQUIRE_EQUAL(tsend(a, pattern(8, 4), to_b, kWideTag), 0);
  b.next(&source);
  BOOST_TEST(source == a_at_b);
  BOOST_TEST((from_a == pattern(8, 4)));
}

BOOST_AUTO_TEST_CASE(a_source_that_is_not_in_the_vector_has_no_address) {
  Bytes got(8);
  BOOST_REQUIRE_EQUAL(trecv(b, got, kWideTag), 0);
  BOOST_REQUIRE_EQUAL(tsend(a, pattern(8, 1), to_b, kWideTag), 0);
  fi_addr_t source = 0;
  b.next(&source);
  BOOST_TEST(source == FI_ADDR_NOTAVAIL);
}

BOOST_AUTO_TEST_CASE(several_pieces_are_one_message) {
  const Bytes& sent = a.keep(pattern(3000, 1));
  auto* const from = const_cast<std::uint8_t*>(sent.data());
  const iovec out[] = {{from, 10}, {from + 10, 0}, {from + 10, 2990}};
  Bytes got(3000);
  const iovec in[] = {{got.data(), 2000}, {got.data() + 2000, 1000}};
  BOOST_REQUIRE_EQUAL(fi_trecvv(b.ep.get(), in, nullptr, 2, FI_ADDR_UNSPEC, kWideTag, 0, nullptr), 0);
  BOOST_REQUIRE_EQUAL(fi_tsendv(a.ep.get(), out, nullptr, 3, to_b, kWideTag, nullptr), 0);
  BOOST_TEST(b.next().len == 3000U);
  BOOST_TEST((got == sent));
}

BOOST_AUTO_TEST_CASE(a_longer_message_is_cut_and_an_error) {
  Bytes got(10);
  BOOST_REQUIRE_EQUAL(trecv(b, got, kWideTag, 0, FI_ADDR_UNSPEC, &got), 0);
  BOOST_REQUIRE_EQUAL(tsend(a, pattern(30, 1), to_b, kWideTag), 0);
  const fi_cq_err_entry error = b.next_error();
  BOOST_TEST(error.err == FI_ETRUNC);
  BOOST_TEST(error.op_context == &got);
  BOOST_TEST(error.len == 10U);
  BOOST_TEST(error.olen == 20U);
}

BOOST_AUTO_TEST_CASE(a_receive_can_be_cancelled) {
  Bytes got(8), other(8);
  BOOST_REQUIRE_EQUAL(trecv(b, got, kWideTag, 0, FI_ADDR_UNSPEC, &got), 0);
  BOOST_REQUIRE_EQUAL(trecv(b, other, kWideTag, 0, FI_ADDR_UNSPEC, &other), 0);
  BOOST_REQUIRE_EQUAL(fi_cancel(&b.ep->fid, &got), 0);
  const fi_cq_err_entry error = b.next_error();
  BOOST_TEST(error.err == FI_ECANCELED);
  BOOST_TEST(error.op_context == &got);
  BOOST_TEST(fi_cancel(&b.ep->fid, &got) == -FI_ENOENT);
  BOOST_REQUIRE_EQUAL(tsend(a, pattern(8, 1), to_b, kWideTag), 0);
  BOOST_TEST(b.next().op_context == &other);
}

BOOST_AUTO_TEST_CASE(a_delivery_completes_when_it_is_matched) {
  const Bytes& sent = a.keep(pattern(8, 1));
  const iovec piece{const_cast<std::uint8_t*>(sent.data()), 8};
  fi_msg_tagged message{};
  message.msg_iov = &piece;
  message.iov_count = 1;
  message.addr = to_b;
  message.tag = kWideTag;
  BOOST_REQUIRE_EQUAL(fi_tsendmsg(a.ep.get(), &message, FI_DELIVERY_COMPLETE | FI_COMPLETION), 0);
  Bytes got(8);
  fi_cq_tagged_entry entry{};
  BOOST_REQUIRE_EQUAL(trecvmsg(b, got, kWideTag, 0, FI_PEEK, nullptr), 0);
  BOOST_TEST(a.is_quiet());
  while (fi_cq_read(b.cq.get(), &entry, 1) == -FI_EAVAIL) {  // it has not come yet
    fi_cq_err_entry error{};
    fi_cq_readerr(b.cq.get(), &error, 0);
    BOOST_REQUIRE_EQUAL(error.err, FI_ENOMSG);
    BOOST_REQUIRE_EQUAL(trecvmsg(b, got, kWideTag, 0, FI_PEEK, nullptr), 0);
  }
  BOOST_TEST(a.is_quiet());
  BOOST_REQUIRE_EQUAL(trecv(b, got, kWideTag), 0);
  a.next();
}

namespace {

// Peeks until a message is there.
fi_cq_tagged_entry peek(Side& side, std::uint64_t tag, std::uint64_t ignore, std::uint64_t flags,
                        void* context) {
  Bytes nothing;
  fi_cq_tagged_entry entry{};
  for (;;) {
    BOOST_REQUIRE_EQUAL(trecvmsg(side, nothing, tag, ignore, FI_PEEK | flags, context), 0);
    if (fi_cq_sread(side.cq.get(), &entry, 1, nullptr, kWaitMs) == 1) return entry;
    fi_cq_err_entry error{};
    BOOST_REQUIRE_EQUAL(fi_cq_readerr(side.cq.get(), &error, 0), 1);
    BOOST_REQUIRE_EQUAL(error.err, FI_ENOMSG);
    BOOST_REQUIRE(error.op_context == context);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_message_is_peeked_at_claimed_and_received) {
  BOOST_REQUIRE_EQUAL(tsend(a, pattern(20, 1), to_b, kWideTag), 0);
  BOOST_REQUIRE_EQUAL(tsend(a, pattern(20, 2), to_b, kWideTag), 0);
  fi_context context{};
  fi_cq_tagged_entry entry = peek(b, 0, kAllTagBits, 0, &context);
  BOOST_TEST(entry.len == 20U);
  BOOST_TEST(entry.tag == kWideTag);
  BOOST_TEST(entry.op_context == &context);
  peek(b, kWideTag, 0, FI_CLAIM, &context);
  // The other one is all that is left for others.
  Bytes got(20);
  BOOST_REQUIRE_EQUAL(trecv(b, got, kWideTag), 0);
  b.next();
  BOOST_TEST((got == pattern(20, 2)));
  BOOST_REQUIRE_EQUAL(trecvmsg(b, got, kWideTag, 0, FI_CLAIM, &context), 0);
  BOOST_TEST(b.next().op_context == &context);
  BOOST_TEST((got == pattern(20, 1)));
  BOOST_TEST(trecvmsg(b, got, kWideTag, 0, FI_CLAIM, &context) == -FI_EINVAL);
}

BOOST_AUTO_TEST_CASE(a_message_can_be_discarded) {
  for (int i = 0; i < 3; ++i)
    BOOST_REQUIRE_EQUAL(tsend(a, pattern(20, 1), to_b, kWideTag + static_cast<unsigned>(i)), 0);
  fi_context context{};
  peek(b, kWideTag, 0, FI_DISCARD, &context);
  peek(b, kWideTag + 1, 0, FI_CLAIM, &context);
  Bytes nothing;
  BOOST_REQUIRE_EQUAL(trecvmsg(b, nothing, 0, 0, FI_CLAIM | FI_DISCARD, &context), 0);
  BOOST_TEST(b.next().op_context == &context);
  BOOST_TEST(peek(b, 0, kAllTagBits, 0, &context).tag == kWideTag + 2);
}

BOOST_AUTO_TEST_CASE(messages_of_a_source_come_in_order) {
  constexpr unsigned kMessages = 500;
  std::vector<Bytes> sent;
  for (unsigned i = 0; i < kMessages; ++i) {
    sent.push_back(pattern(i % 7 == 0 ? 50'000 : 16, i));
    BOOST_REQUIRE_EQUAL(tsend(a, sent.back(), to_b, i % 3), 0);
  }
  for (unsigned i = 0; i < kMessages; ++i) {
    Bytes got(sent[i].size());
    BOOST_REQUIRE_EQUAL(trecv(b, got, 0, kAllTagBits), 0);
    BOOST_REQUIRE_EQUAL(b.next().tag, i % 3);
    BOOST_REQUIRE(got == sent[i]);
  }
  for (unsigned i = 0; i < kMessages; ++i) a.next();
}

BOOST_AUTO_TEST_CASE(a_message_to_oneself_arrives) {
  const fi_addr_t self = a.know(a);
  Bytes got(8);
  BOOST_REQUIRE_EQUAL(trecv(a, got, kWideTag, 0, self, &got), 0);
  BOOST_REQUIRE_EQUAL(fi_tinject(a.ep.get(), pattern(8, 1).data(), 8, self, kWideTag), 0);
  BOOST_TEST(a.next().op_context == &got);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
