/* exs/rpc.h - remote procedure calls over exs, for stubs of exs-rpcgen. Valid C11 and C++.
 *
 * exs-rpcgen(1) makes a function for each procedure of an interface. These functions call those of this header.
 * exs-rpc(7) is the overview.
 * Source of all: exs. */
/* SPDX-License-Identifier: BSD-2-Clause */
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
typedef struct exs_rpc_call exs_rpc_call_t;       /* a pending call */
typedef struct exs_rpc_server exs_rpc_server_t;   /* serves interfaces, on one or more addresses */
typedef struct exs_rpc_request exs_rpc_request_t; /* a call, at the server */

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
  uint8_t varies;        /* it has parts of variable length */
  uint32_t bytes;        /* in messages */
  uint32_t memory_bytes; /* in the program */
  uint32_t most;         /* elements of an array; the maximum of a vector or string */
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
/* Serves one procedure. Returns 0, EXS_RPC_LATER after exs_rpc_request_keep(), or the program's own failure number. */
typedef int (*exs_rpc_serve_t)(void* argument, void* result, exs_rpc_request_t* request);
typedef struct exs_rpc_service {
  const exs_rpc_interface_t* interface;
  const exs_rpc_serve_t* serve; /* one for each procedure of the interface */
} exs_rpc_service_t;
#define EXS_RPC_LATER INT32_MIN

/* ---------------------------------------------------------------- clients */

enum { /* outcomes of a call that has completed */
       EXS_RPC_EXECUTED = 0,
       EXS_RPC_NOT_EXECUTED = 1,
       EXS_RPC_UNKNOWN = 2 /* it was sent, and perhaps executed */
};
#define EXS_RPC_IN_PLACE 0x1     /* results go to memory that `*result` points to; too little: EMSGSIZE */
#define EXS_RPC_TIMED 0x2        /* the server reports how long it took */
typedef struct exs_rpc_context { /* of a call; all zero is valid */
  int64_t timeout_ns;            /* from the start of the call; 0: the client's timeout */
  uint32_t flags;                /* EXS_RPC_IN_PLACE, EXS_RPC_TIMED */
  int32_t outcome;               /* set when the call completes: EXS_RPC_EXECUTED, ... */
  int32_t remote_status;         /* set with EREMOTEIO: the number that the procedure returned */
  uint32_t server_us;            /* set with EXS_RPC_TIMED: microseconds in the server */
} exs_rpc_context_t;

#define EXS_RPC_ON_QUEUE 0x1 /* events go to the caller's queue; pass them to exs_rpc_take() */
#define EXS_RPC_MAPPED 0x2   /* short calls use memory shared with a server of this host; not with ON_QUEUE */
typedef struct exs_rpc_client_options { /* 0: the default */
  size_t struct_bytes;                  /* sizeof */
  int64_t connect_timeout_ns;           /* 5 s */
  int64_t timeout_ns;                   /* of calls: 25 s */
  uint32_t message_bytes_max;           /* of a result: 64 MiB; at most 1 GiB */
  uint32_t slots;                       /* calls under way at a time: 8; at most 64, and the server's slots */
  uint32_t waiting_max;                 /* calls that may wait for a slot: 0; at most 1,048,576 */
  uint32_t flags;                       /* EXS_RPC_ON_QUEUE, EXS_RPC_MAPPED */
  exs_qhandle_t queue;                  /* with EXS_RPC_ON_QUEUE */
} exs_rpc_client_options_t;

/* exs_rpc_connect - connect to a server. `options` may be NULL. NULL with errno: EINVAL an argument; ECONNREFUSED, EHOSTUNREACH,
 * ETIMEDOUT the server does not answer; EPROTONOSUPPORT it does not have this program and version; EPROTO it is not a server of exs-rpc;
 * EAGAIN it has its maximum of clients; EOPNOTSUPP a parent of this process started exs; ENOMEM, EMFILE. Thread: any. */
EXS_RPC_API exs_rpc_client_t* exs_rpc_connect(const struct sockaddr* address, socklen_t length,
                                              const exs_rpc_interface_t* interface,
                                              const exs_rpc_client_options_t* options);
/* exs_rpc_open - connect to a server by its name or address, and its port, as text. Errors as exs_rpc_connect; ENOENT the name does not
 * exist. Thread: any. */
EXS_RPC_API exs_rpc_client_t* exs_rpc_open(const char* host, const char* port,
                                           const exs_rpc_interface_t* interface,
                                           const exs_rpc_client_options_t* options);
/* exs_rpc_close - close a client. It waits until the server has answered pending one-way calls, at most the timeout of calls. It frees
 * pending calls. NULL: no effect. Thread: no other may use the client or its calls during the call. */
