/* exs/rpc.h - remote procedure calls over exs, for stubs of exs-rpcgen. Valid C11 and C++.
 *
 * exs-rpcgen(1) makes a function of each procedure of an interface; it calls what is here. exs-rpc(7) is the overview.
 * Source of all: exs. */
#ifndef EXS_RPC_H
#define EXS_RPC_H

#include <exs/exs.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define EXS_RPC_API __attribute__((visibility("default")))
#else
#define EXS_RPC_API
#endif

typedef struct exs_rpc_client exs_rpc_client_t;   /* calls one server by one interface */
typedef struct exs_rpc_call exs_rpc_call_t;       /* a call that has begun */
typedef struct exs_rpc_server exs_rpc_server_t;   /* serves interfaces, on one or more addresses */
typedef struct exs_rpc_request exs_rpc_request_t; /* a call, in the server */

/* ---------------------------------------------------------------- made by exs-rpcgen */

enum { /* kinds of types */
       EXS_RPC_FLAT = 1,
       EXS_RPC_BOOL = 2,
       EXS_RPC_STRING = 3,
       EXS_RPC_ARRAY = 4,
       EXS_RPC_VECTOR = 5,
       EXS_RPC_OPTIONAL = 6,
       EXS_RPC_STRUCT = 7,
       EXS_RPC_UNION = 8
};
typedef struct exs_rpc_type exs_rpc_type_t;
typedef struct exs_rpc_part { /* a member, or an arm for one value of the discriminant */
  const exs_rpc_type_t* type; /* NULL: a void arm */
  uint32_t offset;            /* in messages */
  uint32_t memory_offset;     /* in the program */
  int32_t value;
} exs_rpc_part_t;
struct exs_rpc_type {
  uint8_t kind;
  uint8_t alignment;     /* in messages */
  uint8_t has_default;   /* of a union: the last arm is for all other values */
  uint8_t varies;        /* something lies behind it */
  uint32_t bytes;        /* in messages */
  uint32_t memory_bytes; /* in the program */
  uint32_t most;         /* elements of an array; the most of a vector or string */
  const exs_rpc_type_t* element;
  const exs_rpc_part_t* parts;
  uint32_t parts_count;
};

enum { /* flags of procedures */
       EXS_RPC_INOUT = 0x1,
       EXS_RPC_ONEWAY = 0x2,
       EXS_RPC_IDEMPOTENT = 0x4
};
typedef struct exs_rpc_procedure {
  const char* name;
  uint32_t number;
  uint32_t flags;
  uint64_t hash;                  /* of its types */
  const exs_rpc_type_t* argument; /* NULL: void */
  const exs_rpc_type_t* result;
} exs_rpc_procedure_t;
typedef struct exs_rpc_interface {
  const char* name;
  uint32_t program, version;
  uint32_t procedures_count;
  const exs_rpc_procedure_t* procedures;
} exs_rpc_interface_t;
/* Serves one procedure: 0, EXS_RPC_LATER after exs_rpc_request_keep(), or the program's own number of a failure. */
typedef int (*exs_rpc_serve_t)(void* argument, void* result, exs_rpc_request_t* request);
typedef struct exs_rpc_service {
  const exs_rpc_interface_t* interface;
  const exs_rpc_serve_t* serve; /* one for each procedure of the interface */
} exs_rpc_service_t;
#define EXS_RPC_LATER INT32_MIN

/* ---------------------------------------------------------------- clients */

enum { /* what is known of a call that has ended */
       EXS_RPC_EXECUTED = 0,
       EXS_RPC_NOT_EXECUTED = 1,
       EXS_RPC_UNKNOWN = 2 /* it was sent, and perhaps executed */
};
#define EXS_RPC_IN_PLACE \
  0x1 /* results go where `*result` points already, and never into more memory than is there */
