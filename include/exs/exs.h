/* exs.h - asynchronous sockets over RDMA and its software equivalents. Valid C11 and C++.
 *
 * Modelled on the Open Group's Extended Sockets API (ES-API); source-compatible with the call shapes that
 * could be verified, without a claim beyond that. Conventions, stated once:
 *
 *  1. Functions return 0, a descriptor, a handle or a count on success, and -1 (or *_INVALID, or NULL) with
 *     errno on failure. Outputs are written only on success.
 *  2. An asynchronous call that returns 0 completes with exactly one event on the queue that it names; a call
 *     that returns -1 gives no event and changes nothing.
 *  3. A post reserves a slot of its queue until its event is dequeued, so a queue never overflows. EAGAIN: no
 *     slot is free, or the socket has as many pending operations as its limit allows; dequeue and try again.
 *  4. The library owns the memory of an operation from return until its event is in the queue, also on errors
 *     and on close. Several sends may use the same memory at once.
 *  5. Every function may be called from any thread. Only exs_qdequeue, exs_qwait, exs_close, exs_fini,
 *     exs_mderegister with EXS_MRF_WAIT, exs_recv_window, exs_recv_snapshot and the *_sync
 *     forms block.
 *  6. Events of one direction of a socket are queued in post order, except that an operation which is
 *     cancelled or exceeds its time limit need not wait for earlier ones.
 *  7. Before exs_init() every call fails with EPERM, except exs_evtname(), exs_errtext(), exs_setlog() and
 *     exs_version_string().
 *  8. Handles carry a generation: a stale one fails with EINVAL (queues: EBADF), and never names another
 *     object.
 *
 * Handles are in exs/handles.h, events and what reads them in exs/event.h; both come with this header. Each function
 * has a manual page with its errors; exs(7) is the overview.
 */
/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXS_H
#define EXS_H

#include <exs/event.h>
#include <exs/handles.h>

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- version, start and end */

#define EXS_VERSION1 1
#define EXS_VERSION EXS_VERSION1

/* exs_init - initialize the library. Counted: each successful call is undone by one exs_fini().
 * Starts no thread and opens no descriptor. ENOTSUP unknown version, or unknown provider in EXS_PROVIDER;
 * EINVAL another environment variable of exs has a bad value; ENOMEM. Source: ES-API. */
EXS_API int exs_init(int version);
/* exs_fini - finalize the library: the last call closes every descriptor, ends every thread of the library
 * and frees every queue and registration. EPERM not initialized. exs extension. */
EXS_API int exs_fini(void);
/* exs_version_string - the release as a static string, for instance "0.2.0". exs extension. */
EXS_API const char* exs_version_string(void);
/* exs_errtext - what was wrong with the last exs call of this thread that failed, and what to do about it, in
 * a sentence that begins with the name of the call; "" if none has failed; never NULL. The text stays until
 * the next exs_errtext() of the thread. exs extension. */
EXS_API const char* exs_errtext(void);

enum { EXS_LOG_OFF = 0, EXS_LOG_ERROR = 1, EXS_LOG_WARN = 2, EXS_LOG_INFO = 3, EXS_LOG_DEBUG = 4 };
/* `line` ends without a newline. Called from any thread, by one at a time, while the library holds locks: it
 * must not call exs functions or fork, and should return soon. */
typedef void (*exs_logger_t)(int level, const char* line, void* context);
/* exs_setlog - log messages of `level` and worse go to `logger` from now on; NULL: to the standard error.
 * After the return an earlier logger does not run any more. EINVAL level; ENOMEM. exs extension. */
EXS_API int exs_setlog(exs_logger_t logger, void* context, int level);

/* ---------------------------------------------------------------- registered memory */

#define EXS_MRF_SHARED 0x0001       /* ES-API: for children after fork; accepted, no effect */
#define EXS_MRF_LOCAL_ONLY 0x0100   /* for receives and immediate sends; a peer has no access */
#define EXS_MRF_REMOTE_READ 0x0200  /* for sends: a peer may read */
#define EXS_MRF_REMOTE_WRITE 0x0400 /* for persistent receives: a peer may write */
#define EXS_MRF_WAIT 0x1000         /* exs_mderegister blocks until no operation uses the region */

/* exs_mregister - register `length` bytes at `address` for use in transfers. flags 0: all rights.
 * EINVAL empty range, unknown flags, or LOCAL_ONLY with a REMOTE flag; EFAULT not mapped; ENOMEM too many
 * regions. Source: ES-API. */
EXS_API exs_mhandle_t exs_mregister(void* address, size_t length, int flags);
/* exs_mderegister - deregister. EINVAL handle or flags; EBUSY an operation uses the region (without
 * EXS_MRF_WAIT), or it is from exs_alloc. Source: ES-API (arguments from memory). */
EXS_API int exs_mderegister(exs_mhandle_t region, int flags);
/* exs_alloc - allocate page-aligned, zeroed, memfd-backed memory, registered with all rights; `*region`
 * receives the handle. EINVAL length 0 or region NULL; ENOMEM. exs extension. */
EXS_API void* exs_alloc(size_t length, exs_mhandle_t* region);
/* exs_free - deregister and free; NULL: no effect. EINVAL not from exs_alloc; EBUSY an operation uses it. exs
 * extension. */
EXS_API int exs_free(void* address);

/* ---------------------------------------------------------------- event queues */

