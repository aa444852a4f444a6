/* exs/service.h - services: messages to a name instead of a place. Valid C11 and C++.
 *
 * A service is whoever has its key, in whatever process, on whatever host; others know its ID. exs-service(7) is the overview.
 * Conventions, stated once:
 *
 *  1. Functions return 0, a count or an object on success, and -1 or NULL with errno on failure; exs_svc_errtext() says more.
 *     Outputs are written only on success.
 *  2. What happens later is told by events of the node, which exs_svc_wait() takes. It is also what moves bytes, but for a message
 *     whose way is open, which leaves in the call that sends it: a node whose program does not call it for a while receives
 *     nothing meanwhile, but its services keep their names.
 *  3. Functions may be called from any thread, but what ends an object (_free, _close) only when no other call uses it.
 *
 * Source of all: exs. */
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
typedef struct exs_svc_peer exs_svc_peer_t; /* a service to send to, wherever it is */

/* exs_svc_errtext - what was wrong with the last call of this thread to a function here that failed, and what to do about it. Valid
 * until the next. */
EXS_SVC_API const char* exs_svc_errtext(void);

/* ---------------------------------------------------------------- keys and names */

/* The name of a service: it follows from its key, and nobody can make a key to a given name. Who knows it may ask the service. */
typedef struct exs_svc_id {
  uint8_t bytes[16];
} exs_svc_id_t;
#define EXS_SVC_ID_TEXT 37 /* bytes of "exs:", 32 digits and a zero */

/* exs_svc_key_create - make the key of a new service. NULL with errno: ENOMEM. Thread: any. */
EXS_SVC_API exs_svc_key_t* exs_svc_key_create(void);
/* exs_svc_key_store - write a key into a new file of mode 0600. EINVAL; EEXIST there is such a file; and what open(2) and write(2)
 * say. Thread: any. */
EXS_SVC_API int exs_svc_key_store(const exs_svc_key_t* key, const char* path);
/* exs_svc_key_load - read a key. NULL with errno: EINVAL; EACCES others may read the file, or it belongs to another user; EPROTO it is
 * no key; ENOMEM; and what open(2) says. Thread: any. */
EXS_SVC_API exs_svc_key_t* exs_svc_key_load(const char* path);
/* exs_svc_key_free - forget a key, and wipe its memory. Services that were opened with it go on. NULL: nothing. Thread: one. */
EXS_SVC_API void exs_svc_key_free(exs_svc_key_t* key);
/* exs_svc_key_id - the ID of the service of a key. EINVAL. Thread: any. */
EXS_SVC_API int exs_svc_key_id(const exs_svc_key_t* key, exs_svc_id_t* id);
/* exs_svc_find - the ID that a name has in a file of names; NULL: that of EXS_SERVICES, or /etc/exs/services. A text of an ID is one, too.
 * EINVAL; ENOENT there is no such name. Thread: any. */
EXS_SVC_API int exs_svc_find(const char* names, const char* name, exs_svc_id_t* id);

#define EXS_SVC_PLACES 4              /* addresses of a service */
typedef struct exs_svc_place {        /* 0: not known */
  size_t struct_bytes;                /* sizeof */
  int64_t opened_ms;                  /* since 1970 */
  uint64_t instance;                  /* another number after a start */
  int32_t process;                    /* that has the name */
  uint32_t user;                      /* of that process */
  int32_t addresses_count;            /* 1..EXS_SVC_PLACES */
  char addresses[EXS_SVC_PLACES][56]; /* "address:port" or "[address]:port" of its node */
} exs_svc_place_t;
/* exs_svc_locate - where the service of an ID is on this host, as it says itself, signed; `limit_ns`: how long it is waited for, 0: not at
 * all. Set struct_bytes of `place` before. EINVAL an argument; ENOENT nobody has its name; ETIMEDOUT who has the name does not answer;
 * EPROTO or is not the service; EMFILE, ENOMEM. Thread: any. */
EXS_SVC_API int exs_svc_locate(const exs_svc_id_t* id, int64_t limit_ns, exs_svc_place_t* place);

/* exs_svc_id_text - write an ID as "exs:" and 32 digits into EXS_SVC_ID_TEXT bytes. EINVAL. Thread: any. */
EXS_SVC_API int exs_svc_id_text(const exs_svc_id_t* id, char* text);
/* exs_svc_id_parse - read that. EINVAL it is none. Thread: any. */
EXS_SVC_API int exs_svc_id_parse(const char* text, exs_svc_id_t* id);

