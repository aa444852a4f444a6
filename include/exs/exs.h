/* exs.h - asynchronous sockets over RDMA and its software stand-ins. Valid C11 and C++.
 *
 * Modelled on the Open Group's Extended Sockets API (ES-API); source-compatible with the call shapes that
 * could be verified, and no claim beyond that. Conventions, stated once:
 *
 *  1. Functions return 0, a descriptor, a handle or a count on success, and -1 (or *_INVALID, or NULL) with
 *     errno on failure. Outputs are written only on success.
 *  2. An asynchronous call that returns 0 ends in exactly one event on the queue it named; one that returns
 *     -1 ends in none and changed nothing.
 *  3. A post reserves a slot of its queue until its event is dequeued, so a queue never overflows: EAGAIN
 *     tells that no slot (or no place on the socket) is free; dequeue and try again.
 *  4. Memory named by a post belongs to the library from return until its event is in the queue, also on
 *     error and close. The same memory may be in several sends at once.
 *  5. Every function may be called from any thread. Only exs_qdequeue, exs_qwait, exs_close, exs_fini and
 *     exs_mderegister with EXS_MRF_WAIT wait.
 *  6. Events of one socket and direction are queued in post order.
 *  7. Before exs_init() every call fails with EPERM, except exs_evtname() and exs_version_string().
 *  8. Handles carry a generation: a stale one gives EINVAL (queues: EBADF), never somebody else's object.
 *
 * Each function has a manual page with its errors; exs(7) is the overview.
 */
#ifndef EXS_H
#define EXS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define EXS_API __attribute__((visibility("default")))
#else
#define EXS_API
#endif

/* ---------------------------------------------------------------- version, start and end */

#define EXS_VERSION1 1
#define EXS_VERSION EXS_VERSION1

/* exs_init - start using the library. Counted: each successful call is undone by one exs_fini().
 * Starts no thread and opens nothing. ENOTSUP version, or provider in EXS_PROVIDER, unknown; EINVAL bad
 * EXS_SHARDS; ENOMEM. Source: ES-API. */
EXS_API int exs_init(int version);
/* exs_fini - the last one closes every descriptor, ends every thread of the library and frees every queue
 * and registration. EPERM not initialised. exs extension. */
EXS_API int exs_fini(void);
/* exs_version_string - "0.1.0" and the like, static. exs extension. */
EXS_API const char* exs_version_string(void);

typedef int exs_mhandle_t;   /* registered memory */
typedef int exs_qhandle_t;   /* event queue */
typedef void* exs_ahandle_t; /* the caller's, returned untouched in the event */

#define EXS_MHANDLE_INVALID (-1)
#define EXS_MHANDLE_UNREGISTERED 0
#define EXS_QHANDLE_INVALID (-1)

/* ---------------------------------------------------------------- registered memory */

#define EXS_MRF_SHARED 0x0001       /* usable by children after fork */
#define EXS_MRF_LOCAL_ONLY 0x0100   /* may back receives and immediate sends, never exposed to a peer */
#define EXS_MRF_REMOTE_READ 0x0200  /* may back sends */
#define EXS_MRF_REMOTE_WRITE 0x0400 /* may be written by a peer */
#define EXS_MRF_WAIT 0x1000         /* exs_mderegister waits until the region is idle */

/* exs_mregister - register `length` bytes at `address` for use in transfers. flags 0: all rights.
 * EINVAL empty range, unknown flags, or LOCAL_ONLY with a REMOTE flag; EFAULT not mapped; ENOMEM too many
 * regions. Source: ES-API. */
EXS_API exs_mhandle_t exs_mregister(void* address, size_t length, int flags);
/* exs_mderegister - EINVAL no such region or flags; EBUSY an operation uses it (without EXS_MRF_WAIT), or it
 * came from exs_alloc. Source: ES-API (arguments from memory). */
EXS_API int exs_mderegister(exs_mhandle_t region, int flags);
/* exs_alloc - page-aligned, zeroed, memfd-backed memory, registered with all rights; the handle goes to
 * `*region`. EINVAL length 0 or region NULL; ENOMEM. exs extension. */
EXS_API void* exs_alloc(size_t length, exs_mhandle_t* region);
/* exs_free - EINVAL not from exs_alloc; EBUSY an operation uses it. NULL is fine. exs extension. */
EXS_API int exs_free(void* address);

/* ---------------------------------------------------------------- events */