#define EXS_EVTVEC_MAX 1024    /* most events one dequeue may return */
#define EXS_QDEPTH_MAX 1048576 /* deepest queue */

enum { /* attributes of exs_qmodify and exs_qstatus; each value is an int unless another type is named */
       EXS_QATTR_DEPTH = 1,           /* slots */
       EXS_QATTR_SIGNAL = 2,          /* exs_signal_t: sent to the process when the queue becomes non-empty */
       EXS_QATTR_EVENTS = 3,          /* exs_qstatus only: events that can be dequeued */
       EXS_QATTR_WAIT = 4,            /* the wait mode, EXS_WAIT_* */
       EXS_QATTR_RESERVED_SLOTS = 64, /* exs_qstatus only: slots of queued events and pending operations */
       EXS_QATTR_SPIN_NS = 66         /* uint64_t: how long ADAPTIVE polls before it sleeps */
};
/* poll for the spin time, then sleep; sleep at once; poll and never sleep */
enum { EXS_WAIT_ADAPTIVE = 0, EXS_WAIT_NOTIFY = 1, EXS_WAIT_BUSY_POLL = 2 };
enum { EXS_SIG_DISABLE = 0, EXS_SIG_ENABLE = 1 };
typedef struct exs_signal {
  int exs_sig_control; /* EXS_SIG_ENABLE or EXS_SIG_DISABLE */
  int exs_sig_signo;   /* 1..SIGRTMAX */
  void* exs_sig_value; /* passed as si_value, with si_code SI_QUEUE */
} exs_signal_t;

/* exs_qcreate - create a queue of `depth` slots, 1..EXS_QDEPTH_MAX. EINVAL depth, or bad EXS_IWARP_BACKEND;
 * ENOSYS, EPERM the kernel refuses that backend; ENOMEM memory or descriptors. Source: ES-API. */
EXS_API exs_qhandle_t exs_qcreate(int depth);
/* exs_qdelete - delete a queue; events still in it are discarded. EBADF; EBUSY a pending operation names it,
 * or a thread waits on it. Source: ES-API (name from memory). */
EXS_API int exs_qdelete(exs_qhandle_t queue);
/* exs_qdequeue - dequeue events.
 *   count > 0: wait for at least one, dequeue at most count.
 *   count < 0: wait for -count, dequeue that many.
 *   count = 0: return 0 at once.
 *   timeout NULL: no limit; zero: do not wait. When it expires: dequeue the events that are there.
 * Returns the number dequeued. EBADF; EFAULT events NULL; EINVAL |count| above EXS_EVTVEC_MAX,
 * -count above the depth, or bad timeout; EINTR a signal was caught, ENOMEM a thread's first call: no event
 * is lost. Source: ES-API. */
EXS_API int exs_qdequeue(exs_qhandle_t queue, exs_event_t* events, int count, const struct timeval* timeout);
/* exs_qwait - wait for at least `min` events, dequeue at most `max`; timeout_ns < 0: no limit. Errors as
 * exs_qdequeue. exs extension. */
EXS_API int exs_qwait(exs_qhandle_t queue, exs_event_t* events, int max, int min, int64_t timeout_ns);
/* exs_qmodify - set an attribute from `*value` of `length` bytes. EBADF; EINVAL attribute, value or length;
 * EBUSY depth below the slots in use; EFAULT; ENOMEM. Source: ES-API (arguments from memory). */
EXS_API int exs_qmodify(exs_qhandle_t queue, int attribute, const void* value, size_t length);
/* exs_qstatus - get an attribute; `*length` is the bytes of room, then the bytes stored. EBADF; EINVAL;
 * EFAULT. exs extension. */
EXS_API int exs_qstatus(exs_qhandle_t queue, int attribute, void* value, size_t* length);
/* exs_qfd - a descriptor that is readable (level-triggered) while the queue holds events, for poll and epoll.
 * What a waiting thread takes does not show. The queue owns it: do not read, write or close it. EBADF; EMFILE,
 * ENFILE, ENOMEM. exs extension. */
EXS_API int exs_qfd(exs_qhandle_t queue);
/* exs_qpost - post an EXS_EVT_USER event with `handle` and the five words (NULL: zeros), which wakes a thread
 * that waits on the queue. EBADF; EAGAIN no slot. exs extension. */
EXS_API int exs_qpost(exs_qhandle_t queue, exs_ahandle_t handle, const uint64_t user[5]);

/* ---------------------------------------------------------------- sockets */

/* Every function that takes a socket also takes a connected or listening kernel stream socket and adopts it:
 * plain TCP (or local stream) bytes, same events, same queues. The caller keeps control of its blocking mode
 * and its lifetime. */

/* exs_socket - create a socket: domain AF_INET or AF_INET6, type SOCK_SEQPACKET (messages) or SOCK_STREAM
 * (bytes), protocol 0. EAFNOSUPPORT; EPROTONOSUPPORT type or protocol; EMFILE, ENFILE, ENOMEM. After
 * UNH-EXS. */
EXS_API int exs_socket(int domain, int type, int protocol);
/* exs_bind - bind to a local address. EBADF; EINVAL already bound or connected, or bad length; EADDRINUSE,
 * EADDRNOTAVAIL, EACCES, EAFNOSUPPORT; EFAULT. After UNH-EXS. */
