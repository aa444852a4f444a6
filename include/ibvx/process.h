/* ibvx/process.h - what ibvx/ibvx.h keeps of the process: its endpoint, its requests and the copies that travel. Not for programs. */
/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IBVX_PROCESS_H
#define IBVX_PROCESS_H

#include <errno.h>
#include <exs/msg.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef IBVX_PORT
#define IBVX_PORT 27000 /* and the rank, of a process that is named without a port */
#endif
#define IBVX_WIRE_MAX ((size_t)32768)      /* the longest that exs itself sends ahead of a receive */
#define IBVX_COPIES_MAX ((size_t)64 << 20) /* bytes; what would exceed that is sent from where it lies */

typedef struct ibvx_status {
  int source; /* of sends: the rank that it went to */
  int tag;
  int size;  /* of the message, in bytes */
  int error; /* 0, or an errno; EMSGSIZE: the receive had less room */
} Status;

/* A send or receive under way. It stays where it is until IBV_Wait, or an IBV_Test that says 1, has made it over. */
typedef struct ibvx_request {
  exm_request_t handle; /* 0: it has ended, and `status` tells how */
  Status status;
  int is_listed; /* in one of the lists of ibvx_process */
  struct ibvx_request *next, *previous;
} Request;

/* A send that has returned and whose copy still travels; the bytes are behind it. */
typedef struct ibvx_copy {
  exm_request_t handle;
  size_t bytes;
  struct ibvx_copy* next;
} ibvx_copy_t;

enum { IBVX_BUCKETS = 256 };

typedef struct ibvx_process {
  pthread_mutex_t lock;
  exm_ep_t ep;                 /* NULL: before IBV_Init, or after IBV_Finalize. Read without the lock */
  size_t limit;                /* psl */
  size_t wire;                 /* up to here exs itself sends ahead */
  Request* open[IBVX_BUCKETS]; /* by handle */
  Request *done, *done_last;   /* have ended in the call that began them, and IBV_Peek has not told them */
  ibvx_copy_t* copies;
  size_t copied_bytes;
  int peeking;        /* threads in IBV_Peek */
  exm_request_t wake; /* ends their sleep, and is nobody's; 0: none */
} ibvx_process_t;

/* One of a program, whichever of its files includes this. */
__attribute__((weak, visibility("default")))
ibvx_process_t ibvx_process = {PTHREAD_MUTEX_INITIALIZER, NULL, 0, 0, {NULL}, NULL, NULL, NULL, 0, 0, 0};

static inline void ibvx_lock(void) {
  pthread_mutex_lock(&ibvx_process.lock);
}
static inline void ibvx_unlock(void) {
  pthread_mutex_unlock(&ibvx_process.lock);
}

static inline int ibvx_fail(int error) {
  errno = error;
  return -1;
}

static inline exm_ep_t ibvx_endpoint(void) {
  exm_ep_t const ep = __atomic_load_n(&ibvx_process.ep, __ATOMIC_ACQUIRE);
  if (ep == NULL) errno = ENOTCONN;
  return ep;
}

static inline void ibvx_tell(Status* to, const exm_status_t* from) {
  if (to == NULL) return;
  to->source = from->source;
  to->tag = from->tag;
  to->size = (int)from->length;
  to->error = from->error;
}

/* ---- the requests that IBV_Peek may tell; with the lock ---- */

static inline Request** ibvx_bucket(exm_request_t handle) {
  return &ibvx_process.open[(size_t)(handle ^ handle >> 32) % IBVX_BUCKETS];
}

static inline Request* ibvx_find(exm_request_t handle) {
  Request* request = *ibvx_bucket(handle);
  while (request != NULL && request->handle != handle) request = request->next;
  return request;
}

static inline void ibvx_add_open(Request* request) {
  Request** const first = ibvx_bucket(request->handle);
  request->next = *first;
  if (*first != NULL) (*first)->previous = request;
  *first = request;
  request->is_listed = 1;
}

static inline void ibvx_add_done(Request* request) {
  request->previous = ibvx_process.done_last;
  if (request->previous != NULL) request->previous->next = request;
  if (ibvx_process.done == NULL) ibvx_process.done = request;
  ibvx_process.done_last = request;
  request->is_listed = 1;
}

static inline void ibvx_remove(Request* request) {
  if (!request->is_listed) return;
  request->is_listed = 0;
  if (request->next != NULL) request->next->previous = request->previous;
  if (request->previous != NULL) request->previous->next = request->next;
  Request** const first = request->handle == 0 ? &ibvx_process.done : ibvx_bucket(request->handle);
  if (*first == request) *first = request->next;
  if (ibvx_process.done_last == request) ibvx_process.done_last = request->previous;
  request->next = request->previous = NULL;
}

/* exs tells of its own requests alone, so a thread in IBV_Peek that is to look here has one of those end. */
static inline void ibvx_wake_peekers(void) {
  if (ibvx_process.peeking == 0 || ibvx_process.wake != 0) return;
  exm_request_t wake = 0;
  if (exm_irecv(ibvx_process.ep, NULL, 0, exm_rank(ibvx_process.ep), 0, INT32_MAX, &wake) != 0) return;
  ibvx_process.wake = wake;
  exm_cancel(ibvx_process.ep, wake);
}