/* ---------------------------------------------------------------- capabilities */

#define EXS_SVC_SEND 0x1    /* rights: to send messages */
#define EXS_SVC_STATS 0x2   /* to ping it, and to ask how busy it is */
#define EXS_SVC_REQUEST 0x4 /* to send requests */
#define EXS_SVC_LONG 0x8    /* messages and requests may have long items */
#define EXS_SVC_RETURN 0x10 /* replies may be written into memory of requests */
#define EXS_SVC_ALL 0x1f

/* The right to use a service that does not serve all who know its ID. Keep it secret: who has it, may use it. */
typedef struct exs_svc_cap {
  exs_svc_id_t id;
  uint32_t rights;
  uint32_t serial;
  int64_t expires_ms; /* since 1970; 0: never */
  uint8_t secret[32];
} exs_svc_cap_t;
#define EXS_SVC_CAP_TEXT 137 /* bytes of "exs-cap:", 128 digits and a zero */

/* exs_svc_cap_make - make a capability of the service of `key`. The service refuses those with a serial below the lowest that it
 * takes. EINVAL an argument, or rights beyond EXS_SVC_ALL. Thread: any. */
EXS_SVC_API int exs_svc_cap_make(const exs_svc_key_t* key, uint32_t rights, uint32_t serial,
                                 int64_t expires_ms, exs_svc_cap_t* cap);
/* exs_svc_cap_text - write a capability into EXS_SVC_CAP_TEXT bytes of text. EINVAL. Thread: any. */
EXS_SVC_API int exs_svc_cap_text(const exs_svc_cap_t* cap, char* text);
/* exs_svc_cap_parse - read that. EINVAL it is none. Thread: any. */
EXS_SVC_API int exs_svc_cap_parse(const char* text, exs_svc_cap_t* cap);

/* ---------------------------------------------------------------- nodes, services, peers */

#define EXS_SVC_BY_HOST 0x1      /* by names on this host, which services have by themselves */
#define EXS_SVC_BY_FILE 0x2      /* by a file: lines of a name, an ID, and addresses with ports */
#define EXS_SVC_BY_DIRECTORY 0x4 /* by a directory, exs-directory(1), which services of the node tell, too */
#define EXS_SVC_BY_MULTICAST 0x8 /* by asking all hosts of the links of this one; services answer */
typedef struct exs_svc_node_options { /* 0: the default */
  size_t struct_bytes;                /* sizeof */
  /* "address", "address:port" or "[address]:port" of IPv4 or IPv6: EXS_SVC_LISTEN, or 127.0.0.1, any port */
  const char* listen;
  /* how long a peer is looked for before messages to it are lost: 2 s. Time does not count while a process of this host has its name,
   * be it busy, starved or stopped: messages wait for that, and requests until their own limits. */
  int64_t find_ns;
  uint32_t links_max;      /* other nodes that have links to this one at a time: 1,024, and 256 of one host */
  uint32_t links_each_max; /* without a default where links_max is given */
  uint32_t flows_max;      /* peers of one such node: 64 */
  const char* names;       /* the file: EXS_SERVICES, or /etc/exs/services */
  uint32_t find_by;    /* how peers are found, and services of the node, EXS_SVC_BY_*: all, in this order */
  uint64_t memory_max; /* bytes to be allocated for long items of replies: 64 MiB */
  /* "off", or names of interfaces with commas between them, or none for all but loopback, and perhaps ":port": EXS_SVC_MULTICAST, or
   * all, port 17752 */
  const char* multicast;
  /* A connection of this node to another host has broken when nothing was heard of it for so long, or for two thirds of it: 600 ms. A
   * process that is stopped there is silent, and one that is busy is not; what this process sees late does not count. On this host
   * connections break when a process ends; by TCP, where a forwarder may be at the other end, also after a minute of silence. */
  int64_t silent_ns;
  const char* directory; /* its address, or address:port: EXS_SVC_DIRECTORY, or none */
} exs_svc_node_options_t;
/* exs_svc_node_open - make a node. `options` may be NULL. NULL with errno: EINVAL an option; EADDRINUSE, EADDRNOTAVAIL, EACCES the
 * address cannot be had; EMFILE; EAGAIN no more threads; EOPNOTSUPP a parent of this process has opened nodes, or no provider that
 * EXS_PROVIDER allows has the address; ENOMEM; and what exs_init(3) and exs_qcreate(3) say. Thread: any. */