EXS_API int exs_bind(int socket, const struct sockaddr* address, socklen_t length);
/* exs_listen - listen for connections; backlog: peers that may wait for an exs_accept. EBADF; EINVAL
 * connected; EADDRINUSE. Where EXS_SO_PROVIDER allows only verbs: EOPNOTSUPP no RDMA device has the address;
 * EADDRNOTAVAIL, EACCES the device refuses it. After UNH-EXS. */
EXS_API int exs_listen(int socket, int backlog);
#define EXS_MULTISHOT 0x00100000 /* of exs_accept: stays posted */
/* exs_accept - accept one connection: EXS_EVT_ACCEPT when a peer has connected. flags 0: `address` may be NULL.
 * EXS_MULTISHOT: accept until it is cancelled or the socket closed; `address` NULL. Each connection is an event with
 * EXS_EVF_MORE and takes a slot, and waits while none is free; the last event is without EXS_EVF_MORE.
 * EBADF; EINVAL not listening, flags, or EXS_MULTISHOT with an address; EAGAIN no slot. Event errors: ECANCELED.
 * Source: ES-API (arguments ours, EXS_MULTISHOT an extension). */
EXS_API int exs_accept(int socket, exs_acceptaddr_t* address, int flags, exs_qhandle_t queue,
                       exs_ahandle_t handle);
/* exs_connect - connect to a peer: EXS_EVT_CONNECT when the peer has accepted; flags 0. EBADF; EISCONN;
 * EALREADY; EINVAL listening, flags, length; EAFNOSUPPORT; EFAULT; EAGAIN no slot; EOPNOTSUPP a kernel
 * socket. Event errors: ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ECONNRESET, EPROTO (the peer does
 * not speak exs), EPROTONOSUPPORT, EPROTOTYPE, EOPNOTSUPP (no provider that both ends allow), ECANCELED.
 * Source: ES-API (arguments ours). */
EXS_API int exs_connect(int socket, const struct sockaddr* address, socklen_t length, int flags,
                        exs_qhandle_t queue, exs_ahandle_t handle);
/* exs_shutdown - SHUT_WR: end sending; the peer's receives get the data sent before, then the end.
 * SHUT_RD: end receiving; the peer's sends fail with EPIPE. SHUT_RDWR: both. EBADF; ENOTCONN; EINVAL.
 * After UNH-EXS. */
EXS_API int exs_shutdown(int socket, int how);
/* exs_shutdown_async - the same; EXS_EVT_SHUTDOWN when the peer has been told. EBADF; ENOTCONN; EINVAL;
 * EAGAIN no slot. Event errors: ECONNRESET, ECANCELED. After UNH-EXS (arguments ours). */
EXS_API int exs_shutdown_async(int socket, int how, exs_qhandle_t queue, exs_ahandle_t handle);
/* exs_close - let sends complete, cancel every other operation and exchange close messages with the peer, all
 * within the linger time (EXS_SO_LINGER_MS; 0: abort at once). Returns when all events of the socket are in
 * their queues. The number is not reused while such an event is queued. EBADF; ENOMEM nothing has
 * changed; ETIMEDOUT the peer took longer (the socket is closed). After UNH-EXS. */
EXS_API int exs_close(int socket);
/* exs_close_async - the same without blocking; flags 0. EXS_EVT_CLOSE is the last event of the socket. EBADF;
 * EINVAL flags; EAGAIN no slot. Event errors: ETIMEDOUT. After UNH-EXS (arguments ours). */
EXS_API int exs_close_async(int socket, int flags, exs_qhandle_t queue, exs_ahandle_t handle);
/* exs_getsockname - get the local address; `*length` is the bytes of room, then the bytes of the address.
 * EBADF; EFAULT; EINVAL. After UNH-EXS. */
EXS_API int exs_getsockname(int socket, struct sockaddr* address, socklen_t* length);
/* exs_getpeername - get the peer's address, likewise. EBADF; EFAULT; EINVAL; ENOTCONN. After UNH-EXS. */
EXS_API int exs_getpeername(int socket, struct sockaddr* address, socklen_t* length);

/* exs_connect_sync - the blocking form. Besides the errors of exs_connect and its event, but EAGAIN: EINTR a
 * signal was caught; the connect was cancelled. After UNH-EXS. */
EXS_API int exs_connect_sync(int socket, const struct sockaddr* address, socklen_t length);
/* exs_accept_sync - the blocking form; returns the new socket. `address` may be NULL; `*length` is the bytes
 * of room, then the bytes of the address. Besides the errors of exs_accept and its event, but EAGAIN: EFAULT
 * length NULL; EINTR a signal was caught; the accept was cancelled. After UNH-EXS. */
EXS_API int exs_accept_sync(int socket, struct sockaddr* address, socklen_t* length);

/* ---------------------------------------------------------------- transfers */

/* Flag bits that no MSG_* flag of Linux uses. MSG_WAITALL and MSG_MORE keep their meaning; MSG_DONTWAIT,
 * MSG_NOSIGNAL and MSG_EOR are accepted and have no effect; any other MSG_* bit: EOPNOTSUPP. */
#define EXS_SHUT_WR 0x01000000      /* end sending after this send */
#define EXS_PERSISTENT 0x00200000   /* stays posted; the peer reads, or writes, it as often as it wants */
#define EXS_NOTIFY 0x00400000       /* with EXS_PERSISTENT: EXS_EVT_PEER_READ or EXS_EVT_PEER_WRITE */
#define EXS_MAPPABLE 0x00100000     /* with EXS_PERSISTENT, exs_recv: the peer may map it, exs_window_map() */
#define EXS_NO_EVENT 0x00800000     /* no event on success; an error always gives an event */
#define EXS_NO_IMMEDIATE 0x10000000 /* a normal send: completion means the data are in the peer's memory */

