// Copies arrays by regions. Critical sections would block the collector while a message is under way.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs_Native.h>

#include "bindings/java/native/arrays.h"

#include <algorithm>

namespace exs_java {
namespace {

enum Kind : jint { kByte, kShort, kChar, kInt, kLong, kFloat, kDouble };

// Calls visit(array of its type, pointer to its element type) for the kind.
template <typename Visit>
void by_kind(const Elements& elements, void* memory, Visit&& visit) {
  switch (elements.kind) {
    case kByte: return visit(static_cast<jbyteArray>(elements.array), static_cast<jbyte*>(memory));
    case kShort: return visit(static_cast<jshortArray>(elements.array), static_cast<jshort*>(memory));
    case kChar: return visit(static_cast<jcharArray>(elements.array), static_cast<jchar*>(memory));
    case kInt: return visit(static_cast<jintArray>(elements.array), static_cast<jint*>(memory));
    case kLong: return visit(static_cast<jlongArray>(elements.array), static_cast<jlong*>(memory));
    case kFloat: return visit(static_cast<jfloatArray>(elements.array), static_cast<jfloat*>(memory));
    default: return visit(static_cast<jdoubleArray>(elements.array), static_cast<jdouble*>(memory));
  }
}

std::size_t bytes_of(jint kind) noexcept {
  switch (kind) {
    case kByte: return sizeof(jbyte);
    case kShort:
    case kChar: return sizeof(jshort);
    case kInt:
    case kFloat: return sizeof(jint);
    default: return sizeof(jlong);
  }
}

// One name for the functions of all types.
struct Get {
  JNIEnv* env;
  jsize at, count;
  void operator()(jbyteArray from, jbyte* to) const { env->GetByteArrayRegion(from, at, count, to); }
  void operator()(jshortArray from, jshort* to) const { env->GetShortArrayRegion(from, at, count, to); }
  void operator()(jcharArray from, jchar* to) const { env->GetCharArrayRegion(from, at, count, to); }
  void operator()(jintArray from, jint* to) const { env->GetIntArrayRegion(from, at, count, to); }
  void operator()(jlongArray from, jlong* to) const { env->GetLongArrayRegion(from, at, count, to); }
  void operator()(jfloatArray from, jfloat* to) const { env->GetFloatArrayRegion(from, at, count, to); }
  void operator()(jdoubleArray from, jdouble* to) const { env->GetDoubleArrayRegion(from, at, count, to); }
};
struct Set {
  JNIEnv* env;
  jsize at, count;
  void operator()(jbyteArray to, jbyte* from) const { env->SetByteArrayRegion(to, at, count, from); }
  void operator()(jshortArray to, jshort* from) const { env->SetShortArrayRegion(to, at, count, from); }
  void operator()(jcharArray to, jchar* from) const { env->SetCharArrayRegion(to, at, count, from); }
  void operator()(jintArray to, jint* from) const { env->SetIntArrayRegion(to, at, count, from); }
  void operator()(jlongArray to, jlong* from) const { env->SetLongArrayRegion(to, at, count, from); }
  void operator()(jfloatArray to, jfloat* from) const { env->SetFloatArrayRegion(to, at, count, from); }
  void operator()(jdoubleArray to, jdouble* from) const { env->SetDoubleArrayRegion(to, at, count, from); }
};

}  // namespace

std::size_t Elements::bytes() const noexcept {
  return bytes_of(kind) * static_cast<std::size_t>(count);
}

void Elements::copy_to(JNIEnv* env, void* memory) const {
  by_kind(*this, memory, Get{env, at, count});
}

void Elements::copy_from(JNIEnv* env, const void* memory, std::size_t present) const {
  const auto whole = static_cast<jsize>(std::min(present, bytes()) / bytes_of(kind));
  by_kind(*this, const_cast<void*>(memory), Set{env, at, whole});
}

}  // namespace exs_java
