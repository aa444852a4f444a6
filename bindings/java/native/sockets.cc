// The calls of exs/exs.h on sockets and queues.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs_Native.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "bindings/java/native/outcome.h"

using namespace exs_java;

namespace {

// The layout of an address in Java.
struct Address {
  std::int32_t family;  // 4 or 6
  std::int32_t port;
  std::int32_t scope;
  std::array<unsigned char, 16> bytes;
};
static_assert(sizeof(Address) == 28);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;

  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
};

SocketAddress to_socket_address(const Address& from) {
  SocketAddress to;
  if (from.family == 4) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(static_cast<std::uint16_t>(from.port));
    std::memcpy(&in.sin_addr, from.bytes.data(), sizeof in.sin_addr);
    std::memcpy(&to.storage, &in, sizeof in);
    to.length = sizeof in;
  } else {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(static_cast<std::uint16_t>(from.port));
    in.sin6_scope_id = static_cast<std::uint32_t>(from.scope);
    std::memcpy(&in.sin6_addr, from.bytes.data(), sizeof in.sin6_addr);
    std::memcpy(&to.storage, &in, sizeof in);
    to.length = sizeof in;
  }
  return to;
}

void from_socket_address(const SocketAddress& from, Address& to) {
  to = {};
  if (from.storage.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &from.storage, sizeof in);
    to.family = 4;
    to.port = ntohs(in.sin_port);
    std::memcpy(to.bytes.data(), &in.sin_addr, sizeof in.sin_addr);
  } else {
    sockaddr_in6 in{};
    std::memcpy(&in, &from.storage, sizeof in);
    to.family = 6;
    to.port = ntohs(in.sin6_port);
    to.scope = static_cast<std::int32_t>(in.sin6_scope_id);
    std::memcpy(to.bytes.data(), &in.sin6_addr, sizeof in.sin6_addr);
  }
}

exs_ahandle_t handle_of(jlong handle) noexcept {
  return pointer<void>(handle);
}

// Java knows queues and regions by their numbers.
exs_qhandle_t queue_of(jint number) noexcept {
  return static_cast<exs_qhandle_t>(number);
}
exs_mhandle_t region_of(jint number) noexcept {
  return static_cast<exs_mhandle_t>(number);
}

// The memory of an exs_sendmsg until its event: the message, and its vector behind it.
exs_msghdr_t* copy_of(const exs_iovec_t* pieces, int count) noexcept {
  const std::size_t vector_bytes = static_cast<std::size_t>(count) * sizeof *pieces;
  void* const memory = std::malloc(sizeof(exs_msghdr_t) + vector_bytes);
  if (memory == nullptr) return nullptr;
  auto* const message = new (memory) exs_msghdr_t{};
  message->msg_iov = reinterpret_cast<exs_iovec_t*>(message + 1);
  message->msg_iovlen = count;
  std::memcpy(message->msg_iov, pieces, vector_bytes);
  return message;
}

// Turns the event of an exs_sendmsg into that of an exs_send, and frees the copy.
void end_message(exs_event_t& event) noexcept {
  const exs_evt_xfermsg_t sent = event.exs_evt_union.exs_evt_xfermsg;
  std::free(sent.exs_evt_msghdr);
  event.exs_evt_type = EXS_EVT_SEND;
  event.exs_evt_union.exs_evt_xfer = {};
  event.exs_evt_union.exs_evt_xfer.exs_evt_length = sent.exs_evt_length;
}

}  // namespace

// ---------------------------------------------------------------- making sockets

jint Java_exs_Native_socket(JNIEnv*, jclass, jint family, jint type) {
  return result(exs_socket(family == 4 ? AF_INET : AF_INET6, type == 0 ? SOCK_STREAM : SOCK_SEQPACKET, 0));
}

jint Java_exs_Native_bind(JNIEnv*, jclass, jint socket, jlong address) {
  SocketAddress to = to_socket_address(*pointer<Address>(address));
  return result(exs_bind(socket, to.get(), to.length));
}

jint Java_exs_Native_listen(JNIEnv*, jclass, jint socket, jint backlog) {
  return result(exs_listen(socket, backlog));
}

jint Java_exs_Native_setProvider(JNIEnv* env, jclass, jint socket, jbyteArray text) {
  std::vector<char> bytes(static_cast<std::size_t>(env->GetArrayLength(text)));
  env->GetByteArrayRegion(text, 0, static_cast<jsize>(bytes.size()), reinterpret_cast<jbyte*>(bytes.data()));
  return result(
      exs_setsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, bytes.data(), static_cast<socklen_t>(bytes.size())));
}