EXS_SVC_API exs_svc_node_t* exs_svc_node_open(const exs_svc_node_options_t* options);
/* exs_svc_node_close - end a node, its services and its peers; messages that are not released stay valid. NULL: nothing. Thread: one. */
EXS_SVC_API void exs_svc_node_close(exs_svc_node_t* node);
/* exs_svc_node_fd - a descriptor that is readable while exs_svc_wait() has something to do. The node owns it. EINVAL; EMFILE,
 * ENOMEM. Thread: any. */
EXS_SVC_API int exs_svc_node_fd(exs_svc_node_t* node);

#define EXS_SVC_FENCED 0x1       /* serve only while a directory says that nobody else does */
typedef struct exs_svc_options { /* 0: the default */
  size_t struct_bytes;           /* sizeof */
  uint32_t only_with_cap;        /* 1: serve those who have a capability; 0: all who know the ID */
  uint32_t serial_min;           /* the lowest serial of capabilities: 0 */
  /* messages that wait for exs_svc_release(): 1,024, and 256 of one principal; more are dropped, and their senders told */
  uint32_t mailbox_max;
  uint32_t mailbox_each_max; /* without a default where mailbox_max is given */
  /* bytes to be allocated for long items, beside windows: 256 MiB, and 64 MiB for one principal */
  uint64_t memory_max;
  uint64_t memory_each_max; /* without a default where memory_max is given */
  uint32_t flags;           /* EXS_SVC_FENCED */
} exs_svc_options_t;
/* exs_svc_open - be the service of `key`: EXS_SVC_EVT_OPEN. `options` may be NULL. With EXS_SVC_FENCED nobody is served before that
 * event, nor between EXS_SVC_EVT_SUSPENDED and the next one. NULL with errno: EINVAL an argument, or EXS_SVC_FENCED and the node has
 * no directory, or no address for it; EADDRINUSE a process of this host, perhaps this one, is the service; EMFILE, ENOMEM. Thread:
 * any. */
EXS_SVC_API exs_svc_t* exs_svc_open(exs_svc_node_t* node, const exs_svc_key_t* key,
                                    const exs_svc_options_t* options, void* handle);
/* exs_svc_close - be it no more. Messages that the program has stay valid until they are released; those that it has not taken are
 * lost, and requests are not answered. Memory of replies is the program's again, and so are windows that no message lies in. NULL:
 * nothing. Thread: one. */
EXS_SVC_API void exs_svc_close(exs_svc_t* service);

#define EXS_SVC_STATE_MAX 15
typedef struct exs_svc_move_options { /* 0: the default */
  size_t struct_bytes;                /* sizeof */
  const char* to;                     /* where who adopts it is, "address:port"; NULL: it is looked for */
  int64_t find_ns;                    /* how long it is looked for, and waited for if it vanishes: 500 ms */
  int64_t limit_ns;                   /* how long messages that the program has are waited for: 5 s */
  int32_t state_count;                /* 0..EXS_SVC_STATE_MAX */
  const exs_iovec_t* state;           /* memory that goes along */
} exs_svc_move_options_t;
/* exs_svc_move - give a service to who has called exs_svc_adopt(): EXS_SVC_EVT_MOVED, whose handle is `handle`. From when the other is found
 * the program gets no new messages. When it has answered and released those that it has, or `limit_ns` has passed, everything goes along
 * in one step: messages that it has not seen, how far each peer's are taken, replies that have not been taken, and `state`, which is read
 * then, and must not change until the event. Peers notice nothing. `options` may be NULL. 0, or -1 with errno: EINVAL an argument; EALREADY
 * it is on its way, suspended, or not here; ENOMEM. Thread: any. */
EXS_SVC_API int exs_svc_move(exs_svc_t* service, const exs_svc_move_options_t* options, void* handle);
/* exs_svc_adopt - wait to be given the service of `key`: EXS_SVC_EVT_ADOPTED, from when on it is as after exs_svc_open(). Until then nothing
 * comes for it. With EXS_SVC_FENCED nobody is served before EXS_SVC_EVT_OPEN. NULL with errno: EINVAL as exs_svc_open(); EADDRINUSE
 * a process of this host, perhaps this one, waits for it; EMFILE, ENOMEM. Thread: any. */
EXS_SVC_API exs_svc_t* exs_svc_adopt(exs_svc_node_t* node, const exs_svc_key_t* key,
                                     const exs_svc_options_t* options, void* handle);