/* What exm_peek has told. NULL: it is none of the program's, or over. */
static inline Request* ibvx_told(exm_request_t handle) {
  if (handle != ibvx_process.wake) return ibvx_find(handle);
  ibvx_process.wake = 0;
  exm_wait(ibvx_process.ep, &handle, NULL, 0);
  return NULL;
}

/* ---- sends that return before their receive, by a copy; with the lock ---- */

static inline void ibvx_drop_copies(void) {
  ibvx_copy_t** at = &ibvx_process.copies;
  while (*at != NULL) {
    ibvx_copy_t* const copy = *at;
    if (exm_test(ibvx_process.ep, &copy->handle, NULL) == 0) {
      at = &copy->next;
      continue;
    }
    *at = copy->next;
    ibvx_process.copied_bytes -= copy->bytes;
    free(copy);
  }
}

/* 0: the copy travels. 1: this is not to be sent so. -1: errno. */
static inline int ibvx_send_copy(const void* from, size_t bytes, int to, int tag, int context) {
  if (bytes <= ibvx_process.wire || bytes > ibvx_process.limit || from == NULL) return 1;
  ibvx_drop_copies();
  if (ibvx_process.copied_bytes + bytes > IBVX_COPIES_MAX) return 1;
  ibvx_copy_t* const copy = (ibvx_copy_t*)malloc(sizeof(ibvx_copy_t) + bytes);
  if (copy == NULL) return 1;
  memcpy(copy + 1, from, bytes);
  copy->handle = 0;
  copy->bytes = bytes;
  const int outcome = exm_isend(ibvx_process.ep, copy + 1, bytes, to, tag, context, 0, &copy->handle);
  if (copy->handle == 0) {
    free(copy);
    return outcome;
  }
  copy->next = ibvx_process.copies;
  ibvx_process.copies = copy;
  ibvx_process.copied_bytes += bytes;
  return 0;
}

/* ---- how a process finds the others ---- */

static inline int ibvx_are_ranks(const int* list, int count) {
  char* const seen = (char*)calloc((size_t)count, 1);
  int are = seen != NULL;
  for (int i = 0; are && i < count; ++i) {
    are = list[i] >= 0 && list[i] < count && !seen[list[i]];
    if (are) seen[list[i]] = 1;
  }
  free(seen);
  return are;
}

/* Whether a port stands in the name: behind the only colon, or behind the bracket of an address of IPv6. */
static inline int ibvx_has_port(const char* name) {
  const char* const bracket = strrchr(name, ']');
  const char* const colon = strchr(bracket == NULL ? name : bracket, ':');
  return colon != NULL && strchr(colon + 1, ':') == NULL;
}

static inline char* ibvx_address(const char* name, int port) {
  const size_t room = strlen(name) + 16;
  char* const address = (char*)malloc(room);
  if (address == NULL) return NULL;
  if (ibvx_has_port(name))
    snprintf(address, room, "%s", name);
  else if (strchr(name, ':') != NULL && name[0] != '[')
    snprintf(address, room, "[%s]:%d", name, port);
  else
    snprintf(address, room, "%s:%d", name, port);
  return address;
}

/* The addresses by rank. An errno: those that were made are there. */
static inline int ibvx_addresses(char** names, const int* list, int count, char** addresses) {
  const int are_ranks = list == NULL || ibvx_are_ranks(list, count);
  for (int i = 0; i < count; ++i) {
    if (names[i] == NULL) return EFAULT;
    const int rank = list != NULL && are_ranks ? list[i] : i;
    const int port = are_ranks ? IBVX_PORT + rank : list[i];
    if (!ibvx_has_port(names[i]) && (port < 1 || port > 65535)) return EINVAL;
    addresses[rank] = ibvx_address(names[i], port);
    if (addresses[rank] == NULL) return ENOMEM;
  }
  return 0;
}

/* With the lock. The errno. */
static inline int ibvx_join(char** addresses, int count, int rank, int limit) {
  if (ibvx_process.ep != NULL) return EISCONN;
  exm_config_t config;
  memset(&config, 0, sizeof config);
  config.struct_bytes = sizeof config;
  config.rank = rank;
  config.size = count;
  config.addresses = (const char* const*)addresses;
  ibvx_process.limit = (size_t)limit;
  ibvx_process.wire = ibvx_process.limit < IBVX_WIRE_MAX ? ibvx_process.limit : IBVX_WIRE_MAX;
  config.eager_bytes = (uint32_t)ibvx_process.wire;
  exm_ep_t ep = NULL;
  if (exm_init(&config, &ep) != 0) return errno;
  __atomic_store_n(&ibvx_process.ep, ep, __ATOMIC_RELEASE);
  return 0;
}

/* When the endpoint has gone. */
static inline void ibvx_forget(void) {
  while (ibvx_process.copies != NULL) {
    ibvx_copy_t* const next = ibvx_process.copies->next;
    free(ibvx_process.copies);
    ibvx_process.copies = next;
  }
  memset(ibvx_process.open, 0, sizeof ibvx_process.open);
  ibvx_process.done = ibvx_process.done_last = NULL;
  ibvx_process.copied_bytes = 0;
  ibvx_process.wake = 0;
}

#ifdef __cplusplus
}
#endif

#endif
