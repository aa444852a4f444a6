// Transfers: what is refused before anything happens, for every way to post one.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <string_view>

#include "tests/conformance/ways.h"

namespace data = boost::unit_test::data;

namespace exs::test {
namespace {

// The same for every way: change one argument of a call that would be accepted.
struct Situation {
  int error;
  const char* when;
  void (*change)(World&, Arguments&);
  bool blocking_too;  // false: it is about the queue, which the blocking forms have not
};

std::ostream& operator<<(std::ostream& out, const Situation& situation) {
  return out << errno_name(situation.error) << ": " << situation.when;
}

const Situation kSituations[] = {
    {EBADF, "no descriptor", [](World&, Arguments& a) { a.socket = World::kNoDescriptor; }, true},
    {EBADF, "a stale queue", [](World& w, Arguments& a) { a.queue = w.stale_queue(); }, false},
    {EBADF, "no queue", [](World&, Arguments& a) { a.queue = EXS_QHANDLE_INVALID; }, false},
    {ENOTCONN, "not connected", [](World& w, Arguments& a) { a.socket = w.fresh(); }, true},
    {ENOTCONN, "listening", [](World& w, Arguments& a) { a.socket = w.listening(); }, true},
    {ENOTCONN, "connecting", [](World& w, Arguments& a) { a.socket = w.connecting(); }, true},
    {EINVAL, "a stale region", [](World& w, Arguments& a) { a.region = w.stale_region(); }, true},
    {EINVAL, "no region", [](World&, Arguments& a) { a.region = EXS_MHANDLE_INVALID; }, true},
    {EFAULT, "one byte before the region",
     [](World& w, Arguments& a) { a.buffer = static_cast<std::byte*>(w.at()) - 1; }, true},
    {EFAULT, "beyond the region", [](World& w, Arguments& a) { a.length_bytes = w.memory.size_bytes() + 1; },
     true},
    {EFAULT, "a null pointer", [](World&, Arguments& a) { a.buffer = nullptr; }, true},
    {EFAULT, "unregistered memory that is not mapped",
     [](World&, Arguments& a) {
       a.buffer = reinterpret_cast<void*>(4096);
       a.region = EXS_MHANDLE_UNREGISTERED;
     },
     true},
    {EOPNOTSUPP, "MSG_OOB", [](World&, Arguments& a) { a.flags = MSG_OOB; }, true},
    {EOPNOTSUPP, "MSG_PEEK", [](World&, Arguments& a) { a.flags = MSG_PEEK; }, true},
    {EOPNOTSUPP, "all flags", [](World&, Arguments& a) { a.flags = -1; }, true},
    {EAGAIN, "a full queue", [](World& w, Arguments& a) { a.queue = w.full(); }, false},
    {EAGAIN, "the limit of operations",
     [](World& w, Arguments&) {
       exs_fcntl(w.connected(), EXS_F_SET_MAX_OPS, 1);
       // The peer takes nothing and sends nothing, so both stay open.
       exs_send(w.connected(), w.at(), 1, EXS_NO_IMMEDIATE, w.q(), nullptr, w.mh());
       exs_recv(w.connected(), w.at(), 1, 0, w.q(), nullptr, w.mh());
     },
     true},
};

Arguments good(World& w) {
  return {w.connected(), w.at(), 4096, 0, w.q(), w.mh(), nullptr};
}

// Rights matter to memory that is exposed to the peer.
const Situation kSendSituations[] = {
    {EACCES, "memory that no peer may read",
     [](World& w, Arguments& a) {
       a.buffer = w.local_only_at();
       a.region = w.local_only();
     },
     true},
    {EPIPE, "sending is shut down", [](World& w, Arguments&) { exs_shutdown(w.connected(), SHUT_WR); }, true},
    {EBUSY, "a persistent send is posted",
     [](World& w, Arguments&) {
       exs_send(w.connected(), w.at(), 64, EXS_PERSISTENT, w.q(), nullptr, w.mh());
     },
     true},
};
const Situation kReceiveSituations[] = {
    {EBUSY, "a persistent receive is posted",
     [](World& w, Arguments&) {
       exs_recv(w.connected(), w.at(), 64, EXS_PERSISTENT, w.q(), nullptr, w.mh());
     },
     true},
};

void check(const Way& way, const Situation& situation) {
  if (way.waits && !situation.blocking_too) return;
  World world;
  Vector vector;
  Arguments arguments = good(world);
  situation.change(world, arguments);
  const int slots_before = attribute(world.q(), EXS_QATTR_RESERVED_SLOTS);
  errno = 0;
  const int result = way.post(arguments, vector);
  const int error = errno;
  BOOST_TEST(result == -1);
  BOOST_TEST(errno_name(error) == errno_name(situation.error));
  BOOST_TEST(attribute(world.q(), EXS_QATTR_RESERVED_SLOTS) == slots_before);
}

int window(World& w, int socket, std::uint64_t window_offset, std::int64_t timeout_ns) {
  return static_cast<int>(exs_recv_window(socket, w.at(), 64, w.mh(), 64, window_offset, timeout_ns));
}

exs_msghdr_t message_of(exs_iovec_t* pieces, int count, int flags = 0, void* control = nullptr) {
  return {pieces, count, flags, control, 0};
}

int file_of(World& w, int descriptor, std::uint64_t offset, std::uint64_t length) {
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
    {"exs_sendmsg", EFAULT, "no message", [](World& w) { return exs_sendmsg(w.connected(), nullptr, 0, w.q(), nullptr); }},
    {"exs_sendmsg", EFAULT, "no vector",
     [](World& w) { exs_msghdr_t m = message_of(nullptr, 1); return exs_sendmsg(w.connected(), &m, 0, w.q(), nullptr); }},
    {"exs_sendmsg", EMSGSIZE, "too many pieces",
     [](World& w) {
       static exs_iovec_t pieces[EXS_IOV_MAX + 1];
       exs_msghdr_t m = message_of(pieces, EXS_IOV_MAX + 1);
       return exs_sendmsg(w.connected(), &m, 0, w.q(), nullptr);
     }},
    {"exs_sendmsg", EINVAL, "a field that is not used",
     [](World& w) {
       exs_iovec_t piece = {w.at(), 1, w.mh(), 0};
       exs_msghdr_t m = message_of(&piece, 1, 0, w.at());
       return exs_sendmsg(w.connected(), &m, 0, w.q(), nullptr);
     }},
    {"exs_sendmsg", EOPNOTSUPP, "persistent",
     [](World& w) {
       exs_iovec_t piece = {w.at(), 64, w.mh(), 0};
       exs_msghdr_t m = message_of(&piece, 1);
       return exs_sendmsg(w.connected(), &m, EXS_PERSISTENT, w.q(), nullptr);
     }},
    {"exs_recvmsg", EFAULT, "no message", [](World& w) { return exs_recvmsg(w.connected(), nullptr, 0, w.q(), nullptr); }},
    {"exs_recvmsg", EMSGSIZE, "too many pieces",
     [](World& w) {
       static exs_iovec_t pieces[EXS_IOV_MAX + 1];
       exs_msghdr_t m = message_of(pieces, EXS_IOV_MAX + 1);
       return exs_recvmsg(w.connected(), &m, 0, w.q(), nullptr);
     }},
    {"exs_recvmsg", EINVAL, "a field that is not used",
     [](World& w) {
       exs_iovec_t piece = {w.at(), 1, w.mh(), 7};
       exs_msghdr_t m = message_of(&piece, 1);
       return exs_recvmsg(w.connected(), &m, 0, w.q(), nullptr);
     }},
    {"exs_sendfile", EFAULT, "nothing to send", [](World& w) { return exs_sendfile(w.connected(), nullptr, 0, w.q(), nullptr); }},
    {"exs_sendfile", EMSGSIZE, "too many elements",
     [](World& w) {
       static exs_xferelem_t elements[EXS_IOV_MAX + 1];
       exs_xferfile_t file = {elements, EXS_IOV_MAX + 1, 0};
       return exs_sendfile(w.connected(), &file, 0, w.q(), nullptr);
     }},
    {"exs_sendfile", EBADF, "no file", [](World& w) { return file_of(w, World::kNoDescriptor, 0, 1); }},
    {"exs_sendfile", EINVAL, "beyond the end of the file", [](World& w) { return file_of(w, a_short_file(), 5, 6); }},
    {"exs_sendfile", EINVAL, "an unknown kind of element",
     [](World& w) {
       exs_xferelem_t element{};
       element.type = 9;
       exs_xferfile_t file = {&element, 1, 0};
       return exs_sendfile(w.connected(), &file, 0, w.q(), nullptr);
     }},
    {"exs_send_offset", EOPNOTSUPP, "a stream",
     [](World& w) { return exs_send_offset(w.stream(), w.at(), 1, 0, w.q(), nullptr, w.mh(), 0); }},
    {"exs_recv_offset", EOPNOTSUPP, "a stream",
     [](World& w) { return exs_recv_offset(w.stream(), w.at(), 1, 0, w.q(), nullptr, w.mh(), 0); }},
    {"exs_send", EOPNOTSUPP, "persistent on a stream",
     [](World& w) { return exs_send(w.stream(), w.at(), 64, EXS_PERSISTENT, w.q(), nullptr, w.mh()); }},
    {"exs_recv", EOPNOTSUPP, "persistent on a stream",
     [](World& w) { return exs_recv(w.stream(), w.at(), 64, EXS_PERSISTENT, w.q(), nullptr, w.mh()); }},
    {"exs_send", EOPNOTSUPP, "a flag of receives",
     [](World& w) { return exs_send(w.connected(), w.at(), 1, MSG_WAITALL, w.q(), nullptr, w.mh()); }},
    {"exs_recv", EOPNOTSUPP, "a flag of sends",
     [](World& w) { return exs_recv(w.connected(), w.at(), 1, EXS_NO_IMMEDIATE, w.q(), nullptr, w.mh()); }},
    {"exs_recv", EACCES, "persistent, in memory that no peer may write",
     [](World& w) { return exs_recv(w.connected(), w.local_only_at(), 64, EXS_PERSISTENT, w.q(), nullptr, w.local_only()); }},
    {"exs_send", EACCES, "persistent, in memory that no peer may read",
     [](World& w) { return exs_send(w.connected(), w.local_only_at(), 64, EXS_PERSISTENT, w.q(), nullptr, w.local_only()); }},
    {"exs_flush", EBADF, "no descriptor", [](World&) { return exs_flush(World::kNoDescriptor); }},
    {"exs_flush", ENOTCONN, "not connected", [](World& w) { return exs_flush(w.fresh()); }},
    {"exs_recv_window", EBADF, "no descriptor", [](World& w) { return window(w, World::kNoDescriptor, 0, 0); }},
    {"exs_recv_window", ENOTCONN, "not connected", [](World& w) { return window(w, w.fresh(), 0, 0); }},
    {"exs_recv_window", EINVAL, "a window that is not aligned", [](World& w) { return window(w, w.connected(), 4, 0); }},
    {"exs_recv_window", EOPNOTSUPP, "a stream", [](World& w) { return window(w, w.stream(), 0, 0); }},
};
// clang-format on

}  // namespace

BOOST_AUTO_TEST_SUITE(refusals_transfer_test)

// shows: exs_send EBADF ENOTCONN EINVAL EFAULT EOPNOTSUPP EAGAIN, exs_recv EBADF ENOTCONN EINVAL EFAULT
// EOPNOTSUPP EAGAIN, exs_send_offset EBADF ENOTCONN EINVAL EFAULT EOPNOTSUPP EAGAIN, exs_recv_offset EBADF
// ENOTCONN EINVAL EFAULT EOPNOTSUPP EAGAIN
BOOST_DATA_TEST_CASE(every_way_refuses, data::make(kWays) * data::make(kSituations), way, situation) {
  check(way, situation);
}

// shows: exs_send EACCES EPIPE EBUSY, exs_send_offset EACCES EPIPE EBUSY
BOOST_DATA_TEST_CASE(every_send_refuses, data::make(kWays) * data::make(kSendSituations), way, situation) {
  if (way.sends) check(way, situation);
}

// shows: exs_recv EBUSY, exs_recv_offset EBUSY
BOOST_DATA_TEST_CASE(every_receive_refuses, data::make(kWays) * data::make(kReceiveSituations), way,
                     situation) {
  if (!way.sends) check(way, situation);
}

BOOST_DATA_TEST_CASE(refuses, kRefusals) {
  check_refusal(sample);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
