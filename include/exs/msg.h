/* exs/msg.h - messages with tags between the processes of a job, over exs. Valid C11 and C++.
 *
 * A process joins its job with an endpoint, sends to ranks, and receives what matches: by source, tag and context, each message
 * once, those that one receive could match in the order sent. exm(7) is the overview.
 *
 * Conventions
 *  1. Functions return -1 and set errno when they fail, unless their comment says otherwise; exs_errtext tells in words what was
 *     wrong. Sizes are bytes, times nanoseconds; a negative time limit is none, 0 asks and returns. Of every function EFAULT is
 *     NULL where something is to be, ENOMEM no memory, and then nothing has changed.
 *  2. Every function may be called by any thread at any time, but nothing may use an endpoint that exm_finalize has been given.
 *  3. Memory belongs to the library from the call that names it until its request has ended. Any memory will do.
 *  4. A request that has ended is given up by the call that says so, which sets it to 0. A request of 0 is one that has ended, with
 *     nothing to tell: calls on it return at once.
 *  5. Progress needs no call: the library's threads match and move messages while the application computes.
 * Source of all: exs. The model is MPI 4.0, chapter 3, and xdev of MPJ Express. */
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
typedef uint64_t exm_request_t;  /* a send or receive under way; 0: none */
typedef uint64_t exm_message_t;  /* a message that a matched probe has taken; 0: none */

#define EXM_ANY_SOURCE (-2)
#define EXM_ANY_TAG (-2)
#define EXM_UNDEFINED (-1) /* the index of no request */
#define EXM_SYNC 0x1       /* of sends: ends no sooner than a receive has matched it */

typedef struct exm_status { /* of a request that has ended, or of a message that was probed */
  int32_t source;           /* of sends: the rank it went to */
  int32_t tag;
  int32_t context;
  int32_t error;      /* 0, or an errno; EMSGSIZE: the receive had less room than `length` */
  uint64_t length;    /* of the message, in bytes */
  uint32_t cancelled; /* 1: by exm_cancel, and error is ECANCELED */
  uint32_t reserved;
} exm_status_t;

typedef struct exm_config { /* of a job whose processes know each other by a list */
  size_t struct_bytes;      /* sizeof */
  int rank, size;
  const char* const* addresses; /* `size` of them by rank, "host:port"; this process listens at its own */
  uint8_t key[16];              /* the same in all processes of a job, and a secret of theirs; all 0: none */
  uint32_t eager_bytes;         /* longest message that travels before it is matched; 0: as exm(7) says */
  uint32_t connect_timeout_ms;  /* for a process of the job to answer; 0: 10,000 */
} exm_config_t;

typedef struct exm_counters { /* since exm_init */
  uint64_t sends, receives, bytes_sent, bytes_received;
  uint64_t eager_sends;         /* travelled before they were matched */
  uint64_t rendezvous_sends;    /* read by the receiver when it had matched them */
  uint64_t expected;            /* arrived for a receive that was there */
  uint64_t unexpected;          /* waited for theirs */
  uint64_t unexpected_bytes;    /* that wait now, copied here */
  uint64_t unexpected_messages; /* that wait now */
  uint64_t receives_waiting;    /* now */
  uint64_t peers_connected;     /* now */
} exm_stats_t;

/* Joins the job; NULL: the one that exs-run, or mpirun by PMIx, has started this process for, else a job of one. Calls exs_init. EINVAL: a
 * wrong config. EADDRINUSE and other errors of exs_listen: its address cannot be listened at. EPROTO, ECONNRESET: what started
 * the job says what means nothing, or has gone. */
EXM_API int exm_init(const exm_config_t* config, exm_ep_t* ep);
EXM_API int exm_rank(exm_ep_t ep);
EXM_API int exm_size(exm_ep_t ep);
/* Leaves the job: waits for its sends, tells the others, and ends what is left. Calls exs_fini. ETIMEDOUT: a send was not matched
 * within 10 seconds, and is given up. ECONNRESET, EPIPE: a rank died, or left, before it received a send that was open. */
EXM_API int exm_finalize(exm_ep_t ep);
/* Ends this process at once, with exit status `code`, and the job if something has started it; else to the others it has died. Does
 * not return. */
