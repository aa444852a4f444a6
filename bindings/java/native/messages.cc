// The calls of exs/msg.h that start sends and receives, and those of the job.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs_Native.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "bindings/java/native/arrays.h"
#include "bindings/java/native/outcome.h"

using namespace exs_java;

namespace {

std::vector<char> bytes_of(JNIEnv* env, jbyteArray array) {
  std::vector<char> bytes(static_cast<std::size_t>(env->GetArrayLength(array)));
  env->GetByteArrayRegion(array, 0, static_cast<jsize>(bytes.size()), reinterpret_cast<jbyte*>(bytes.data()));
  return bytes;
}

std::vector<const char*> strings_in(const std::vector<char>& bytes) {
  std::vector<const char*> strings;
  for (const char* at = bytes.data(); at != bytes.data() + bytes.size(); at += std::strlen(at) + 1)
    strings.push_back(at);
  return strings;
}

// Waits in a blocking call for the request that it has started. `request` is 0 if it ended with its call.
jint await_first(exm_ep_t ep, int started, jlong slice_ns, Outcome& out) {
  if (started < 0) return -errno;
  if (out.request == 0) return kDone;
  if (exm_wait(ep, &out.request, &out.status, slice_ns) == 0) return kDone;
  return out.request != 0 ? kPending : -errno;
}

// Returns the thread's outcome, with no error and no request.
Outcome& fresh(jlong out) {
  auto& outcome = *pointer<Outcome>(out);
  outcome.status.error = 0;
  outcome.request = 0;
  return outcome;
}

const exs_iovec_t* pieces_at(jlong address) {
  return pointer<const exs_iovec_t>(address);
}

}  // namespace

// ---------------------------------------------------------------- the job

jint Java_exs_Native_join(JNIEnv* env, jclass, jbyteArray addresses, jint rank, jint size, jbyteArray key,
                          jint eager_bytes, jint timeout_ms, jlong out) {
  exm_ep_t ep = nullptr;
  exm_config_t config{};
  std::vector<char> text;
  std::vector<const char*> names;
  if (addresses != nullptr) {
    text = bytes_of(env, addresses);
    names = strings_in(text);
    config.struct_bytes = sizeof config;
    config.rank = rank;
    config.size = size;
    config.addresses = names.data();
    if (key != nullptr)
      env->GetByteArrayRegion(key, 0, sizeof config.key, reinterpret_cast<jbyte*>(config.key));
    config.eager_bytes = static_cast<std::uint32_t>(eager_bytes);
    config.connect_timeout_ms = static_cast<std::uint32_t>(timeout_ms);
    if (names.size() != static_cast<std::size_t>(size)) return -EINVAL;  // an address holds a zero byte
  }
  if (exm_init(addresses == nullptr ? nullptr : &config, &ep) == -1) return -errno;
  pointer<Outcome>(out)->request = reinterpret_cast<std::uint64_t>(ep);
  return 0;
}

jint Java_exs_Native_rank(JNIEnv*, jclass, jlong ep) {
  return exm_rank(endpoint(ep));
}

jint Java_exs_Native_size(JNIEnv*, jclass, jlong ep) {
  return exm_size(endpoint(ep));
}

jint Java_exs_Native_leave(JNIEnv*, jclass, jlong ep) {
  return result(exm_finalize(endpoint(ep)));
}

jint Java_exs_Native_abort(JNIEnv*, jclass, jlong ep, jint code) {
  return result(exm_abort(endpoint(ep), code));
}

jint Java_exs_Native_failed(JNIEnv*, jclass, jlong ep, jlong ranks, jint room) {
  return result(exm_failed(endpoint(ep), pointer<int>(ranks), room));
}

jint Java_exs_Native_counters(JNIEnv*, jclass, jlong ep, jlong twelve) {
  static_assert(sizeof(exm_stats_t) == 12 * sizeof(jlong));
  return result(exm_stats(endpoint(ep), pointer<exm_stats_t>(twelve)));
}

// ---------------------------------------------------------------- sends

jint Java_exs_Native_isend(JNIEnv* env, jclass, jlong ep, jobject from, jint at, jint length, jint to,
                           jint tag, jint context, jint flags, jlong out) {
  return result(exm_isend(endpoint(ep), address_of(env, from, at), static_cast<std::size_t>(length), to, tag,
                          context, flags, &fresh(out).request));
}

