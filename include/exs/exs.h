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
 *  5. Every function may be called from any thread. Only exs_qdequeue, exs_qwait, exs_close, exs_fini,
 *     exs_mderegister with EXS_MRF_WAIT, exs_recv_window and the *_sync forms wait.
 *  6. Events of one socket and direction are queued in post order, but that a cancelled operation, or one
 *     whose time is up, need not wait for those before it.
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
#define EXS_MHANDLE_UNREGISTERED \
  0 /* memory that is not registered: copied when small, else registered meanwhile */
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
  EXS_EVT_PEER_READ = 64,  /* the peer has read our persistent send; exs extensions from here */
  EXS_EVT_PEER_WRITE = 65, /* the peer has written our persistent receive */
  EXS_EVT_USER = 66        /* exs_qpost() */
};

/* exs_evt_flags */
#define EXS_EVF_TRUNC 0x0001     /* the message was longer than the receive buffer; the rest is dropped */
#define EXS_EVF_EOF 0x0002       /* orderly end of the peer's sending direction */
#define EXS_EVF_EOR 0x0004       /* end of a message reached */
#define EXS_EVF_COPIED 0x0010    /* at least one copy was made here */
#define EXS_EVF_IMMEDIATE 0x0020 /* data travelled inside the advertisement */
#define EXS_EVF_MORE 0x0080      /* further events will follow for this operation */

typedef struct exs_acceptaddr { /* must live until the event */
  struct sockaddr* addr;        /* may be NULL */
  socklen_t addrlen;            /* in: room; out: real length */
} exs_acceptaddr_t;

/* A piece of memory of exs_sendmsg and exs_recvmsg. */
typedef struct exs_iovec {
  void* iov_base;
  size_t iov_len;
  exs_mhandle_t iov_mhandle; /* may be EXS_MHANDLE_UNREGISTERED */
  uint32_t iov_reserved;     /* 0 */
} exs_iovec_t;

typedef struct exs_msghdr { /* must live, unchanged, until the event */
  exs_iovec_t* msg_iov;
  int msg_iovlen;        /* 0..EXS_IOV_MAX */
  int msg_flags;         /* 0 */
  void* msg_control;     /* NULL */
  size_t msg_controllen; /* 0 */
} exs_msghdr_t;
#define EXS_IOV_MAX 1024

typedef struct exs_fdvec { /* a range of an open file */
  int fdv_fd;
  uint32_t fdv_reserved; /* 0 */
  uint64_t fdv_off;
  uint64_t fdv_len; /* 0: to the end of the file */
} exs_fdvec_t;

enum { EXS_IOVEC = 1, EXS_FDVEC = 2 }; /* kind of an element of exs_sendfile */
typedef struct exs_xferelem {
  int type;     /* EXS_IOVEC or EXS_FDVEC */
  int reserved; /* 0 */
  union {
    exs_iovec_t iov;
    exs_fdvec_t fdv;
  } u;
} exs_xferelem_t;
typedef struct exs_xferfile { /* must live, unchanged, until the event */
  exs_xferelem_t* xf_vec;
  int xf_cnt; /* 0..EXS_IOV_MAX */
  int xf_reserved;
} exs_xferfile_t;

typedef struct exs_evt_xfer { /* SEND, RECV, PEER_READ, PEER_WRITE, SENDTIMEOUT, RECVTIMEOUT */
  void* exs_evt_buf;          /* as posted */
  size_t exs_evt_bufsize;     /* length asked for */
  size_t exs_evt_length;      /* bytes really moved; PEER_*: since the last such event */
  uint64_t exs_evt_offset;    /* in the peer's persistent memory; PEER_*: of the last transfer, in ours */
  exs_mhandle_t exs_evt_mhandle;
  uint32_t exs_evt_count; /* PEER_*: transfers since the last such event; *TIMEOUT: late operations */
} exs_evt_xfer_t;

typedef struct exs_evt_xfermsg { /* SENDMSG, RECVMSG */
  exs_msghdr_t* exs_evt_msghdr;  /* as posted */
  size_t exs_evt_length;
} exs_evt_xfermsg_t;

typedef struct exs_evt_xferfile {   /* SENDFILE */
  exs_xferfile_t* exs_evt_xferfile; /* as posted */
  uint64_t exs_evt_length;
} exs_evt_xferfile_t;

