// The procedures of everything.x.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstring>
#include <thread>
#include <utility>

#include "tests/rpc/fast/everything_server.h"

using exs::test::EverythingState;

namespace {

EverythingState& state_of(exs_rpc_request_t* request) {
  return *static_cast<EverythingState*>(exs_rpc_request_user(request));
}

}  // namespace

int nothing_1_serve(exs_rpc_request_t*) {
  return 0;
}
int mix_1_serve(const mixed* argument, mixed* result, exs_rpc_request_t*) {
  *result = *argument;
  return 0;
}
int answer_1_serve(color argument1, const list* argument2, answer* result, exs_rpc_request_t* request) {
  result->what = argument1;
  if (argument1 == RED || argument1 == GREEN) result->answer_u.entries = *argument2;
  if (argument1 != RED && argument1 != GREEN && argument1 != BLUE) {
    result->answer_u.rest.rest_len = 3;
    result->answer_u.rest.rest_val = static_cast<char*>(exs_rpc_request_alloc(request, 3));
    std::memcpy(result->answer_u.rest.rest_val, "abc", 3);
  }
  return 0;
}
int scale_1_serve(points* inout, exs_rpc_request_t*) {
  for (unsigned i = 0; i < inout->points_len; ++i) {
    inout->points_val[i].x *= 2;
    inout->points_val[i].y *= 3;
  }
  return 0;
}
int swap_1_serve(exact* inout, exs_rpc_request_t*) {
  std::swap(inout->x, inout->y);
  return 0;
}
int hash_1_serve(const digest* argument, digest* result, exs_rpc_request_t*) {
  std::memcpy(result, argument, sizeof *result);
  return 0;
}
int echo_1_serve(const char* argument, name* result, exs_rpc_request_t*) {
  *result = const_cast<char*>(argument);
  return 0;
}
int flat_1_serve(const flat* argument, flat* result, exs_rpc_request_t*) {
  *result = *argument;
  return 0;
}
int length_1_serve(const blob* argument, unsigned* result, exs_rpc_request_t* /*request*/) {
  *result = argument->blob_len;
  return 0;
}
int copy_1_serve(const blob* argument, blob* result, exs_rpc_request_t*) {
  *result = *argument;
  return 0;
}
int add_1_serve(int argument1, int argument2, int* result, exs_rpc_request_t*) {
  *result = argument1 + argument2;
  return 0;
}
int note_1_serve(int argument, exs_rpc_request_t* request) {
  state_of(request).notes += argument;
  return 0;
}
int notes_1_serve(int* result, exs_rpc_request_t* request) {
  *result = state_of(request).notes;
  return 0;
}
int fail_1_serve(int argument, int*, exs_rpc_request_t*) {
  return argument;
}
int later_1_serve(int argument, int*, exs_rpc_request_t* request) {
  exs_rpc_request_t* const kept = exs_rpc_request_keep(request);
  std::thread([kept, argument] {
    const int result = argument + 1;
    exs_rpc_reply(kept, 0, &result);
  }).detach();
  return EXS_RPC_LATER;
}
int hold_1_serve(int*, exs_rpc_request_t* request) {
  EverythingState& state = state_of(request);
  const std::lock_guard lock(state.mutex);
  state.held.push_back(exs_rpc_request_keep(request));
  return EXS_RPC_LATER;
}
int release_1_serve(int* result, exs_rpc_request_t* request) {
  EverythingState& state = state_of(request);
  const std::lock_guard lock(state.mutex);
  *result = 0;
  for (exs_rpc_request_t* const held : state.held) {
    state.cancelled += exs_rpc_request_cancelled(held);
    const int told = ++*result;
    exs_rpc_reply(held, 0, &told);
  }
  state.held.clear();
  return 0;
}
int make_1_serve(unsigned argument, blob* result, exs_rpc_request_t* request) {
  result->blob_len = argument;
  result->blob_val = static_cast<char*>(exs_rpc_request_alloc(request, argument));
  return result->blob_val == nullptr ? 1 : 0;
}
int left_1_serve(std::int64_t* result, exs_rpc_request_t* request) {
  *result = exs_rpc_request_time_left(request) / 1'000'000;
  return 0;
}
int bad_1_serve(name*, exs_rpc_request_t*) {
  return 0;
}