/* exs_send - send `length` bytes inside `region`: one message (0 bytes are legal), or the next bytes of a
 * stream. flags: MSG_MORE (may be held back), EXS_NO_IMMEDIATE, EXS_NO_EVENT, EXS_SHUT_WR; or EXS_PERSISTENT
 * and EXS_NOTIFY (messages only). EXS_EVT_SEND: the caller owns the memory again. For a send up to the
 * negotiated small-packet maximum (immediate) it means that the data have left, for a longer one (normal)
 * that they are in the peer's memory. While the peer has a persistent receive posted, a send writes to its
 * start, and the event means that the data have left. EBADF socket or queue; ENOTCONN; EPIPE sending is shut
 * down, here or by the peer; EINVAL region, or EXS_PERSISTENT with empty or unregistered memory; EOPNOTSUPP
 * flags; EFAULT range not inside the region, or not mapped; EACCES region lacks the right; EBUSY a persistent
 * send is posted; EAGAIN no slot (EXS_NOTIFY takes two), or the socket's limit; ENOMEM. Event errors: EPIPE,
 * ECONNRESET, ECANCELED, EPROTO, ETIMEDOUT; ERANGE longer than the peer's persistent receive; EBUSY both ends
 * are persistent. Source: ES-API. */
EXS_API int exs_send(int socket, const void* buffer, size_t length, int flags, exs_qhandle_t queue,
                     exs_ahandle_t handle, exs_mhandle_t region);
/* exs_recv - receive one message, or the next bytes of a stream: at least one, with MSG_WAITALL all `length`.
 * flags: MSG_WAITALL, EXS_NO_EVENT; or EXS_PERSISTENT, EXS_NOTIFY, EXS_MAPPABLE (messages only). A longer message is
 * truncated: EXS_EVF_TRUNC. While the peer has a persistent send posted, a receive reads its start. At the
 * end of the peer's sending receives get the data that are left, then EXS_EVF_EOF. EBADF socket or queue;
 * ENOTCONN; EINVAL region, or EXS_PERSISTENT with empty or unregistered memory, EXS_MAPPABLE with other than
 * that of exs_alloc; EOPNOTSUPP flags; EFAULT
 * range not inside the region, or not mapped; EACCES region lacks the right (EXS_PERSISTENT); EBUSY a
 * persistent or pooled receive is posted; EAGAIN no slot (EXS_NOTIFY takes two), or the socket's limit; ENOMEM. Event
 * errors: ECONNRESET, ECANCELED, EPROTO, ETIMEDOUT; EBUSY both ends are persistent. Source: ES-API (by
 * symmetry). */
EXS_API int exs_recv(int socket, void* buffer, size_t length, int flags, exs_qhandle_t queue,
                     exs_ahandle_t handle, exs_mhandle_t region);

/* exs_send_offset - write `length` bytes at `offset` of the peer's persistent receive. The operation
 * waits until the peer has posted one. flags: those of exs_send except EXS_PERSISTENT, EXS_NOTIFY. Errors
 * as exs_send; EOPNOTSUPP also on a stream. Event errors: ERANGE offset + length exceeds that memory;
 * EINVAL the peer's receive is not persistent (it is not consumed); ECANCELED also: the peer revoked it.
 * After UNH-EXS. */
EXS_API int exs_send_offset(int socket, const void* buffer, size_t length, int flags, exs_qhandle_t queue,
                            exs_ahandle_t handle, exs_mhandle_t region, uint64_t offset);
/* exs_recv_offset - read `length` bytes at `offset` of the peer's persistent send, likewise. Errors as
 * exs_recv, but EACCES; EOPNOTSUPP also on a stream. Event errors: ERANGE; EINVAL; ECANCELED as
 * exs_send_offset. After UNH-EXS. */
EXS_API int exs_recv_offset(int socket, void* buffer, size_t length, int flags, exs_qhandle_t queue,
                            exs_ahandle_t handle, exs_mhandle_t region, uint64_t offset);

/* exs_sendmsg - as exs_send, with several pieces of memory; EXS_EVT_SENDMSG. Not with EXS_PERSISTENT. Besides
 * the errors of exs_send: EMSGSIZE more than EXS_IOV_MAX pieces; EINVAL also a reserved field is set, or
 * a number is negative or too large; EFAULT also `message` or its vector is NULL. Source: ES-API (arguments
 * ours). */
EXS_API int exs_sendmsg(int socket, exs_msghdr_t* message, int flags, exs_qhandle_t queue,
                        exs_ahandle_t handle);
/* exs_recvmsg - as exs_recv, likewise; EXS_EVT_RECVMSG. Besides the errors of exs_recv, but EACCES: EMSGSIZE.
 * Source: ES-API (arguments ours). */
EXS_API int exs_recvmsg(int socket, exs_msghdr_t* message, int flags, exs_qhandle_t queue,
                        exs_ahandle_t handle);
/* exs_sendfile - send file ranges and memory, mixed, as one message or as bytes of a stream;
 * EXS_EVT_SENDFILE. The call reads the files before it returns. Besides the errors of exs_sendmsg: EBADF also
 * a file; EINVAL element, or range beyond the end of the file; EIO and what pread(2) says; ENOMEM. Source:
 * ES-API (arguments ours). */