EXS_RPC_API void exs_rpc_close(exs_rpc_client_t* client);
/* exs_rpc_invoke - call a procedure, by its index in the interface, and wait for its result. A one-way call waits only until it is sent.
 * Pending calls, including one-way calls, may execute in any order. For stubs. `context` may be NULL. 0, or -1 with errno: EINVAL an
 * argument that cannot be sent, such as a NULL string; EMSGSIZE more elements than the interface allows, a message that is too long, or a
 * result that does not fit in place; ETIMEDOUT; ECONNRESET the connection broke; ECONNREFUSED it broke before, and the client cannot
 * connect again; ENOSYS the server does not have the procedure; EPROTONOSUPPORT it has the procedure with other types; EREMOTEIO the
 * procedure failed; EPROTO the server violates the protocol; EOPNOTSUPP the client belongs to a parent of this process; ENOMEM.
 * context->outcome shows whether the call was executed. Thread: any. */
EXS_RPC_API int exs_rpc_invoke(exs_rpc_client_t* client, uint32_t procedure, const void* argument,
                               void* result, exs_rpc_context_t* context);
/* exs_rpc_begin - send a call without waiting. The library writes `context`, which may be NULL, until exs_rpc_end() returns. NULL with
 * errno. Errors as exs_rpc_invoke, but EREMOTEIO; EAGAIN all slots and places to wait are in use. Thread: any. */
EXS_RPC_API exs_rpc_call_t* exs_rpc_begin(exs_rpc_client_t* client, uint32_t procedure, const void* argument,
                                          exs_rpc_context_t* context);
/* exs_rpc_end - wait for a call, return its result, and free the call. `result` may be NULL, which discards the result. 0, or -1 with
 * errno. Errors as exs_rpc_invoke, but ECONNREFUSED, ENOSYS, EPROTONOSUPPORT, EOPNOTSUPP; ECANCELED the call was cancelled; EAGAIN it is
 * pending, and its client is on the caller's queue. Thread: any, one for each call. */
EXS_RPC_API int exs_rpc_end(exs_rpc_call_t* call, void* result);
/* exs_rpc_test - return 1 if exs_rpc_end() of the call would not wait, else 0. Processes what has arrived for the client. Thread: any. */
EXS_RPC_API int exs_rpc_test(exs_rpc_call_t* call);
/* exs_rpc_on_end - call `ended(user)` once, when exs_rpc_end() of the call would not wait. This happens at once, or later in the thread
 * that processes what has arrived. `ended` may call functions of exs-rpc. Thread: any. */
EXS_RPC_API void exs_rpc_on_end(exs_rpc_call_t* call, void (*ended)(void* user), void* user);
/* exs_rpc_take - process an event of the queue that a client was given with EXS_RPC_ON_QUEUE. 1, or 0 if the event belongs to another
 * object. The handle of the client's events is `client`. Thread: any. */
EXS_RPC_API int exs_rpc_take(exs_rpc_client_t* client, const exs_event_t* event);
/* exs_rpc_cancel - cancel a pending call with ECANCELED, and notify its server. exs_rpc_end() must still follow. Thread: any. */
EXS_RPC_API void exs_rpc_cancel(exs_rpc_call_t* call);
typedef struct exs_rpc_client_info { /* set struct_bytes first; the library fills what fits */
  size_t struct_bytes;
  char provider[16];                   /* of exs; "": the connection is broken */
  uint32_t slots;                      /* calls under way at a time */
  uint64_t bytes_sent, bytes_received; /* in messages of this connection */
  uint32_t mapped;                     /* 1: calls use mapped memory, as EXS_RPC_MAPPED */
} exs_rpc_client_info_t;
/* exs_rpc_client_status - get information about a client. 0, or -1 with errno: EINVAL no client, or struct_bytes is not set. Thread:
 * any. */
EXS_RPC_API int exs_rpc_client_status(exs_rpc_client_t* client, exs_rpc_client_info_t* info);
/* exs_rpc_free - free the memory that a result of this type points to, and set `value` to zero. `value` itself is not freed. Thread:
 * any. */
EXS_RPC_API void exs_rpc_free(const exs_rpc_type_t* type, void* value);
/* exs_rpc_errtext - describe the last error of a function of this header in this thread. The text is valid until the next error. Thread:
 * any. */
EXS_RPC_API const char* exs_rpc_errtext(void);

/* ---------------------------------------------------------------- servers */

typedef struct exs_rpc_server_options { /* 0: the default */
  size_t struct_bytes;                  /* sizeof */
  uint32_t threads;                     /* threads that serve: 1; at most 256 */
  uint32_t slots;                       /* calls of a client under way at a time: 64; at most 64 */
  uint32_t message_bytes_max;           /* of a call: 64 MiB; at most 1 GiB */
  uint32_t clients_max;                 /* connected at a time: 65,536 */
} exs_rpc_server_options_t;

