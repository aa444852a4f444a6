/* exs/service.h - services: messages to a name instead of a place. Valid C11 and C++.
 *
 * A process that has the key of a service can be the service, on any host. Others know the ID of the service, and send to it.
 * exs-service(7) is the overview.
 *
 * Conventions, stated once:
 *
 *  1. Functions return 0, a count or an object on success, and -1 or NULL with errno on failure. exs_svc_errtext() describes the
 *     error. Outputs are written only on success.
 *  2. Later results arrive as events of the node, which exs_svc_wait() returns. exs_svc_wait() also moves the bytes. A message whose
 *     connection is open leaves in the call that sends it. Otherwise a node neither sends nor receives while its program does not
 *     call exs_svc_wait(). Its services keep their names.
 *  3. Functions may be called from any thread. Functions that end an object (_free, _close) require that no other call uses it.
 *
 * Source of all: exs. */
/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXS_SERVICE_H
#define EXS_SERVICE_H

#include <exs/exs.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define EXS_SVC_API __attribute__((visibility("default")))
#else
#define EXS_SVC_API
#endif

typedef struct exs_svc_key exs_svc_key_t;   /* the right to be a service */
typedef struct exs_svc_node exs_svc_node_t; /* one end of links: a listener, and a queue of events */
typedef struct exs_svc exs_svc_t;           /* a service of this node */
typedef struct exs_svc_peer exs_svc_peer_t; /* a service to send to, on any host */

/* exs_svc_errtext - describe the last error of a function of this header in this thread. The text is valid until the next error. Thread:
 * any. */
EXS_SVC_API const char* exs_svc_errtext(void);

/* ---------------------------------------------------------------- keys and names */

/* The name of a service. It follows from the key, and no key can be made for a given name. A process that knows the ID may send to the
 * service. */
typedef struct exs_svc_id {
  uint8_t bytes[16];
} exs_svc_id_t;
#define EXS_SVC_ID_TEXT 37 /* bytes of "exs:", 32 digits and a zero */

/* exs_svc_key_create - make the key of a new service. NULL with errno: ENOMEM. Thread: any. */
EXS_SVC_API exs_svc_key_t* exs_svc_key_create(void);
/* exs_svc_key_store - write a key into a new file of mode 0600. EINVAL; EEXIST the file exists; and the errors of open(2) and write(2).
 * Thread: any. */
EXS_SVC_API int exs_svc_key_store(const exs_svc_key_t* key, const char* path);
/* exs_svc_key_load - read a key. NULL with errno: EINVAL; EACCES others may read the file, or it belongs to another user; EPROTO it is
 * not a key; ENOMEM; and the errors of open(2). Thread: any. */
EXS_SVC_API exs_svc_key_t* exs_svc_key_load(const char* path);
/* exs_svc_key_free - free a key, and wipe its memory. Services that were opened with it stay open. NULL: no effect. Thread: one. */
EXS_SVC_API void exs_svc_key_free(exs_svc_key_t* key);
/* exs_svc_key_id - get the ID of the service of a key. EINVAL. Thread: any. */
EXS_SVC_API int exs_svc_key_id(const exs_svc_key_t* key, exs_svc_id_t* id);
/* exs_svc_find - find the ID of a name in a file of names. `names` NULL: the file that EXS_SERVICES names, or /etc/exs/services. The text
 * of an ID is a name, too. EINVAL; ENOENT the file does not have the name. Thread: any. */
EXS_SVC_API int exs_svc_find(const char* names, const char* name, exs_svc_id_t* id);

