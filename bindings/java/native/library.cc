// Start, errors and memory.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs_Native.h>

#include <cstring>
#include <string>

#include "bindings/java/native/arrays.h"
#include "bindings/java/native/outcome.h"

using namespace exs_java;

namespace {

// The library's texts are ASCII, but names of hosts may not be; Java accepts only ASCII here.
jstring text_of(JNIEnv* env, std::string text) {
  for (char& letter : text) {
    if (static_cast<unsigned char>(letter) >= 0x80) letter = '?';
  }
  return env->NewStringUTF(text.c_str());
}

}  // namespace

jint Java_exs_Native_start(JNIEnv*, jclass) {
  return result(exs_init(EXS_VERSION));
}

jstring Java_exs_Native_errorText(JNIEnv* env, jclass, jint error) {
  const std::string text = exs_errtext();
  return text_of(env, text.empty() ? std::strerror(error) : text);
}

jstring Java_exs_Native_describe(JNIEnv* env, jclass, jint error) {
  return text_of(env, std::strerror(error));
}

jlong Java_exs_Native_address(JNIEnv* env, jclass, jobject buffer) {
  return reinterpret_cast<jlong>(env->GetDirectBufferAddress(buffer));
}

jint Java_exs_Native_alloc(JNIEnv*, jclass, jlong bytes, jlong out) {
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  void* const memory = exs_alloc(static_cast<std::size_t>(bytes), &region);
  if (memory == nullptr) return result(-1);
  pointer<Outcome>(out)->request = reinterpret_cast<std::uint64_t>(memory);
  pointer<Outcome>(out)->index = region;
  return 0;
}

jint Java_exs_Native_free(JNIEnv*, jclass, jlong address) {
  return result(exs_free(pointer<void>(address)));
}

jobject Java_exs_Native_wrap(JNIEnv* env, jclass, jlong address, jlong bytes) {
  return env->NewDirectByteBuffer(pointer<void>(address), bytes);
}

void Java_exs_Native_copyOut(JNIEnv* env, jclass, jobject array, jint kind, jint at, jint count,
                             jlong memory) {
  const Elements elements{array, kind, at, count};
  elements.copy_from(env, pointer<void>(memory), elements.bytes());
}
