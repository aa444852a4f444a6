/* ibvx/ibvx.h - the interface of IBV eXpress, over exs. Valid C11 and C++11; link with -lexs.
 *
 * "Design of scalable Java message-passing communications over InfiniBand" (Exposito, Taboada, Tourino, Doallo) prints these thirteen
 * functions in its Listing 2, without what they return, the fields of Request and Status, and the wildcards. Here they return 0, or
 * -1 and errno, or as their comments say. ibvx(7) is the manual; exs/msg.h has what is not said here.
 *
 * All files of a program share one endpoint. Every function may be called by any thread, but IBV_Init and IBV_Finalize by one
 * alone. Before IBV_Init, ENOTCONN. */
/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IBVX_IBVX_H
#define IBVX_IBVX_H

#include <ibvx/process.h> /* Request, Status */

#ifdef __cplusplus
extern "C" {
#endif

#define ANY_SOURCE EXM_ANY_SOURCE
#define ANY_TAG EXM_ANY_TAG

/* Joins the processes pNames[0] to pNames[nProcs-1], each "host" or "host:port", as `rank`. pList tells of each its rank, if it holds 0
 * to nProcs-1 once each; else its port, and the ranks are in order. psl: a message up to so many bytes is sent before it has a
 * receive; 0: as exm(7) has it. */
static inline int IBV_Init(char** pNames, int* pList, int nProcs, int rank, int psl) {
  if (pNames == NULL) return ibvx_fail(EFAULT);
  if (nProcs < 1 || rank < 0 || rank >= nProcs || psl < 0) return ibvx_fail(EINVAL);
  char** const addresses = (char**)calloc((size_t)nProcs, sizeof *addresses);
  if (addresses == NULL) return ibvx_fail(ENOMEM);
  int error = ibvx_addresses(pNames, pList, nProcs, addresses);
  ibvx_lock();
  if (error == 0) error = ibvx_join(addresses, nProcs, rank, psl);
  ibvx_unlock();
  for (int i = 0; i < nProcs; ++i) free(addresses[i]);
  free(addresses);
  return error == 0 ? 0 : ibvx_fail(error);
}

/* Waits for all sends, and leaves the others. No other call may be under way. */
static inline int IBV_Finalize(void) {
  exm_ep_t const ep = ibvx_endpoint();
  if (ep == NULL) return -1;
  __atomic_store_n(&ibvx_process.ep, (exm_ep_t)NULL, __ATOMIC_RELEASE);
  const int outcome = exm_finalize(ep);
  ibvx_lock();
  ibvx_forget();
  ibvx_unlock();
  return outcome;
}

/* With the lock: `outcome` of what has begun. */
static inline int ibvx_begun(Request* r, int outcome) {
  if (outcome != 0) return outcome;
  if (r->handle != 0) {
    ibvx_add_open(r);
  } else {
    ibvx_add_done(r);
    ibvx_wake_peekers();
  }
  return 0;
}

static inline int ibvx_isend(const void* buf, int size, int dst, int tag, int ctx, int flags, Request* r) {
  if (r == NULL) return ibvx_fail(EFAULT);
  if (size < 0) return ibvx_fail(EINVAL);
  exm_ep_t const ep = ibvx_endpoint();
  if (ep == NULL) return -1;
  memset(r, 0, sizeof *r);
  r->status.source = dst;
  r->status.tag = tag;
  r->status.size = size;
  ibvx_lock();
  int outcome = flags == 0 ? ibvx_send_copy(buf, (size_t)size, dst, tag, ctx) : 1;
  if (outcome == 1) outcome = exm_isend(ep, buf, (size_t)size, dst, tag, ctx, flags, &r->handle);
  outcome = ibvx_begun(r, outcome);
  ibvx_unlock();
  return outcome;
}

/* Sends. The memory is free again when the request has ended. */
static inline int IBV_Isend(void* buf, int size, int dst, int tag, int ctx, Request* r) {
  return ibvx_isend(buf, size, dst, tag, ctx, 0, r);
}
/* The same, and it ends no sooner than a receive has matched it. */
static inline int IBV_Issend(void* buf, int size, int dst, int tag, int ctx, Request* r) {
  return ibvx_isend(buf, size, dst, tag, ctx, EXM_SYNC, r);
}
/* Receives the oldest message that matches; ANY_SOURCE, ANY_TAG. */
static inline int IBV_Irecv(void* buf, int size, int src, int tag, int ctx, Request* r) {
  if (r == NULL) return ibvx_fail(EFAULT);
  if (size < 0) return ibvx_fail(EINVAL);
  exm_ep_t const ep = ibvx_endpoint();
  if (ep == NULL) return -1;
  memset(r, 0, sizeof *r);
  ibvx_lock();
  const int outcome = ibvx_begun(r, exm_irecv(ep, buf, (size_t)size, src, tag, ctx, &r->handle));
  ibvx_unlock();
  return outcome;
}

/* Sends, and waits for the end of that. */
static inline int IBV_Send(void* buf, int size, int dst, int tag, int ctx) {
  exm_ep_t const ep = ibvx_endpoint();
  if (ep == NULL) return -1;
  if (size < 0) return ibvx_fail(EINVAL);
  int outcome = 1;
  if ((size_t)size > ibvx_process.wire) {
    ibvx_lock();
    outcome = ibvx_send_copy(buf, (size_t)size, dst, tag, ctx);
    ibvx_unlock();
  }
  return outcome == 1 ? exm_send(ep, buf, (size_t)size, dst, tag, ctx, 0) : outcome;
}
/* The same, and waits until a receive has matched it. */
static inline int IBV_Ssend(void* buf, int size, int dst, int tag, int ctx) {
  exm_ep_t const ep = ibvx_endpoint();
  if (ep == NULL) return -1;
  return size < 0 ? ibvx_fail(EINVAL) : exm_send(ep, buf, (size_t)size, dst, tag, ctx, EXM_SYNC);
}
/* Receives, and waits for that. `s` may be NULL. */
static inline int IBV_Recv(void* buf, int size, int src, int tag, int ctx, Status* s) {
  exm_status_t told;
  exm_ep_t const ep = ibvx_endpoint();
  if (ep == NULL) return -1;
  if (size < 0) return ibvx_fail(EINVAL);
  memset(&told, 0, sizeof told);
  const int outcome = exm_recv(ep, buf, (size_t)size, src, tag, ctx, &told);
  ibvx_tell(s, &told);
  return outcome;
}

/* 1: it has ended, and is over. 0: not within the limit. -1: it has failed, and is over; or there is none. */
static inline int ibvx_finish(Request* request, Status* status, int64_t timeout_ns) {
  if (request == NULL) return ibvx_fail(EFAULT);
  exm_ep_t const ep = ibvx_endpoint();
  if (ep == NULL) return -1;
  exm_request_t handle = request->handle;
  exm_status_t told;
  if (handle != 0) {
    while (exm_wait(ep, &handle, &told, timeout_ns) != 0 && handle != 0 && errno == EINTR) continue;
    if (handle != 0) return errno == ETIMEDOUT ? 0 : -1;
  }
  ibvx_lock();
  ibvx_remove(request);
  if (request->handle != 0) ibvx_tell(&request->status, &told);
  request->handle = 0;
  ibvx_unlock();
  if (status != NULL) *status = request->status;
  return request->status.error == 0 ? 1 : ibvx_fail(request->status.error);
}

/* Waits until it has ended. Of one that is over, at once. `status` may be NULL. */
static inline int IBV_Wait(Request* request, Status* status) {
  return ibvx_finish(request, status, -1) == -1 ? -1 : 0;
}
/* 1: it has ended. 0: it has not. */
static inline int IBV_Test(Request* request, Status* status) {
  return ibvx_finish(request, status, 0);
}

/* 1: a message is there that such a receive would get. 0: there is none. */
static inline int IBV_Iprobe(int src, int tag, int context, Status* status) {
  exm_status_t told;
  exm_ep_t const ep = ibvx_endpoint();
  if (ep == NULL) return -1;
  const int is_there = exm_iprobe(ep, src, tag, context, &told);
  if (is_there == 1) ibvx_tell(status, &told);
  return is_there;
}
/* Waits for one. */
static inline int IBV_Probe(int src, int tag, int context, Status* status) {
  exm_status_t told;
  exm_ep_t const ep = ibvx_endpoint();
  if (ep == NULL) return -1;
  int outcome = 0;
  do {
    outcome = exm_probe(ep, src, tag, context, &told, -1);
  } while (outcome != 0 && errno == EINTR);
  if (outcome == 0) ibvx_tell(status, &told);
  return outcome;
}

/* Waits until a request has ended, and returns it: each once. IBV_Wait, or IBV_Test, tells how, and makes it over. NULL: errno. */
static inline Request* IBV_Peek(void) {
  exm_ep_t const ep = ibvx_endpoint();
  if (ep == NULL) return NULL;
  Request* found = NULL;
  int outcome = 0;
  ibvx_lock();
  ++ibvx_process.peeking;
  while (found == NULL && (outcome == 0 || errno == EINTR)) {
    exm_request_t handle = 0;
    found = ibvx_process.done;
    if (found != NULL) {
      ibvx_remove(found);
      break;
    }
    ibvx_unlock();
    outcome = exm_peek(ep, &handle, -1);
    ibvx_lock();
    if (outcome == 0) found = ibvx_told(handle);
  }
  --ibvx_process.peeking;
  if (ibvx_process.done != NULL) ibvx_wake_peekers(); /* one wake may stand for several */
  ibvx_unlock();
  return found;
}

#ifdef __cplusplus
}
#endif

#endif
