// Elements of Java's arrays, copied from and to memory. The kinds are those of Elements.java. Thread: any.
#pragma once

#include <jni.h>

#include <cstddef>

namespace exs_java {

struct Elements {
  jobject array;
  jint kind;
  jint at;
  jint count;

  [[nodiscard]] std::size_t bytes() const noexcept;
  void copy_to(JNIEnv* env, void* memory) const;
  // `present` bytes at most: whole elements alone.
  void copy_from(JNIEnv* env, const void* memory, std::size_t present) const;
};

}  // namespace exs_java
