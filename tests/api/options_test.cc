// exs_fcntl and the socket options: limits, defaults, inheritance, and what two ends agree on.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <climits>
#include <string>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace options_test {

struct IntOption {
  int get;
  int set;
  int lowest;
  int highest;
  int preset;
};
const IntOption kIntOptions[] = {
    {EXS_F_GET_SEND_CREDITS, EXS_F_SET_SEND_CREDITS, 1, EXS_CREDITS_MAX, 32},
    {EXS_F_GET_RECV_CREDITS, EXS_F_SET_RECV_CREDITS, 1, EXS_CREDITS_MAX, 32},
    {EXS_F_GET_MAX_OPS, EXS_F_SET_MAX_OPS, 1, EXS_OPS_MAX, 256},
};

struct SocketOption {
  int name;
  int lowest;
  int highest;
  int preset;
};
const SocketOption kSocketOptions[] = {
    {SO_ASYNC_RECV_ORDERED, 0, 1, 1},
    {EXS_SO_KEEPALIVE_MS, 0, INT_MAX, 0},
    {EXS_SO_CONNECT_TIMEOUT_MS, 1, INT_MAX, 10'000},
    {EXS_SO_LINGER_MS, 0, INT_MAX, 5000},
};

int get(int socket, int command) {
  int value = -1;
  BOOST_REQUIRE_EQUAL(exs_fcntl(socket, command, &value), 0);
  return value;
}

std::size_t small_max(int socket) {
  std::size_t value = 0;
  BOOST_REQUIRE_EQUAL(exs_fcntl(socket, EXS_F_GET_SMALL_MAX, &value), 0);
  return value;
}

int get_option(int socket, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  BOOST_REQUIRE_EQUAL(exs_getsockopt(socket, SOL_EXS, option, &value, &length), 0);
  BOOST_REQUIRE_EQUAL(length, sizeof value);
  return value;
}

std::string set_provider(int socket, const std::string& name) {
  return outcome(
      exs_setsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, name.data(), static_cast<socklen_t>(name.size())));
}

std::string provider(int socket) {
  char name[16];
  socklen_t length = sizeof name;
  BOOST_REQUIRE_EQUAL(exs_getsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, name, &length), 0);
  BOOST_REQUIRE_EQUAL(name[length - 1], '\0');
  return name;
}

std::string set_label(int socket, const std::string& label) {
  return outcome(
      exs_setsockopt(socket, SOL_EXS, EXS_SO_LABEL, label.data(), static_cast<socklen_t>(label.size())));
}

std::string label_of(int socket) {
  char label[EXS_LABEL_MAX + 1];
  socklen_t length = sizeof label;
  BOOST_REQUIRE_EQUAL(exs_getsockopt(socket, SOL_EXS, EXS_SO_LABEL, label, &length), 0);
  return label;
}

struct Fixture {
  InitializedLibrary library;
  Queue queue;
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  ~Fixture() { exs_close(socket); }
};

}  // namespace options_test

BOOST_FIXTURE_TEST_SUITE(options_test, Fixture)

BOOST_AUTO_TEST_CASE(each_number_has_its_default_and_keeps_its_limits) {
  for (const IntOption& option : kIntOptions) {
    BOOST_TEST(get(socket, option.get) == option.preset);
    BOOST_TEST(outcome(exs_fcntl(socket, option.set, option.lowest - 1)) == "EINVAL");
    BOOST_TEST(outcome(exs_fcntl(socket, option.set, INT_MIN)) == "EINVAL");
    if (option.highest < INT_MAX) {
      BOOST_TEST(outcome(exs_fcntl(socket, option.set, option.highest + 1)) == "EINVAL");
    }
    BOOST_TEST(get(socket, option.get) == option.preset);
    for (const int value : {option.lowest, option.highest, option.lowest + 1}) {
      BOOST_TEST(outcome(exs_fcntl(socket, option.set, value)) == "ok");
      BOOST_TEST(get(socket, option.get) == value);
    }
    BOOST_TEST(outcome(exs_fcntl(socket, option.get, nullptr)) == "EFAULT");
  }
}

