// Probes, and the calls of exs/msg.h that wait for requests.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs_Native.h>

#include "bindings/java/native/outcome.h"

using namespace exs_java;

namespace {

// The return value of a call that waits for a request. The request has ended once it is 0, also if it failed.
jint ended(int outcome, exm_request_t request) {
  if (outcome > 0 || (outcome == 0 && request == 0)) return kDone;
  if (outcome == 0 || errno == ETIMEDOUT || errno == EINTR) return request == 0 ? -errno : kPending;
  return -errno;
}

}  // namespace

jint Java_exs_Native_iprobe(JNIEnv*, jclass, jlong ep, jint from, jint tag, jint context, jlong out) {
  return result(exm_iprobe(endpoint(ep), from, tag, context, &pointer<Outcome>(out)->status));
}

jint Java_exs_Native_probe(JNIEnv*, jclass, jlong ep, jint from, jint tag, jint context, jlong slice_ns,
                           jlong out) {
  return happened(exm_probe(endpoint(ep), from, tag, context, &pointer<Outcome>(out)->status, slice_ns));
}

jint Java_exs_Native_improbe(JNIEnv*, jclass, jlong ep, jint from, jint tag, jint context, jlong out) {
  auto& outcome = *pointer<Outcome>(out);
  return result(exm_improbe(endpoint(ep), from, tag, context, &outcome.message, &outcome.status));
}

jint Java_exs_Native_mprobe(JNIEnv*, jclass, jlong ep, jint from, jint tag, jint context, jlong slice_ns,
                            jlong out) {
  auto& outcome = *pointer<Outcome>(out);
  return happened(exm_mprobe(endpoint(ep), from, tag, context, &outcome.message, &outcome.status, slice_ns));
}

jint Java_exs_Native_await(JNIEnv*, jclass, jlong ep, jlong slice_ns, jlong out) {
  auto& outcome = *pointer<Outcome>(out);
  const int waited = exm_wait(endpoint(ep), &outcome.request, &outcome.status, slice_ns);
  return ended(waited, outcome.request);
}

jint Java_exs_Native_test(JNIEnv*, jclass, jlong ep, jlong out) {
  auto& outcome = *pointer<Outcome>(out);
  const int tested = exm_test(endpoint(ep), &outcome.request, &outcome.status);
  return ended(tested, outcome.request);
}

jint Java_exs_Native_awaitAny(JNIEnv*, jclass, jlong ep, jlong handles, jint count, jlong slice_ns,
                              jlong out) {
  auto& outcome = *pointer<Outcome>(out);
  const int waited = exm_waitany(endpoint(ep), pointer<exm_request_t>(handles), count, &outcome.index,
                                 &outcome.status, slice_ns);
  // A failed request has ended, too.
  if (outcome.index != EXM_UNDEFINED) return kDone;
  return waited == 0 ? kPending : errno == ETIMEDOUT || errno == EINTR ? kPending : -errno;
}

jint Java_exs_Native_awaitSome(JNIEnv*, jclass, jlong ep, jlong handles, jint count, jlong indices,
                               jlong statuses, jlong slice_ns) {
  const int told = exm_waitsome(endpoint(ep), pointer<exm_request_t>(handles), count, pointer<int>(indices),
                                pointer<exm_status_t>(statuses), slice_ns);
  if (told >= 0) return told;
  return errno == ETIMEDOUT || errno == EINTR ? kPending : -errno;
}

jint Java_exs_Native_awaitAll(JNIEnv*, jclass, jlong ep, jlong handles, jint count, jlong statuses,
                              jlong slice_ns) {
  return happened(exm_waitall(endpoint(ep), pointer<exm_request_t>(handles), count,
                              pointer<exm_status_t>(statuses), slice_ns));
}

jint Java_exs_Native_peek(JNIEnv*, jclass, jlong ep, jlong slice_ns, jlong out) {
  return happened(exm_peek(endpoint(ep), &pointer<Outcome>(out)->request, slice_ns));
}

jint Java_exs_Native_cancel(JNIEnv*, jclass, jlong ep, jlong request) {
  return result(exm_cancel(endpoint(ep), static_cast<exm_request_t>(request)));
}