enum {
  EXS_EVT_NONE = 0,
  EXS_EVT_POLL = 1,
  EXS_EVT_CONNECT = 2,
  EXS_EVT_ACCEPT = 3,
  EXS_EVT_SEND = 4,
  EXS_EVT_RECV = 5,
  EXS_EVT_SENDMSG = 6,
  EXS_EVT_RECVMSG = 7,
  EXS_EVT_SENDFILE = 8,
  EXS_EVT_SENDTIMEOUT = 9,
  EXS_EVT_RECVTIMEOUT = 10,
  EXS_EVT_SHUTDOWN = 11,
  EXS_EVT_CLOSE = 12,
  EXS_EVT_PEER_READ = 64, /* exs extensions from here */
  EXS_EVT_PEER_WRITE = 65,
  EXS_EVT_USER = 66
};

/* exs_evt_flags */
#define EXS_EVF_TRUNC 0x0001     /* the message was longer than the receive buffer; the rest is dropped */
#define EXS_EVF_EOF 0x0002       /* orderly end of the peer's sending direction */
#define EXS_EVF_EOR 0x0004       /* end of a message reached */
#define EXS_EVF_COPIED 0x0010    /* at least one copy was made here */
#define EXS_EVF_IMMEDIATE 0x0020 /* data travelled inside the advertisement */

typedef struct exs_acceptaddr { /* must live until the event */
  struct sockaddr* addr;        /* may be NULL */
  socklen_t addrlen;            /* in: room; out: real length */
} exs_acceptaddr_t;

typedef struct exs_evt_xfer { /* SEND, RECV */
  void* exs_evt_buf;          /* as posted */
  size_t exs_evt_bufsize;     /* length asked for */
  size_t exs_evt_length;      /* bytes really moved */
  uint64_t exs_evt_offset;    /* 0 for sends and receives without an offset */
  exs_mhandle_t exs_evt_mhandle;
  uint32_t exs_evt_rsvd;
} exs_evt_xfer_t;

typedef struct exs_evt_accept {   /* ACCEPT */
  exs_acceptaddr_t* exs_evt_addr; /* as passed, filled in */
  int exs_evt_newsocket;          /* -1 on error */
  int exs_evt_rsvd;
} exs_evt_accept_t;

typedef struct exs_event { /* 64 bytes on LP64 */
  int32_t exs_evt_type;    /* EXS_EVT_* */
  int32_t exs_evt_errno;   /* 0 or an errno value */
  int32_t exs_evt_socket;
  uint32_t exs_evt_flags; /* EXS_EVF_* */
  exs_ahandle_t exs_evt_ahandle;
  union {
    exs_evt_xfer_t exs_evt_xfer;
    exs_evt_accept_t exs_evt_accept;
    uint64_t exs_evt_user[5];
  } exs_evt_union;
} exs_event_t;

/* exs_evtname - "EXS_EVT_SEND" and the like; "unknown" for no event type; never NULL. exs extension. */
EXS_API const char* exs_evtname(int type);

/* ---------------------------------------------------------------- event queues */

#define EXS_EVTVEC_MAX 1024    /* most events one dequeue may return */
#define EXS_QDEPTH_MAX 1048576 /* deepest queue */

enum { /* attributes for exs_qmodify and exs_qstatus; each value is an int unless told otherwise */
       EXS_QATTR_DEPTH = 1,           /* slots */
       EXS_QATTR_EVENTS = 3,          /* status only: events waiting to be dequeued */
       EXS_QATTR_WAIT = 4,            /* EXS_WAIT_* */
       EXS_QATTR_RESERVED_SLOTS = 64, /* status only: slots taken, by events and by operations under way */
       EXS_QATTR_SPIN_NS = 66         /* uint64_t: how long ADAPTIVE looks before it sleeps */
};
enum { EXS_WAIT_ADAPTIVE = 0, EXS_WAIT_NOTIFY = 1, EXS_WAIT_BUSY_POLL = 2 };

/* exs_qcreate - a queue of `depth` slots, 1..EXS_QDEPTH_MAX. EINVAL depth, or bad EXS_IWARP_BACKEND; ENOSYS,
 * EPERM the kernel refuses that backend; ENOMEM memory or descriptors. Source: ES-API. */
EXS_API exs_qhandle_t exs_qcreate(int depth);
/* exs_qdelete - EBADF; EBUSY while operations name it or a thread waits on it. Events still in it are
 * dropped. Source: ES-API (name from memory). */
