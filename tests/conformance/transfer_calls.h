// Every way to post a transfer, behind one signature, so that common rules are tested for all of them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ostream>

#include "tests/conformance/test_bed.h"

namespace exs::test {

struct Arguments {
  int socket = -1;
  void* buffer = nullptr;
  std::size_t length_bytes = 0;
  int flags = 0;
  exs_qhandle_t queue = EXS_QHANDLE_INVALID;
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  exs_ahandle_t handle = nullptr;
};

// The arrays of a vector call, which must live until its event. One set is enough for a test that posts one
// operation at a time.
struct Vector {
  exs_iovec_t pieces[2]{};
  exs_msghdr_t message{};
  exs_xferelem_t elements[2]{};
  exs_xferfile_t file{};
};

struct TransferCall {
  const char* function;
  bool sends;
  bool waits;  // a blocking form: returns -1 and sets errno where the others give an event
  int event_type;
  int (*post)(const Arguments&, Vector&);
};

inline std::ostream& operator<<(std::ostream& out, const TransferCall& way) {
  return out << way.function;
}

// The memory in two pieces, the first one byte long.
inline exs_msghdr_t* in_two(const Arguments& a, Vector& vector) {
  auto* bytes = static_cast<std::byte*>(a.buffer);
  const std::size_t first = a.length_bytes > 1 ? 1 : a.length_bytes;
  vector.pieces[0] = {bytes, first, a.region, 0};
  vector.pieces[1] = {bytes + first, a.length_bytes - first, a.region, 0};
  vector.message = {vector.pieces, a.length_bytes > 1 ? 2 : 1, 0, nullptr, 0};
  return &vector.message;
}

inline exs_xferfile_t* as_element(const Arguments& a, Vector& vector) {
  vector.elements[0].type = EXS_IOVEC;
  vector.elements[0].u.iov = {a.buffer, a.length_bytes, a.region, 0};
  vector.file = {vector.elements, 1, 0};
  return &vector.file;
}

inline const TransferCall kTransferCalls[] = {
    {"exs_send", true, false, EXS_EVT_SEND,
     [](const Arguments& a, Vector&) {
       return exs_send(a.socket, a.buffer, a.length_bytes, a.flags, a.queue, a.handle, a.region);
     }},
    {"exs_recv", false, false, EXS_EVT_RECV,
     [](const Arguments& a, Vector&) {
       return exs_recv(a.socket, a.buffer, a.length_bytes, a.flags, a.queue, a.handle, a.region);
     }},
    {"exs_send_offset", true, false, EXS_EVT_SEND,
     [](const Arguments& a, Vector&) {
       return exs_send_offset(a.socket, a.buffer, a.length_bytes, a.flags, a.queue, a.handle, a.region, 0);
     }},
    {"exs_recv_offset", false, false, EXS_EVT_RECV,
     [](const Arguments& a, Vector&) {
       return exs_recv_offset(a.socket, a.buffer, a.length_bytes, a.flags, a.queue, a.handle, a.region, 0);
     }},
    {"exs_sendmsg", true, false, EXS_EVT_SENDMSG,
     [](const Arguments& a, Vector& v) {
       return exs_sendmsg(a.socket, in_two(a, v), a.flags, a.queue, a.handle);
     }},
    {"exs_recvmsg", false, false, EXS_EVT_RECVMSG,
     [](const Arguments& a, Vector& v) {
       return exs_recvmsg(a.socket, in_two(a, v), a.flags, a.queue, a.handle);
     }},
    {"exs_sendfile", true, false, EXS_EVT_SENDFILE,
     [](const Arguments& a, Vector& v) {
       return exs_sendfile(a.socket, as_element(a, v), a.flags, a.queue, a.handle);
     }},
    {"exs_send_sync", true, true, EXS_EVT_NONE,
     [](const Arguments& a, Vector&) {
       return static_cast<int>(exs_send_sync(a.socket, a.buffer, a.length_bytes, a.flags, a.region));
     }},
    {"exs_recv_sync", false, true, EXS_EVT_NONE,
     [](const Arguments& a, Vector&) {
       return static_cast<int>(exs_recv_sync(a.socket, a.buffer, a.length_bytes, a.flags, a.region));
     }},
};

}  // namespace exs::test