EXM_API int exm_abort(exm_ep_t ep, int code);
/* Writes up to `room` ranks that have died and returns how many there are. From then on receives from any source no longer end
 * for the sake of those. */
EXM_API int exm_failed(exm_ep_t ep, int* ranks, int room);

/* Sends to rank `to`, which may be this process. Ends when the memory is free again; with EXM_SYNC when it is matched. EINVAL: rank,
 * tag, context (0 to 2^31-1) or flags. ECONNRESET: the rank has died. EPIPE: it has left the job. */
EXM_API int exm_send(exm_ep_t ep, const void* from, size_t length, int to, int tag, int context, int flags);
EXM_API int exm_isend(exm_ep_t ep, const void* from, size_t length, int to, int tag, int context, int flags,
                      exm_request_t* request);
/* Receives the oldest message that matches. EINVAL: rank or context. EMSGSIZE: it was longer than `length`, and is cut. ECONNRESET:
 * that rank has died, or one that could have sent it. EPIPE: that rank has left the job. */
EXM_API int exm_recv(exm_ep_t ep, void* into, size_t length, int from, int tag, int context,
                     exm_status_t* status);
EXM_API int exm_irecv(exm_ep_t ep, void* into, size_t length, int from, int tag, int context,
                      exm_request_t* request);
/* The same of up to 1024 pieces of memory in a row. The list is copied; iov_mhandle means nothing here. EINVAL: as exm_send and
 * exm_recv, or more pieces. */
EXM_API int exm_isendv(exm_ep_t ep, const exs_iovec_t* pieces, int count, int to, int tag, int context,
                       int flags, exm_request_t* request);
EXM_API int exm_irecvv(exm_ep_t ep, const exs_iovec_t* pieces, int count, int from, int tag, int context,
                       exm_request_t* request);

/* 1: a message is there that such a receive would get, told in `status`, which may be NULL. 0: there is none. */
EXM_API int exm_iprobe(exm_ep_t ep, int from, int tag, int context, exm_status_t* status);
/* Waits for one. EINVAL: rank or context. ETIMEDOUT. EINTR. ECONNRESET and EPIPE as exm_recv. */
EXM_API int exm_probe(exm_ep_t ep, int from, int tag, int context, exm_status_t* status, int64_t timeout_ns);
/* As exm_iprobe, and takes the message: nobody gets it but exm_mrecv or exm_imrecv of `message`. */
EXM_API int exm_improbe(exm_ep_t ep, int from, int tag, int context, exm_message_t* message,
                        exm_status_t* status);
/* As exm_probe, and takes the message. EINVAL: rank or context. ETIMEDOUT. EINTR. ECONNRESET and EPIPE as exm_recv. */
EXM_API int exm_mprobe(exm_ep_t ep, int from, int tag, int context, exm_message_t* message,
                       exm_status_t* status, int64_t timeout_ns);
/* Receives a message that was taken, and sets it to 0. EINVAL: there is none of that number. EMSGSIZE and ECONNRESET as exm_recv. */
EXM_API int exm_mrecv(exm_ep_t ep, void* into, size_t length, exm_message_t* message, exm_status_t* status);
EXM_API int exm_imrecv(exm_ep_t ep, void* into, size_t length, exm_message_t* message,
                       exm_request_t* request);

/* Waits until the request has ended. -1 and its errno: it failed, which `status` tells, too, and the request is 0. ETIMEDOUT, EINTR: it
 * has not ended, and is what it was. EINVAL: there is no such request. `status` may be NULL. */
EXM_API int exm_wait(exm_ep_t ep, exm_request_t* request, exm_status_t* status, int64_t timeout_ns);
/* 1: it has ended, well. 0: it has not. -1: as exm_wait. */
EXM_API int exm_test(exm_ep_t ep, exm_request_t* request, exm_status_t* status);
/* Waits for one of `count` requests. `index` is EXM_UNDEFINED if all are 0. ETIMEDOUT, EINTR, EINVAL: as exm_wait. */
EXM_API int exm_waitany(exm_ep_t ep, exm_request_t* requests, int count, int* index, exm_status_t* status,
                        int64_t timeout_ns);