/* exs_svc_peer_open - have a service to send to. Nothing is asked of it before the first message. `from`: the service of this node
 * that sends, which is proven to the receiver, also after its close; NULL: nobody in particular. `cap` may be NULL; one that is not
 * right is refused, also by a service that needs none. NULL with errno: EINVAL an argument;
 * ENOMEM. Thread: any. */
EXS_SVC_API exs_svc_peer_t* exs_svc_peer_open(exs_svc_node_t* node, exs_svc_t* from, const exs_svc_id_t* id,
                                              const exs_svc_cap_t* cap, void* handle);
#define EXS_SVC_TRUST_WRITE 0x1 /* its service writes replies into memory of exs_svc_return_alloc() */
#define EXS_SVC_RETURN_MAX (UINT64_C(1) << 31) /* bytes of that memory */
/* exs_svc_peer_trust - what the service of this peer may do here: `trust` is EXS_SVC_TRUST_WRITE, or 0, as it is without a call. It may
 * write all memory of exs_svc_return_alloc() of this peer, at any time, and nothing else. `return_max`: how much that may be; 0: 64 MiB.
 * EINVAL an argument; EBUSY there is such memory. Thread: any. */
EXS_SVC_API int exs_svc_peer_trust(exs_svc_peer_t* peer, uint32_t trust, uint64_t return_max);
/* exs_svc_peer_close - have it no more, and hear nothing of it. Messages that have left go on, while their link holds; others are
 * lost. Requests are cancelled. Long items are the program's again: where they are being read, the link is broken. Memory of
 * exs_svc_return_alloc() is gone. NULL: nothing. Thread: one. */
EXS_SVC_API void exs_svc_peer_close(exs_svc_peer_t* peer);

/* ---------------------------------------------------------------- messages */

#define EXS_SVC_ITEMS_MAX 16
#define EXS_SVC_SHORT_MAX 4000 /* bytes of all items of a short message */
typedef struct exs_svc_item {
  void* data;
  size_t length;
} exs_svc_item_t;

/* exs_svc_send_short - send a message of some items, which are copied. Messages of a peer arrive in order. One that its service has
 * not taken when that moves or its link breaks is sent again, unless it is lost: EXS_SVC_EVT_RESTART, EXS_SVC_EVT_LOST. 0, or -1
 * with errno: EINVAL an argument; EMSGSIZE more than EXS_SVC_ITEMS_MAX or EXS_SVC_SHORT_MAX; EAGAIN 64 messages have not been
 * taken: exs_svc_wait(), and try again; ENOMEM. Thread: any. */
EXS_SVC_API int exs_svc_send_short(exs_svc_peer_t* peer, const exs_svc_item_t* items, int count);

#define EXS_SVC_LONG_MAX (UINT64_C(1) << 40) /* bytes of a long item */
/* exs_svc_send_long - send a message of some short items (may be none), which are copied, and 1..EXS_SVC_ITEMS_MAX long ones, which the
 * service reads from where they lie, into a window or into memory that it allocates. They must not change until EXS_SVC_EVT_SENT, whose
 * handle is `handle`: the service has the message (error 0), or not. Messages of a peer arrive in order, so a short one waits for a long
 * one before it. As exs_svc_send_short() otherwise; EMSGSIZE also a long item of more than EXS_SVC_LONG_MAX. Thread: any. */
EXS_SVC_API int exs_svc_send_long(exs_svc_peer_t* peer, const exs_svc_item_t* items, int count,
                                  const exs_iovec_t* longs, int longs_count, void* handle);

typedef struct exs_svc_message { /* the caller's until exs_svc_release() */
  exs_svc_id_t from;             /* all zero: nobody in particular */
  uint32_t items_count;
  uint32_t longs_count;
  const exs_svc_item_t* items;
  const exs_svc_item_t* longs;
  int64_t
      limit_ns; /* of a request: how long its sender waited for a reply, when it was sent; 0: without a limit */
} exs_svc_message_t;
/* exs_svc_release - give a message back. A request that has not been answered ends with ECANCELED. NULL: nothing. Thread: any. */
EXS_SVC_API void exs_svc_release(const exs_svc_message_t* message);

/* exs_svc_ping - ask a service whether it is there: EXS_SVC_EVT_PONG, or EXS_SVC_EVT_LOST. EINVAL; EAGAIN a ping is under way.
 * Thread: any. */
EXS_SVC_API int exs_svc_ping(exs_svc_peer_t* peer);

