/* exs/msg.h - messages with tags between the processes of a job, over exs. Valid C11 and C++.
 *
 * A process joins its job with an endpoint, sends to ranks, and receives messages that match by source, tag and context. Each
 * message is received once. Messages that match the same receive are received in the order sent. exm(7) is the overview.
 *
 * Conventions
 *  1. Functions return -1 and set errno on failure, unless their comment says otherwise. exs_errtext describes the error.
 *     Sizes are in bytes, times in nanoseconds. A negative time limit means no limit, and 0 means no wait. Every function fails
 *     with EFAULT if a required pointer is NULL, and with ENOMEM if there is no memory. Both change nothing.
 *  2. Every function may be called from any thread at any time. After exm_finalize, no call may use the endpoint.
 *  3. Memory belongs to the library from the call that names it until its request has completed. It need not be registered.
 *  4. The call that reports the completion of a request releases it, and sets it to 0. A request of 0 counts as complete: calls on it
 *     return at once.
 *  5. Progress needs no call: the library's threads match and move messages while the application computes.
 * Source of all: exs. The model is MPI 4.0, chapter 3, and xdev of MPJ Express. */
/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXS_MSG_H
#define EXS_MSG_H

#include <exs/exs.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define EXM_API __attribute__((visibility("default")))
#else
#define EXM_API
#endif

typedef struct exm_ep* exm_ep_t; /* one process of a job */
typedef uint64_t exm_request_t;  /* a pending send or receive; 0: none */
typedef uint64_t exm_message_t;  /* a message that a matched probe has taken; 0: none */

#define EXM_ANY_SOURCE (-2)
#define EXM_ANY_TAG (-2)
#define EXM_UNDEFINED (-1) /* the index of no request */
#define EXM_SYNC 0x1       /* of sends: completes after a receive has matched it */

typedef struct exm_status { /* of a completed request, or of a probed message */
  int32_t source;           /* for a send: the destination */
  int32_t tag;
  int32_t context;
  int32_t error;      /* 0, or an errno; EMSGSIZE: the receive had less room than `length` */
  uint64_t length;    /* of the message, in bytes */
  uint32_t cancelled; /* 1: cancelled by exm_cancel; error is ECANCELED */
  uint32_t reserved;
} exm_status_t;

typedef struct exm_config { /* of a job that has a list of its processes */
  size_t struct_bytes;      /* sizeof */
  int rank, size;
  const char* const* addresses; /* `size` of them by rank, "host:port"; this process listens at its own */
  uint8_t key[16];              /* a secret that all processes of the job share; all 0: none */
  uint32_t eager_bytes;         /* longest message that is sent before it is matched; 0: see exm(7) */
  uint32_t connect_timeout_ms;  /* time for a process of the job to answer; 0: 10,000 */
} exm_config_t;

typedef struct exm_counters { /* since exm_init */
  uint64_t sends, receives, bytes_sent, bytes_received;
  uint64_t eager_sends;         /* sent before they were matched */
  uint64_t rendezvous_sends;    /* read by the receiver after it matched them */
  uint64_t expected;            /* arrived for a pending receive */
  uint64_t unexpected;          /* arrived before their receive */
  uint64_t unexpected_bytes;    /* copied here, waiting now */
  uint64_t unexpected_messages; /* waiting now */
  uint64_t receives_waiting;    /* pending now */
  uint64_t peers_connected;     /* now */
} exm_stats_t;

/* Joins the job. NULL: the job for which exs-run, or mpirun by PMIx, has started this process, else a job of one. Calls exs_init. EINVAL:
 * a config that is not valid. EADDRINUSE and other errors of exs_listen: the process cannot listen at its address. EPROTO, ECONNRESET:
 * the launcher sends data that are not valid, or has gone. */
EXM_API int exm_init(const exm_config_t* config, exm_ep_t* ep);
EXM_API int exm_rank(exm_ep_t ep);
EXM_API int exm_size(exm_ep_t ep);
/* Leaves the job: waits for its sends, notifies the other ranks, and ends pending requests. Calls exs_fini. ETIMEDOUT: no receive matched
 * a send within 10 seconds, and the send is given up. ECONNRESET, EPIPE: a rank died, or left, before it received a pending send. */
EXM_API int exm_finalize(exm_ep_t ep);
/* Ends this process at once, with exit status `code`. A launcher then ends the job. Without a launcher, the other ranks treat this one as
 * dead. Does not return. */