#define EXS_RPC_TIMED 0x2        /* the server tells how long it took */
typedef struct exs_rpc_context { /* of a call; all zero is a good one */
  int64_t timeout_ns;            /* from the start of the call; 0: that of the client */
  uint32_t flags;                /* EXS_RPC_IN_PLACE, EXS_RPC_TIMED */
  int32_t outcome;               /* set when the call ends: EXS_RPC_EXECUTED, ... */
  int32_t remote_status;         /* set with EREMOTEIO: what the procedure returned */
  uint32_t server_us;            /* set with EXS_RPC_TIMED: microseconds in the server */
} exs_rpc_context_t;

#define EXS_RPC_ON_QUEUE \
  0x1 /* the client's events come to the caller's queue, who gives them to exs_rpc_take() */
#define EXS_RPC_MAPPED \
  0x2 /* short calls and results go by memory that a server on this host maps; not with EXS_RPC_ON_QUEUE */
typedef struct exs_rpc_client_options { /* 0: the default */
  size_t struct_bytes;                  /* sizeof */
  int64_t connect_timeout_ns;           /* 5 s */
  int64_t timeout_ns;                   /* of calls: 25 s */
  uint32_t message_bytes_max;           /* of a result: 64 MiB; at most 1 GiB */
  uint32_t slots;       /* calls under way at a time: 8; at most 64, and what the server has */
  uint32_t waiting_max; /* calls that have begun and wait for a slot: 0; at most 1,048,576 */
  uint32_t flags;       /* EXS_RPC_ON_QUEUE, EXS_RPC_MAPPED */
  exs_qhandle_t queue;  /* with it */
} exs_rpc_client_options_t;

/* exs_rpc_connect - connect to a server. `options` may be NULL. NULL with errno: EINVAL an argument; ECONNREFUSED, EHOSTUNREACH,
 * ETIMEDOUT nobody answers; EPROTONOSUPPORT the server does not have this program and version; EPROTO it is no server of exs-rpc;
 * EAGAIN it has as many clients as it takes; EOPNOTSUPP exs was started by a parent of this process; ENOMEM, EMFILE. Thread: any. */
EXS_RPC_API exs_rpc_client_t* exs_rpc_connect(const struct sockaddr* address, socklen_t length,
                                              const exs_rpc_interface_t* interface,
                                              const exs_rpc_client_options_t* options);
/* exs_rpc_open - the same, with the server's name or address, and its port, in words. Errors as exs_rpc_connect; ENOENT there is no such
 * name. Thread: any. */
EXS_RPC_API exs_rpc_client_t* exs_rpc_open(const char* host, const char* port,
                                           const exs_rpc_interface_t* interface,
                                           const exs_rpc_client_options_t* options);
/* exs_rpc_close - end a client. One-way calls are waited for, as long as calls may take; calls that have begun are no more. NULL:
 * nothing. Thread: none may use the client or its calls meanwhile. */
EXS_RPC_API void exs_rpc_close(exs_rpc_client_t* client);
/* exs_rpc_invoke - call a procedure, by its place in the interface, and wait for its result; of a one-way one, until it is sent. Calls
 * under way at the same time, one-way ones among them, may run in any order. For stubs. `context` may be NULL. 0, or -1 with errno:
 * EINVAL an argument that cannot be sent, such as a NULL string; EMSGSIZE more elements than the interface allows, a message that is too
 * long, or a result that does not fit in place; ETIMEDOUT; ECONNRESET the connection broke; ECONNREFUSED it broke before, and cannot be
 * made again; ENOSYS the server does not have the procedure; EPROTONOSUPPORT it has it with other types; EREMOTEIO the procedure failed;
 * EPROTO the server does not keep to the protocol; EOPNOTSUPP the client is that of a parent; ENOMEM. context->outcome tells whether it
 * was executed. Thread: any. */
EXS_RPC_API int exs_rpc_invoke(exs_rpc_client_t* client, uint32_t procedure, const void* argument,
                               void* result, exs_rpc_context_t* context);
/* exs_rpc_begin - send a call without waiting. `context`, which may be NULL, is written until exs_rpc_end() returns. NULL with errno.
 * Errors as exs_rpc_invoke, but EREMOTEIO; EAGAIN as many calls are under way, and wait, as may. Thread: any. */