typedef struct {
  uint64_t open_ns;       /* how long it has been open where it is */
  uint64_t messages;      /* taken since, requests among them */
  uint64_t replies;       /* requests answered since */
  uint64_t mailbox;       /* messages that have not been released */
  uint64_t requests_open; /* requests that have not been answered */
  uint64_t flows;         /* peers that are connected */
  uint64_t windows_free;  /* of exs_svc_window() */
} exs_svc_stats_t;
/* exs_svc_stats - ask a service how busy it is: EXS_SVC_EVT_STATS, or EXS_SVC_EVT_LOST. EINVAL; EAGAIN it is asked already. Thread:
 * any. */
EXS_SVC_API int exs_svc_stats(exs_svc_peer_t* peer);

/* exs_svc_window - have long items for a service received into `buffer` of `length` bytes: each goes into the smallest window that fits
 * and is free. A window is free again when its message is released. `region`: a handle of exs_mregister(3) or exs_alloc(3), or
 * EXS_MHANDLE_UNREGISTERED. Windows are the service's until exs_svc_close(), and until messages in them are released. EINVAL; ENOMEM.
 * Thread: any. */
EXS_SVC_API int exs_svc_window(exs_svc_t* service, void* buffer, size_t length, exs_mhandle_t region);

/* ---------------------------------------------------------------- requests */

#define EXS_SVC_IDEMPOTENT 0x1           /* executing it twice does no harm */
typedef struct exs_svc_request_options { /* 0: the default */
  size_t struct_bytes;                   /* sizeof */
  int64_t limit_ns;                      /* how long a reply is waited for: without a limit */
  uint32_t flags;                        /* EXS_SVC_IDEMPOTENT */
  int32_t returns_count;                 /* 0..EXS_SVC_ITEMS_MAX */
  const exs_iovec_t*
      returns; /* where long items of replies go, one after the other: memory that is allocated */
} exs_svc_request_options_t;
/* exs_svc_return_alloc - allocate memory for `returns` of requests of this peer, into which its service writes by itself. It stays where
 * it is until exs_svc_return_free(), or exs_svc_peer_close(). NULL with errno: EINVAL an argument; EPERM the service is not trusted:
 * exs_svc_peer_trust(); ENOBUFS more than `return_max`, or in pieces; ENOMEM. Thread: any. */
EXS_SVC_API void* exs_svc_return_alloc(exs_svc_peer_t* peer, size_t length);
/* exs_svc_return_free - give that back. NULL: nothing. EINVAL it is none; EBUSY a request that has not ended names it. Thread: any. */
EXS_SVC_API int exs_svc_return_free(void* memory);
/* exs_svc_request - send a message that is to be answered: EXS_SVC_EVT_REPLY, whose handle is `handle`. Long items (may be none) must
 * not change, and `returns` are exs's, until the last of its events, which always comes. If the service starts again, a request that
 * it may have seen ends with EOWNERDEAD, unless it is idempotent: that is sent again. `options` may be NULL. EINVAL; EMSGSIZE; EAGAIN
 * 64 messages or 64 requests have not ended: exs_svc_wait(), and try again; EBUSY another one has memory of exs_svc_return_alloc() that
 * this one names; ENOMEM. Thread: any. */
EXS_SVC_API int exs_svc_request(exs_svc_peer_t* peer, const exs_svc_item_t* items, int count,
                                const exs_iovec_t* longs, int longs_count,
                                const exs_svc_request_options_t* options, void* handle);
/* exs_svc_cancel - end the oldest request with this handle: EXS_SVC_EVT_REPLY with ECANCELED. The service may have executed it. EINVAL;
 * ENOENT no request has it. Thread: any. */
EXS_SVC_API int exs_svc_cancel(exs_svc_peer_t* peer, const void* handle);

#define EXS_SVC_MORE 0x1 /* another part of the reply follows */
/* exs_svc_reply - answer a request, or with EXS_SVC_MORE send a part of the answer. Long items (may be none) must not change until
 * EXS_SVC_EVT_SENT, whose handle is `handle`; a reply without them has no event. `status` is the program's. The message stays the
 * caller's until exs_svc_release(). 0, or -1 with errno: EINVAL an argument, or the message is no request; EMSGSIZE; EAGAIN (only with
 * EXS_SVC_MORE) 64 parts and requests of its sender have not been taken; ECANCELED nobody waits for it any more, or it has been
 * answered; ENOMEM. Thread: any. */
EXS_SVC_API int exs_svc_reply(const exs_svc_message_t* message, int32_t status, const exs_svc_item_t* items,
                              int count, const exs_iovec_t* longs, int longs_count, uint32_t flags,
                              void* handle);