EXM_API int exm_abort(exm_ep_t ep, int code);
/* Writes up to `room` ranks that have died, and returns their number. From then on these ranks no longer end receives from any source. */
EXM_API int exm_failed(exm_ep_t ep, int* ranks, int room);

/* Sends to rank `to`, which may be this process. Completes when the memory is free again; with EXM_SYNC when a receive has matched it.
 * EINVAL: rank, tag, context (0 to 2^31-1) or flags. ECONNRESET: the rank has died. EPIPE: it has left the job. */
EXM_API int exm_send(exm_ep_t ep, const void* from, size_t length, int to, int tag, int context, int flags);
EXM_API int exm_isend(exm_ep_t ep, const void* from, size_t length, int to, int tag, int context, int flags,
                      exm_request_t* request);
/* Receives the oldest message that matches. EINVAL: rank or context. EMSGSIZE: the message was longer than `length`, and is truncated.
 * ECONNRESET: that rank has died, or a possible sender has. EPIPE: that rank has left the job. */
EXM_API int exm_recv(exm_ep_t ep, void* into, size_t length, int from, int tag, int context,
                     exm_status_t* status);
EXM_API int exm_irecv(exm_ep_t ep, void* into, size_t length, int from, int tag, int context,
                      exm_request_t* request);
/* As exm_isend and exm_irecv, with up to 1024 pieces of memory in a row. The list is copied. iov_mhandle is ignored. EINVAL: as exm_send
 * and exm_recv, or more pieces. */
EXM_API int exm_isendv(exm_ep_t ep, const exs_iovec_t* pieces, int count, int to, int tag, int context,
                       int flags, exm_request_t* request);
EXM_API int exm_irecvv(exm_ep_t ep, const exs_iovec_t* pieces, int count, int from, int tag, int context,
                       exm_request_t* request);

/* 1: a message that such a receive would match is here, and `status`, which may be NULL, describes it. 0: there is no such message. */
EXM_API int exm_iprobe(exm_ep_t ep, int from, int tag, int context, exm_status_t* status);
/* Waits for such a message. EINVAL: rank or context. ETIMEDOUT. EINTR. ECONNRESET and EPIPE as exm_recv. */
EXM_API int exm_probe(exm_ep_t ep, int from, int tag, int context, exm_status_t* status, int64_t timeout_ns);
/* As exm_iprobe, and takes the message: only exm_mrecv or exm_imrecv of `message` receives it. */
EXM_API int exm_improbe(exm_ep_t ep, int from, int tag, int context, exm_message_t* message,
                        exm_status_t* status);
/* As exm_probe, and takes the message. EINVAL: rank or context. ETIMEDOUT. EINTR. ECONNRESET and EPIPE as exm_recv. */
EXM_API int exm_mprobe(exm_ep_t ep, int from, int tag, int context, exm_message_t* message,
                       exm_status_t* status, int64_t timeout_ns);
/* Receives a taken message, and sets `message` to 0. EINVAL: no message has this number. EMSGSIZE and ECONNRESET as exm_recv. */
EXM_API int exm_mrecv(exm_ep_t ep, void* into, size_t length, exm_message_t* message, exm_status_t* status);
EXM_API int exm_imrecv(exm_ep_t ep, void* into, size_t length, exm_message_t* message,
                       exm_request_t* request);

/* Waits until the request has completed. -1 and its errno: the request has failed, is 0, and `status` has the same error. ETIMEDOUT,
 * EINTR: the request is still pending and unchanged. EINVAL: there is no such request. `status` may be NULL. */
EXM_API int exm_wait(exm_ep_t ep, exm_request_t* request, exm_status_t* status, int64_t timeout_ns);
/* 1: the request has completed successfully. 0: it is pending. -1: as exm_wait. */
EXM_API int exm_test(exm_ep_t ep, exm_request_t* request, exm_status_t* status);
/* Waits for one of `count` requests. `index` is EXM_UNDEFINED if all are 0. ETIMEDOUT, EINTR, EINVAL: as exm_wait. */
EXM_API int exm_waitany(exm_ep_t ep, exm_request_t* requests, int count, int* index, exm_status_t* status,
                        int64_t timeout_ns);