BOOST_AUTO_TEST_CASE(each_socket_option_has_its_default_and_keeps_its_limits) {
  for (const SocketOption& option : kSocketOptions) {
    BOOST_TEST(get_option(socket, option.name) == option.preset);
    BOOST_TEST(outcome(set_option(socket, option.name, option.lowest - 1)) == "EINVAL");
    BOOST_TEST(outcome(set_option(socket, option.name, INT_MIN)) == "EINVAL");
    if (option.highest < INT_MAX)
      BOOST_TEST(outcome(set_option(socket, option.name, option.highest + 1)) == "EINVAL");
    BOOST_TEST(get_option(socket, option.name) == option.preset);
    for (const int value : {option.lowest, option.highest, option.lowest + 1}) {
      if (value > option.highest) continue;
      BOOST_TEST(outcome(set_option(socket, option.name, value)) == "ok");
      BOOST_TEST(get_option(socket, option.name) == value);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_arguments_of_socket_options_are_checked) {
  int value = 7;
  socklen_t length = sizeof value;
  BOOST_TEST(outcome(exs_setsockopt(-1, SOL_EXS, EXS_SO_LINGER_MS, &value, length)) == "EBADF");
  BOOST_TEST(outcome(exs_getsockopt(-1, SOL_EXS, EXS_SO_LINGER_MS, &value, &length)) == "EBADF");
  BOOST_TEST(outcome(exs_setsockopt(socket, SOL_EXS, EXS_SO_LINGER_MS, nullptr, length)) == "EFAULT");
  BOOST_TEST(outcome(exs_getsockopt(socket, SOL_EXS, EXS_SO_LINGER_MS, nullptr, &length)) == "EFAULT");
  BOOST_TEST(outcome(exs_getsockopt(socket, SOL_EXS, EXS_SO_LINGER_MS, &value, nullptr)) == "EFAULT");
  for (const int option : {0, 1, SO_ASYNC_RECV_ORDERED - 1, 0x4600}) {
    BOOST_TEST(outcome(exs_setsockopt(socket, SOL_EXS, option, &value, length)) == "ENOPROTOOPT");
    BOOST_TEST(outcome(exs_getsockopt(socket, SOL_EXS, option, &value, &length)) == "ENOPROTOOPT");
  }
  for (const socklen_t wrong : {0U, 3U, 5U, 8U}) {
    std::uint64_t wide = 7;
    BOOST_TEST(outcome(exs_setsockopt(socket, SOL_EXS, EXS_SO_LINGER_MS, &wide, wrong)) == "EINVAL");
  }
  length = 3;
  BOOST_TEST(outcome(exs_getsockopt(socket, SOL_EXS, EXS_SO_LINGER_MS, &value, &length)) == "EINVAL");
  BOOST_TEST(value == 7);
  BOOST_TEST(length == 3U);
}

BOOST_AUTO_TEST_CASE(other_levels_are_the_kernel_sockets) {
  int value = 1;
  socklen_t length = sizeof value;
  BOOST_TEST(outcome(exs_setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &value, length)) == "ok");
  value = 0;
  BOOST_TEST(outcome(exs_getsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &value, &length)) == "ok");
  BOOST_TEST(value == 1);
  BOOST_TEST(outcome(exs_setsockopt(socket, SOL_SOCKET, 0x7777, &value, length)) == "ENOPROTOOPT");
  // SO_TYPE is the type of the exs socket, and SO_ASYNC_* work at both levels.
  BOOST_TEST(outcome(exs_getsockopt(socket, SOL_SOCKET, SO_TYPE, &value, &length)) == "ok");
  BOOST_TEST(value == SOCK_SEQPACKET);
  value = 0;
  BOOST_TEST(outcome(exs_setsockopt(socket, SOL_SOCKET, SO_ASYNC_RECV_ORDERED, &value, length)) == "ok");
  BOOST_TEST(get_option(socket, SO_ASYNC_RECV_ORDERED) == 0);
}

BOOST_AUTO_TEST_CASE(the_small_packet_maximum_keeps_its_limits) {
  BOOST_TEST(small_max(socket) == 1024U);
  for (const std::size_t value : {std::size_t{EXS_SMALL_MAX} + 1, SIZE_MAX, std::size_t{1} << 32}) {
    BOOST_TEST(outcome(exs_fcntl(socket, EXS_F_SET_SMALL_MAX, value)) == "EINVAL");
  }
  for (const std::size_t value : {std::size_t{0}, std::size_t{EXS_SMALL_MAX}, std::size_t{1}}) {
    BOOST_TEST(outcome(exs_fcntl(socket, EXS_F_SET_SMALL_MAX, value)) == "ok");
    BOOST_TEST(small_max(socket) == value);
  }
  BOOST_TEST(outcome(exs_fcntl(socket, EXS_F_GET_SMALL_MAX, nullptr)) == "EFAULT");
}