typedef struct exs_evt_poll { /* POLL */
  uint32_t exs_evt_revents;   /* EXS_POLL* */
  uint32_t exs_evt_rsvd;
} exs_evt_poll_t;

typedef struct exs_evt_accept {   /* ACCEPT */
  exs_acceptaddr_t* exs_evt_addr; /* as passed, filled in */
  int exs_evt_newsocket;          /* -1 on error */
  int exs_evt_rsvd;
} exs_evt_accept_t;

typedef struct exs_event { /* 64 bytes on LP64 */
  int32_t exs_evt_type;    /* EXS_EVT_* */
  int32_t exs_evt_errno;   /* 0 or an errno value */
  int32_t exs_evt_socket;  /* -1 for EXS_EVT_USER */
  uint32_t exs_evt_flags;  /* EXS_EVF_* */
  exs_ahandle_t exs_evt_ahandle;
  union {
    exs_evt_xfer_t exs_evt_xfer;
    exs_evt_xfermsg_t exs_evt_xfermsg;
    exs_evt_xferfile_t exs_evt_xferfile;
    exs_evt_accept_t exs_evt_accept;
    exs_evt_poll_t exs_evt_poll;
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
       EXS_QATTR_SIGNAL = 2,          /* exs_signal_t: sent to the process when the queue stops being empty */
       EXS_QATTR_EVENTS = 3,          /* status only: events waiting to be dequeued */
       EXS_QATTR_WAIT = 4,            /* EXS_WAIT_* */
       EXS_QATTR_RESERVED_SLOTS = 64, /* status only: slots taken, by events and by operations under way */
       EXS_QATTR_SPIN_NS = 66         /* uint64_t: how long ADAPTIVE looks before it sleeps */
};
enum { EXS_WAIT_ADAPTIVE = 0, EXS_WAIT_NOTIFY = 1, EXS_WAIT_BUSY_POLL = 2 };
enum { EXS_SIG_DISABLE = 0, EXS_SIG_ENABLE = 1 };
typedef struct exs_signal {
  int exs_sig_control; /* EXS_SIG_ENABLE or EXS_SIG_DISABLE */
  int exs_sig_signo;   /* 1..SIGRTMAX */
  void* exs_sig_value; /* comes as si_value, with si_code SI_QUEUE */
} exs_signal_t;

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
/* exs_qpost - put an EXS_EVT_USER event with `handle` and the five words (NULL: zeros) into the queue, to
 * wake whoever waits for it. EBADF; EAGAIN no slot. exs extension. */
EXS_API int exs_qpost(exs_qhandle_t queue, exs_ahandle_t handle, const uint64_t user[5]);

/* ---------------------------------------------------------------- sockets */

/* Every function that takes a socket also takes a connected or listening kernel stream socket and adopts it:
 * plain TCP (or local stream) bytes, same events, same queues. Its blocking mode and its life stay the
 * caller's. */

/* exs_socket - domain AF_INET or AF_INET6, type SOCK_SEQPACKET (messages) or SOCK_STREAM (bytes), protocol 0.
 * EAFNOSUPPORT; EPROTONOSUPPORT type or protocol; EMFILE, ENFILE, ENOMEM. After UNH-EXS. */
EXS_API int exs_socket(int domain, int type, int protocol);
/* exs_bind - EBADF; EINVAL already bound or connected, or bad length; EADDRINUSE, EADDRNOTAVAIL, EACCES,
 * EAFNOSUPPORT; EFAULT. After UNH-EXS. */
EXS_API int exs_bind(int socket, const struct sockaddr* address, socklen_t length);
/* exs_listen - backlog: peers that may wait for an exs_accept. EBADF; EINVAL connected; EADDRINUSE;
 * EOPNOTSUPP EXS_SO_PROVIDER allows verbs alone, and no RDMA device carries the address. */
EXS_API int exs_listen(int socket, int backlog);
/* exs_accept - EXS_EVT_ACCEPT when a peer has connected; flags 0. `address` may be NULL.
 * EBADF; EINVAL not listening, flags; EAGAIN no slot. Event errors: ECANCELED. Source: ES-API (arguments
 * ours). */
EXS_API int exs_accept(int socket, exs_acceptaddr_t* address, int flags, exs_qhandle_t queue,
                       exs_ahandle_t handle);
/* exs_connect - EXS_EVT_CONNECT when the peer has accepted; flags 0.
 * EBADF; EISCONN; EALREADY; EINVAL listening, flags, length; EAFNOSUPPORT; EFAULT; EAGAIN no slot.
 * Event errors: ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ECONNRESET, EPROTO (the peer does not
 * speak exs), EPROTONOSUPPORT, EPROTOTYPE, EOPNOTSUPP no provider that both ends allow, ECANCELED.
 * Source: ES-API (arguments ours). */
EXS_API int exs_connect(int socket, const struct sockaddr* address, socklen_t length, int flags,
                        exs_qhandle_t queue, exs_ahandle_t handle);
/* exs_shutdown - SHUT_WR: the peer's receives see the end after what was sent; SHUT_RD: ours end, the peer's
 * sends fail with EPIPE; SHUT_RDWR. EBADF; ENOTCONN; EINVAL. */
EXS_API int exs_shutdown(int socket, int how);
/* exs_shutdown_async - the same; EXS_EVT_SHUTDOWN once the peer has been told. EBADF; ENOTCONN; EINVAL;
 * EAGAIN no slot. Event errors: ECONNRESET, ECANCELED. After UNH-EXS (arguments ours). */
EXS_API int exs_shutdown_async(int socket, int how, exs_qhandle_t queue, exs_ahandle_t handle);
/* exs_close - ends every operation but sends with ECANCELED, lets sends finish and shakes hands with the
 * peer, all within the linger time (EXS_SO_LINGER_MS; 0: breaks off at once), and returns when all events
 * of the socket are in their queues. The number is not used again while such an event waits. EBADF; ETIMEDOUT
 * the peer took longer (the socket is closed). */
EXS_API int exs_close(int socket);
/* exs_close_async - the same without waiting; flags 0. EXS_EVT_CLOSE is the socket's last event. EBADF;
 * EINVAL flags; EAGAIN no slot. Event errors: ETIMEDOUT. After UNH-EXS (arguments ours). */
EXS_API int exs_close_async(int socket, int flags, exs_qhandle_t queue, exs_ahandle_t handle);
/* exs_getsockname - our address; `*length` is the room, then the real length. EBADF; EFAULT; EINVAL.
 * After UNH-EXS. */
EXS_API int exs_getsockname(int socket, struct sockaddr* address, socklen_t* length);
/* exs_getpeername - the peer's address, likewise. EBADF; EFAULT; EINVAL; ENOTCONN. After UNH-EXS. */
EXS_API int exs_getpeername(int socket, struct sockaddr* address, socklen_t* length);

/* exs_connect_sync - the blocking form. Besides the errors of exs_connect and its event, but EAGAIN: EINTR a
 * signal was caught, the connect is cancelled. After UNH-EXS. */
EXS_API int exs_connect_sync(int socket, const struct sockaddr* address, socklen_t length);
/* exs_accept_sync - the blocking form: the new socket. `address` may be NULL; `*length` is the room, then the
 * real length. Besides the errors of exs_accept and its event, but EAGAIN: EFAULT length NULL; EINTR a signal
 * was caught, the accept is cancelled. After UNH-EXS. */
EXS_API int exs_accept_sync(int socket, struct sockaddr* address, socklen_t* length);

/* ---------------------------------------------------------------- transfers */

/* Flag bits that no MSG_* flag of Linux uses. MSG_WAITALL and MSG_MORE keep their meaning; MSG_DONTWAIT,
 * MSG_NOSIGNAL and MSG_EOR are accepted and change nothing; any other MSG_* bit: EOPNOTSUPP. */
#define EXS_SHUT_WR 0x01000000    /* half-close after this send */
#define EXS_PERSISTENT 0x00200000 /* stays posted; the peer reads, or writes, it as often as it likes */
#define EXS_NOTIFY 0x00400000     /* with EXS_PERSISTENT: EXS_EVT_PEER_READ, EXS_EVT_PEER_WRITE tell of it */
#define EXS_NO_EVENT 0x00800000   /* no event on success; errors always report */
#define EXS_NO_IMMEDIATE 0x10000000 /* not inside the advertisement: completion means the data are there */

/* exs_send - send `length` bytes that lie inside `region`: one message (0 bytes are legal), or the next bytes
 * of a stream. flags: MSG_MORE (do not start yet), EXS_NO_IMMEDIATE, EXS_NO_EVENT, EXS_SHUT_WR; or
 * EXS_PERSISTENT and EXS_NOTIFY (messages only). EXS_EVT_SEND says that the memory is the caller's again: for
 * a send up to the negotiated small-packet maximum that it has left, for a longer one that it is in the
 * peer's memory. While a persistent receive of the peer stands, a send writes its start and has left when its
 * event comes. EBADF socket or queue; ENOTCONN; EPIPE sending is shut down, here or by the peer; EINVAL
 * region, or EXS_PERSISTENT and the memory is empty or not registered; EOPNOTSUPP flags; EFAULT range not
 * inside the region, or not mapped; EACCES region lacks the right; EBUSY a persistent send is posted; EAGAIN
 * no slot (EXS_NOTIFY takes two), or the socket's limit; ENOMEM. Event errors: EPIPE, ECONNRESET,
 * ECANCELED, EPROTO, ETIMEDOUT; ERANGE longer than the peer's persistent receive; EBUSY both ends are
 * persistent. Source: ES-API. */
EXS_API int exs_send(int socket, const void* buffer, size_t length, int flags, exs_qhandle_t queue,
                     exs_ahandle_t handle, exs_mhandle_t region);
/* exs_recv - receive one message, or the next bytes of a stream: what is there, at least one, or with
 * MSG_WAITALL all `length`. flags: MSG_WAITALL, EXS_NO_EVENT; or EXS_PERSISTENT and EXS_NOTIFY (messages
 * only). A longer message is cut: EXS_EVF_TRUNC. While a persistent send of the peer stands, a receive reads
 * its start. At the end of the peer's sending: what was still there, and EXS_EVF_EOF once nothing is. EBADF
 * socket or queue; ENOTCONN; EINVAL region, or EXS_PERSISTENT and the memory is empty or not registered;
 * EOPNOTSUPP flags; EFAULT range not inside the region, or not mapped; EACCES region lacks the right
 * (EXS_PERSISTENT); EBUSY a persistent receive is posted; EAGAIN no slot (EXS_NOTIFY takes two), or the
 * socket's limit; ENOMEM. Event errors: ECONNRESET, ECANCELED, EPROTO, ETIMEDOUT; EBUSY both ends are
 * persistent. Source: ES-API (by symmetry). */
EXS_API int exs_recv(int socket, void* buffer, size_t length, int flags, exs_qhandle_t queue,
                     exs_ahandle_t handle, exs_mhandle_t region);

/* exs_send_offset - write `length` bytes at `offset` of the peer's persistent receive. The operation waits
 * until the peer has posted one. flags: those of exs_send but EXS_PERSISTENT, EXS_NOTIFY. Errors as exs_send;
 * EOPNOTSUPP also on a stream. Event errors: ERANGE offset + length is not inside it; EINVAL what the peer
 * posted is not persistent (it is not consumed); ECANCELED also: the peer took it back. After UNH-EXS. */
EXS_API int exs_send_offset(int socket, const void* buffer, size_t length, int flags, exs_qhandle_t queue,
                            exs_ahandle_t handle, exs_mhandle_t region, uint64_t offset);
/* exs_recv_offset - read `length` bytes at `offset` of the peer's persistent send, likewise. Errors as
 * exs_recv, but EACCES; EOPNOTSUPP also on a stream. Event errors: ERANGE; EINVAL; ECANCELED as
 * exs_send_offset. After UNH-EXS. */
EXS_API int exs_recv_offset(int socket, void* buffer, size_t length, int flags, exs_qhandle_t queue,
                            exs_ahandle_t handle, exs_mhandle_t region, uint64_t offset);

/* exs_sendmsg - as exs_send with memory in several pieces; EXS_EVT_SENDMSG. Not with EXS_PERSISTENT. Besides
 * the errors of exs_send: EMSGSIZE more than EXS_IOV_MAX pieces; EINVAL also a reserved field is set, or
 * a number is negative or too large; EFAULT also `message` or its vector is NULL. Source: ES-API (arguments
 * ours). */
EXS_API int exs_sendmsg(int socket, exs_msghdr_t* message, int flags, exs_qhandle_t queue,
                        exs_ahandle_t handle);
/* exs_recvmsg - as exs_recv likewise; EXS_EVT_RECVMSG. Besides the errors of exs_recv, but EACCES: EMSGSIZE.
 * Source: ES-API (arguments ours). */
EXS_API int exs_recvmsg(int socket, exs_msghdr_t* message, int flags, exs_qhandle_t queue,
                        exs_ahandle_t handle);
/* exs_sendfile - send file ranges and memory, mixed, as one message or as bytes of a stream;
 * EXS_EVT_SENDFILE. The files are read before it returns. Besides the errors of exs_sendmsg: EBADF also a
 * file; EINVAL element, or range beyond the end of the file; EIO and what pread(2) says; ENOMEM. Source:
 * ES-API (arguments ours). */
EXS_API int exs_sendfile(int socket, exs_xferfile_t* file, int flags, exs_qhandle_t queue,
                         exs_ahandle_t handle);
/* exs_flush - start what MSG_MORE, or the combining of small sends, holds back. EBADF; ENOTCONN. exs
 * extension. */
EXS_API int exs_flush(int socket);

/* exs_send_sync - the blocking form: bytes moved; not with EXS_PERSISTENT, EXS_NO_EVENT, MSG_MORE. Besides
 * the errors of exs_send and its event: EINTR a signal was caught and nothing was moved: the send is
 * cancelled (one that the peer has begun with is waited for). After UNH-EXS. */
EXS_API ssize_t exs_send_sync(int socket, const void* buffer, size_t length, int flags, exs_mhandle_t region);
/* exs_recv_sync - the blocking form: bytes moved, 0 at the end of the peer's sending; flags: MSG_WAITALL.
 * Besides the errors of exs_recv and its event, but EACCES: EINTR likewise. After UNH-EXS. */
EXS_API ssize_t exs_recv_sync(int socket, void* buffer, size_t length, int flags, exs_mhandle_t region);

/* ---------------------------------------------------------------- safe sampling */

/* Lies in the memory of a persistent send, 8-byte aligned, and brackets its updates, so that readers can tell
 * a consistent snapshot from a torn one. One writer. exs extension. */
typedef struct exs_window {
  uint64_t sequence; /* odd while an update is under way */
} exs_window_t;

/* exs_window_begin - the stores that follow are an update. One store itself, which they come after. */
static inline void exs_window_begin(exs_window_t* window) {
#if defined(__SANITIZE_THREAD__) /* it knows no fences */
  (void)__atomic_exchange_n(&window->sequence, window->sequence + 1, __ATOMIC_ACQ_REL);
#else
  __atomic_store_n(&window->sequence, window->sequence + 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}
/* exs_window_end - the update is complete. One store itself, which comes after those of the update. */
static inline void exs_window_end(exs_window_t* window) {
  __atomic_store_n(&window->sequence, window->sequence + 1, __ATOMIC_RELEASE);
}

/* exs_recv_window - a snapshot of `length` bytes at `offset` of the peer's persistent send, whose
 * exs_window_t lies at `window_offset`: reads until the counter was even and the same before and after.
 * Waits; timeout_ns < 0: for ever. Returns `length`. Besides the errors of exs_recv_offset and its event:
 * EINVAL also a window_offset that is no multiple of 8, or no length; ETIMEDOUT also no snapshot in time;
 * EINTR (after both a read that the peer has begun with is waited for). exs extension. */
EXS_API ssize_t exs_recv_window(int socket, void* buffer, size_t length, exs_mhandle_t region,
                                uint64_t offset, uint64_t window_offset, int64_t timeout_ns);

/* ---------------------------------------------------------------- poll, cancel */

#define EXS_POLLIN 0x0001  /* a receive would end at once: data, or the end; listening: a peer waits */
#define EXS_POLLOUT 0x0004 /* a send would go out, or fail, at once */
#define EXS_POLLERR 0x0008 /* always told: the connection broke */
#define EXS_POLLHUP 0x0010 /* always told: the peer has closed */
typedef struct exs_pollfd {
  int pfd_socket;
  uint32_t pfd_events; /* EXS_POLLIN, EXS_POLLOUT, or 0 */
  exs_ahandle_t pfd_ahandle;
} exs_pollfd_t;
/* exs_poll - one EXS_EVT_POLL event for each entry, once, when it is ready; flags 0. Returns how many
 * entries, from the first on, were accepted; -1 when not even one: EBADF socket or queue; EINVAL flags,
 * events or count; EFAULT; ENOTCONN neither connected nor listening; EAGAIN no slot. Event errors: ECANCELED.
 * Source: ES-API (arguments ours). */
EXS_API int exs_poll(const exs_pollfd_t* entries, int count, int flags, exs_qhandle_t queue);

#define EXS_CAF_FILDES 0x1  /* the operations of `socket` */
#define EXS_CAF_AHANDLE 0x2 /* those with this handle; without EXS_CAF_FILDES, of every socket */
/* exs_cancel - cancel operations that match all of `flags`. Returns how many match; each still ends in its
 * one event, with ECANCELED, or with its true result when the peer has begun with it. ENOENT none matched;
 * EBADF; EINVAL flags. Source: ES-API (arguments ours). */
EXS_API int exs_cancel(int socket, exs_ahandle_t handle, int flags);

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
  EXS_F_GET_MAX_OPS = 36, /* int *: posted operations a direction, 1..EXS_OPS_MAX; settable at any time */
  EXS_F_SET_MAX_OPS = 37  /* int */
};
#define EXS_SMALL_MAX 32768
#define EXS_CREDITS_MAX 4096
#define EXS_OPS_MAX 65536

/* exs_fcntl - EBADF; EINVAL command or value; EISCONN too late to set; EFAULT; ENOTSUP an adopted kernel
 * socket has no such thing. After UNH-EXS (command names ours). */
EXS_API int exs_fcntl(int socket, int command, ...);

#define SOL_EXS 0x45585300
enum { /* options at level SOL_EXS, each an int unless told otherwise; accepted sockets inherit them */
       SO_ASYNC_RECV_ORDERED = 0x4501, /* 1 (default): receives end in post order */
       SO_ASYNC_SEND_TIMEOUT = 0x4502, /* exs_timeout_t */
       SO_ASYNC_RECV_TIMEOUT = 0x4503, /* exs_timeout_t; these three also at SOL_SOCKET */
       EXS_SO_KEEPALIVE_MS =
           0x4540, /* 0 (default): off; a peer silent for so long is asked, twice that: ETIMEDOUT */
       EXS_SO_CONNECT_TIMEOUT_MS =
           0x4541,                /* 1..: whole connect; listening: each incoming handshake; before it */
       EXS_SO_LINGER_MS = 0x4542, /* 0..: how long exs_close lets sends finish */
       EXS_SO_PROVIDER =
           0x4543, /* char[]: "auto", "prefer:X", "require:X", "forbid:X" or "X" (requires it), where X is
                    * "iwarp" or "shm"; before connect or listen; get: connected: the one in use */
       EXS_SO_NODELAY = 0x4544, /* 1: a stream's small sends are not combined */
       EXS_SO_REASON = 0x4545   /* get only; exs_reason_t[]: why the connection's provider carries it; entries
                                 * that do not fit are left out, `*length` tells the room for all */
};
#define EXS_TIMEOUT_ONCE 0x1   /* tell once, not every period */
#define EXS_TIMEOUT_CANCEL 0x2 /* also end the late operation, with ETIMEDOUT */
/* When a send, or receive, posted after this was set is under way for longer than `ns`: EXS_EVT_SENDTIMEOUT,
 * EXS_EVT_RECVTIMEOUT on `queue` with `handle`, again every `ns` while it is. Persistent operations have no
 * limit. Notices coalesce into the latest; the option holds one slot of the queue. An operation that the peer
 * has begun with cannot be taken back: with EXS_TIMEOUT_CANCEL the connection ends, ETIMEDOUT. An accepted
 * socket for whose notices no slot is free goes without them. */
typedef struct exs_timeout {
  int64_t ns;     /* 0: off */
  uint32_t flags; /* EXS_TIMEOUT_* */
  exs_qhandle_t queue;
  exs_ahandle_t handle;
} exs_timeout_t;

/* exs_setsockopt - set an option above; other levels go to the kernel socket. EBADF socket, or queue of an
 * exs_timeout_t; ENOPROTOOPT; EINVAL value or length; EFAULT; EISCONN too late to set; ENOTSUP no such
 * provider in this build; EAGAIN no slot for the notices. ES-API has the SO_ASYNC_* names; the rest are exs
 * extensions. */
EXS_API int exs_setsockopt(int socket, int level, int option, const void* value, socklen_t length);
/* exs_getsockopt - get one; `*length` is the room, then the length. EBADF; ENOPROTOOPT; EINVAL length;
 * EFAULT. */
EXS_API int exs_getsockopt(int socket, int level, int option, void* value, socklen_t* length);

/* Why a provider was taken or not. */
enum { EXS_VERDICT_USED = 1, EXS_VERDICT_LIMITED = 2, EXS_VERDICT_REFUSED = 3 };
enum {                             /* stable; 0: nothing to tell */
       EXS_REASON_NOT_NEEDED = 1,  /* another one came first */
       EXS_REASON_FORBIDDEN = 2,   /* by EXS_SO_PROVIDER or EXS_PROVIDER */
       EXS_REASON_PEER_LACKS = 3,  /* the peer said nothing of it */
       EXS_REASON_NOT_BUILT = 4,   /* not in this build of the library */
       EXS_REASON_FAILED = 5,      /* an error of this machine: the fact names it */
       EXS_REASON_TIMED_OUT = 6,   /* the peer did not do its part in time */
       EXS_REASON_OTHER_HOST = 16, /* shm from here */
       EXS_REASON_OTHER_NETNS = 17,
       EXS_REASON_OTHER_USER = 18,
       EXS_REASON_NO_RENDEZVOUS = 19, /* the peer's abstract Unix socket cannot be reached */
       EXS_REASON_NO_PROOF = 20,      /* what came over it is not what the TCP connection promised */
       EXS_REASON_NO_MEMFD = 21,      /* memfd_create or mmap refused */
       EXS_REASON_NO_DESCRIPTORS = 22,
       EXS_REASON_NO_PTRACE = 24,   /* limited: process_vm_readv refused, data are copied through the rings */
       EXS_REASON_OTHER_PIDNS = 25, /* limited: likewise, the peer has no process number here */
       EXS_REASON_NO_IO_URING = 32, /* iwarp from here; limited: epoll instead */
       EXS_REASON_EPOLL_CHOSEN = 33, /* limited: EXS_IWARP_BACKEND */
       EXS_REASON_NO_DEVICE = 48,    /* verbs from here */
       EXS_REASON_PORT_DOWN = 49,
       EXS_REASON_NO_ROUTE = 50,
       EXS_REASON_MEMLOCK = 51,
       EXS_REASON_NO_ACCESS = 52 /* /dev/infiniband: missing, or not for this user */
};
#define EXS_REASONS_MAX 16 /* most entries a connection has */
/* One entry or more a provider: first whether it was used, then what limits it. `fact` is what was measured
 * or probed, `cure` the command or setting that would change it; either may be empty. */
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
  uint64_t credit_stall_ns; /* how long sends have waited for credits */
  uint64_t rdma_writes;
  uint64_t notices_sent, notices_received;
  uint64_t combined_sends;      /* of a stream: small sends that shared a message */
  uint64_t cancelled, timeouts; /* operations that ended with ECANCELED, with ETIMEDOUT */
} exs_stats_t;
/* exs_getstats - counters of one socket, or with -1 of the process. EBADF; EFAULT; EINVAL struct_bytes.
 * exs extension. */
EXS_API int exs_getstats(int socket, exs_stats_t* stats);

typedef struct exs_limits { /* set struct_bytes first; the library fills what fits */
  size_t struct_bytes;
  uint64_t sockets_max, queues_max, queue_depth_max, regions_max;
  uint64_t message_bytes_max, small_bytes_max;
  uint64_t iov_max, operations_max, credits_max;
  char providers[64]; /* names, comma separated */
} exs_limits_t;
/* exs_getlimits - what this build can do on this machine. EFAULT; EINVAL struct_bytes. exs extension. */
EXS_API int exs_getlimits(exs_limits_t* limits);

#ifdef __cplusplus
}
#endif
#endif /* EXS_H */
