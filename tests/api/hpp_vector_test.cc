// The C++ layer: vectors, files and polls that coroutines await.
// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>

#include "tests/api/hpp_pair.h"

using namespace std::chrono_literals;

namespace exs::cpp {
namespace hpp_vector_test {

exs_iovec_t piece_of(std::string& text) {
  return {text.data(), text.size(), EXS_MHANDLE_UNREGISTERED, 0};
}
template <std::size_t count>
exs_msghdr_t message_of(std::array<exs_iovec_t, count>& pieces) {
  return {pieces.data(), static_cast<int>(count), 0, nullptr, 0};
}

}  // namespace hpp_vector_test

BOOST_FIXTURE_TEST_SUITE(hpp_vector_test, ConnectedLoop)

BOOST_AUTO_TEST_CASE(a_message_of_pieces_comes_into_pieces) {
  const auto exchange = [](Connected& ends) -> Task<> {
    std::string ab = "ab", cde = "cde", head = "..", rest = "........";
    std::array<exs_iovec_t, 2> from = {piece_of(ab), piece_of(cde)};
    std::array<exs_iovec_t, 2> to = {piece_of(head), piece_of(rest)};
    exs_msghdr_t sent = message_of(from);
    exs_msghdr_t room = message_of(to);
    const auto [received, told] = co_await both(ends.left.recvmsg(room), ends.right.sendmsg(sent));
    BOOST_TEST(told);
    BOOST_TEST(told.bytes == 5U);
    BOOST_TEST(received.bytes == 5U);
    BOOST_TEST(head + rest == "abcde.....");
    BOOST_TEST(name_of(co_await with_timeout(1ms, ends.left.recvmsg(room))) == "ETIMEDOUT");
    BOOST_TEST(name_of(co_await ends.left.recvmsg(room, EXS_NO_EVENT)) == "EOPNOTSUPP");
  };
  loop.block_on(exchange(pair));
}

BOOST_AUTO_TEST_CASE(a_range_of_a_file_is_sent) {
  char path[] = "/tmp/exs-hpp-XXXXXX";
  const int file = ::mkstemp(path);
  BOOST_REQUIRE(file >= 0);
  ::unlink(path);
  BOOST_REQUIRE(::write(file, "0123456789", 10) == 10);
  const auto exchange = [](Connected& ends, int from) -> Task<> {
    exs_xferelem_t range{};
    range.type = EXS_FDVEC;
    range.u.fdv = {from, 0, 3, 4};
    exs_xferfile_t whole = {&range, 1, 0};
    std::array<std::byte, 16> room{};
    const auto [received, told] = co_await both(ends.left.recv(room), ends.right.sendfile(whole));
    BOOST_TEST(told.bytes == 4U);
    BOOST_TEST(text_of(std::span(room).first(received.bytes)) == "3456");
    range.u.fdv.fdv_fd = -1;
    BOOST_TEST(name_of(co_await ends.right.sendfile(whole)) == "EBADF");
  };
  loop.block_on(exchange(pair, file));
  ::close(file);
}

BOOST_AUTO_TEST_CASE(a_poll_tells_what_is_there_and_how_long_it_is) {
  const auto exchange = [](Loop& on, Connected& ends) -> Task<> {
    BOOST_TEST((co_await ends.left.poll(EXS_POLLOUT)).revents == unsigned{EXS_POLLOUT});
    BOOST_TEST(name_of(co_await with_timeout(1ms, ends.left.poll(EXS_POLLIN))) == "ETIMEDOUT");
    const std::array<std::byte, 7> bytes{};
    const auto [polled, sent] = co_await both(ends.left.poll(EXS_POLLIN), ends.right.send(bytes));
    BOOST_TEST(sent);
    BOOST_TEST(polled.revents == unsigned{EXS_POLLIN});
    BOOST_TEST(polled.next_length == 7U);
    std::array<std::byte, 7> room{};
    BOOST_TEST((co_await ends.left.recv(room)).bytes == 7U);
    AsyncSocket unconnected(on);
    BOOST_TEST(name_of(co_await unconnected.poll(EXS_POLLIN)) == "ENOTCONN");
    BOOST_TEST(name_of(co_await ends.left.poll(0x80)) == "EINVAL");
  };
  loop.block_on(exchange(loop, pair));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::cpp
