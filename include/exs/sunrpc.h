/* exs/sunrpc.h - SunRPC over exs, for programs of libtirpc. Include libtirpc's rpc.h first. Valid C11 and C++.
 *
 * Unmodified programs work without this header. Link libexs-sunrpc.so before libtirpc (-lexs-sunrpc -ltirpc), or preload it.
 * exs-sunrpc(7) is the overview. */
/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXS_SUNRPC_H
#define EXS_SUNRPC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define EXS_SUNRPC_API __attribute__((visibility("default")))
#else
#define EXS_SUNRPC_API
#endif

/* A request of clnt_control(), for an exs_sunrpc_info_t * with struct_bytes set. FALSE: the handle has no connection. */
#define EXS_SUNRPC_GET_INFO 0x45585301
typedef struct exs_sunrpc_info {
  size_t struct_bytes;
  int32_t by_exs;    /* 1: calls use exs; 0: they use TCP, or the local socket, of the handle */
  char provider[16]; /* of exs, if by_exs is 1; else "" */
  uint64_t calls;    /* calls by exs */
  uint64_t bytes_sent, bytes_received; /* in these calls */
} exs_sunrpc_info_t;

/* exs_sunrpc_attach - ask the server of a handle for exs now. Use it for handles that were made while this library was not before
 * libtirpc. Returns 0 if its calls use exs from now on. Otherwise returns -1, and the handle still works as before: EINVAL the handle has
 * no connection; EOPNOTSUPP the server, or EXS_SUNRPC=off, refuses. Thread: no other may use the handle during the call. */
EXS_SUNRPC_API int exs_sunrpc_attach(CLIENT* client);

/* exs_sunrpc_threads - serve calls by exs in `threads` threads of the library. The thread of svc_run() still serves calls by TCP. 0: that
 * thread serves all calls. Procedures then execute concurrently, except those of one connection. This needs stubs of `rpcgen -M`. 0, or
 * -1 with errno: EINVAL more than 256; EBUSY a client has connected by exs already. Thread: one at a time. */
EXS_SUNRPC_API int exs_sunrpc_threads(unsigned threads);

/* exs_xdr_bytes - as xdr_bytes(3t), for opaque data without a copy. If the message has arrived by exs, `*bytes` becomes a pointer into
 * it. The pointer is valid in a server until its procedure is answered, and in a client until the next call of the handle. Other cases
 * are as xdr_bytes, and data of both kinds are freed in the same way. TRUE, or FALSE: the data are not valid, or longer than `most`.
 * Thread: any. */
EXS_SUNRPC_API bool_t exs_xdr_bytes(XDR* stream, char** bytes, u_int* length, u_int most);

#ifdef __cplusplus
}
#endif
#endif /* EXS_SUNRPC_H */