BOOST_AUTO_TEST_CASE(unknown_commands_are_refused) {
  for (const int command : {0, 15, 22, 35, 38, 64, 69, -1}) {
    BOOST_TEST(outcome(exs_fcntl(socket, command, 1)) == "EINVAL");
  }
}

BOOST_AUTO_TEST_CASE(the_provider_is_a_wish_until_the_connection_is_up) {
  BOOST_TEST(provider(socket) == "iwarp");  // as EXS_PROVIDER says here
  BOOST_TEST(set_provider(socket, "iwarp") == "ok");
  BOOST_TEST(provider(socket) == "iwarp");
  BOOST_TEST(set_provider(socket, std::string("auto\0", 5)) == "ok");
  BOOST_TEST(provider(socket) == "auto");
  BOOST_TEST(set_provider(socket, "iwarp") == "ok");
  BOOST_TEST(set_provider(socket, "sim") == errno_name(ENOTSUP));
  BOOST_TEST(set_provider(socket, "") == errno_name(ENOTSUP));
  BOOST_TEST(provider(socket) == "iwarp");
  char room[5];
  socklen_t length = sizeof room;
  BOOST_TEST(outcome(exs_getsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, room, &length)) == "EINVAL");
  const Pair pair(queue);
  BOOST_TEST(provider(pair.left) == "iwarp");
  BOOST_TEST(provider(pair.right) == "iwarp");
}

BOOST_AUTO_TEST_CASE(both_ends_agree_on_the_lesser_wish) {
  // Pair prepares the listening socket first: it gets 4, 2 and 200, and left gets 3, 5 and 100.
  static int prepared = 0;
  prepared = 0;
  const auto prepare = [](int number) {
    const bool is_left = prepared++ == 1;
    BOOST_REQUIRE_EQUAL(exs_fcntl(number, EXS_F_SET_SEND_CREDITS, is_left ? 3 : 4), 0);
    BOOST_REQUIRE_EQUAL(exs_fcntl(number, EXS_F_SET_RECV_CREDITS, is_left ? 5 : 2), 0);
    BOOST_REQUIRE_EQUAL(exs_fcntl(number, EXS_F_SET_SMALL_MAX, std::size_t{is_left ? 100U : 200U}), 0);
  };
  const Pair pair(queue, prepare);
  BOOST_TEST(get(pair.left, EXS_F_GET_SEND_CREDITS) == 2);
  BOOST_TEST(get(pair.left, EXS_F_GET_RECV_CREDITS) == 4);
  BOOST_TEST(get(pair.right, EXS_F_GET_SEND_CREDITS) == 4);
  BOOST_TEST(get(pair.right, EXS_F_GET_RECV_CREDITS) == 2);
  BOOST_TEST(small_max(pair.left) == 100U);
  BOOST_TEST(small_max(pair.right) == 100U);
}

BOOST_AUTO_TEST_CASE(accepted_sockets_inherit_from_the_listening_one) {
  const Pair pair(queue, [](int number) {
    BOOST_REQUIRE_EQUAL(exs_fcntl(number, EXS_F_SET_MAX_OPS, 7), 0);
    BOOST_REQUIRE_EQUAL(set_option(number, EXS_SO_LINGER_MS, 1234), 0);
    BOOST_REQUIRE_EQUAL(set_label(number, "halo"), "ok");
  });
  BOOST_TEST(get(pair.right, EXS_F_GET_MAX_OPS) == 7);
  BOOST_TEST(get_option(pair.right, EXS_SO_LINGER_MS) == 1234);
  BOOST_TEST(label_of(pair.right) == "halo");
}