EXS_API int exs_qdelete(exs_qhandle_t queue);
/* exs_qdequeue - take events.
 *   count > 0: wait until there is one, take at most count.
 *   count < 0: wait until there are -count, take that many.
 *   count = 0: return 0 at once.
 *   timeout NULL: for ever; zero: look once. After the timeout: whatever is there.
 * Returns the number taken. EBADF; EFAULT events NULL; EINVAL |count| above EXS_EVTVEC_MAX or the depth, or
 * bad timeout; EINTR a signal was caught, no event is lost. Source: ES-API. */
EXS_API int exs_qdequeue(exs_qhandle_t queue, exs_event_t* events, int count, const struct timeval* timeout);
/* exs_qwait - wait for at least `min` events, take at most `max`; timeout_ns < 0: for ever. Errors as
 * exs_qdequeue. exs extension. */
EXS_API int exs_qwait(exs_qhandle_t queue, exs_event_t* events, int max, int min, int64_t timeout_ns);
/* exs_qmodify - set an attribute from `*value` of `length` bytes. EBADF; EINVAL attribute, value or length;
 * EBUSY depth below the slots taken; EFAULT; ENOMEM. Source: ES-API (arguments from memory). */
EXS_API int exs_qmodify(exs_qhandle_t queue, int attribute, const void* value, size_t length);
/* exs_qstatus - get an attribute; `*length` is the room, then the length. EBADF; EINVAL; EFAULT. exs
 * extension. */
EXS_API int exs_qstatus(exs_qhandle_t queue, int attribute, void* value, size_t* length);
/* exs_qfd - a descriptor that is readable (level-triggered) while the queue holds events, for poll and epoll.
 * Belongs to the queue: never read, write or close it. EBADF; EMFILE, ENFILE, ENOMEM. exs extension. */
EXS_API int exs_qfd(exs_qhandle_t queue);

/* ---------------------------------------------------------------- sockets */

/* exs_socket - domain AF_INET or AF_INET6, type SOCK_SEQPACKET (messages), protocol 0.
 * EAFNOSUPPORT; EPROTONOSUPPORT type or protocol; EMFILE, ENFILE, ENOMEM. After UNH-EXS. */
EXS_API int exs_socket(int domain, int type, int protocol);
/* exs_bind - EBADF; EINVAL already bound or connected, or bad length; EADDRINUSE, EADDRNOTAVAIL, EACCES,
 * EAFNOSUPPORT; EFAULT. After UNH-EXS. */
EXS_API int exs_bind(int socket, const struct sockaddr* address, socklen_t length);
/* exs_listen - backlog: peers that may wait for an exs_accept. EBADF; EINVAL connected; EADDRINUSE. */
EXS_API int exs_listen(int socket, int backlog);
/* exs_accept - EXS_EVT_ACCEPT when a peer has connected; flags 0. `address` may be NULL.
 * EBADF; EINVAL not listening, flags; EAGAIN no slot. Source: ES-API (arguments ours). */
EXS_API int exs_accept(int socket, exs_acceptaddr_t* address, int flags, exs_qhandle_t queue,
                       exs_ahandle_t handle);
/* exs_connect - EXS_EVT_CONNECT when the peer has accepted; flags 0.
 * EBADF; EISCONN; EALREADY; EINVAL listening, flags, length; EAFNOSUPPORT; EFAULT; EAGAIN no slot.
 * Event errors: ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ECONNRESET, EPROTO (the peer does not
 * speak exs), EPROTONOSUPPORT, EPROTOTYPE, ECANCELED. Source: ES-API (arguments ours). */
EXS_API int exs_connect(int socket, const struct sockaddr* address, socklen_t length, int flags,
                        exs_qhandle_t queue, exs_ahandle_t handle);
/* exs_shutdown - SHUT_WR: the peer's receives see the end after what was sent; SHUT_RD: ours end, the peer's
 * sends fail with EPIPE; SHUT_RDWR. EBADF; ENOTCONN; EINVAL. */
EXS_API int exs_shutdown(int socket, int how);
/* exs_close - ends every operation but sends with ECANCELED, lets sends finish and shakes hands with the
 * peer, all within the linger time (EXS_F_SET_LINGER_MS; 0: breaks off at once), and returns when all events
 * of the socket are in their queues. The number is not used again while such an event waits. EBADF; ETIMEDOUT
 * the peer took longer (the socket is closed). */
EXS_API int exs_close(int socket);
/* exs_getsockname - our address; `*length` is the room, then the real length. EBADF; EFAULT; EINVAL.
 * After UNH-EXS. */