EXS_API int exs_sendfile(int socket, exs_xferfile_t* file, int flags, exs_qhandle_t queue,
                         exs_ahandle_t handle);
/* exs_flush - start the sends that MSG_MORE, or the combining of small sends, holds back. EBADF; ENOTCONN.
 * exs extension. */
EXS_API int exs_flush(int socket);

/* exs_pool_create - a pool of `count` buffers of `buffer_bytes` each, one behind the other from `buffers` in the
 * registered region, which stays in use. EINVAL region, buffer_bytes or count 0; EFAULT not inside the region, or
 * read-only; ENOMEM. exs extension. */
EXS_API exs_phandle_t exs_pool_create(void* buffers, size_t buffer_bytes, uint32_t count,
                                      exs_mhandle_t region);
/* exs_pool_delete - delete a pool. The caller keeps the buffers that it has. EINVAL pool; EBUSY a receive takes
 * buffers of it. exs extension. */
EXS_API int exs_pool_delete(exs_phandle_t pool);
/* exs_pool_return - give a buffer back that an event of exs_recv_pooled has given out. EINVAL pool, or the caller
 * does not have such a buffer. exs extension. */
EXS_API int exs_pool_return(exs_phandle_t pool, void* buffer);
/* exs_recv_pooled - receive everything from now on, with a buffer of the pool for each message (or piece of a
 * stream) when it is here; flags 0. Each is an EXS_EVT_RECV with EXS_EVF_MORE, whose exs_evt_buf the caller has until
 * exs_pool_return, and takes a slot. Without a buffer or a slot, messages wait. The last event is without
 * EXS_EVF_MORE and without a buffer. No other receive can be posted before that. EBADF; ENOTCONN; EINVAL pool,
 * flags; EBUSY another such receive, or a persistent one, is posted; EAGAIN no slot, or the socket's limit;
 * ENOMEM. Event errors: ECONNRESET, ECANCELED, EPROTO, ETIMEDOUT. exs extension. */
EXS_API int exs_recv_pooled(int socket, exs_phandle_t pool, int flags, exs_qhandle_t queue,
                            exs_ahandle_t handle);

/* exs_send_sync - the blocking form; returns the bytes moved. Not with EXS_PERSISTENT, EXS_NO_EVENT,
 * MSG_MORE. Besides the errors of exs_send and its event: EINTR a signal was caught and no data were moved;
 * the send was cancelled (a send that has started is not interrupted). After UNH-EXS. */
EXS_API ssize_t exs_send_sync(int socket, const void* buffer, size_t length, int flags, exs_mhandle_t region);
/* exs_recv_sync - the blocking form; returns the bytes moved, 0 at the end of the peer's sending. flags:
 * MSG_WAITALL; MSG_TRUNC: returns the length of the whole message, even if it is longer than the buffer.
 * Besides the errors of exs_recv and its event, but EACCES: EINTR likewise; EMSGSIZE the message was longer
 * than the buffer, which has its start. After UNH-EXS. */
EXS_API ssize_t exs_recv_sync(int socket, void* buffer, size_t length, int flags, exs_mhandle_t region);

/* ---------------------------------------------------------------- safe sampling */

/* Part of the memory of a persistent send, 8-byte aligned. Brackets its updates, so that readers can
 * recognize a consistent snapshot. One writer at a time. exs extension. */
typedef struct exs_window {
  uint64_t sequence; /* odd during an update */
} exs_window_t;

