// The results of a call besides its return value: 64 bytes of the calling thread (CallFrame.java), and helpers of all calls. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exs/exs.h>
#include <exs/msg.h>
#include <jni.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace exs_java {

struct Outcome {
  exm_status_t status;
  std::uint64_t request;  // a request, endpoint or address
  std::uint64_t message;
  std::int32_t index;  // of a request among several, or a region
  std::int32_t reserved[3];
};
static_assert(sizeof(Outcome) == 64 && offsetof(Outcome, request) == 32 && offsetof(Outcome, index) == 48);

// The return values of a call that waits (Native.java).
inline constexpr jint kPending = 0;
inline constexpr jint kDone = 1;

template <typename T>
T* pointer(jlong address) noexcept {
  return reinterpret_cast<T*>(address);
}

inline exm_ep_t endpoint(jlong ep) noexcept {
  return pointer<exm_ep>(ep);
}

inline char* address_of(JNIEnv* env, jobject buffer, jint at) {
  return static_cast<char*>(env->GetDirectBufferAddress(buffer)) + at;
}

// Returns a negative errno value if the call has failed.
inline jint result(int outcome) noexcept {
  return outcome < 0 ? -errno : outcome;
}

// Returns kDone, kPending at the end of the slice, or a negative errno value.
inline jint happened(int outcome) noexcept {
  if (outcome >= 0) return kDone;
  return errno == ETIMEDOUT || errno == EINTR ? kPending : -errno;
}

}  // namespace exs_java
