// Copies elements of Java's arrays from and to memory. The kinds are those of Elements.java. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
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
  // Copies at most `present` bytes, in whole elements.
  void copy_from(JNIEnv* env, const void* memory, std::size_t present) const;
};

}  // namespace exs_java
