/* Preloaded into a service: its first move ends with ECONNRESET, as if the connection to the other process had broken. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <exs/service.h>

static exs_svc_t* moved;
static int moves;

int exs_svc_move(exs_svc_t* service, const exs_svc_move_options_t* options, void* handle) {
  int (*real)(exs_svc_t*, const exs_svc_move_options_t*, void*);
  *(void**)&real = dlsym(RTLD_NEXT, "exs_svc_move");
  if (moves++ > 0) return real(service, options, handle);
  moved = service;
  return 0;
}

int exs_svc_wait(exs_svc_node_t* node, exs_svc_event_t* events, int max, int64_t timeout_ns) {
  int (*real)(exs_svc_node_t*, exs_svc_event_t*, int, int64_t);
  *(void**)&real = dlsym(RTLD_NEXT, "exs_svc_wait");
  if (moved == NULL) return real(node, events, max, timeout_ns);
  events[0] = (exs_svc_event_t){.type = EXS_SVC_EVT_MOVED, .error = ECONNRESET, .service = moved};
  moved = NULL;
  return 1;
}