#define EXS_SVC_PLACES 4              /* addresses of a service */
typedef struct exs_svc_place {        /* 0: not known */
  size_t struct_bytes;                /* sizeof */
  int64_t opened_ms;                  /* since 1970 */
  uint64_t instance;                  /* changes when the service starts again */
  int32_t process;                    /* has the name */
  uint32_t user;                      /* of that process */
  int32_t addresses_count;            /* 1..EXS_SVC_PLACES */
  char addresses[EXS_SVC_PLACES][56]; /* "address:port" or "[address]:port" of its node */
} exs_svc_place_t;
/* exs_svc_locate - find out where a service of this host is, from its signed answer. `limit_ns` limits the wait for the answer; 0 does
 * not wait. Set struct_bytes of `place` before the call. EINVAL an argument; ENOENT no process has the name; ETIMEDOUT the process with
 * the name does not answer; EPROTO it is not the service; EMFILE, ENOMEM. Thread: any. */
EXS_SVC_API int exs_svc_locate(const exs_svc_id_t* id, int64_t limit_ns, exs_svc_place_t* place);

/* exs_svc_id_text - write an ID as "exs:" and 32 digits into EXS_SVC_ID_TEXT bytes. EINVAL. Thread: any. */
EXS_SVC_API int exs_svc_id_text(const exs_svc_id_t* id, char* text);
/* exs_svc_id_parse - read such a text. EINVAL it is not valid. Thread: any. */
EXS_SVC_API int exs_svc_id_parse(const char* text, exs_svc_id_t* id);

/* ---------------------------------------------------------------- capabilities */

#define EXS_SVC_SEND 0x1    /* rights: send messages */
#define EXS_SVC_STATS 0x2   /* ping it, and ask for its statistics */
#define EXS_SVC_REQUEST 0x4 /* send requests */
#define EXS_SVC_LONG 0x8    /* add long items to messages and requests */
#define EXS_SVC_RETURN 0x10 /* let it write replies into memory of requests */
#define EXS_SVC_ALL 0x1f

/* The right to use a service that does not serve all peers that know its ID. Keep it secret: any process that has it can use it. */
typedef struct exs_svc_cap {
  exs_svc_id_t id;
  uint32_t rights;
  uint32_t serial;
  int64_t expires_ms; /* since 1970; 0: never */
  uint8_t secret[32];
} exs_svc_cap_t;
#define EXS_SVC_CAP_TEXT 137 /* bytes of "exs-cap:", 128 digits and a zero */

/* exs_svc_cap_make - make a capability of the service of `key`. The service refuses capabilities below its lowest serial. EINVAL an
 * argument, or rights beyond EXS_SVC_ALL. Thread: any. */
EXS_SVC_API int exs_svc_cap_make(const exs_svc_key_t* key, uint32_t rights, uint32_t serial,
                                 int64_t expires_ms, exs_svc_cap_t* cap);
/* exs_svc_cap_text - write a capability into EXS_SVC_CAP_TEXT bytes of text. EINVAL. Thread: any. */
EXS_SVC_API int exs_svc_cap_text(const exs_svc_cap_t* cap, char* text);
/* exs_svc_cap_parse - read such a text. EINVAL it is not valid. Thread: any. */
EXS_SVC_API int exs_svc_cap_parse(const char* text, exs_svc_cap_t* cap);

/* ---------------------------------------------------------------- nodes, services, peers */

