// Queues and memory: every error that a manual page names, in a situation that must cause it.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cerrno>

#include "tests/conformance/test_bed.h"

namespace exs::test {
namespace refusals_queue_test {

int set(exs_qhandle_t queue, int name, int value, std::size_t length = sizeof(int)) {
  return exs_qmodify(queue, name, &value, length);
}

int get(exs_qhandle_t queue, int name, std::size_t room = sizeof(int)) {
  int value[8];
  return exs_qstatus(queue, name, value, &room);
}

const exs_signal_t kNoSignal = {EXS_SIG_ENABLE, -1, nullptr};
const timeval kNegative = {-1, 0};
const timeval kTooManyMicroseconds = {0, 1'000'000};
exs_event_t room[2000];

// clang-format off
const Refusal kRefusals[] = {
    {"exs_init", ENOTSUP, "a version that is not spoken", [](TestBed&) { return exs_init(4711); }},

    {"exs_mregister", EINVAL, "an empty range", [](TestBed& w) -> int { return exs_mregister(w.at(), 0, 0); }},
    {"exs_mregister", EINVAL, "an unknown flag", [](TestBed& w) -> int { return exs_mregister(w.at(), 1, 1 << 20); }},
    {"exs_mregister", EINVAL, "local only and readable",
     [](TestBed& w) -> int { return exs_mregister(w.at(), 1, EXS_MRF_LOCAL_ONLY | EXS_MRF_REMOTE_READ); }},
    {"exs_mregister", EINVAL, "local only and writable",
     [](TestBed& w) -> int { return exs_mregister(w.at(), 1, EXS_MRF_LOCAL_ONLY | EXS_MRF_REMOTE_WRITE); }},
    {"exs_mregister", EFAULT, "memory that is not mapped",
     [](TestBed&) -> int { return exs_mregister(reinterpret_cast<void*>(4096), 4096, 0); }},
    {"exs_mregister", EFAULT, "a null pointer", [](TestBed&) -> int { return exs_mregister(nullptr, 4096, 0); }},
    {"exs_mderegister", EINVAL, "a queue", [](TestBed& w) { return exs_mderegister(static_cast<exs_mhandle_t>(w.q()), 0); }},
    {"exs_mderegister", EINVAL, "a stale region", [](TestBed& w) { return exs_mderegister(w.stale_region(), 0); }},
    {"exs_mderegister", EINVAL, "no region", [](TestBed&) { return exs_mderegister(EXS_MHANDLE_INVALID, 0); }},
    {"exs_mderegister", EINVAL, "the unregistered region",
     [](TestBed&) { return exs_mderegister(EXS_MHANDLE_UNREGISTERED, 0); }},
    {"exs_mderegister", EINVAL, "an unknown flag", [](TestBed& w) { return exs_mderegister(w.mh(), 1); }},
    {"exs_mderegister", EBUSY, "a receive is posted",
     [](TestBed& w) {
       w.receiving();
       return exs_mderegister(w.mh(), 0);
     }},
    {"exs_alloc", EINVAL, "no length",
     [](TestBed&) { exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED; return exs_alloc(0, &region) == nullptr ? -1 : 0; }},
    {"exs_alloc", EINVAL, "no place for the handle",
     [](TestBed&) { return exs_alloc(64, nullptr) == nullptr ? -1 : 0; }},
    {"exs_alloc", ENOMEM, "more than there can be",
     [](TestBed&) { exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED; return exs_alloc(SIZE_MAX / 2, &region) == nullptr ? -1 : 0; }},
    {"exs_free", EBUSY, "a receive is posted",
     [](TestBed& w) { return exs_free(w.receiving_allocated()); }},
    {"exs_free", EINVAL, "memory of another origin", [](TestBed& w) { return exs_free(w.at()); }},

    {"exs_qcreate", EINVAL, "no depth", [](TestBed&) -> int { return exs_qcreate(0); }},
    {"exs_qcreate", EINVAL, "a negative depth", [](TestBed&) -> int { return exs_qcreate(-1); }},
    {"exs_qcreate", EINVAL, "too deep", [](TestBed&) -> int { return exs_qcreate(EXS_QDEPTH_MAX + 1); }},
    {"exs_qdelete", EBADF, "a stale queue", [](TestBed& w) { return exs_qdelete(w.stale_queue()); }},
    {"exs_qdelete", EBADF, "a region", [](TestBed& w) { return exs_qdelete(static_cast<exs_qhandle_t>(w.mh())); }},
    {"exs_qdelete", EBADF, "no queue", [](TestBed&) { return exs_qdelete(EXS_QHANDLE_INVALID); }},
    {"exs_qdelete", EBUSY, "a receive names it",
     [](TestBed& w) {
       w.receiving();
       return exs_qdelete(w.q());
     }},
    {"exs_qdequeue", EBADF, "a stale queue",
     [](TestBed& w) { return exs_qdequeue(w.stale_queue(), room, 1, nullptr); }},
    {"exs_qdequeue", EFAULT, "no room", [](TestBed& w) { return exs_qdequeue(w.q(), nullptr, 1, nullptr); }},
    {"exs_qdequeue", EINVAL, "more than one call may return",
     [](TestBed& w) { return exs_qdequeue(w.q(), room, EXS_EVTVEC_MAX + 1, nullptr); }},
    {"exs_qdequeue", EINVAL, "a threshold above what one call may return",
     [](TestBed& w) { return exs_qdequeue(w.q(), room, -EXS_EVTVEC_MAX - 1, nullptr); }},
    {"exs_qdequeue", EINVAL, "a threshold above the depth",
     [](TestBed& w) { return exs_qdequeue(w.full(), room, -2, nullptr); }},
    {"exs_qdequeue", EINVAL, "a count that has no opposite",
     [](TestBed& w) { return exs_qdequeue(w.q(), room, INT32_MIN, nullptr); }},
    {"exs_qdequeue", EINVAL, "a negative time", [](TestBed& w) { return exs_qdequeue(w.q(), room, 1, &kNegative); }},
    {"exs_qdequeue", EINVAL, "a second of microseconds",
     [](TestBed& w) { return exs_qdequeue(w.q(), room, 1, &kTooManyMicroseconds); }},
    {"exs_qwait", EBADF, "a stale queue", [](TestBed& w) { return exs_qwait(w.stale_queue(), room, 1, 1, 0); }},
    {"exs_qwait", EFAULT, "no room", [](TestBed& w) { return exs_qwait(w.q(), nullptr, 1, 1, 0); }},
    {"exs_qwait", EINVAL, "more wanted than taken", [](TestBed& w) { return exs_qwait(w.q(), room, 1, 2, 0); }},
    {"exs_qwait", EINVAL, "a negative count", [](TestBed& w) { return exs_qwait(w.q(), room, -1, -1, 0); }},
    {"exs_qmodify", EBADF, "a stale queue", [](TestBed& w) { return set(w.stale_queue(), EXS_QATTR_DEPTH, 2); }},
    {"exs_qmodify", EINVAL, "an unknown attribute", [](TestBed& w) { return set(w.q(), 4711, 2); }},
    {"exs_qmodify", EINVAL, "a value that makes no sense",
     [](TestBed& w) { return set(w.q(), EXS_QATTR_WAIT, 17); }},
    {"exs_qmodify", EINVAL, "a length that is not the value's",
     [](TestBed& w) { return set(w.q(), EXS_QATTR_WAIT, EXS_WAIT_NOTIFY, 1); }},
    {"exs_qmodify", EINVAL, "an attribute to ask for only", [](TestBed& w) { return set(w.q(), EXS_QATTR_EVENTS, 2); }},
    {"exs_qmodify", EINVAL, "a signal that does not exist",
     [](TestBed& w) { return exs_qmodify(w.q(), EXS_QATTR_SIGNAL, &kNoSignal, sizeof kNoSignal); }},
    {"exs_qmodify", EFAULT, "no value", [](TestBed& w) { return exs_qmodify(w.q(), EXS_QATTR_WAIT, nullptr, 4); }},
    {"exs_qmodify", EBUSY, "a depth below the slots taken",
     [](TestBed& w) {
       w.receiving();
       return set(w.q(), EXS_QATTR_DEPTH, 1);
     }},
    {"exs_qstatus", EBADF, "a stale queue", [](TestBed& w) { return get(w.stale_queue(), EXS_QATTR_DEPTH); }},
    {"exs_qstatus", EINVAL, "an unknown attribute", [](TestBed& w) { return get(w.q(), 4711); }},
    {"exs_qstatus", EINVAL, "too little room", [](TestBed& w) { return get(w.q(), EXS_QATTR_DEPTH, 1); }},
    {"exs_qstatus", EFAULT, "no room",
     [](TestBed& w) { std::size_t length = 4; return exs_qstatus(w.q(), EXS_QATTR_DEPTH, nullptr, &length); }},
    {"exs_qstatus", EFAULT, "no length",
     [](TestBed& w) { int value = 0; return exs_qstatus(w.q(), EXS_QATTR_DEPTH, &value, nullptr); }},
    {"exs_qfd", EBADF, "a stale queue", [](TestBed& w) { return exs_qfd(w.stale_queue()); }},
    {"exs_qpost", EBADF, "a stale queue", [](TestBed& w) { return exs_qpost(w.stale_queue(), nullptr, nullptr); }},
    {"exs_qpost", EAGAIN, "a full queue", [](TestBed& w) { return exs_qpost(w.full(), nullptr, nullptr); }},
    {"exs_setlog", EINVAL, "a level beyond", [](TestBed&) { return exs_setlog(nullptr, nullptr, EXS_LOG_DEBUG + 1); }},
};
// clang-format on

}  // namespace refusals_queue_test

BOOST_AUTO_TEST_SUITE(refusals_queue_test)

BOOST_DATA_TEST_CASE(refuses, kRefusals) {
  check_refusal(sample);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