/* exs_rpc_server_create - make a server. `options` may be NULL. NULL with errno: EINVAL an option; EOPNOTSUPP a parent of this process
 * started exs; ENOMEM, EMFILE. Thread: any. */
EXS_RPC_API exs_rpc_server_t* exs_rpc_server_create(const exs_rpc_server_options_t* options);
/* exs_rpc_server_add - serve an interface. exs_rpc_request_user() returns `user`. 0, or -1 with errno: EINVAL; EEXIST the server has its
 * program and version; EBUSY the server runs; ENOMEM. Thread: one at a time. */
EXS_RPC_API int exs_rpc_server_add(exs_rpc_server_t* server, const exs_rpc_service_t* service, void* user);
/* exs_rpc_server_listen - listen on one more address. Clients wait until exs_rpc_server_run(). Returns the port, or -1 with errno: EINVAL
 * an argument; EADDRINUSE; EADDRNOTAVAIL; EACCES; EBUSY the server runs; ENOMEM, EMFILE. Thread: one at a time. */
EXS_RPC_API int exs_rpc_server_listen(exs_rpc_server_t* server, const struct sockaddr* address,
                                      socklen_t length);
/* exs_rpc_server_run - serve until exs_rpc_server_stop(), in the calling thread and in the server's other threads. 0, or -1 with errno:
 * EINVAL it does not listen; EBUSY it runs; EAGAIN no more threads; EOPNOTSUPP it belongs to a parent of this process; ENOMEM. Thread:
 * one. */
EXS_RPC_API int exs_rpc_server_run(exs_rpc_server_t* server);
/* exs_rpc_server_stop - end exs_rpc_server_run(), or the next one at once. exs_rpc_server_run() waits for procedures that execute.
 * Thread: any, but not a signal handler. */
EXS_RPC_API void exs_rpc_server_stop(exs_rpc_server_t* server);
/* exs_rpc_server_delete - delete a server, and close its connections. It must not run. The program may still reply to requests that it
 * has kept, without effect. NULL: no effect. Thread: one. */
EXS_RPC_API void exs_rpc_server_delete(exs_rpc_server_t* server);

/* exs_rpc_request_alloc - allocate zeroed memory for results. It is valid until the result is sent, which is after the procedure returns.
 * NULL: ENOMEM there is not enough memory, or the request was kept. Thread: that of the procedure. */
EXS_RPC_API void* exs_rpc_request_alloc(exs_rpc_request_t* request, size_t bytes);
/* exs_rpc_request_user - get the `user` of exs_rpc_server_add(). Thread: any. */
EXS_RPC_API void* exs_rpc_request_user(const exs_rpc_request_t* request);
/* exs_rpc_request_peer - get the client's address, as getpeername(2) does. 0, or -1 with errno: ENOTCONN. Thread: any. */
EXS_RPC_API int exs_rpc_request_peer(const exs_rpc_request_t* request, struct sockaddr* address,
                                     socklen_t* length);
/* exs_rpc_request_time_left - get the nanoseconds until the client gives up. 0 or less: it has given up. INT64_MAX: it waits for ever.
 * The value suits as a timeout of nested calls. Thread: any. */
EXS_RPC_API int64_t exs_rpc_request_time_left(const exs_rpc_request_t* request);
/* exs_rpc_request_cancelled - return 1 if the client does not wait for the result any more, else 0. The client may have cancelled,
 * reached its time limit, or gone. Only a kept request shows all three; others show the time limit. Thread: any. */
EXS_RPC_API int exs_rpc_request_cancelled(const exs_rpc_request_t* request);
/* exs_rpc_request_keep - reply later. The procedure returns EXS_RPC_LATER. exs_rpc_reply() follows from any thread, before or after that.
 * Its arguments are not valid after it returns. NULL: ENOMEM there is not enough memory, or the request was kept before. Thread: that of
 * the procedure. */
EXS_RPC_API exs_rpc_request_t* exs_rpc_request_keep(exs_rpc_request_t* request);
/* exs_rpc_reply - reply to a kept request, and free it. `status`: 0, or the program's own failure number. `result`: of the procedure's
 * type, if `status` is 0. 0, or -1 with errno: ECONNRESET the client has gone; EINVAL, EMSGSIZE, ENOMEM the result cannot be sent, and
 * the client gets an error. Thread: any. */
EXS_RPC_API int exs_rpc_reply(exs_rpc_request_t* request, int status, const void* result);

#ifdef __cplusplus
}
#endif
#endif /* EXS_RPC_H */