EXS_RPC_API exs_rpc_call_t* exs_rpc_begin(exs_rpc_client_t* client, uint32_t procedure, const void* argument,
                                          exs_rpc_context_t* context);
/* exs_rpc_end - wait for a call, take its result, and free it. `result` NULL: not wanted. 0, or -1 with errno. Errors as exs_rpc_invoke,
 * but ECONNREFUSED, ENOSYS, EPROTONOSUPPORT, EOPNOTSUPP; ECANCELED it was cancelled; EAGAIN it has not ended, and its client is on the
 * caller's queue. Thread: any, one for each call. */
EXS_RPC_API int exs_rpc_end(exs_rpc_call_t* call, void* result);
/* exs_rpc_test - 1 if exs_rpc_end() of the call would not wait, else 0. Takes what has arrived for the client. Thread: any. */
EXS_RPC_API int exs_rpc_test(exs_rpc_call_t* call);
/* exs_rpc_on_end - let `ended(user)` be called once, when exs_rpc_end() of the call would not wait: at once, or later by the thread that
 * takes what has arrived. It may call functions of exs-rpc. Thread: any. */
EXS_RPC_API void exs_rpc_on_end(exs_rpc_call_t* call, void (*ended)(void* user), void* user);
/* exs_rpc_take - take an event of the queue that a client was given with EXS_RPC_ON_QUEUE. 1, or 0 if it is none of this client's: the
 * handle of those is `client`. Thread: any. */
EXS_RPC_API int exs_rpc_take(exs_rpc_client_t* client, const exs_event_t* event);
/* exs_rpc_cancel - end a call, unless it has ended, with ECANCELED; its server is told. exs_rpc_end() is still to come. Thread: any. */
EXS_RPC_API void exs_rpc_cancel(exs_rpc_call_t* call);
typedef struct exs_rpc_client_info { /* set struct_bytes first; the library fills what fits */
  size_t struct_bytes;
  char provider[16];                   /* of exs; "": the connection has broken */
  uint32_t slots;                      /* calls under way at a time */
  uint64_t bytes_sent, bytes_received; /* in messages of this connection */
  uint32_t mapped;                     /* 1: as EXS_RPC_MAPPED wants */
} exs_rpc_client_info_t;
/* exs_rpc_client_status - tell about a client. 0, or -1 with errno: EINVAL no client, or struct_bytes is not set. Thread: any. */
EXS_RPC_API int exs_rpc_client_status(exs_rpc_client_t* client, exs_rpc_client_info_t* info);
/* exs_rpc_free - free the memory that a result of this type points to, and set it to zero; not `value` itself. Thread: any. */
EXS_RPC_API void exs_rpc_free(const exs_rpc_type_t* type, void* value);
/* exs_rpc_errtext - what was wrong with the last call of this thread to a function here that failed, and what to do about it. Valid
 * until the next. */
EXS_RPC_API const char* exs_rpc_errtext(void);

/* ---------------------------------------------------------------- servers */

typedef struct exs_rpc_server_options { /* 0: the default */
  size_t struct_bytes;                  /* sizeof */
  uint32_t threads;                     /* that serve: 1; at most 256 */
  uint32_t slots;                       /* calls of a client under way at a time: 64; at most 64 */
  uint32_t message_bytes_max;           /* of a call: 64 MiB; at most 1 GiB */
  uint32_t clients_max;                 /* connected at a time: 65,536 */
} exs_rpc_server_options_t;

/* exs_rpc_server_create - make a server. `options` may be NULL. NULL with errno: EINVAL an option; EOPNOTSUPP exs was started by a
 * parent of this process; ENOMEM, EMFILE. Thread: any. */
EXS_RPC_API exs_rpc_server_t* exs_rpc_server_create(const exs_rpc_server_options_t* options);
/* exs_rpc_server_add - serve an interface; exs_rpc_request_user() returns `user`. 0, or -1 with errno: EINVAL; EEXIST its program
 * and version are served; EBUSY the server runs; ENOMEM. Thread: one at a time. */
