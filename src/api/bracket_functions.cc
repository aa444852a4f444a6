// Brackets and slots as functions of the library, for languages that do not read exs.h. In C and C++ they are inline there, and
// go by other names here, so that this file can have both. It is compiled by itself (cmake/library.cmake).
// SPDX-License-Identifier: BSD-2-Clause
#define exs_window_begin inline_window_begin
#define exs_window_end inline_window_end
#define exs_slots_bytes inline_slots_bytes
#define exs_slots_init inline_slots_init
#define exs_slots_at inline_slots_at
#define exs_slots_begin inline_slots_begin
#define exs_slots_end inline_slots_end
#include "exs/exs.h"
#undef exs_window_begin
#undef exs_window_end
#undef exs_slots_bytes
#undef exs_slots_init
#undef exs_slots_at
#undef exs_slots_begin
#undef exs_slots_end

extern "C" {

EXS_API void exs_window_begin(exs_window_t* window) {
  inline_window_begin(window);
}

EXS_API void exs_window_end(exs_window_t* window) {
  inline_window_end(window);
}

EXS_API size_t exs_slots_bytes(unsigned slot_count, size_t slot_bytes) {
  return inline_slots_bytes(slot_count, slot_bytes);
}

EXS_API void exs_slots_init(exs_slots_t* slots, unsigned slot_count, size_t slot_bytes) {
  inline_slots_init(slots, slot_count, slot_bytes);
}

EXS_API void* exs_slots_at(exs_slots_t* slots, uint64_t update) {
  return inline_slots_at(slots, update);
}

EXS_API void* exs_slots_begin(exs_slots_t* slots) {
  return inline_slots_begin(slots);
}

EXS_API void exs_slots_end(exs_slots_t* slots) {
  inline_slots_end(slots);
}

}  // extern "C"
