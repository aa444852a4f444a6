// exs_xdr_bytes() points into messages of exs, and is xdr_bytes() everywhere else.
// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/sunrpc/no_copy.h"

#include <rpc/rpc.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "exs/sunrpc.h"

namespace no_copy_test {

using exs::rpc::DecodedMessage;

// "hello" as opaque data, padded, and a number behind it.
struct Message {
  alignas(8) std::array<char, 16> bytes{};
  Message() {
    XDR stream{};
    xdrmem_create(&stream, bytes.data(), 16, XDR_ENCODE);
    char text[] = "hello";
    char* data = text;
    u_int length = 5;
    u_int number = 42;
    BOOST_REQUIRE(exs_xdr_bytes(&stream, &data, &length, 5) != 0);
    BOOST_REQUIRE(xdr_u_int(&stream, &number) != 0);
  }
  [[nodiscard]] bool has(const char* data) const { return data == bytes.data() + 4; }
  [[nodiscard]] std::span<const std::byte> span() const { return std::as_bytes(std::span(bytes)); }
  // The stream of its decoding.
  XDR open(u_int length = 16) {
    XDR stream{};
    xdrmem_create(&stream, bytes.data(), length, XDR_DECODE);
    return stream;
  }
};

struct Decoded {
  char* data = nullptr;
  u_int length = 0;

  bool decode(XDR& stream, u_int most = 100) { return exs_xdr_bytes(&stream, &data, &length, most) != 0; }
  void free() {
    XDR stream{};
    stream.x_op = XDR_FREE;
    BOOST_TEST(exs_xdr_bytes(&stream, &data, &length, 100) != 0);
    BOOST_TEST(data == nullptr);
  }
};

}  // namespace no_copy_test

BOOST_AUTO_TEST_SUITE(no_copy_test)

BOOST_AUTO_TEST_CASE(of_a_message_of_exs_nothing_is_copied) {
  Message message;
  const DecodedMessage decoded(message.span());
  XDR stream = message.open();
  Decoded got;
  BOOST_TEST(got.decode(stream));
  BOOST_TEST(message.has(got.data));
  BOOST_TEST(got.length == 5);
  u_int number = 0;
  BOOST_TEST(xdr_u_int(&stream, &number) != 0);
  BOOST_TEST(number == 42);
  got.free();
}

BOOST_AUTO_TEST_CASE(all_else_is_copied_and_freed) {
  Message message;
  const Message other;
  const DecodedMessage decoded(other.span());
  XDR stream = message.open();
  Decoded got;
  BOOST_TEST(got.decode(stream));
  BOOST_TEST(!message.has(got.data));
  BOOST_TEST(std::memcmp(got.data, "hello", 5) == 0);
  got.free();
}

BOOST_AUTO_TEST_CASE(a_scope_ends) {
  Message message;
  { const DecodedMessage decoded(message.span()); }
  XDR stream = message.open();
  Decoded got;
  BOOST_TEST(got.decode(stream));
  BOOST_TEST(!message.has(got.data));
  got.free();
}

BOOST_AUTO_TEST_CASE(lengths_that_lie) {
  Message message;
  const DecodedMessage decoded(message.span());
  Decoded got;
  XDR stream = message.open();
  BOOST_TEST(!got.decode(stream, 4));
  stream = message.open(8);
  BOOST_TEST(!got.decode(stream));
  stream = message.open(2);
  BOOST_TEST(!got.decode(stream));
  for (const int byte : {0xff, 0x7f}) {
    std::memset(message.bytes.data(), byte, 4);
    stream = message.open();
    BOOST_TEST(!got.decode(stream, UINT32_MAX));
  }
  BOOST_TEST(got.data == nullptr);
  std::memset(message.bytes.data(), 0, 4);
  stream = message.open();
  BOOST_TEST(got.decode(stream));
  BOOST_TEST((got.data == nullptr && got.length == 0));
}

BOOST_AUTO_TEST_SUITE_END()