EXM_API int exm_testany(exm_ep_t ep, exm_request_t* requests, int count, int* index, exm_status_t* status);
/* Waits for one at least and returns how many have ended, well or not: `indices` says which, `statuses` how, which may be
 * NULL. 0: all are 0. ETIMEDOUT, EINTR, EINVAL: as exm_wait. */
EXM_API int exm_waitsome(exm_ep_t ep, exm_request_t* requests, int count, int* indices,
                         exm_status_t* statuses, int64_t timeout_ns);
EXM_API int exm_testsome(exm_ep_t ep, exm_request_t* requests, int count, int* indices,
                         exm_status_t* statuses);
/* Waits for all. -1: the errno of the first that failed, when all have ended; `statuses`, which may be NULL, tells of each. ETIMEDOUT,
 * EINTR: those that have ended are 0, and told. EINVAL: one is no request, and nothing has changed. */
EXM_API int exm_waitall(exm_ep_t ep, exm_request_t* requests, int count, exm_status_t* statuses,
                        int64_t timeout_ns);
/* 1: all have ended. 0: not all, and each is what it was. */
EXM_API int exm_testall(exm_ep_t ep, exm_request_t* requests, int count, exm_status_t* statuses);
/* Waits for any request of the endpoint to end, and names it: each once, unless it is given up before. It stays what it is.
 * ETIMEDOUT, EINTR: none has ended. */
EXM_API int exm_peek(exm_ep_t ep, exm_request_t* request, int64_t timeout_ns);
/* Cancels a receive that is not matched, or a send that has not left: it ends with ECANCELED. Others end as ever. EINVAL: there
 * is no such request. */
EXM_API int exm_cancel(exm_ep_t ep, exm_request_t request);
/* Lets a request end by itself, which nobody hears of, and sets it to 0. EINVAL: there is no such request. */
EXM_API int exm_free(exm_ep_t ep, exm_request_t* request);

EXM_API int exm_stats(exm_ep_t ep, exm_stats_t* stats);

/* Groups: some ranks of the job, with a context that nobody else has. */
typedef struct exm_group {
  const int* ranks; /* as exm_group_create was given them */
  int32_t size;     /* how many */
  int32_t rank;     /* the place of this process among them */
  int32_t context;  /* for the group's messages */
  int32_t reserved;
} exm_group_t;

/* Agrees with the other ranks of the list on a context, from 2^30 on, which no group of the job has had. Each rank of the list calls
 * this with the same list, which must stay as long as the group is used; the agreement's messages have that tag in the context
 * `parent`. Returns when all have come. EINVAL: a rank of the list is none or is there twice, this process is not in it, or tag
 * or context as exm_send. ECONNRESET, EPIPE: one of them has died, or left. EPROTO: a message that is not of the agreement had that
 * tag. ENOSPC: there are no more contexts. EOPNOTSUPP: the endpoint is of exm_open. */
EXM_API int exm_group_create(exm_ep_t ep, const int* ranks, int size, int parent, int tag,
                             exm_group_t* group);
/* Returns when each rank of the group has called it: one thread of each. EINVAL: this is no group of the endpoint. ECONNRESET, EPIPE: one
 * of them has died, or left. EPROTO: a message of another kind was in its way. */
EXM_API int exm_group_barrier(exm_ep_t ep, const exm_group_t* group);

/* ---- The level below, for other libraries: 64 match bits, peers by number, and their ends in a queue.
 *
 * All of it works on an endpoint of exm_init, too, whose peers are the ranks, and whose messages have the context and the tag as
 * match bits: context in the upper half. A request of these calls is for exm_cancel alone: exm_tpoll tells of its end, once. */
#define EXM_NAME_BYTES 32
#define EXM_DATA 0x2     /* 8 bytes of data go with the message */
#define EXM_BUFFERED 0x4 /* the memory is free when the call returns: what cannot leave at once is copied */
#define EXM_RECEIVED 0x1 /* flag of a completion: of a receive */

typedef struct exm_completion { /* of a request that has ended, or of a message that was probed */
  void* user;                   /* as it was posted */
  uint64_t match;               /* of the message */
  uint64_t data;                /* EXM_DATA: sent with it; else 0 */
  uint64_t length;              /* of the message, in bytes */
  int32_t peer;                 /* it came from or went to */
  int32_t error;                /* as of exm_status_t; ECANCELED: by exm_cancel */
  uint32_t flags;               /* EXM_RECEIVED, EXM_DATA */
  uint32_t reserved;
} exm_completion_t;