#define EXS_SVC_BY_HOST 0x1           /* by the names that services have on this host */
#define EXS_SVC_BY_FILE 0x2           /* by a file: lines of a name, an ID, and addresses with ports */
#define EXS_SVC_BY_DIRECTORY 0x4      /* by exs-directory(1), which also lists this node's services */
#define EXS_SVC_BY_MULTICAST 0x8      /* by a question to the hosts of the same networks */
typedef struct exs_svc_node_options { /* 0: the default */
  size_t struct_bytes;                /* sizeof */
  /* "address", "address:port" or "[address]:port" of IPv4 or IPv6. Default: EXS_SVC_LISTEN, or 127.0.0.1, any port. */
  const char* listen;
  /* Time to look for a peer before messages to it are lost: 2 s. It does not count while a process of this host has the name, even
   * if that process is busy, stopped or without a processor. Messages then wait, and requests wait until their own limits. */
  int64_t find_ns;
  uint32_t links_max;      /* nodes that may be connected to this one at a time: 1,024 */
  uint32_t links_each_max; /* of these, from one host: 256, or links_max if that is set */
  uint32_t flows_max;      /* peers of one of these nodes: 64 */
  const char* names;       /* the file: EXS_SERVICES, or /etc/exs/services */
  uint32_t find_by;        /* EXS_SVC_BY_*, ways to find peers and to be found: all, in this order */
  uint64_t memory_max;     /* bytes to allocate for long items of replies: 64 MiB */
  /* "off", or interfaces with commas between them, and perhaps ":port". No interface stands for all except loopback. Default:
   * EXS_SVC_MULTICAST, or all, port 17752. */
  const char* multicast;
  /* Silence that breaks a connection to another host, from two thirds of this time to all of it: 600 ms. A stopped process is silent,
   * and a busy one is not. Time in which this process had no processor does not count. On this host a connection breaks when a
   * process ends. A TCP connection there also breaks after a minute of silence, because its other end may be a forwarder. */
  int64_t silent_ns;
  const char* directory; /* "address" or "address:port". Default: EXS_SVC_DIRECTORY, or none. */
} exs_svc_node_options_t;
/* exs_svc_node_open - open a node. `options` may be NULL. NULL with errno: EINVAL an option; EADDRINUSE, EADDRNOTAVAIL, EACCES the
 * address is not available; EMFILE; EAGAIN no more threads; EOPNOTSUPP a parent of this process has opened nodes, or no provider that
 * EXS_PROVIDER allows has the address; ENOMEM; and the errors of exs_init(3) and exs_qcreate(3). Thread: any. */
EXS_SVC_API exs_svc_node_t* exs_svc_node_open(const exs_svc_node_options_t* options);
/* exs_svc_node_close - close a node, its services and its peers. Messages that are not released stay valid. NULL: no effect. Thread:
 * one. */
EXS_SVC_API void exs_svc_node_close(exs_svc_node_t* node);
/* exs_svc_node_fd - get a descriptor that is readable while exs_svc_wait() has work. The node owns it. EINVAL; EMFILE, ENOMEM. Thread:
 * any. */
EXS_SVC_API int exs_svc_node_fd(exs_svc_node_t* node);

#define EXS_SVC_FENCED 0x1       /* serve only while a directory says that no other process does */
typedef struct exs_svc_options { /* 0: the default */
  size_t struct_bytes;           /* sizeof */
  uint32_t only_with_cap;        /* 1: serve only peers with a capability; 0: serve all that know the ID */
  uint32_t serial_min;           /* the lowest serial of accepted capabilities: 0 */
  /* Messages that have arrived and are not released: 1,024. The service drops any more, and notifies their senders. */
  uint32_t mailbox_max;
  uint32_t mailbox_each_max; /* of these, from one principal: 256, or mailbox_max if that is set */
  uint64_t memory_max;       /* bytes to allocate for long items, beside windows: 256 MiB */
  uint64_t memory_each_max;  /* of these, for one principal: 64 MiB, or memory_max if that is set */
  uint32_t flags;            /* EXS_SVC_FENCED */
} exs_svc_options_t;
/* exs_svc_open - open the service of `key`: EXS_SVC_EVT_OPEN. `options` may be NULL. With EXS_SVC_FENCED the service serves nobody before
 * that event, nor between EXS_SVC_EVT_SUSPENDED and the next one. NULL with errno: EINVAL an argument, or EXS_SVC_FENCED and the node has
 * no directory, or no address for it; EADDRINUSE a process of this host, perhaps this one, is the service; EMFILE, ENOMEM. Thread:
 * any. */
EXS_SVC_API exs_svc_t* exs_svc_open(exs_svc_node_t* node, const exs_svc_key_t* key,
                                    const exs_svc_options_t* options, void* handle);
/* exs_svc_close - close a service. Messages that the program has received stay valid until they are released. Those that it has not
 * received are lost, and requests are not answered. Memory of replies and windows without a message belong to the program again. NULL: no
 * effect. Thread: one. */