EXS_RPC_API int exs_rpc_server_add(exs_rpc_server_t* server, const exs_rpc_service_t* service, void* user);
/* exs_rpc_server_listen - listen on an address, too. Clients wait until exs_rpc_server_run(). Returns the port, or -1 with errno: EINVAL
 * an argument; EADDRINUSE; EADDRNOTAVAIL; EACCES; EBUSY the server runs; ENOMEM, EMFILE. Thread: one at a time. */
EXS_RPC_API int exs_rpc_server_listen(exs_rpc_server_t* server, const struct sockaddr* address,
                                      socklen_t length);
/* exs_rpc_server_run - serve, in the calling thread and the others that the server has, until exs_rpc_server_stop(). 0, or -1 with
 * errno: EINVAL it listens nowhere; EBUSY it runs; EAGAIN no more threads; EOPNOTSUPP it is that of a parent; ENOMEM. Thread: one. */
EXS_RPC_API int exs_rpc_server_run(exs_rpc_server_t* server);
/* exs_rpc_server_stop - end exs_rpc_server_run(), or the next one at once. Procedures that run are waited for. Thread: any; not in a
 * handler of signals. */
EXS_RPC_API void exs_rpc_server_stop(exs_rpc_server_t* server);
/* exs_rpc_server_delete - end a server and its connections. It must not run. Requests that are kept can still be replied to, in vain.
 * NULL: nothing. Thread: one. */
EXS_RPC_API void exs_rpc_server_delete(exs_rpc_server_t* server);

/* exs_rpc_request_alloc - memory for results, zero, valid until the procedure's result is sent, which is after it returns. NULL: ENOMEM
 * there is none, or the request was kept. Thread: that of the procedure. */
EXS_RPC_API void* exs_rpc_request_alloc(exs_rpc_request_t* request, size_t bytes);
/* exs_rpc_request_user - what exs_rpc_server_add() was given. Thread: any. */
EXS_RPC_API void* exs_rpc_request_user(const exs_rpc_request_t* request);
/* exs_rpc_request_peer - the client's address, as of getpeername(2). 0, or -1 with errno: ENOTCONN. Thread: any. */
EXS_RPC_API int exs_rpc_request_peer(const exs_rpc_request_t* request, struct sockaddr* address,
                                     socklen_t* length);
/* exs_rpc_request_time_left - nanoseconds until its client gives up: 0 or less, it has. Good as a timeout of nested calls. INT64_MAX:
 * the client waits for ever. Thread: any. */
EXS_RPC_API int64_t exs_rpc_request_time_left(const exs_rpc_request_t* request);
/* exs_rpc_request_cancelled - 1 if nobody waits for the result any more: the client cancelled, gave up, or is gone; else 0. Of a
 * request that was kept it is known at once, of others when the procedure begins. Thread: any. */
EXS_RPC_API int exs_rpc_request_cancelled(const exs_rpc_request_t* request);
/* exs_rpc_request_keep - answer later: the procedure returns EXS_RPC_LATER then, and exs_rpc_reply() follows, from any thread, before
 * or after that. Its arguments are not valid after it returns. NULL: ENOMEM there is no memory, or it was kept before. Thread: that of
 * the procedure. */
EXS_RPC_API exs_rpc_request_t* exs_rpc_request_keep(exs_rpc_request_t* request);
/* exs_rpc_reply - answer a request that was kept, and free it. status: 0, or the program's own number of a failure; `result`: of the
 * procedure's type, if 0. 0, or -1 with errno: ECONNRESET the client is gone; EINVAL, EMSGSIZE, ENOMEM the result cannot be sent, and
 * the client is told so. Thread: any. */
EXS_RPC_API int exs_rpc_reply(exs_rpc_request_t* request, int status, const void* result);

#ifdef __cplusplus
}
#endif
#endif /* EXS_RPC_H */