EXM_API int exm_testany(exm_ep_t ep, exm_request_t* requests, int count, int* index, exm_status_t* status);
/* Waits for at least one request, and returns the number of completed requests, whether they succeeded or failed. `indices` are their
 * indices, and `statuses`, which may be NULL, their statuses. 0: all are 0. ETIMEDOUT, EINTR, EINVAL: as exm_wait. */
EXM_API int exm_waitsome(exm_ep_t ep, exm_request_t* requests, int count, int* indices,
                         exm_status_t* statuses, int64_t timeout_ns);
EXM_API int exm_testsome(exm_ep_t ep, exm_request_t* requests, int count, int* indices,
                         exm_status_t* statuses);
/* Waits for all requests. -1: all have completed, with the errno of the first that failed; `statuses`, which may be NULL, has each
 * status. ETIMEDOUT, EINTR: requests that have completed are 0, and have a status. EINVAL: one is not a request, and nothing has
 * changed. */
EXM_API int exm_waitall(exm_ep_t ep, exm_request_t* requests, int count, exm_status_t* statuses,
                        int64_t timeout_ns);
/* 1: all requests have completed. 0: at least one is pending, and all are unchanged. */
EXM_API int exm_testall(exm_ep_t ep, exm_request_t* requests, int count, exm_status_t* statuses);
/* Waits until any request of the endpoint completes, and returns it. Each request is returned once, unless it is released before. It
 * stays valid. ETIMEDOUT, EINTR: no request has completed. */
EXM_API int exm_peek(exm_ep_t ep, exm_request_t* request, int64_t timeout_ns);
/* Cancels a receive without a match, or a send that has not left: it completes with ECANCELED. Other requests complete as usual. EINVAL:
 * there is no such request. */
EXM_API int exm_cancel(exm_ep_t ep, exm_request_t request);
/* Releases a request, and sets it to 0. It still completes, without a report. EINVAL: there is no such request. */
EXM_API int exm_free(exm_ep_t ep, exm_request_t* request);

EXM_API int exm_stats(exm_ep_t ep, exm_stats_t* stats);
/* Names the endpoint's connections in exs-top(1), now and later ones: at most EXS_LABEL_MAX printable ASCII characters. EINVAL: others. */
EXM_API int exm_set_label(exm_ep_t ep, const char* label);

/* Groups: some ranks of the job, with a context of their own. */
typedef struct exm_group {
  const int* ranks; /* the list of exm_group_create */
  int32_t size;     /* length of the list */
  int32_t rank;     /* the index of this process in the list */
  int32_t context;  /* for the group's messages */
  int32_t reserved;
} exm_group_t;

/* Agrees with the other ranks of the list on a context, from 2^30 on, that no group of the job has had. Each rank of the list calls this
 * with the same list, which must stay valid as long as the group is used. The messages of the agreement have `tag` in the context
 * `parent`. Returns when all ranks have called it. EINVAL: a rank of the list is not valid or occurs twice, this process is not in the
 * list, or tag or context as exm_send. ECONNRESET, EPIPE: one of the ranks has died, or left. EPROTO: a message outside the agreement had
 * that tag. ENOSPC: there are no more contexts. EOPNOTSUPP: the endpoint is of exm_open. */
EXM_API int exm_group_create(exm_ep_t ep, const int* ranks, int size, int parent, int tag,
                             exm_group_t* group);
/* Returns when each rank of the group has called it, in one thread. EINVAL: this is not a group of the endpoint. ECONNRESET, EPIPE: one
 * of the ranks has died, or left. EPROTO: a message of another kind arrived in its place. */
EXM_API int exm_group_barrier(exm_ep_t ep, const exm_group_t* group);

/* ---- The level below, for other libraries: 64 match bits, peers by number, and completions in a queue.
 *
 * These functions also work on an endpoint of exm_init. Its peers are the ranks. The match bits of its messages are the context, in
 * the upper half, and the tag. A request of these functions serves exm_cancel only. exm_tpoll returns its completion, once. */
#define EXM_NAME_BYTES 32
#define EXM_DATA 0x2     /* 8 bytes of data go with the message */
#define EXM_BUFFERED 0x4 /* the memory is free when the call returns: data that cannot leave are copied */
#define EXM_RECEIVED 0x1 /* flag of a completion: it is that of a receive */

