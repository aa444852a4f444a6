// Transfers: every way to post one refuses invalid arguments, and changes nothing.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <string_view>

#include "tests/conformance/transfer_calls.h"

namespace data = boost::unit_test::data;

namespace exs::test {
namespace refusals_transfer_test {

// A change to one argument of a valid call, the same for every way to post.
struct Situation {
  int error;
  const char* when;
  void (*change)(TestBed&, Arguments&);
  bool blocking_too;  // false: the situation is about the queue, which blocking forms do not have
};

std::ostream& operator<<(std::ostream& out, const Situation& situation) {
  return out << errno_name(situation.error) << ": " << situation.when;
}

const Situation kSituations[] = {
    {EBADF, "no descriptor", [](TestBed&, Arguments& a) { a.socket = TestBed::kNoDescriptor; }, true},
    {EBADF, "a stale queue", [](TestBed& w, Arguments& a) { a.queue = w.stale_queue(); }, false},
    {EBADF, "no queue", [](TestBed&, Arguments& a) { a.queue = EXS_QHANDLE_INVALID; }, false},
    {EBADF, "a region in place of the queue",
     [](TestBed& w, Arguments& a) { a.queue = static_cast<exs_qhandle_t>(w.mh()); }, false},
    {EINVAL, "a queue in place of the region",
     [](TestBed& w, Arguments& a) { a.region = static_cast<exs_mhandle_t>(w.q()); }, true},
    {ENOTCONN, "not connected", [](TestBed& w, Arguments& a) { a.socket = w.fresh(); }, true},
    {ENOTCONN, "listening", [](TestBed& w, Arguments& a) { a.socket = w.listening(); }, true},
    {ENOTCONN, "connecting", [](TestBed& w, Arguments& a) { a.socket = w.connecting(); }, true},
    {EINVAL, "a stale region", [](TestBed& w, Arguments& a) { a.region = w.stale_region(); }, true},
    {EINVAL, "no region", [](TestBed&, Arguments& a) { a.region = EXS_MHANDLE_INVALID; }, true},
    {EFAULT, "one byte before the region",
     [](TestBed& w, Arguments& a) { a.buffer = static_cast<std::byte*>(w.at()) - 1; }, true},
    {EFAULT, "beyond the region",
     [](TestBed& w, Arguments& a) { a.length_bytes = w.memory.size_bytes() + 1; }, true},
    {EFAULT, "a null pointer", [](TestBed&, Arguments& a) { a.buffer = nullptr; }, true},
    {EFAULT, "unregistered memory that is not mapped",
     [](TestBed&, Arguments& a) {
       a.buffer = reinterpret_cast<void*>(4096);
       a.region = EXS_MHANDLE_UNREGISTERED;
     },
     true},
    {EOPNOTSUPP, "MSG_OOB", [](TestBed&, Arguments& a) { a.flags = MSG_OOB; }, true},
    {EOPNOTSUPP, "MSG_PEEK", [](TestBed&, Arguments& a) { a.flags = MSG_PEEK; }, true},
    {EOPNOTSUPP, "all flags", [](TestBed&, Arguments& a) { a.flags = -1; }, true},
    {EAGAIN, "a full queue", [](TestBed& w, Arguments& a) { a.queue = w.full(); }, false},
    {EAGAIN, "the limit of operations",
     [](TestBed& w, Arguments&) {
       exs_fcntl(w.connected(), EXS_F_SET_MAX_OPS, 1);
       // The peer receives and sends nothing, so both operations stay open.
       exs_send(w.connected(), w.at(), 1, EXS_NO_IMMEDIATE, w.q(), nullptr, w.mh());
       exs_recv(w.connected(), w.at(), 1, 0, w.q(), nullptr, w.mh());
     },
     true},
};

Arguments good(TestBed& w) {
  return {w.connected(), w.at(), 4096, 0, w.q(), w.mh(), nullptr};
}

// Access rights apply to memory that is exposed to the peer.
const Situation kSendSituations[] = {
    {EACCES, "memory that no peer may read",
     [](TestBed& w, Arguments& a) {
       a.buffer = w.local_only_at();
       a.region = w.local_only();
     },
     true},
    {EPIPE, "sending is shut down", [](TestBed& w, Arguments&) { exs_shutdown(w.connected(), SHUT_WR); },
     true},
    {EBUSY, "a persistent send is posted",
     [](TestBed& w, Arguments&) {
       exs_send(w.connected(), w.at(), 64, EXS_PERSISTENT, w.q(), nullptr, w.mh());
     },
     true},
};
const Situation kReceiveSituations[] = {
    {EFAULT, "a region that may not be written",
     [](TestBed& w, Arguments& a) {
       a.buffer = w.read_only();
       a.region = exs_mregister(w.read_only(), TestBed::kReadOnlyBytes, 0);
     },
     true},
    {EFAULT, "unregistered memory that may not be written",
     [](TestBed& w, Arguments& a) {
       a.buffer = w.read_only();
       a.region = EXS_MHANDLE_UNREGISTERED;
     },
     true},
    {EBUSY, "a persistent receive is posted",
     [](TestBed& w, Arguments&) {
       exs_recv(w.connected(), w.at(), 64, EXS_PERSISTENT, w.q(), nullptr, w.mh());
     },
     true},
};

void check(const TransferCall& way, const Situation& situation) {
  if (way.waits && !situation.blocking_too) return;
  TestBed test_bed;
  Vector vector;
  Arguments arguments = good(test_bed);
  situation.change(test_bed, arguments);
  const int slots_before = attribute(test_bed.q(), EXS_QATTR_RESERVED_SLOTS);
  errno = 0;
  const int result = way.post(arguments, vector);
  const int error = errno;
  BOOST_TEST(result == -1);
  BOOST_TEST(errno_name(error) == errno_name(situation.error));
  BOOST_TEST(attribute(test_bed.q(), EXS_QATTR_RESERVED_SLOTS) == slots_before);
}

int window(TestBed& w, int socket, std::uint64_t window_offset, std::int64_t timeout_ns) {
  return static_cast<int>(exs_recv_window(socket, w.at(), 64, w.mh(), 64, window_offset, timeout_ns));
}

exs_msghdr_t message_of(exs_iovec_t* pieces, int count, int flags = 0, void* control = nullptr) {
  return {pieces, count, flags, control, 0};
}

int file_of(TestBed& w, int descriptor, std::uint64_t offset, std::uint64_t length) {
  static exs_xferelem_t element;
  static exs_xferfile_t file;
  element.type = EXS_FDVEC;
  element.u.fdv = {descriptor, 0, offset, length};
  file = {&element, 1, 0};
  return exs_sendfile(w.connected(), &file, 0, w.q(), nullptr);
}

int a_short_file() {
  static const int descriptor = [] {
    const int made = ::memfd_create("short", MFD_CLOEXEC);
    return ::ftruncate(made, 10) == 0 ? made : -1;
  }();
  return descriptor;
}

// clang-format off
const Refusal kRefusals[] = {
    {"exs_sendmsg", EFAULT, "no message", [](TestBed& w) { return exs_sendmsg(w.connected(), nullptr, 0, w.q(), nullptr); }},
    {"exs_sendmsg", EFAULT, "no vector",
     [](TestBed& w) { exs_msghdr_t m = message_of(nullptr, 1); return exs_sendmsg(w.connected(), &m, 0, w.q(), nullptr); }},
    {"exs_sendmsg", EMSGSIZE, "too many pieces",
     [](TestBed& w) {
       static exs_iovec_t pieces[EXS_IOV_MAX + 1];
       exs_msghdr_t m = message_of(pieces, EXS_IOV_MAX + 1);
       return exs_sendmsg(w.connected(), &m, 0, w.q(), nullptr);
     }},
    {"exs_sendmsg", EINVAL, "a field that is not used",
     [](TestBed& w) {
       exs_iovec_t piece = {w.at(), 1, w.mh(), 0};
       exs_msghdr_t m = message_of(&piece, 1, 0, w.at());
       return exs_sendmsg(w.connected(), &m, 0, w.q(), nullptr);
     }},
    {"exs_sendmsg", EOPNOTSUPP, "persistent",
     [](TestBed& w) {
       exs_iovec_t piece = {w.at(), 64, w.mh(), 0};
       exs_msghdr_t m = message_of(&piece, 1);
       return exs_sendmsg(w.connected(), &m, EXS_PERSISTENT, w.q(), nullptr);
     }},
    {"exs_recvmsg", EFAULT, "no message", [](TestBed& w) { return exs_recvmsg(w.connected(), nullptr, 0, w.q(), nullptr); }},
    {"exs_recvmsg", EMSGSIZE, "too many pieces",
     [](TestBed& w) {
       static exs_iovec_t pieces[EXS_IOV_MAX + 1];
       exs_msghdr_t m = message_of(pieces, EXS_IOV_MAX + 1);
       return exs_recvmsg(w.connected(), &m, 0, w.q(), nullptr);
     }},
    {"exs_recvmsg", EINVAL, "a field that is not used",
     [](TestBed& w) {
       exs_iovec_t piece = {w.at(), 1, w.mh(), 7};
       exs_msghdr_t m = message_of(&piece, 1);
       return exs_recvmsg(w.connected(), &m, 0, w.q(), nullptr);
     }},
    {"exs_sendfile", EFAULT, "nothing to send", [](TestBed& w) { return exs_sendfile(w.connected(), nullptr, 0, w.q(), nullptr); }},
    {"exs_sendfile", EMSGSIZE, "too many elements",
     [](TestBed& w) {
       static exs_xferelem_t elements[EXS_IOV_MAX + 1];
       exs_xferfile_t file = {elements, EXS_IOV_MAX + 1, 0};
       return exs_sendfile(w.connected(), &file, 0, w.q(), nullptr);
     }},
    {"exs_sendfile", EBADF, "no file", [](TestBed& w) { return file_of(w, TestBed::kNoDescriptor, 0, 1); }},
    {"exs_sendfile", EINVAL, "beyond the end of the file", [](TestBed& w) { return file_of(w, a_short_file(), 5, 6); }},
    {"exs_sendfile", EINVAL, "an unknown kind of element",
     [](TestBed& w) {
       exs_xferelem_t element{};
       element.type = 9;
       exs_xferfile_t file = {&element, 1, 0};
       return exs_sendfile(w.connected(), &file, 0, w.q(), nullptr);
     }},
    {"exs_send_offset", EOPNOTSUPP, "a stream",
     [](TestBed& w) { return exs_send_offset(w.stream(), w.at(), 1, 0, w.q(), nullptr, w.mh(), 0); }},
    {"exs_recv_offset", EOPNOTSUPP, "a stream",
     [](TestBed& w) { return exs_recv_offset(w.stream(), w.at(), 1, 0, w.q(), nullptr, w.mh(), 0); }},
    {"exs_send", EOPNOTSUPP, "persistent on a stream",
     [](TestBed& w) { return exs_send(w.stream(), w.at(), 64, EXS_PERSISTENT, w.q(), nullptr, w.mh()); }},
    {"exs_recv", EOPNOTSUPP, "persistent on a stream",
     [](TestBed& w) { return exs_recv(w.stream(), w.at(), 64, EXS_PERSISTENT, w.q(), nullptr, w.mh()); }},
    {"exs_send", EOPNOTSUPP, "a flag of receives",
     [](TestBed& w) { return exs_send(w.connected(), w.at(), 1, MSG_WAITALL, w.q(), nullptr, w.mh()); }},
    {"exs_recv", EOPNOTSUPP, "a flag of sends",
     [](TestBed& w) { return exs_recv(w.connected(), w.at(), 1, EXS_NO_IMMEDIATE, w.q(), nullptr, w.mh()); }},
    {"exs_recv", EOPNOTSUPP, "mappable and not persistent",
     [](TestBed& w) { return exs_recv(w.connected(), w.at(), 8, EXS_MAPPABLE, w.q(), nullptr, w.mh()); }},
    {"exs_recv", EINVAL, "mappable, and not from exs_alloc",
     [](TestBed& w) { return exs_recv(w.connected(), w.at(), 8, EXS_PERSISTENT | EXS_MAPPABLE, w.q(), nullptr, w.mh()); }},
    {"exs_send", EOPNOTSUPP, "mappable",
     [](TestBed& w) { return exs_send(w.connected(), w.at(), 8, EXS_PERSISTENT | EXS_MAPPABLE, w.q(), nullptr, w.mh()); }},
    {"exs_recv", EACCES, "persistent, in memory that no peer may write",
     [](TestBed& w) { return exs_recv(w.connected(), w.local_only_at(), 64, EXS_PERSISTENT, w.q(), nullptr, w.local_only()); }},
    {"exs_send", EACCES, "persistent, in memory that no peer may read",
     [](TestBed& w) { return exs_send(w.connected(), w.local_only_at(), 64, EXS_PERSISTENT, w.q(), nullptr, w.local_only()); }},
    {"exs_flush", EBADF, "no descriptor", [](TestBed&) { return exs_flush(TestBed::kNoDescriptor); }},
    {"exs_flush", ENOTCONN, "not connected", [](TestBed& w) { return exs_flush(w.fresh()); }},
    {"exs_recv_window", EBADF, "no descriptor", [](TestBed& w) { return window(w, TestBed::kNoDescriptor, 0, 0); }},
    {"exs_recv_window", ENOTCONN, "not connected", [](TestBed& w) { return window(w, w.fresh(), 0, 0); }},
    {"exs_recv_window", EINVAL, "a window that is not aligned", [](TestBed& w) { return window(w, w.connected(), 4, 0); }},
    {"exs_recv_window", EOPNOTSUPP, "a stream", [](TestBed& w) { return window(w, w.stream(), 0, 0); }},
};
// clang-format on

}  // namespace refusals_transfer_test

BOOST_AUTO_TEST_SUITE(refusals_transfer_test)

// shows: exs_send EBADF ENOTCONN EINVAL EFAULT EOPNOTSUPP EAGAIN, exs_recv EBADF ENOTCONN EINVAL EFAULT
// EOPNOTSUPP EAGAIN, exs_send_offset EBADF ENOTCONN EINVAL EFAULT EOPNOTSUPP EAGAIN, exs_recv_offset EBADF
// ENOTCONN EINVAL EFAULT EOPNOTSUPP EAGAIN
BOOST_DATA_TEST_CASE(every_way_refuses, data::make(kTransferCalls) * data::make(kSituations), way,
                     situation) {
  check(way, situation);
}

// shows: exs_send EACCES EPIPE EBUSY, exs_send_offset EACCES EPIPE EBUSY
BOOST_DATA_TEST_CASE(every_send_refuses, data::make(kTransferCalls) * data::make(kSendSituations), way,
                     situation) {
  if (way.sends) check(way, situation);
}

// shows: exs_recv EBUSY EFAULT, exs_recv_offset EBUSY EFAULT
BOOST_DATA_TEST_CASE(every_receive_refuses, data::make(kTransferCalls) * data::make(kReceiveSituations), way,
                     situation) {
  if (!way.sends) check(way, situation);
}

BOOST_DATA_TEST_CASE(refuses, kRefusals) {
  check_refusal(sample);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