/* Makes an endpoint that knows nobody yet, and calls exs_init. Of the config, rank is 0, size how many peers there will be,
 * roughly (0: 64), addresses[0] where to listen; without addresses the host of EXM_ADDRESS is taken, else the first that others
 * reach. NULL: as if all were 0. EINVAL: a wrong config. EADDRINUSE and other errors of exs_listen: its address cannot be listened
 * at. exm_finalize closes it. */
EXM_API int exm_open(const exm_config_t* config, exm_ep_t* ep);
/* The endpoint's name, by which others know it: EXM_NAME_BYTES, of no meaning. `length`: the room, then the whole; what there is
 * no room for is cut off. EOPNOTSUPP: the endpoint is of exm_init. */
EXM_API int exm_name(exm_ep_t ep, void* name, size_t* length);
/* The number of the peer of that name: the same each time, 0 for the endpoint itself. Nothing is sent. EINVAL: it is no name.
 * EOPNOTSUPP: the endpoint is of exm_init. ENOSPC: a million peers are known. */
EXM_API int exm_peer(exm_ep_t ep, const void* name, size_t length, int* peer);
/* The name of a peer. EINVAL: there is no such peer. ENOENT: it has sent something here, but nobody has told its name yet. EOPNOTSUPP: the
 * endpoint is of exm_init. */
EXM_API int exm_peer_name(exm_ep_t ep, int peer, void* name, size_t* length);
/* Sends up to 1024 pieces as one message. `request` becomes 0: it has ended, well, and exm_tpoll does not tell of it. EINVAL: peer,
 * flags (EXM_SYNC, EXM_DATA, EXM_BUFFERED), or more pieces. It ends with ECONNRESET if the peer has died, with EPIPE if it has
 * closed, with EHOSTUNREACH if its name is not known. */
EXM_API int exm_tsend(exm_ep_t ep, const exs_iovec_t* pieces, int count, int peer, uint64_t match,
                      uint64_t data, int flags, void* user, exm_request_t* request);
/* Receives the oldest message from `peer`, or EXM_ANY_SOURCE, whose match bits are `match` but for those that `ignore` has set.
 * EINVAL: peer, or more pieces. It ends with EMSGSIZE if the message was longer, which is cut, and with ECONNRESET or with EPIPE as
 * exm_recv; but a death ends receives from any source only where there are ranks. */
EXM_API int exm_trecv(exm_ep_t ep, const exs_iovec_t* pieces, int count, int peer, uint64_t match,
                      uint64_t ignore, void* user, exm_request_t* request);
/* 1: a message is there that such a receive would get, told in `found`, which may be NULL; with `message`, which may be NULL, it is
 * taken for exm_tmrecv. 0: there is none. EINVAL: peer. */
EXM_API int exm_tprobe(exm_ep_t ep, int peer, uint64_t match, uint64_t ignore, exm_message_t* message,
                       exm_completion_t* found);
/* Receives a message that was taken, and sets it to 0. EINVAL: there is none of that number, or more pieces. */
EXM_API int exm_tmrecv(exm_ep_t ep, const exs_iovec_t* pieces, int count, exm_message_t* message, void* user,
                       exm_request_t* request);
/* How many requests of these calls it tells of that have ended, up to `room`, in the order of their ends. 0: none has within the time.
 * EINVAL: `room` is not positive. EINTR. */
EXM_API int exm_tpoll(exm_ep_t ep, exm_completion_t* completions, int room, int64_t timeout_ns);
/* A descriptor that becomes readable at the first end after exm_tarm has said 1, or sooner: when something has arrived, which exm_tpoll
 * and exm_tarm look at. It belongs to the endpoint. EMFILE, ENFILE. */
EXM_API int exm_tfd(exm_ep_t ep);
/* 1: nothing has ended that exm_tpoll would tell of, and exm_tfd's descriptor will show it. 0: there is something. */
EXM_API int exm_tarm(exm_ep_t ep);

#ifdef __cplusplus
}
#endif

#endif