jbyteArray Java_exs_Native_text(JNIEnv* env, jclass, jint socket, jint option) {
  std::array<char, 1024> text{};
  socklen_t length = text.size() - 1;
  if (exs_getsockopt(socket, SOL_EXS, option, text.data(), &length) == -1) return nullptr;
  const auto letters = static_cast<jsize>(std::strlen(text.data()));
  jbyteArray bytes = env->NewByteArray(letters);
  if (bytes != nullptr)
    env->SetByteArrayRegion(bytes, 0, letters, reinterpret_cast<const jbyte*>(text.data()));
  return bytes;
}

jint Java_exs_Native_setLimits(JNIEnv*, jclass, jint socket, jint small_bytes, jint credits) {
  const int outcome = result(exs_fcntl(socket, EXS_F_SET_SMALL_MAX, static_cast<std::size_t>(small_bytes)));
  if (outcome < 0) return outcome;
  const int sends = result(exs_fcntl(socket, EXS_F_SET_SEND_CREDITS, static_cast<int>(credits)));
  return sends < 0 ? sends : result(exs_fcntl(socket, EXS_F_SET_RECV_CREDITS, static_cast<int>(credits)));
}

jint Java_exs_Native_smallBytes(JNIEnv*, jclass, jint socket) {
  std::size_t bytes = 0;
  const int outcome = result(exs_fcntl(socket, EXS_F_GET_SMALL_MAX, &bytes));
  return outcome < 0 ? outcome : static_cast<jint>(bytes);
}

jint Java_exs_Native_credits(JNIEnv*, jclass, jint socket) {
  int credits = 0;
  const int outcome = result(exs_fcntl(socket, EXS_F_GET_SEND_CREDITS, &credits));
  return outcome < 0 ? outcome : credits;
}

jint Java_exs_Native_setInt(JNIEnv*, jclass, jint socket, jint option, jint value) {
  return result(exs_setsockopt(socket, SOL_EXS, option, &value, sizeof value));
}

jint Java_exs_Native_localAddress(JNIEnv*, jclass, jint socket, jlong address) {
  SocketAddress local;
  if (exs_getsockname(socket, local.get(), &local.length) == -1) return -errno;
  from_socket_address(local, *pointer<Address>(address));
  return 0;
}

jint Java_exs_Native_peerAddress(JNIEnv*, jclass, jint socket, jlong address) {
  SocketAddress peer;
  if (exs_getpeername(socket, peer.get(), &peer.length) == -1) return -errno;
  from_socket_address(peer, *pointer<Address>(address));
  return 0;
}

// ---------------------------------------------------------------- operations

jint Java_exs_Native_connect(JNIEnv*, jclass, jint socket, jlong address, jint queue, jlong handle) {
  SocketAddress to = to_socket_address(*pointer<Address>(address));
  return result(exs_connect(socket, to.get(), to.length, 0, queue_of(queue), handle_of(handle)));
}

jint Java_exs_Native_accept(JNIEnv*, jclass, jint socket, jint queue, jlong handle) {
  return result(exs_accept(socket, nullptr, 0, queue_of(queue), handle_of(handle)));
}

jint Java_exs_Native_post(JNIEnv* env, jclass, jboolean is_send, jint socket, jobject buffer, jlong at,
                          jlong length, jint flags, jint queue, jlong handle, jint region, jlong offset) {
  void* const memory = buffer == nullptr ? pointer<void>(at) : address_of(env, buffer, static_cast<jint>(at));
  const auto bytes = static_cast<std::size_t>(length);
  const auto place = static_cast<std::uint64_t>(offset);
  exs_ahandle_t const token = handle_of(handle);
  if (is_send == JNI_TRUE) {
    return result(offset < 0
                      ? exs_send(socket, memory, bytes, flags, queue_of(queue), token, region_of(region))
                      : exs_send_offset(socket, memory, bytes, flags, queue_of(queue), token,
                                        region_of(region), place));
  }
  return result(offset < 0 ? exs_recv(socket, memory, bytes, flags, queue_of(queue), token, region_of(region))
                           : exs_recv_offset(socket, memory, bytes, flags, queue_of(queue), token,
                                             region_of(region), place));
}

