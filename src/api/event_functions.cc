// What reads events as functions of the library, for languages that do not read exs.h; as in bracket_functions.cc.
// SPDX-License-Identifier: BSD-2-Clause
#define exs_event_bytes inline_event_bytes
#define exs_event_buffer inline_event_buffer
#define exs_event_region inline_event_region
#define exs_event_offset inline_event_offset
#define exs_event_count inline_event_count
#define exs_event_new_socket inline_event_new_socket
#define exs_event_revents inline_event_revents
#define exs_event_next_length inline_event_next_length
#define exs_event_user inline_event_user
#include "exs/exs.h"
#undef exs_event_bytes
#undef exs_event_buffer
#undef exs_event_region
#undef exs_event_offset
#undef exs_event_count
#undef exs_event_new_socket
#undef exs_event_revents
#undef exs_event_next_length
#undef exs_event_user

extern "C" {

EXS_API size_t exs_event_bytes(const exs_event_t* event) {
  return inline_event_bytes(event);
}

EXS_API void* exs_event_buffer(const exs_event_t* event) {
  return inline_event_buffer(event);
}

EXS_API exs_mhandle_t exs_event_region(const exs_event_t* event) {
  return inline_event_region(event);
}

EXS_API uint64_t exs_event_offset(const exs_event_t* event) {
  return inline_event_offset(event);
}

EXS_API uint32_t exs_event_count(const exs_event_t* event) {
  return inline_event_count(event);
}

EXS_API int exs_event_new_socket(const exs_event_t* event) {
  return inline_event_new_socket(event);
}

EXS_API uint32_t exs_event_revents(const exs_event_t* event) {
  return inline_event_revents(event);
}

EXS_API uint64_t exs_event_next_length(const exs_event_t* event) {
  return inline_event_next_length(event);
}

EXS_API uint64_t exs_event_user(const exs_event_t* event, unsigned word) {
  return inline_event_user(event, word);
}

}  // extern "C"