/* exs_window_begin - start an update. One store, ordered before the stores of the update. */
static inline void exs_window_begin(exs_window_t* window) {
#if defined(__SANITIZE_THREAD__) /* ThreadSanitizer does not support fences */
  (void)__atomic_exchange_n(&window->sequence, window->sequence + 1, __ATOMIC_ACQ_REL);
#else
  __atomic_store_n(&window->sequence, window->sequence + 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}
/* exs_window_end - end an update. One store, ordered after the stores of the update. */
static inline void exs_window_end(exs_window_t* window) {
  __atomic_store_n(&window->sequence, window->sequence + 1, __ATOMIC_RELEASE);
}

/* exs_window_map - map the persistent receive of the peer, which has EXS_MAPPABLE, into this process: EXS_EVT_MAP
 * when it is there, at once or once the peer has posted one. The memory stays mapped until exs_close of the
 * socket, whatever becomes of the peer. Both processes of one host then share it: no call reads or writes it, and
 * no event tells of it. EBADF socket or queue; ENOTCONN; EOPNOTSUPP a stream; EAGAIN no slot; ENOMEM. Event
 * errors: EOPNOTSUPP the provider does not share memory, or cannot share this; EACCES the peer's receive lacks
 * EXS_MAPPABLE; EPIPE the peer takes no more data; ECONNRESET, ECANCELED, EPROTO, ETIMEDOUT, ENOMEM. exs
 * extension. */
EXS_API int exs_window_map(int socket, exs_qhandle_t queue, exs_ahandle_t handle);

/* exs_recv_window - read a snapshot of `length` bytes at `offset` of the peer's persistent send, with its
 * exs_window_t at `window_offset`: repeats the read until the counter is even and the same before and after
 * it. Blocks; timeout_ns < 0: no limit. Returns `length`. Besides the errors of exs_recv_offset and its
 * event: EINVAL also window_offset not a multiple of 8, or length 0; EINTR a signal was caught. When the time
 * has expired: ENOMSG the peer has posted no persistent send; EINPROGRESS the owner updated the memory during
 * each try; ETIMEDOUT the reads took too long for one try. A read that has started is completed first.
 * exs extension. */
EXS_API ssize_t exs_recv_window(int socket, void* buffer, size_t length, exs_mhandle_t region,
                                uint64_t offset, uint64_t window_offset, int64_t timeout_ns);

/* Several copies of what is published, so that readers find a whole one however often the owner updates it.
 * The owner stores each update into another slot; the slot with index i, but the last, is used again after
 * 2^(i+1) updates. A reader takes the newest slot that stays as it is for as long as the reader needs. */
#define EXS_SLOTS_MAX 32
typedef struct exs_slots { /* in the memory of a persistent send, 8-byte aligned; the slots follow */
  exs_window_t window;     /* of updates; half of its sequence is the number of complete ones */
  uint64_t slot_count;
  uint64_t slot_bytes;
  uint64_t reserved[5];
} exs_slots_t;

/* exs_slots_bytes - the bytes of memory that slots take, 0 if `slot_count` is not 2..EXS_SLOTS_MAX, or the
 * slots are too large. exs extension. */
static inline size_t exs_slots_bytes(unsigned slot_count, size_t slot_bytes) {
  const size_t blocks_max = SIZE_MAX / sizeof(exs_slots_t) / (EXS_SLOTS_MAX + 1);
  const size_t blocks = slot_bytes / sizeof(exs_slots_t) + (slot_bytes % sizeof(exs_slots_t) != 0);
  if (slot_count < 2 || slot_count > EXS_SLOTS_MAX || blocks > blocks_max) return 0;
  return (1 + slot_count * blocks) * sizeof(exs_slots_t);
}
/* exs_slots_init - set up slots in exs_slots_bytes(slot_count, slot_bytes) bytes at `slots`, before a peer
 * reads them. exs extension. */
static inline void exs_slots_init(exs_slots_t* slots, unsigned slot_count, size_t slot_bytes) {
  slots->slot_count = slot_count;
  slots->slot_bytes = slot_bytes;
  slots->window.sequence = 0;
}
/* exs_slots_at - the slot of the update with this number, 1 for the first. It starts at a multiple of 64
 * bytes behind `slots`. exs extension. */
static inline void* exs_slots_at(exs_slots_t* slots, uint64_t update) {
  const int index = __builtin_ctzll(update | UINT64_C(1) << (slots->slot_count - 1));
  return slots + 1 + (uint64_t)index * ((slots->slot_bytes + sizeof(exs_slots_t) - 1) / sizeof(exs_slots_t));
}
/* exs_slots_begin - start an update. Returns the slot to store all of it into, never the one of the update
 * before. One store, ordered before the stores of the update. exs extension. */
static inline void* exs_slots_begin(exs_slots_t* slots) {
  exs_window_begin(&slots->window);
  return exs_slots_at(slots, slots->window.sequence / 2 + 1);
}
/* exs_slots_end - publish the update. One store, ordered after the stores of the update. exs extension. */
static inline void exs_slots_end(exs_slots_t* slots) {
  exs_window_end(&slots->window);
}

/* What a reader learns from a snapshot; set to zero before the first. */
typedef struct exs_snapshot {
  uint64_t update; /* number of the update that was read */
  uint64_t newest; /* number of the newest one after the read */
  uint64_t span;   /* in, out: updates that begin during a read; the next call reckons with them */
  uint64_t tries;  /* how often the data were read */
} exs_snapshot_t;

/* exs_recv_snapshot - read `length` bytes at `offset` of a slot of the peer's persistent send, with its
 * exs_slots_t at `slots_offset`. Blocks; timeout_ns < 0: no limit. `snapshot` may be NULL. Returns `length`.
 * Besides the errors of exs_recv_offset and its event: EINVAL also slots_offset not a multiple of 8, length
 * 0, or no slots there; ENOMSG the peer has completed no update; EINTR a signal was caught. When the time has
 * expired: ENOMSG the peer has posted no persistent send; EINPROGRESS no slot stayed as it was for a read;
 * ETIMEDOUT the reads took too long for one try. A read that has started is completed first. exs
 * extension. */
EXS_API ssize_t exs_recv_snapshot(int socket, void* buffer, size_t length, exs_mhandle_t region,
                                  uint64_t offset, uint64_t slots_offset, exs_snapshot_t* snapshot,
                                  int64_t timeout_ns);

/* ---------------------------------------------------------------- poll, cancel */

#define EXS_POLLIN 0x0001  /* a receive completes at once, with data or the end; listening: a peer waits */
#define EXS_POLLOUT 0x0004 /* a send leaves, or fails, at once */
#define EXS_POLLERR 0x0008 /* always reported: the connection failed */
#define EXS_POLLHUP 0x0010 /* always reported: the peer has closed */
typedef struct exs_pollfd {
  int pfd_socket;
  uint32_t pfd_events; /* EXS_POLLIN, EXS_POLLOUT, or 0 */
  exs_ahandle_t pfd_ahandle;
} exs_pollfd_t;
/* exs_poll - request one EXS_EVT_POLL event for each entry when its socket is ready; flags 0. Returns the
 * number of entries accepted, from the first on; -1 if the first was not: EBADF socket or queue; EINVAL
 * flags, events or count; EFAULT; ENOTCONN neither connected nor listening; EAGAIN no slot. Event errors:
 * ECANCELED. Source: ES-API (arguments ours). */
EXS_API int exs_poll(const exs_pollfd_t* entries, int count, int flags, exs_qhandle_t queue);

#define EXS_CAF_FILDES 0x1  /* operations of `socket` */
#define EXS_CAF_AHANDLE 0x2 /* operations with this handle; without EXS_CAF_FILDES, of every socket */
/* exs_cancel - cancel the operations that match all of `flags`. Returns how many match; each still completes
 * with its one event, with ECANCELED, or with its true result if it has started. ENOENT none matches; EBADF;
 * EINVAL flags. Source: ES-API (arguments ours). */
EXS_API int exs_cancel(int socket, exs_ahandle_t handle, int flags);

/* ---------------------------------------------------------------- tuning and state */

/* Requested values can be set before connect or listen (later: EISCONN); accepted sockets inherit them. Once
 * the socket is connected the GET commands return the negotiated value. */
enum {
  EXS_F_GET_SMALL_MAX = 16,    /* size_t *: bytes of the longest immediate message, 0..EXS_SMALL_MAX */
  EXS_F_SET_SMALL_MAX = 17,    /* size_t */
  EXS_F_GET_SEND_CREDITS = 18, /* int *: messages on the way to the peer, 1..EXS_CREDITS_MAX */
  EXS_F_SET_SEND_CREDITS = 19, /* int */
  EXS_F_GET_RECV_CREDITS = 20, /* int *: messages on the way from the peer, 1..EXS_CREDITS_MAX */
  EXS_F_SET_RECV_CREDITS = 21, /* int */
  EXS_F_GET_MAX_OPS = 36,      /* int *: pending operations a direction, 1..EXS_OPS_MAX; at any time */
  EXS_F_SET_MAX_OPS = 37       /* int */
};
#define EXS_SMALL_MAX 32768
#define EXS_CREDITS_MAX 4096
#define EXS_OPS_MAX 65536

/* exs_fcntl - get or set a limit. EBADF; EINVAL command or value; EISCONN too late to set; EFAULT; ENOTSUP an
 * adopted kernel socket does not have it. After UNH-EXS (command names ours). */
EXS_API int exs_fcntl(int socket, int command, ...);

#define SOL_EXS 0x45585300
enum { /* options of level SOL_EXS, each an int unless another type is named; accepted sockets inherit them */
       SO_ASYNC_RECV_ORDERED = 0x4501, /* 1 (default): receives complete in post order */
       SO_ASYNC_SEND_TIMEOUT = 0x4502, /* exs_timeout_t */
       SO_ASYNC_RECV_TIMEOUT = 0x4503, /* exs_timeout_t; these three also at SOL_SOCKET */
       /* A peer silent for this time is probed, for twice this time: ETIMEDOUT; 0 (default): off */
       EXS_SO_KEEPALIVE_MS = 0x4540,
       /* 1..: the whole connect; listening: each incoming handshake; set before connect or listen */
       EXS_SO_CONNECT_TIMEOUT_MS = 0x4541,
       EXS_SO_LINGER_MS = 0x4542, /* 0..: how long exs_close lets sends complete; 0: abort */
       /* char[]: "auto", "prefer:X", "require:X", "forbid:X" or "X" (means require), where X is "iwarp",
        * "shm" or "verbs"; set before connect or listen; get: once connected, the provider in use */
       EXS_SO_PROVIDER = 0x4543,
       EXS_SO_NODELAY = 0x4544, /* 1: small sends do not wait for others to leave with */
       /* get only; exs_reason_t[]: why the provider was chosen; entries that do not fit are left out,
        * `*length` becomes the bytes of all entries */
       EXS_SO_REASON = 0x4545,
       /* get only; char[], cut to the room: why the connection, or its set-up, failed; empty: it has not */
       EXS_SO_ERROR_TEXT = 0x4546,
       /* get only; uint64_t: the length of the message that the next receive gets; stream: the bytes that
        * wait; EAGAIN none yet; 0 also at the end of the peer's sending; ENOTCONN */
       EXS_SO_NEXT_LENGTH = 0x4548,
       /* char[], at most EXS_LABEL_MAX printable ASCII characters: what exs-top(1) calls the connection; default
        * empty */
       EXS_SO_LABEL = 0x4549
};
#define EXS_LABEL_MAX 15
#define EXS_TIMEOUT_ONCE 0x1   /* report a late operation once, not every period */
#define EXS_TIMEOUT_CANCEL 0x2 /* also cancel late operations, with ETIMEDOUT */
/* When a send, or receive, that was posted after the option was set is pending for longer than `ns`:
 * EXS_EVT_SENDTIMEOUT, EXS_EVT_RECVTIMEOUT on `queue` with `handle`, again every `ns` while it is. Persistent
 * operations have no limit. A new event replaces one that is still queued; the option holds one slot of the
 * queue. An operation that has started cannot be cancelled: with EXS_TIMEOUT_CANCEL the connection ends with
 * ETIMEDOUT. An accepted socket gets no events if no slot is free for them. */
typedef struct exs_timeout {
  int64_t ns;     /* 0: off */
  uint32_t flags; /* EXS_TIMEOUT_* */
  exs_qhandle_t queue;
  exs_ahandle_t handle;
} exs_timeout_t;

/* exs_setsockopt - set an option; other levels go to the kernel socket. EBADF socket, or queue of an
 * exs_timeout_t; ENOPROTOOPT; EINVAL value or length; EFAULT; EISCONN too late to set; ENOTSUP no such
 * provider in this build; EAGAIN no slot for the events. ES-API has the SO_ASYNC_* names; the rest are exs
 * extensions. */
EXS_API int exs_setsockopt(int socket, int level, int option, const void* value, socklen_t length);
/* exs_getsockopt - get an option; `*length` is the bytes of room, then the bytes of the value. EBADF;
 * ENOPROTOOPT; EINVAL length; EFAULT; of EXS_SO_NEXT_LENGTH: EAGAIN, ENOTCONN. */
EXS_API int exs_getsockopt(int socket, int level, int option, void* value, socklen_t* length);

/* Whether a provider carries a connection, and why. */
enum { EXS_VERDICT_USED = 1, EXS_VERDICT_LIMITED = 2, EXS_VERDICT_REFUSED = 3 };
enum {                             /* stable over releases; 0: none */
       EXS_REASON_NOT_NEEDED = 1,  /* another provider came first */
       EXS_REASON_FORBIDDEN = 2,   /* by EXS_SO_PROVIDER or EXS_PROVIDER */
       EXS_REASON_PEER_LACKS = 3,  /* the peer does not offer it */
       EXS_REASON_NOT_BUILT = 4,   /* not in this build of the library */
       EXS_REASON_FAILED = 5,      /* a call failed unexpectedly; the fact names it */
       EXS_REASON_TIMED_OUT = 6,   /* the peer did not do its part in time */
       EXS_REASON_OTHER_HOST = 16, /* shm from here */
       EXS_REASON_OTHER_NETNS = 17,
       EXS_REASON_OTHER_USER = 18,
       EXS_REASON_NO_UNIX_SOCKET = 19, /* the peer's abstract Unix socket cannot be created or reached */
       EXS_REASON_NO_PROOF = 20,       /* the process behind it is not the peer of the TCP connection */
       EXS_REASON_NO_MEMFD = 21,       /* memfd_create or mmap refused */
       EXS_REASON_NO_DESCRIPTORS = 22,
       EXS_REASON_NO_PTRACE = 24,   /* limited: process_vm_readv refused; data are copied through the rings */
       EXS_REASON_OTHER_PIDNS = 25, /* limited: likewise; the peer has no process number here */
       EXS_REASON_NO_IO_URING = 32, /* iwarp from here; limited: epoll is used instead */
       EXS_REASON_EPOLL_CHOSEN = 33, /* limited: by EXS_IWARP_BACKEND */
       EXS_REASON_NO_DEVICE = 48,    /* verbs from here */
       EXS_REASON_PORT_DOWN = 49,
       EXS_REASON_NO_ROUTE = 50,
       EXS_REASON_MEMLOCK = 51,
       EXS_REASON_NO_ACCESS = 52 /* /dev/infiniband is missing, or this user has no access */
};
#define EXS_REASONS_MAX 16 /* maximum number of entries of a connection */
/* One or more entries for each provider: first whether it is used, then what limits it. `fact` is what was
 * measured or probed, `cure` the command or setting that would change it; either may be empty. */
typedef struct exs_reason {
  char provider[16];
  int32_t verdict;      /* EXS_VERDICT_* */
  int32_t code;         /* EXS_REASON_* */
  int32_t told_by_peer; /* 1: found at the other end */
  int32_t reserved;
  char name[32]; /* of the code, in lower case: "other-host" */
  char fact[128];
  char cure[192];
} exs_reason_t;

typedef struct exs_stats { /* set struct_bytes first; the library fills what fits */
  size_t struct_bytes;
  uint64_t sends_posted, sends_done, recvs_posted, recvs_done;
  uint64_t bytes_sent, bytes_received;
  uint64_t adverts_sent, adverts_received, acks_sent, acks_received;
  uint64_t immediate_msgs, immediate_bytes;
  uint64_t direct_bytes, copied_bytes;
  uint64_t credit_msgs, credit_stalls;
  uint64_t rdma_reads, ctrl_sends;
  uint64_t errors;
  uint64_t credit_stall_ns; /* total time that sends have waited for credits */
  uint64_t rdma_writes;
  uint64_t notices_sent, notices_received;
  uint64_t combined_sends;      /* small sends of a stream that shared a message */
  uint64_t cancelled, timeouts; /* operations that completed with ECANCELED, with ETIMEDOUT */
  uint64_t snapshots;           /* taken of the peer's memory */
  uint64_t snapshot_retries;    /* reads of them in vain, for the peer changed its memory meanwhile */
} exs_stats_t;
/* exs_getstats - get the counters of one socket, or with -1 of the process. EBADF; EFAULT; EINVAL
 * struct_bytes. exs extension. */
EXS_API int exs_getstats(int socket, exs_stats_t* stats);

typedef struct exs_limits { /* set struct_bytes first; the library fills what fits */
  size_t struct_bytes;
  uint64_t sockets_max, queues_max, queue_depth_max, regions_max;
  uint64_t message_bytes_max, small_bytes_max;
  uint64_t iov_max, operations_max, credits_max;
  char providers[64]; /* names, comma separated */
} exs_limits_t;
/* exs_getlimits - get the limits of the library on this machine. EFAULT; EINVAL struct_bytes. exs
 * extension. */
EXS_API int exs_getlimits(exs_limits_t* limits);

#ifdef __cplusplus
}
#endif
#endif /* EXS_H */