EXS_API int exs_getsockname(int socket, struct sockaddr* address, socklen_t* length);
/* exs_getpeername - the peer's address, likewise. EBADF; EFAULT; EINVAL; ENOTCONN. After UNH-EXS. */
EXS_API int exs_getpeername(int socket, struct sockaddr* address, socklen_t* length);

/* ---------------------------------------------------------------- transfers */

/* Flag bits that no MSG_* flag of Linux uses. */
#define EXS_NO_IMMEDIATE 0x10000000 /* not inside the advertisement: completion means the data are there */

/* exs_send - send one message of `length` bytes (0 is legal) that lies inside `region`. flags: 0 or
 * EXS_NO_IMMEDIATE. EXS_EVT_SEND says that the memory is the caller's again: for a message up to the
 * negotiated small-packet maximum that it has left, for a longer one that it is in the peer's memory.
 * EBADF socket or queue; ENOTCONN; EPIPE sending is shut down, here or by the peer; EINVAL region;
 * EOPNOTSUPP flags, or an unregistered region; EFAULT range not inside the region; EACCES region lacks the
 * right; EAGAIN no slot, or the socket's limit. Event errors: EPIPE, ECONNRESET, ECANCELED, EPROTO,
 * ETIMEDOUT (the peer fell silent while the connection was set up). Source: ES-API. */
EXS_API int exs_send(int socket, const void* buffer, size_t length, int flags, exs_qhandle_t queue,
                     exs_ahandle_t handle, exs_mhandle_t region);
/* exs_recv - receive one message. flags 0 or MSG_WAITALL. A longer message is cut: EXS_EVF_TRUNC. At the end
 * of the peer's sending: length 0 and EXS_EVF_EOF. EBADF socket or queue; ENOTCONN; EINVAL region; EOPNOTSUPP
 * flags, or an unregistered region; EFAULT range not inside the region; EAGAIN no slot, or the socket's
 * limit. Event errors: ECONNRESET, ECANCELED, EPROTO, ETIMEDOUT. Source: ES-API (by symmetry). */
EXS_API int exs_recv(int socket, void* buffer, size_t length, int flags, exs_qhandle_t queue,
                     exs_ahandle_t handle, exs_mhandle_t region);

/* ---------------------------------------------------------------- tuning and state */

/* Wishes may be set before connect or listen (later: EISCONN); accepted sockets inherit them. After the
 * connection is up the GET commands give the negotiated value. */
enum {
  EXS_F_GET_SMALL_MAX = 16,    /* size_t *: longest immediate message, 0..EXS_SMALL_MAX */
  EXS_F_SET_SMALL_MAX = 17,    /* size_t */
  EXS_F_GET_SEND_CREDITS = 18, /* int *: messages under way towards the peer, 1..EXS_CREDITS_MAX */
  EXS_F_SET_SEND_CREDITS = 19, /* int */
  EXS_F_GET_RECV_CREDITS = 20, /* int *: messages the peer may have under way towards us */
  EXS_F_SET_RECV_CREDITS = 21, /* int */
  EXS_F_GET_MAX_OPS = 36,  /* int *: posted operations a direction, 1..EXS_OPS_MAX; settable at any time */
  EXS_F_SET_MAX_OPS = 37,  /* int */
  EXS_F_GET_PROVIDER = 64, /* const char **: name of the provider in use, or the wish */
  EXS_F_SET_PROVIDER = 65, /* const char *: "auto", "iwarp" */
  EXS_F_GET_CONNECT_TIMEOUT_MS = 66, /* int *: whole connect; on a listening socket each incoming handshake */
  EXS_F_SET_CONNECT_TIMEOUT_MS = 67, /* int, 1.. */
  EXS_F_GET_LINGER_MS = 68,          /* int *: how long exs_close lets sends finish */
  EXS_F_SET_LINGER_MS = 69           /* int, 0..; settable at any time */
};
#define EXS_SMALL_MAX 32768
#define EXS_CREDITS_MAX 4096
#define EXS_OPS_MAX 65536

/* exs_fcntl - EBADF; EINVAL command or value; EISCONN too late to set; EFAULT; ENOTSUP no such provider in
 * this build. After UNH-EXS (command names ours). */
EXS_API int exs_fcntl(int socket, int command, ...);

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
} exs_stats_t;
/* exs_getstats - counters of one socket, or with -1 of the process. EBADF; EFAULT; EINVAL struct_bytes.
 * exs extension. */
EXS_API int exs_getstats(int socket, exs_stats_t* stats);

#ifdef __cplusplus
}
#endif
#endif /* EXS_H */
