/* exs/event.h - events, what they carry, and what reads it. Part of exs.h, valid C11 and C++. */
/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXS_EVENT_H
#define EXS_EVENT_H

#include <exs/handles.h>

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- types and flags */

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
  EXS_EVT_PEER_READ = 64,  /* the peer has read the persistent send; exs extensions from here on */
  EXS_EVT_PEER_WRITE = 65, /* the peer has written the persistent receive */
  EXS_EVT_USER = 66,       /* posted by exs_qpost() */
  EXS_EVT_MAP = 67         /* the peer's persistent receive is mapped: exs_window_map() */
};

/* exs_evt_flags */
#define EXS_EVF_TRUNC 0x0001     /* the message was longer than the receive buffer; the rest is discarded */
#define EXS_EVF_EOF 0x0002       /* orderly end of the peer's sending direction */
#define EXS_EVF_EOR 0x0004       /* end of a message */
#define EXS_EVF_COPIED 0x0010    /* at least one copy was made at this end */
#define EXS_EVF_IMMEDIATE 0x0020 /* the data travelled inside the advertisement */
#define EXS_EVF_MORE 0x0080      /* further events of this operation follow */

typedef struct exs_acceptaddr { /* must stay valid until the event */
  struct sockaddr* addr;        /* may be NULL */
  socklen_t addrlen;            /* in: bytes of room; out: bytes of the address */
} exs_acceptaddr_t;

/* A piece of memory of exs_sendmsg and exs_recvmsg. */
typedef struct exs_iovec {
  void* iov_base;
  size_t iov_len;
  exs_mhandle_t iov_mhandle; /* may be EXS_MHANDLE_UNREGISTERED */
  uint32_t iov_reserved;     /* 0 */
} exs_iovec_t;

typedef struct exs_msghdr { /* must stay valid and unchanged until the event */
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
typedef struct exs_xferfile { /* must stay valid and unchanged until the event */
  exs_xferelem_t* xf_vec;
  int xf_cnt; /* 0..EXS_IOV_MAX */
  int xf_reserved;
} exs_xferfile_t;

typedef struct exs_evt_xfer { /* SEND, RECV, PEER_READ, PEER_WRITE, SENDTIMEOUT, RECVTIMEOUT */
  void* exs_evt_buf;          /* as posted */
  size_t exs_evt_bufsize;     /* length requested */
  size_t exs_evt_length;      /* bytes moved; PEER_*: since the last such event */
  uint64_t exs_evt_offset;    /* in the peer's persistent memory; PEER_*: of the last transfer, in ours;
                               * EXS_EVF_TRUNC: length of the whole message */
  exs_mhandle_t exs_evt_mhandle;
  uint32_t exs_evt_count; /* PEER_*: transfers since the last such event; *TIMEOUT: late operations */
} exs_evt_xfer_t;

typedef struct exs_evt_xfermsg { /* SENDMSG, RECVMSG */
  exs_msghdr_t* exs_evt_msghdr;  /* as posted */
  size_t exs_evt_length;
  uint64_t exs_evt_offset; /* EXS_EVF_TRUNC: length of the whole message */
} exs_evt_xfermsg_t;

typedef struct exs_evt_xferfile {   /* SENDFILE */
  exs_xferfile_t* exs_evt_xferfile; /* as posted */
  uint64_t exs_evt_length;
} exs_evt_xferfile_t;

typedef struct exs_evt_poll { /* POLL */
  uint32_t exs_evt_revents;   /* EXS_POLL* */
  uint32_t exs_evt_rsvd;
  uint64_t exs_evt_next_length; /* EXS_POLLIN: as EXS_SO_NEXT_LENGTH */
} exs_evt_poll_t;

typedef struct exs_evt_map { /* MAP */
  void* exs_evt_address;     /* of the first byte of the peer's memory, in this process */
  size_t exs_evt_length;
} exs_evt_map_t;

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
    exs_evt_map_t exs_evt_map;
    uint64_t exs_evt_user[5];
  } exs_evt_union;
} exs_event_t;

/* exs_evtname - the name of an event type, for instance "EXS_EVT_SEND"; "unknown" for any other value; never
 * NULL. exs extension. */
EXS_API const char* exs_evtname(int type);

/* ---------------------------------------------------------------- what an event carries */

/* Short ways to what an event carries. Each may be asked of an event of any type: one that does not have it gives 0,
 * NULL, -1 or EXS_MHANDLE_INVALID. exs extensions. */

/* exs_event_bytes - bytes that a transfer has moved; PEER_*: since the last such event; MAP: of the mapped memory; else
 * 0. */