typedef struct exm_completion { /* of a completed request, or of a probed message */
  void* user;                   /* the `user` of its call */
  uint64_t match;               /* of the message */
  uint64_t data;                /* EXM_DATA: sent with it; else 0 */
  uint64_t length;              /* of the message, in bytes */
  int32_t peer;                 /* the source or destination */
  int32_t error;                /* as in exm_status_t; ECANCELED: cancelled by exm_cancel */
  uint32_t flags;               /* EXM_RECEIVED, EXM_DATA */
  uint32_t reserved;
} exm_completion_t;

/* Makes an endpoint without peers, and calls exs_init. In the config, rank is 0, size is about the number of peers (0: 64), and
 * addresses[0] is the address to listen at. Without addresses the endpoint takes the host of EXM_ADDRESS, else the first that others
 * reach. NULL: as if all were 0. EINVAL: a config that is not valid. EADDRINUSE and other errors of exs_listen: the process cannot listen
 * at its address. exm_finalize closes the endpoint. */
EXM_API int exm_open(const exm_config_t* config, exm_ep_t* ep);
/* Gets the endpoint's name, by which others address it: EXM_NAME_BYTES, without a meaning. `length`: the room before, the length of the
 * name after. A longer name is truncated. EOPNOTSUPP: the endpoint is of exm_init. */
EXM_API int exm_name(exm_ep_t ep, void* name, size_t* length);
/* Gets the number of the peer of a name: the same each time, 0 for the endpoint itself. Sends nothing. EINVAL: it is not a name.
 * EOPNOTSUPP: the endpoint is of exm_init. ENOSPC: a million peers are known. */
EXM_API int exm_peer(exm_ep_t ep, const void* name, size_t length, int* peer);
/* Gets the name of a peer. EINVAL: there is no such peer. ENOENT: it has sent a message here, and its name is not known yet. EOPNOTSUPP:
 * the endpoint is of exm_init. */
EXM_API int exm_peer_name(exm_ep_t ep, int peer, void* name, size_t* length);
/* Sends up to 1024 pieces as one message. If `request` becomes 0, the send has completed successfully, and exm_tpoll does not return it.
 * EINVAL: peer, flags (EXM_SYNC, EXM_DATA, EXM_BUFFERED), or more pieces. It completes with ECONNRESET if the peer has died, with EPIPE
 * if it has closed, with EHOSTUNREACH if its name is not known. */
EXM_API int exm_tsend(exm_ep_t ep, const exs_iovec_t* pieces, int count, int peer, uint64_t match,
                      uint64_t data, int flags, void* user, exm_request_t* request);
/* Receives the oldest message from `peer`, or EXM_ANY_SOURCE, whose match bits equal `match` except for the bits of `ignore`. EINVAL:
 * peer, or more pieces. It completes with EMSGSIZE if the message was longer, which truncates it, and with ECONNRESET or with EPIPE as
 * exm_recv. A death ends receives from any source only on an endpoint with ranks. */
EXM_API int exm_trecv(exm_ep_t ep, const exs_iovec_t* pieces, int count, int peer, uint64_t match,
                      uint64_t ignore, void* user, exm_request_t* request);
/* 1: a message that such a receive would match is here, and `found`, which may be NULL, describes it. `message`, which may be NULL, takes
 * it for exm_tmrecv. 0: there is no such message. EINVAL: peer. */
EXM_API int exm_tprobe(exm_ep_t ep, int peer, uint64_t match, uint64_t ignore, exm_message_t* message,
                       exm_completion_t* found);
/* Receives a taken message, and sets `message` to 0. EINVAL: no message has this number, or more pieces. */
EXM_API int exm_tmrecv(exm_ep_t ep, const exs_iovec_t* pieces, int count, exm_message_t* message, void* user,
                       exm_request_t* request);
/* Returns up to `room` completions of requests of these functions, in the order of completion. Their number, or 0: none within the time.
 * EINVAL: `room` is not positive. EINTR. */
EXM_API int exm_tpoll(exm_ep_t ep, exm_completion_t* completions, int room, int64_t timeout_ns);
/* Gets a descriptor that becomes readable at the first completion after exm_tarm has returned 1. It may become readable earlier, when
 * data arrive that exm_tpoll and exm_tarm process. The endpoint owns it. EMFILE, ENFILE. */
EXM_API int exm_tfd(exm_ep_t ep);
/* 1: there is no completion for exm_tpoll, and the descriptor of exm_tfd will report the next. 0: there is one. */
EXM_API int exm_tarm(exm_ep_t ep);

#ifdef __cplusplus
}
#endif

#endif