EXS_SVC_API void exs_svc_close(exs_svc_t* service);

#define EXS_SVC_STATE_MAX 15
typedef struct exs_svc_move_options { /* 0: the default */
  size_t struct_bytes;                /* sizeof */
  const char* to;                     /* "address:port" of the other node; NULL: search */
  int64_t find_ns;                    /* time to find it, and to find it again: 500 ms */
  int64_t limit_ns;                   /* time for the program to release its messages: 5 s */
  int32_t state_count;                /* 0..EXS_SVC_STATE_MAX */
  const exs_iovec_t* state;           /* memory that moves along */
} exs_svc_move_options_t;
/* exs_svc_move - move a service to the node that waits in exs_svc_adopt(): EXS_SVC_EVT_MOVED, which carries `handle`. When that node is
 * found, the program receives no new messages. It answers and releases its messages until `limit_ns`. Then everything moves in one step:
 * messages that it has not received, the position of each peer, replies that are not accepted, and `state`. `state` is read then, and
 * must not change until the event. Peers notice nothing. `options` may be NULL. 0, or -1 with errno: EINVAL an argument; EMSGSIZE a
 * piece of `state` of more than EXS_SVC_LONG_MAX; EALREADY the service is moving, suspended, or not here; ENOMEM. Thread: any. */
EXS_SVC_API int exs_svc_move(exs_svc_t* service, const exs_svc_move_options_t* options, void* handle);
/* exs_svc_adopt - wait for the service of `key` to move here: EXS_SVC_EVT_ADOPTED. From then on it works as after exs_svc_open(). Until
 * then no message arrives for it. With EXS_SVC_FENCED it serves nobody before EXS_SVC_EVT_OPEN. NULL with errno: EINVAL as
 * exs_svc_open(); EADDRINUSE a process of this host, perhaps this one, waits for it; EMFILE, ENOMEM. Thread: any. */
EXS_SVC_API exs_svc_t* exs_svc_adopt(exs_svc_node_t* node, const exs_svc_key_t* key,
                                     const exs_svc_options_t* options, void* handle);

/* exs_svc_peer_open - open a peer, to send to a service. The library does not contact the service before the first message. `from`: the
 * service of this node that sends. The receiver gets proof of its ID, even after it is closed. NULL: no sender. `cap` may be NULL. A
 * service refuses a capability that is not valid, even if it requires none. NULL with errno: EINVAL an argument; ENOMEM. Thread: any. */
EXS_SVC_API exs_svc_peer_t* exs_svc_peer_open(exs_svc_node_t* node, exs_svc_t* from, const exs_svc_id_t* id,
                                              const exs_svc_cap_t* cap, void* handle);
#define EXS_SVC_TRUST_WRITE 0x1                /* the service may write memory of exs_svc_return_alloc() */
#define EXS_SVC_RETURN_MAX (UINT64_C(1) << 31) /* bytes of that memory */
/* exs_svc_peer_trust - set what the service of this peer may do here: `trust` is EXS_SVC_TRUST_WRITE, or 0, the default. A trusted
 * service may write all memory of exs_svc_return_alloc() of this peer, at any time, and nothing else. `return_max`: bytes of that memory;
 * 0: 64 MiB. EINVAL an argument; EBUSY such memory was allocated before. Thread: any. */
EXS_SVC_API int exs_svc_peer_trust(exs_svc_peer_t* peer, uint32_t trust, uint64_t return_max);
/* exs_svc_peer_close - close a peer; no more events arrive for it. Messages that have left arrive, unless their connection breaks. Others
 * are lost. Requests are cancelled. Long items belong to the program again; if the service is reading them, the connection breaks. Memory
 * of exs_svc_return_alloc() is freed. NULL: no effect. Thread: one. */
EXS_SVC_API void exs_svc_peer_close(exs_svc_peer_t* peer);

/* ---------------------------------------------------------------- messages */