/* ---------------------------------------------------------------- events */

enum {
  /* `service` can be reached; with EXS_SVC_FENCED also each time that it is not suspended any more */
  EXS_SVC_EVT_OPEN = 1,
  /* for `service`, to be released */
  EXS_SVC_EVT_MESSAGE = 2,
  /* `peer` has not taken `count` messages, but perhaps others after them. error: ENOBUFS its mailbox was full; EACCES they are not
   * allowed */
  EXS_SVC_EVT_DROPPED = 3,
  /* `peer` has started again: `count` messages that had left may have been taken or not */
  EXS_SVC_EVT_RESTART = 4,
  /* `peer` cannot be reached, and `count` messages are lost; the next message tries again. error: ENOENT nobody is the service;
   * EACCES it does not serve us; EDQUOT it serves as many as it wants; EPROTO, ECONNRESET it is not who it should be, or hangs up */
  EXS_SVC_EVT_LOST = 5,
  /* `peer` is there; elapsed_ns: since exs_svc_ping(). error: EACCES pings are not allowed */
  EXS_SVC_EVT_PONG = 6,
  /* the memory of a message or reply with long items is the program's again; handle: of its call. error: ENOBUFS, EACCES as
   * EXS_SVC_EVT_DROPPED; EOWNERDEAD as EXS_SVC_EVT_RESTART; ECONNRESET who asked has gone; or as EXS_SVC_EVT_LOST */
  EXS_SVC_EVT_SENT = 7,
  /* for `service`, to be answered by exs_svc_reply(), and to be released */
  EXS_SVC_EVT_REQUEST = 8,
  /* of a request, whose handle it has: `message` from `peer`, to be released, and `status`; flags: EXS_SVC_MORE, another one follows.
   * error, then the last one, without a message: ETIMEDOUT; ECANCELED, by exs_svc_cancel() or by the service; EOWNERDEAD the service
   * has gone or started again, and may have executed it; ENOBUFS no room for it there, or for its reply here; EACCES it is not
   * allowed; or as EXS_SVC_EVT_LOST */
  EXS_SVC_EVT_REPLY = 9,
  /* `service` has gone to who adopted it, and is to be closed (error 0); or has not, and goes on here: error ENOENT nobody adopts it;
   * ETIMEDOUT who adopts it is there, and does not answer; ECONNRESET he has gone; ENOBUFS he has no memory for it; EADDRINUSE a third
   * one there has its name; ENOMEM; EACCES, EPROTO. Or EOWNERDEAD: who adopts it has gone at the last step, perhaps after serving it; it
   * serves nobody here, and is to be closed */
  EXS_SVC_EVT_MOVED = 10,
  /* `service` is here; `message` has the state that came along, as long items, and is to be released */
  EXS_SVC_EVT_ADOPTED = 11,
  /* `service`, which is fenced, serves nobody until the next EXS_SVC_EVT_OPEN. error: ETIMEDOUT it has no lease of the directory, which
   * does not answer in time, or says that another's runs */
  EXS_SVC_EVT_SUSPENDED = 12,
  /* somebody else is `service`, by a newer record; it serves nobody here, and is to be closed */
  EXS_SVC_EVT_OVERTAKEN = 13,
  /* how busy the service of `peer` is: the one item of `message`, which is to be released, is an exs_svc_stats_t. error, then without
   * a message: EACCES it is not allowed; ENOMEM */
  EXS_SVC_EVT_STATS = 14
};
typedef struct exs_svc_event { /* 64 bytes on LP64 */
  int32_t type;                /* EXS_SVC_EVT_* */
  int32_t error;               /* 0 or an errno value */
  uint64_t count;
  uint64_t elapsed_ns;
  void* handle; /* of exs_svc_open() or exs_svc_peer_open(), or of the call that it is about */
  exs_svc_t* service;
  exs_svc_peer_t* peer;
  const exs_svc_message_t* message;
  int32_t status;
  uint32_t flags;
} exs_svc_event_t;

/* exs_svc_wait - move bytes, and take up to `max` events: as soon as there is one, or when `timeout_ns` has passed; < 0: no limit.
 * Returns their number. -1 with errno: EINVAL an argument; EINTR a signal was caught. Thread: any; each event goes to one. */
EXS_SVC_API int exs_svc_wait(exs_svc_node_t* node, exs_svc_event_t* events, int max, int64_t timeout_ns);

#ifdef __cplusplus
}
#endif
#endif /* EXS_SERVICE_H */