jint Java_exs_Native_isendArray(JNIEnv* env, jclass, jlong ep, jobject array, jint kind, jint at, jint count,
                                jlong stage, jint to, jint tag, jint context, jint flags, jlong out) {
  const Elements elements{array, kind, at, count};
  elements.copy_to(env, pointer<void>(stage));
  return result(exm_isend(endpoint(ep), pointer<void>(stage), elements.bytes(), to, tag, context, flags,
                          &fresh(out).request));
}

jint Java_exs_Native_isendPieces(JNIEnv*, jclass, jlong ep, jlong pieces, jint count, jint to, jint tag,
                                 jint context, jint flags, jlong out) {
  return result(
      exm_isendv(endpoint(ep), pieces_at(pieces), count, to, tag, context, flags, &fresh(out).request));
}

jint Java_exs_Native_send(JNIEnv* env, jclass self, jlong ep, jobject from, jint at, jint length, jint to,
                          jint tag, jint context, jint flags, jlong slice_ns, jlong out) {
  const jint started = Java_exs_Native_isend(env, self, ep, from, at, length, to, tag, context, flags, out);
  if (started < 0) return started;
  return await_first(endpoint(ep), started, slice_ns, *pointer<Outcome>(out));
}

jint Java_exs_Native_sendArray(JNIEnv* env, jclass self, jlong ep, jobject array, jint kind, jint at,
                               jint count, jlong stage, jint to, jint tag, jint context, jint flags,
                               jlong slice_ns, jlong out) {
  const jint started =
      Java_exs_Native_isendArray(env, self, ep, array, kind, at, count, stage, to, tag, context, flags, out);
  if (started < 0) return started;
  return await_first(endpoint(ep), started, slice_ns, *pointer<Outcome>(out));
}

// ---------------------------------------------------------------- receives

jint Java_exs_Native_irecv(JNIEnv* env, jclass, jlong ep, jobject into, jint at, jint length, jint from,
                           jint tag, jint context, jlong out) {
  return result(exm_irecv(endpoint(ep), address_of(env, into, at), static_cast<std::size_t>(length), from,
                          tag, context, &fresh(out).request));
}

jint Java_exs_Native_irecvAt(JNIEnv*, jclass, jlong ep, jlong address, jlong length, jint from, jint tag,
                             jint context, jlong out) {
  return result(exm_irecv(endpoint(ep), pointer<void>(address), static_cast<std::size_t>(length), from, tag,
                          context, &fresh(out).request));
}

jint Java_exs_Native_irecvPieces(JNIEnv*, jclass, jlong ep, jlong pieces, jint count, jint from, jint tag,
                                 jint context, jlong out) {
  return result(exm_irecvv(endpoint(ep), pieces_at(pieces), count, from, tag, context, &fresh(out).request));
}

jint Java_exs_Native_recv(JNIEnv* env, jclass, jlong ep, jobject into, jint at, jint length, jint from,
                          jint tag, jint context, jlong slice_ns, jlong out) {
  Outcome& outcome = fresh(out);
  const int started = exm_irecv(endpoint(ep), address_of(env, into, at), static_cast<std::size_t>(length),
                                from, tag, context, &outcome.request);
  return await_first(endpoint(ep), started, slice_ns, outcome);
}

jint Java_exs_Native_recvArray(JNIEnv* env, jclass, jlong ep, jobject array, jint kind, jint at, jint count,
                               jlong stage, jint from, jint tag, jint context, jlong slice_ns, jlong out) {
  const Elements elements{array, kind, at, count};
  Outcome& outcome = fresh(out);
  const int started =
      exm_irecv(endpoint(ep), pointer<void>(stage), elements.bytes(), from, tag, context, &outcome.request);
  const jint ended = await_first(endpoint(ep), started, slice_ns, outcome);
  if (ended == kDone || outcome.status.error == EMSGSIZE)
    elements.copy_from(env, pointer<void>(stage), outcome.status.length);
  return ended;
}

jint Java_exs_Native_imrecvAt(JNIEnv*, jclass, jlong ep, jlong message, jlong address, jlong length,
                              jlong out) {
  auto taken = static_cast<exm_message_t>(message);
  return result(exm_imrecv(endpoint(ep), pointer<void>(address), static_cast<std::size_t>(length), &taken,
                           &fresh(out).request));
}

jint Java_exs_Native_imrecv(JNIEnv* env, jclass self, jlong ep, jlong message, jobject into, jint at,
                            jint length, jlong out) {
  return Java_exs_Native_imrecvAt(env, self, ep, message, reinterpret_cast<jlong>(address_of(env, into, at)),
                                  length, out);
}