#define EXS_SVC_ITEMS_MAX 16
#define EXS_SVC_SHORT_MAX 4000 /* bytes of all items of a short message */
typedef struct exs_svc_item {
  void* data;
  size_t length;
} exs_svc_item_t;

/* exs_svc_send_short - send a message of some items, which are copied. Messages of a peer arrive in order. If the service moves or its
 * connection breaks before it has accepted the message, the message is sent again, or reported as lost: EXS_SVC_EVT_RESTART,
 * EXS_SVC_EVT_LOST. 0, or -1 with errno: EINVAL an argument; EMSGSIZE more than EXS_SVC_ITEMS_MAX or EXS_SVC_SHORT_MAX; EAGAIN 64
 * messages are pending: exs_svc_wait() with a time limit, and try again; ENOMEM. Thread: any. */
EXS_SVC_API int exs_svc_send_short(exs_svc_peer_t* peer, const exs_svc_item_t* items, int count);

#define EXS_SVC_LONG_MAX (UINT64_C(1) << 40) /* bytes of a long item */
/* exs_svc_send_long - send a message of 0 or more short items, which are copied, and 1..EXS_SVC_ITEMS_MAX long items. The service reads
 * long items from this memory, into a window or into memory that it allocates. They must not change until EXS_SVC_EVT_SENT, which carries
 * `handle`. error 0: the service has accepted the message. Messages of a peer arrive in order, so a short one waits for a long one before
 * it. As exs_svc_send_short() otherwise; EMSGSIZE also a long item of more than EXS_SVC_LONG_MAX. Thread: any. */
EXS_SVC_API int exs_svc_send_long(exs_svc_peer_t* peer, const exs_svc_item_t* items, int count,
                                  const exs_iovec_t* longs, int longs_count, void* handle);

typedef struct exs_svc_message { /* belongs to the caller until exs_svc_release() */
  exs_svc_id_t from;             /* all zero: no sender */
  uint32_t items_count;
  uint32_t longs_count;
  const exs_svc_item_t* items;
  const exs_svc_item_t* longs;
  int64_t limit_ns; /* of a request: time that its sender waits for a reply, when sent; 0: no limit */
} exs_svc_message_t;
/* exs_svc_release - release a message. A request without a last reply ends with ECANCELED. NULL: no effect. Thread: any. */
EXS_SVC_API void exs_svc_release(const exs_svc_message_t* message);

/* exs_svc_ping - check that a service can be reached: EXS_SVC_EVT_PONG, or EXS_SVC_EVT_LOST. EINVAL; EAGAIN a ping is pending. Thread:
 * any. */
EXS_SVC_API int exs_svc_ping(exs_svc_peer_t* peer);

typedef struct {
  uint64_t open_ns;       /* since it was opened or adopted at its node */
  uint64_t messages;      /* accepted since, including requests */
  uint64_t replies;       /* requests answered since */
  uint64_t mailbox;       /* messages that are not released */
  uint64_t requests_open; /* requests that are not answered */
  uint64_t flows;         /* connected peers */
  uint64_t windows_free;  /* free windows of exs_svc_window() */
} exs_svc_stats_t;
/* exs_svc_stats - ask a service for its statistics: EXS_SVC_EVT_STATS, or EXS_SVC_EVT_LOST. EINVAL; EAGAIN a question is pending. Thread:
 * any. */
EXS_SVC_API int exs_svc_stats(exs_svc_peer_t* peer);

/* exs_svc_window - receive long items for a service into `buffer` of `length` bytes. Each item goes into the smallest free window that is
 * large enough. A window is free again when its message is released. `region`: a handle of exs_mregister(3) or exs_alloc(3), or
 * EXS_MHANDLE_UNREGISTERED. Windows belong to the service until exs_svc_close(), and until messages in them are released. EINVAL; ENOMEM.
 * Thread: any. */
EXS_SVC_API int exs_svc_window(exs_svc_t* service, void* buffer, size_t length, exs_mhandle_t region);

/* ---------------------------------------------------------------- requests */