BOOST_AUTO_TEST_CASE(a_label_is_short_and_printable) {
  const Pair pair(queue);
  for (const int number : {socket, pair.left}) {
    BOOST_TEST(label_of(number).empty());
    BOOST_TEST(set_label(number, std::string(EXS_LABEL_MAX, 'x')) == "ok");
    for (const char* const wrong : {"xxxxxxxxxxxxxxxx", "tab\t", "\x1b[2J", "\xc3\xa4"})
      BOOST_TEST(set_label(number, wrong) == "EINVAL");
    BOOST_TEST(label_of(number) == std::string(EXS_LABEL_MAX, 'x'));
    BOOST_TEST(set_label(number, std::string("heat\0", 5)) == "ok");
    BOOST_TEST(label_of(number) == "heat");
  }
}

BOOST_AUTO_TEST_CASE(wishes_come_too_late_once_the_socket_connects_or_listens) {
  const Pair pair(queue);
  const ListeningSocket listening;
  for (const int number : {pair.left, pair.right, listening.number()}) {
    for (const int command : {EXS_F_SET_SEND_CREDITS, EXS_F_SET_RECV_CREDITS}) {
      BOOST_TEST(outcome(exs_fcntl(number, command, 1)) == "EISCONN");
      BOOST_TEST(outcome(exs_fcntl(number, command, 0)) == "EINVAL");
    }
    BOOST_TEST(outcome(exs_fcntl(number, EXS_F_SET_SMALL_MAX, std::size_t{1})) == "EISCONN");
    BOOST_TEST(outcome(set_option(number, EXS_SO_CONNECT_TIMEOUT_MS, 1)) == "EISCONN");
    BOOST_TEST(outcome(set_option(number, EXS_SO_CONNECT_TIMEOUT_MS, 0)) == "EINVAL");
    BOOST_TEST(set_provider(number, "iwarp") == "EISCONN");
    BOOST_TEST(outcome(exs_fcntl(number, EXS_F_SET_MAX_OPS, 9)) == "ok");
    BOOST_TEST(outcome(set_option(number, EXS_SO_LINGER_MS, 9)) == "ok");
    BOOST_TEST(get(number, EXS_F_GET_MAX_OPS) == 9);
    BOOST_TEST(get_option(number, EXS_SO_LINGER_MS) == 9);
  }
}

BOOST_AUTO_TEST_CASE(a_listening_socket_waits_half_as_long_by_default) {
  const ListeningSocket listening;
  BOOST_TEST(get_option(listening.number(), EXS_SO_CONNECT_TIMEOUT_MS) == 5000);
}

BOOST_AUTO_TEST_CASE(what_was_agreed_can_be_asked_after_the_peer_has_gone) {
  const Pair pair(queue,
                  [](int number) { BOOST_REQUIRE_EQUAL(exs_fcntl(number, EXS_F_SET_SEND_CREDITS, 3), 0); });
  BOOST_TEST(exs_close(pair.right) == 0);
  BOOST_TEST(get(pair.left, EXS_F_GET_SEND_CREDITS) == 3);
}

BOOST_AUTO_TEST_CASE(the_limit_of_operations_works_at_once_in_each_direction) {
  const Pair pair(queue);
  Memory memory(64);
  const auto receive = [&] {
    return outcome(exs_recv(pair.right, memory.at(), 1, 0, queue.handle(), nullptr, memory.handle()));
  };
  const auto send_back = [&] {
    return outcome(
        exs_send(pair.right, memory.at(), 1, EXS_NO_IMMEDIATE, queue.handle(), nullptr, memory.handle()));
  };
  BOOST_TEST(exs_fcntl(pair.right, EXS_F_SET_MAX_OPS, 2) == 0);
  BOOST_TEST(receive() == "ok");
  BOOST_TEST(receive() == "ok");
  BOOST_TEST(receive() == "EAGAIN");
  BOOST_TEST(send_back() == "ok");
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 3);
  BOOST_TEST(exs_fcntl(pair.right, EXS_F_SET_MAX_OPS, 3) == 0);
  BOOST_TEST(receive() == "ok");
  BOOST_TEST(exs_fcntl(pair.right, EXS_F_SET_MAX_OPS, 1) == 0);
  BOOST_TEST(receive() == "EAGAIN");
  for (int i = 0; i < 3; ++i) {
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(8), 1, 0, queue.handle(), nullptr, memory.handle()), 0);
    BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  }
  BOOST_TEST(receive() == "ok");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
