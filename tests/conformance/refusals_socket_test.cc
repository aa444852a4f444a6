// Sockets, options, poll and cancel: every error that a manual page names, in a situation that must cause it.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cerrno>

#include "tests/conformance/test_bed.h"

namespace exs::test {
namespace refusals_socket_test {

constexpr int kNone = TestBed::kNoDescriptor;

int connect(TestBed& w, int socket, exs_qhandle_t queue) {
  return exs_connect(socket, w.name(), TestBed::kNameBytes, 0, queue, nullptr);
}

int poll(int socket, std::uint32_t events, exs_qhandle_t queue, int flags = 0) {
  const exs_pollfd_t entry = {socket, events, nullptr};
  return exs_poll(&entry, 1, flags, queue);
}

int set(int socket, int option, int value, socklen_t length = sizeof(int)) {
  return exs_setsockopt(socket, SOL_EXS, option, &value, length);
}

int limit_with(TestBed& w, const exs_timeout_t& limit) {
  return exs_setsockopt(w.connected(), SOL_EXS, SO_ASYNC_SEND_TIMEOUT, &limit, sizeof limit);
}

int get(int socket, int option, socklen_t room = sizeof(int)) {
  int value[8];
  return exs_getsockopt(socket, SOL_EXS, option, value, &room);
}

sockaddr_in somewhere(std::uint32_t host, std::uint16_t port) {
  sockaddr_in address = loopback(port);
  address.sin_addr.s_addr = htonl(host);
  return address;
}

int bind_at(int socket, sockaddr_in address, socklen_t length = sizeof(sockaddr_in)) {
  return exs_bind(socket, generic(address), length);
}

int bind_family(int socket, sa_family_t family) {
  sockaddr_in address = loopback();
  address.sin_family = family;
  return exs_bind(socket, generic(address), sizeof address);
}

int name_of(int (*call)(int, sockaddr*, socklen_t*), int socket, bool has_room, bool has_length,
            socklen_t length = sizeof(sockaddr_in)) {
  sockaddr_in address{};
  return call(socket, has_room ? generic(address) : nullptr, has_length ? &length : nullptr);
}

// clang-format off
const Refusal kRefusals[] = {
    {"exs_socket", EAFNOSUPPORT, "a local domain", [](TestBed&) { return exs_socket(AF_UNIX, SOCK_SEQPACKET, 0); }},
    {"exs_socket", EPROTONOSUPPORT, "datagrams", [](TestBed&) { return exs_socket(AF_INET, SOCK_DGRAM, 0); }},
    {"exs_socket", EPROTONOSUPPORT, "a protocol", [](TestBed&) { return exs_socket(AF_INET, SOCK_SEQPACKET, 6); }},

    {"exs_bind", EBADF, "no descriptor", [](TestBed&) { return bind_at(kNone, loopback()); }},
    {"exs_bind", EINVAL, "bound already",
     [](TestBed& w) { bind_at(w.fresh(), loopback()); return bind_at(w.fresh(), loopback()); }},
    {"exs_bind", EINVAL, "connected", [](TestBed& w) { return bind_at(w.connected(), loopback()); }},
    {"exs_bind", EINVAL, "an address cut short", [](TestBed& w) { return bind_at(w.fresh(), loopback(), 4); }},
    {"exs_bind", EADDRINUSE, "an address where somebody listens",
     [](TestBed& w) { return bind_at(w.fresh(), *w.somebody()); }},
    {"exs_bind", EADDRNOTAVAIL, "somebody else's address",
     [](TestBed& w) { return bind_at(w.fresh(), somewhere(0xC0000201, 0)); }},
    {"exs_bind", EAFNOSUPPORT, "an address of another family",
     [](TestBed& w) { return bind_family(w.fresh(), AF_INET6); }},
    {"exs_bind", EFAULT, "no address", [](TestBed& w) { return exs_bind(w.fresh(), nullptr, sizeof(sockaddr_in)); }},

    {"exs_listen", EBADF, "no descriptor", [](TestBed&) { return exs_listen(kNone, 1); }},
    {"exs_listen", EINVAL, "connected", [](TestBed& w) { return exs_listen(w.connected(), 1); }},

    {"exs_listen", EADDRINUSE, "somebody listens there since it was bound",
     [](TestBed& w) { return exs_listen(w.forestalled(), 1); }},

    {"exs_accept", EBADF, "no descriptor", [](TestBed& w) { return exs_accept(kNone, nullptr, 0, w.q(), nullptr); }},
    {"exs_accept", EBADF, "a stale queue",
     [](TestBed& w) { return exs_accept(w.listening(), nullptr, 0, w.stale_queue(), nullptr); }},
    {"exs_accept", EINVAL, "not listening", [](TestBed& w) { return exs_accept(w.fresh(), nullptr, 0, w.q(), nullptr); }},
    {"exs_accept", EINVAL, "a flag", [](TestBed& w) { return exs_accept(w.listening(), nullptr, 1, w.q(), nullptr); }},
    {"exs_accept", EINVAL, "one address for many connections",
     [](TestBed& w) {
       exs_acceptaddr_t address{};
       return exs_accept(w.listening(), &address, EXS_MULTISHOT, w.q(), nullptr);
     }},
    {"exs_accept", EAGAIN, "a full queue",
     [](TestBed& w) { return exs_accept(w.listening(), nullptr, 0, w.full(), nullptr); }},

    {"exs_connect", EBADF, "no descriptor", [](TestBed& w) { return connect(w, kNone, w.q()); }},
    {"exs_connect", EBADF, "a stale queue", [](TestBed& w) { return connect(w, w.fresh(), w.stale_queue()); }},
    {"exs_connect", EISCONN, "connected", [](TestBed& w) { return connect(w, w.connected(), w.q()); }},
    {"exs_connect", EALREADY, "connecting", [](TestBed& w) { return connect(w, w.connecting(), w.q()); }},
    {"exs_connect", EINVAL, "listening", [](TestBed& w) { return connect(w, w.listening(), w.q()); }},
    {"exs_connect", EINVAL, "a flag",
     [](TestBed& w) { return exs_connect(w.fresh(), w.name(), TestBed::kNameBytes, 1, w.q(), nullptr); }},
    {"exs_connect", EINVAL, "an address cut short",
     [](TestBed& w) { return exs_connect(w.fresh(), w.name(), 4, 0, w.q(), nullptr); }},
    {"exs_connect", EAFNOSUPPORT, "an address of another family",
     [](TestBed& w) {
       sockaddr_in address = *w.somebody();
       address.sin_family = AF_INET6;
       return exs_connect(w.fresh(), generic(address), sizeof address, 0, w.q(), nullptr);
     }},
    {"exs_connect", EFAULT, "no address",
     [](TestBed& w) { return exs_connect(w.fresh(), nullptr, TestBed::kNameBytes, 0, w.q(), nullptr); }},
    {"exs_connect", EAGAIN, "a full queue", [](TestBed& w) { return connect(w, w.fresh(), w.full()); }},

    {"exs_shutdown", EBADF, "no descriptor", [](TestBed&) { return exs_shutdown(kNone, SHUT_WR); }},
    {"exs_shutdown", ENOTCONN, "not connected", [](TestBed& w) { return exs_shutdown(w.fresh(), SHUT_WR); }},
    {"exs_shutdown", EINVAL, "no direction", [](TestBed& w) { return exs_shutdown(w.connected(), 17); }},
    {"exs_shutdown_async", EBADF, "no descriptor",
     [](TestBed& w) { return exs_shutdown_async(kNone, SHUT_WR, w.q(), nullptr); }},
    {"exs_shutdown_async", EBADF, "a stale queue",
     [](TestBed& w) { return exs_shutdown_async(w.connected(), SHUT_WR, w.stale_queue(), nullptr); }},
    {"exs_shutdown_async", ENOTCONN, "not connected",
     [](TestBed& w) { return exs_shutdown_async(w.fresh(), SHUT_WR, w.q(), nullptr); }},
    {"exs_shutdown_async", EINVAL, "no direction",
     [](TestBed& w) { return exs_shutdown_async(w.connected(), 17, w.q(), nullptr); }},
    {"exs_shutdown_async", EAGAIN, "a full queue",
     [](TestBed& w) { return exs_shutdown_async(w.connected(), SHUT_WR, w.full(), nullptr); }},

    {"exs_close", EBADF, "no descriptor", [](TestBed&) { return exs_close(kNone); }},
    {"exs_close_async", EBADF, "no descriptor", [](TestBed& w) { return exs_close_async(kNone, 0, w.q(), nullptr); }},
    {"exs_close_async", EBADF, "a stale queue",
     [](TestBed& w) { return exs_close_async(w.fresh(), 0, w.stale_queue(), nullptr); }},
    {"exs_close_async", EINVAL, "a flag", [](TestBed& w) { return exs_close_async(w.fresh(), 1, w.q(), nullptr); }},
    {"exs_close_async", EAGAIN, "a full queue",
     [](TestBed& w) { return exs_close_async(w.fresh(), 0, w.full(), nullptr); }},

    {"exs_getsockname", EBADF, "no descriptor", [](TestBed&) { return name_of(exs_getsockname, kNone, true, true); }},
    {"exs_getsockname", EFAULT, "no room", [](TestBed& w) { return name_of(exs_getsockname, w.fresh(), false, true); }},
    {"exs_getsockname", EFAULT, "no length", [](TestBed& w) { return name_of(exs_getsockname, w.fresh(), true, false); }},
    {"exs_getsockname", EINVAL, "a length below zero",
     [](TestBed& w) { return name_of(exs_getsockname, w.fresh(), true, true, static_cast<socklen_t>(-1)); }},
    {"exs_getpeername", EBADF, "no descriptor", [](TestBed&) { return name_of(exs_getpeername, kNone, true, true); }},
    {"exs_getpeername", EFAULT, "no room",
     [](TestBed& w) { return name_of(exs_getpeername, w.connected(), false, true); }},
    {"exs_getpeername", EINVAL, "a length below zero",
     [](TestBed& w) { return name_of(exs_getpeername, w.connected(), true, true, static_cast<socklen_t>(-1)); }},
    {"exs_getpeername", ENOTCONN, "not connected", [](TestBed& w) { return name_of(exs_getpeername, w.fresh(), true, true); }},

    {"exs_poll", EBADF, "no descriptor", [](TestBed& w) { return poll(kNone, EXS_POLLIN, w.q()); }},
    {"exs_poll", EBADF, "a stale queue", [](TestBed& w) { return poll(w.connected(), EXS_POLLIN, w.stale_queue()); }},
    {"exs_poll", EINVAL, "a flag", [](TestBed& w) { return poll(w.connected(), EXS_POLLIN, w.q(), 1); }},
    {"exs_poll", EINVAL, "an event that cannot be asked for", [](TestBed& w) { return poll(w.connected(), 0x4000, w.q()); }},
    {"exs_poll", EINVAL, "a count below zero",
     [](TestBed& w) { const exs_pollfd_t entry = {w.connected(), 0, nullptr}; return exs_poll(&entry, -1, 0, w.q()); }},
    {"exs_poll", EFAULT, "no entries", [](TestBed& w) { return exs_poll(nullptr, 1, 0, w.q()); }},
    {"exs_poll", ENOTCONN, "neither connected nor listening", [](TestBed& w) { return poll(w.fresh(), EXS_POLLIN, w.q()); }},
    {"exs_poll", EAGAIN, "a full queue", [](TestBed& w) { return poll(w.connected(), EXS_POLLIN, w.full()); }},

    {"exs_window_map", EBADF, "no descriptor", [](TestBed& w) { return exs_window_map(kNone, w.q(), nullptr); }},
    {"exs_window_map", EBADF, "a stale queue", [](TestBed& w) { return exs_window_map(w.connected(), w.stale_queue(), nullptr); }},
    {"exs_window_map", ENOTCONN, "not connected", [](TestBed& w) { return exs_window_map(w.fresh(), w.q(), nullptr); }},
    {"exs_window_map", ENOTCONN, "listening", [](TestBed& w) { return exs_window_map(w.listening(), w.q(), nullptr); }},
    {"exs_window_map", EOPNOTSUPP, "a stream", [](TestBed& w) { return exs_window_map(w.stream(), w.q(), nullptr); }},
    {"exs_window_map", EOPNOTSUPP, "a socket of the kernel", [](TestBed& w) { return exs_window_map(w.kernel(), w.q(), nullptr); }},
    {"exs_window_map", EAGAIN, "a full queue", [](TestBed& w) { return exs_window_map(w.connected(), w.full(), nullptr); }},

    {"exs_cancel", EBADF, "no descriptor", [](TestBed&) { return exs_cancel(kNone, nullptr, EXS_CAF_FILDES); }},
    {"exs_cancel", EINVAL, "nothing to match", [](TestBed& w) { return exs_cancel(w.connected(), nullptr, 0); }},
    {"exs_cancel", EINVAL, "an unknown flag", [](TestBed& w) { return exs_cancel(w.connected(), nullptr, 1 << 10); }},
    {"exs_cancel", ENOENT, "no operation", [](TestBed& w) { return exs_cancel(w.connected(), nullptr, EXS_CAF_FILDES); }},
    {"exs_cancel", ENOENT, "no operation of this handle",
     [](TestBed& w) { return exs_cancel(-1, &w, EXS_CAF_AHANDLE); }},

    {"exs_fcntl", EBADF, "no descriptor", [](TestBed&) { return exs_fcntl(kNone, EXS_F_SET_MAX_OPS, 1); }},
    {"exs_fcntl", EINVAL, "an unknown command", [](TestBed& w) { return exs_fcntl(w.fresh(), 4711, 1); }},
    {"exs_fcntl", EINVAL, "a value out of range", [](TestBed& w) { return exs_fcntl(w.fresh(), EXS_F_SET_MAX_OPS, 0); }},
    {"exs_fcntl", EISCONN, "too late", [](TestBed& w) { return exs_fcntl(w.connected(), EXS_F_SET_SEND_CREDITS, 4); }},
    {"exs_fcntl", ENOTSUP, "a kernel socket has no credits",
     [](TestBed& w) { return exs_fcntl(w.kernel(), EXS_F_SET_SEND_CREDITS, 4); }},
    {"exs_fcntl", EFAULT, "no room", [](TestBed& w) { return exs_fcntl(w.fresh(), EXS_F_GET_MAX_OPS, nullptr); }},

    {"exs_setsockopt", EBADF, "no descriptor", [](TestBed&) { return set(kNone, EXS_SO_LINGER_MS, 1); }},
    {"exs_setsockopt", ENOPROTOOPT, "an unknown option", [](TestBed& w) { return set(w.fresh(), 4711, 1); }},
    {"exs_setsockopt", EINVAL, "a value out of range", [](TestBed& w) { return set(w.fresh(), EXS_SO_LINGER_MS, -1); }},
    {"exs_setsockopt", EINVAL, "a length that is not the value's",
     [](TestBed& w) { return set(w.fresh(), EXS_SO_LINGER_MS, 1, 1); }},
    {"exs_setsockopt", EFAULT, "no value",
     [](TestBed& w) { return exs_setsockopt(w.fresh(), SOL_EXS, EXS_SO_LINGER_MS, nullptr, sizeof(int)); }},
    {"exs_setsockopt", EISCONN, "too late", [](TestBed& w) { return set(w.connected(), EXS_SO_CONNECT_TIMEOUT_MS, 5); }},
    {"exs_setsockopt", ENOTSUP, "a provider that this build has not",
     [](TestBed& w) { return exs_setsockopt(w.fresh(), SOL_EXS, EXS_SO_PROVIDER, "carrier-pigeon", 14); }},
    {"exs_setsockopt", EAGAIN, "no slot for the notices",
     [](TestBed& w) { return limit_with(w, {1'000'000'000, 0, w.full(), nullptr}); }},
    {"exs_setsockopt", EBADF, "a stale queue for the notices",
     [](TestBed& w) { return limit_with(w, {1'000'000'000, 0, w.stale_queue(), nullptr}); }},
    {"exs_setsockopt", EINVAL, "a time below zero", [](TestBed& w) { return limit_with(w, {-1, 0, w.q(), nullptr}); }},
    {"exs_setsockopt", EINVAL, "an unknown flag of a time limit",
     [](TestBed& w) { return limit_with(w, {1'000'000'000, 64, w.q(), nullptr}); }},
    {"exs_getsockopt", EBADF, "no descriptor", [](TestBed&) { return get(kNone, EXS_SO_LINGER_MS); }},
    {"exs_getsockopt", ENOPROTOOPT, "an unknown option", [](TestBed& w) { return get(w.fresh(), 4711); }},
    {"exs_getsockopt", EINVAL, "too little room", [](TestBed& w) { return get(w.fresh(), EXS_SO_LINGER_MS, 1); }},
    {"exs_getsockopt", EFAULT, "no room",
     [](TestBed& w) { socklen_t n = 4; return exs_getsockopt(w.fresh(), SOL_EXS, EXS_SO_LINGER_MS, nullptr, &n); }},

    {"exs_getstats", EBADF, "no descriptor",
     [](TestBed&) { exs_stats_t stats{}; stats.struct_bytes = sizeof stats; return exs_getstats(kNone, &stats); }},
    {"exs_getstats", EFAULT, "no room", [](TestBed& w) { return exs_getstats(w.fresh(), nullptr); }},
    {"exs_getstats", EINVAL, "no size", [](TestBed& w) { exs_stats_t stats{}; return exs_getstats(w.fresh(), &stats); }},
    {"exs_getlimits", EFAULT, "no room", [](TestBed&) { return exs_getlimits(nullptr); }},
    {"exs_getlimits", EINVAL, "no size", [](TestBed&) { exs_limits_t limits{}; return exs_getlimits(&limits); }},

    {"exs_connect_sync", EBADF, "no descriptor", [](TestBed& w) { return exs_connect_sync(kNone, w.name(), TestBed::kNameBytes); }},
    {"exs_connect_sync", EISCONN, "connected",
     [](TestBed& w) { return exs_connect_sync(w.connected(), w.name(), TestBed::kNameBytes); }},
    {"exs_accept_sync", EBADF, "no descriptor", [](TestBed&) { return exs_accept_sync(kNone, nullptr, nullptr); }},
    {"exs_accept_sync", EFAULT, "room without a length",
     [](TestBed& w) { return exs_accept_sync(w.listening(), w.name(), nullptr); }},
    {"exs_accept_sync", EINVAL, "not listening", [](TestBed& w) { return exs_accept_sync(w.fresh(), nullptr, nullptr); }},
};
// clang-format on

}  // namespace refusals_socket_test

BOOST_AUTO_TEST_SUITE(refusals_socket_test)

BOOST_DATA_TEST_CASE(refuses, kRefusals) {
  check_refusal(sample);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