#define EXS_SVC_IDEMPOTENT 0x1           /* executing it twice does no harm */
typedef struct exs_svc_request_options { /* 0: the default */
  size_t struct_bytes;                   /* sizeof */
  int64_t limit_ns;                      /* time to wait for the last reply: no limit */
  uint32_t flags;                        /* EXS_SVC_IDEMPOTENT */
  int32_t returns_count;                 /* 0..EXS_SVC_ITEMS_MAX */
  const exs_iovec_t* returns; /* memory for long items of replies, in turn: memory of the library */
} exs_svc_request_options_t;
/* exs_svc_return_alloc - allocate memory for `returns` of requests of this peer, to which its service may write. It stays valid until
 * exs_svc_return_free() or exs_svc_peer_close(). NULL with errno: EINVAL an argument; EPERM the service is not trusted:
 * exs_svc_peer_trust(); ENOBUFS more than `return_max`, or no free piece is large enough; ENOMEM. Thread: any. */
EXS_SVC_API void* exs_svc_return_alloc(exs_svc_peer_t* peer, size_t length);
/* exs_svc_return_free - free such memory. NULL: no effect. EINVAL it is not such memory; EBUSY a pending request names it. Thread:
 * any. */
EXS_SVC_API int exs_svc_return_free(void* memory);
/* exs_svc_request - send a request: EXS_SVC_EVT_REPLY, which carries `handle`. Long items (may be none) must not change, and `returns`
 * belong to exs, until its last event, which always arrives. If the service starts again, a request that it may have received ends with
 * EOWNERDEAD. An idempotent request is sent again instead. `options` may be NULL. EINVAL; EMSGSIZE; EAGAIN 64 messages or 64 requests are
 * pending: exs_svc_wait() with a time limit, and try again; EBUSY another one has memory of exs_svc_return_alloc() that this one names;
 * ENOMEM. Thread: any. */
EXS_SVC_API int exs_svc_request(exs_svc_peer_t* peer, const exs_svc_item_t* items, int count,
                                const exs_iovec_t* longs, int longs_count,
                                const exs_svc_request_options_t* options, void* handle);
/* exs_svc_cancel - cancel the oldest pending request with this handle: EXS_SVC_EVT_REPLY with ECANCELED. The service may have executed
 * it. EINVAL; ENOENT no pending request has it. Thread: any. */
EXS_SVC_API int exs_svc_cancel(exs_svc_peer_t* peer, const void* handle);

#define EXS_SVC_MORE 0x1 /* another part of the reply follows */
/* exs_svc_reply - answer a request, or with EXS_SVC_MORE send a part of the reply. Long items (may be none) must not change until
 * EXS_SVC_EVT_SENT, which carries `handle`. A reply without long items has no event. `status` has no meaning for exs. The message belongs
 * to the caller until exs_svc_release(). 0, or -1 with errno: EINVAL an argument, or the message is not a request; EMSGSIZE; EAGAIN (only
 * with EXS_SVC_MORE) 64 parts and requests of its sender are pending; ECANCELED its sender does not wait any more, or it has been
 * answered; ENOMEM. Thread: any. */
EXS_SVC_API int exs_svc_reply(const exs_svc_message_t* message, int32_t status, const exs_svc_item_t* items,
                              int count, const exs_iovec_t* longs, int longs_count, uint32_t flags,
                              void* handle);

/* ---------------------------------------------------------------- events */