jint Java_exs_Native_sendPieces(JNIEnv*, jclass, jint socket, jlong pieces, jint count, jint queue,
                                jlong handle) {
  exs_msghdr_t* const message = copy_of(pointer<exs_iovec_t>(pieces), count);
  if (message == nullptr) return -ENOMEM;
  const jint outcome = result(exs_sendmsg(socket, message, 0, queue_of(queue), handle_of(handle)));
  if (outcome < 0) std::free(message);
  return outcome;
}

jint Java_exs_Native_shutdown(JNIEnv*, jclass, jint socket, jint how) {
  return result(exs_shutdown(socket, how));
}

jint Java_exs_Native_cancelOperation(JNIEnv*, jclass, jint socket, jlong handle) {
  return result(exs_cancel(socket, handle_of(handle), EXS_CAF_FILDES | EXS_CAF_AHANDLE));
}

jint Java_exs_Native_closeSocket(JNIEnv*, jclass, jint socket) {
  return result(exs_close(socket));
}

jint Java_exs_Native_closeSocketLater(JNIEnv*, jclass, jint socket, jint queue, jlong handle) {
  return result(exs_close_async(socket, 0, queue_of(queue), handle_of(handle)));
}

// ---------------------------------------------------------------- queues

jint Java_exs_Native_createQueue(JNIEnv*, jclass, jint depth) {
  return result(exs_qcreate(depth));
}

jint Java_exs_Native_deleteQueue(JNIEnv*, jclass, jint queue) {
  return result(exs_qdelete(queue_of(queue)));
}

jint Java_exs_Native_dequeue(JNIEnv*, jclass, jint queue, jlong events, jint max, jlong slice_ns) {
  static_assert(sizeof(exs_event_t) == 64);
  auto* const first = pointer<exs_event_t>(events);
  const int count = exs_qwait(queue_of(queue), first, max, 1, slice_ns);
  for (int i = 0; i < count; ++i) {
    if (first[i].exs_evt_type == EXS_EVT_SENDMSG) end_message(first[i]);
  }
  return count >= 0 ? count : errno == EINTR ? kPending : -errno;
}

jint Java_exs_Native_wake(JNIEnv*, jclass, jint queue) {
  return result(exs_qpost(queue_of(queue), nullptr, nullptr));
}

// ---------------------------------------------------------------- snapshots

jint Java_exs_Native_snapshotOfWindow(JNIEnv*, jclass, jint socket, jlong into, jlong length, jint region,
                                      jlong offset, jlong window_offset, jlong slice_ns) {
  const ssize_t got = exs_recv_window(socket, pointer<void>(into), static_cast<std::size_t>(length),
                                      region_of(region), static_cast<std::uint64_t>(offset),
                                      static_cast<std::uint64_t>(window_offset), slice_ns);
  return got < 0 ? -errno : kDone;
}

jint Java_exs_Native_snapshotOfSlots(JNIEnv*, jclass, jint socket, jlong into, jlong length, jint region,
                                     jlong offset, jlong slots_offset, jlong snapshot, jlong slice_ns) {
  static_assert(sizeof(exs_snapshot_t) == 32);
  const ssize_t got =
      exs_recv_snapshot(socket, pointer<void>(into), static_cast<std::size_t>(length), region_of(region),
                        static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(slots_offset),
                        pointer<exs_snapshot_t>(snapshot), slice_ns);
  return got < 0 ? -errno : kDone;
}

void Java_exs_Native_beginUpdate(JNIEnv*, jclass, jlong window) {
  exs_window_begin(pointer<exs_window_t>(window));
}

void Java_exs_Native_endUpdate(JNIEnv*, jclass, jlong window) {
  exs_window_end(pointer<exs_window_t>(window));
}

jlong Java_exs_Native_slotsBytes(JNIEnv*, jclass, jint count, jlong bytes) {
  return static_cast<jlong>(exs_slots_bytes(static_cast<unsigned>(count), static_cast<std::size_t>(bytes)));
}

void Java_exs_Native_startSlots(JNIEnv*, jclass, jlong slots, jint count, jlong bytes) {
  exs_slots_init(pointer<exs_slots_t>(slots), static_cast<unsigned>(count), static_cast<std::size_t>(bytes));
}

jlong Java_exs_Native_beginSlot(JNIEnv*, jclass, jlong slots) {
  return reinterpret_cast<jlong>(exs_slots_begin(pointer<exs_slots_t>(slots)));
}

void Java_exs_Native_endSlot(JNIEnv*, jclass, jlong slots) {
  exs_slots_end(pointer<exs_slots_t>(slots));
}