static inline size_t exs_event_bytes(const exs_event_t* event) {
  switch (event->exs_evt_type) {
    case EXS_EVT_SEND:
    case EXS_EVT_RECV:
    case EXS_EVT_PEER_READ:
    case EXS_EVT_PEER_WRITE: return event->exs_evt_union.exs_evt_xfer.exs_evt_length;
    case EXS_EVT_SENDMSG:
    case EXS_EVT_RECVMSG: return event->exs_evt_union.exs_evt_xfermsg.exs_evt_length;
    case EXS_EVT_SENDFILE: return (size_t)event->exs_evt_union.exs_evt_xferfile.exs_evt_length;
    case EXS_EVT_MAP: return event->exs_evt_union.exs_evt_map.exs_evt_length;
    default: return 0;
  }
}
/* exs_event_buffer - memory of SEND and RECV as posted, or of the pool; PEER_*: of the persistent operation; MAP: the
 * first byte of the mapped memory; else NULL. */
static inline void* exs_event_buffer(const exs_event_t* event) {
  switch (event->exs_evt_type) {
    case EXS_EVT_SEND:
    case EXS_EVT_RECV:
    case EXS_EVT_PEER_READ:
    case EXS_EVT_PEER_WRITE: return event->exs_evt_union.exs_evt_xfer.exs_evt_buf;
    case EXS_EVT_MAP: return event->exs_evt_union.exs_evt_map.exs_evt_address;
    default: return NULL;
  }
}
/* exs_event_region - the region of that memory; else EXS_MHANDLE_INVALID. */
static inline exs_mhandle_t exs_event_region(const exs_event_t* event) {
  switch (event->exs_evt_type) {
    case EXS_EVT_SEND:
    case EXS_EVT_RECV:
    case EXS_EVT_PEER_READ:
    case EXS_EVT_PEER_WRITE: return event->exs_evt_union.exs_evt_xfer.exs_evt_mhandle;
    default: return EXS_MHANDLE_INVALID;
  }
}
/* exs_event_offset - of SEND and RECV in the peer's persistent memory; PEER_*: of the last transfer, in ours;
 * EXS_EVF_TRUNC: length of the whole message; else 0. */
static inline uint64_t exs_event_offset(const exs_event_t* event) {
  switch (event->exs_evt_type) {
    case EXS_EVT_SEND:
    case EXS_EVT_RECV:
    case EXS_EVT_PEER_READ:
    case EXS_EVT_PEER_WRITE: return event->exs_evt_union.exs_evt_xfer.exs_evt_offset;
    case EXS_EVT_SENDMSG:
    case EXS_EVT_RECVMSG: return event->exs_evt_union.exs_evt_xfermsg.exs_evt_offset;
    default: return 0;
  }
}
/* exs_event_count - PEER_*: transfers since the last such event; *TIMEOUT: late operations; else 0. */
static inline uint32_t exs_event_count(const exs_event_t* event) {
  switch (event->exs_evt_type) {
    case EXS_EVT_PEER_READ:
    case EXS_EVT_PEER_WRITE:
    case EXS_EVT_SENDTIMEOUT:
    case EXS_EVT_RECVTIMEOUT: return event->exs_evt_union.exs_evt_xfer.exs_evt_count;
    default: return 0;
  }
}
/* exs_event_new_socket - the new socket of ACCEPT, which the caller closes; -1 with an error, and else. */
static inline int exs_event_new_socket(const exs_event_t* event) {
  return event->exs_evt_type == EXS_EVT_ACCEPT ? event->exs_evt_union.exs_evt_accept.exs_evt_newsocket : -1;
}
/* exs_event_revents - EXS_POLL* of POLL; else 0. */
static inline uint32_t exs_event_revents(const exs_event_t* event) {
  return event->exs_evt_type == EXS_EVT_POLL ? event->exs_evt_union.exs_evt_poll.exs_evt_revents : 0;
}
/* exs_event_next_length - POLL with EXS_POLLIN: the length of the message that the next receive gets; else 0. */
static inline uint64_t exs_event_next_length(const exs_event_t* event) {
  return event->exs_evt_type == EXS_EVT_POLL ? event->exs_evt_union.exs_evt_poll.exs_evt_next_length : 0;
}
/* exs_event_user - word 0..4 of exs_qpost in USER; else 0. */
static inline uint64_t exs_event_user(const exs_event_t* event, unsigned word) {
  return event->exs_evt_type == EXS_EVT_USER && word < 5 ? event->exs_evt_union.exs_evt_user[word] : 0;
}

#ifdef __cplusplus
}
#endif
#endif /* EXS_EVENT_H */