enum {
  /* `service` can be reached. With EXS_SVC_FENCED, each time that it begins to serve. */
  EXS_SVC_EVT_OPEN = 1,
  /* `message` has arrived for `service`. Release it. */
  EXS_SVC_EVT_MESSAGE = 2,
  /* The service of `peer` has refused `count` messages, and perhaps accepted others after them. error: ENOBUFS its mailbox was full;
   * EACCES it does not allow them. */
  EXS_SVC_EVT_DROPPED = 3,
  /* The service of `peer` has started again. It may or may not have accepted `count` messages that had left. */
  EXS_SVC_EVT_RESTART = 4,
  /* The service of `peer` cannot be reached, and `count` messages are lost. The next message tries again. error: ENOENT no process
   * is the service; EACCES it does not serve this peer; EDQUOT its node has its maximum of peers of this one; EPROTO its
   * answer is not valid, or proves nothing; ECONNRESET it closed the connection. */
  EXS_SVC_EVT_LOST = 5,
  /* The service of `peer` has answered. elapsed_ns: since exs_svc_ping(). error: EACCES it does not allow pings. */
  EXS_SVC_EVT_PONG = 6,
  /* Long items of a message or reply belong to the program again. handle: of its call. error: ENOBUFS, EACCES as
   * EXS_SVC_EVT_DROPPED; EOWNERDEAD as EXS_SVC_EVT_RESTART; ECONNRESET the receiver of the reply has gone; or as EXS_SVC_EVT_LOST. */
  EXS_SVC_EVT_SENT = 7,
  /* The request `message` has arrived for `service`. Answer it with exs_svc_reply(), and release it. */
  EXS_SVC_EVT_REQUEST = 8,
  /* A reply of `peer`: `message`, which is to be released, and `status`. handle: of the request. flags: EXS_SVC_MORE, another part
   * follows. An event with an error is the last, and has no message: ETIMEDOUT; ECANCELED by exs_svc_cancel() or by the service;
   * EOWNERDEAD the service has gone or started again, and may have executed the request; ENOBUFS no room for it there, or for its
   * reply here; EACCES the service does not allow it; or as EXS_SVC_EVT_LOST. */
  EXS_SVC_EVT_REPLY = 9,
  /* error 0: `service` has moved. Close it here. EOWNERDEAD: the other node vanished at the last step, and may have served. The
   * service serves nobody here. Close it. With any other error the service continues here: ENOENT no node waits for it; ETIMEDOUT the
   * other node does not answer; ECONNRESET it has gone; ENOBUFS it has no memory for the service; EADDRINUSE another process there
   * has the name; ENOMEM; EACCES, EPROTO it is not the right one. */
  EXS_SVC_EVT_MOVED = 10,
  /* `service` is here. `message` has the state that moved along, as long items. Release it. */
  EXS_SVC_EVT_ADOPTED = 11,
  /* `service`, which is fenced, serves nobody until the next EXS_SVC_EVT_OPEN. error: ETIMEDOUT the directory does not answer in time,
   * or another process has its lease. */
  EXS_SVC_EVT_SUSPENDED = 12,
  /* Another process is `service`, by a newer record. It serves nobody here. Close it. */
  EXS_SVC_EVT_OVERTAKEN = 13,
  /* Statistics of the service of `peer`: the one item of `message`, which is to be released, is an exs_svc_stats_t. An event with an
   * error has no message: EACCES the service does not allow the question; ENOMEM. */
  EXS_SVC_EVT_STATS = 14
};
typedef struct exs_svc_event { /* 64 bytes on LP64 */
  int32_t type;                /* EXS_SVC_EVT_* */
  int32_t error;               /* 0 or an errno value */
  uint64_t count;
  uint64_t elapsed_ns;
  void* handle; /* of the service or peer; SENT, REPLY and MOVED: of their call */
  exs_svc_t* service;
  exs_svc_peer_t* peer;
  const exs_svc_message_t* message;
  int32_t status;
  uint32_t flags;
} exs_svc_event_t;

/* exs_svc_wait - move bytes, and return up to `max` events: as soon as there is one, or when `timeout_ns` has passed; < 0: no limit.
 * Returns their number. -1 with errno: EINVAL an argument; EINTR a signal was caught. Thread: any; each event goes to one. */
EXS_SVC_API int exs_svc_wait(exs_svc_node_t* node, exs_svc_event_t* events, int max, int64_t timeout_ns);

#ifdef __cplusplus
}
#endif
#endif /* EXS_SERVICE_H */
