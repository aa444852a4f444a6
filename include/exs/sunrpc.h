/* exs/sunrpc.h - SunRPC over exs, for programs of libtirpc. Include libtirpc's rpc.h first. Valid C11 and C++.
 *
 * Programs need none of this: linked before libtirpc (-lexs-sunrpc -ltirpc), or preloaded, libexs-sunrpc.so serves them as they are.
 * exs-sunrpc(7) is the overview. */
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

/* Of clnt_control(): exs_sunrpc_info_t *, with struct_bytes set. FALSE: the handle is none of a connection. */
#define EXS_SUNRPC_GET_INFO 0x45585301
typedef struct exs_sunrpc_info {
  size_t struct_bytes;
  int32_t by_exs;                      /* 1: calls go by exs; 0: by TCP, or the local socket, of the handle */
  char provider[16];                   /* of exs, then; "" else */
  uint64_t calls;                      /* that went by exs */
  uint64_t bytes_sent, bytes_received; /* in them */
} exs_sunrpc_info_t;

/* exs_sunrpc_attach - ask the server of a handle for exs now. For handles that were made while this library was not before libtirpc.
 * Returns 0 if its calls go by exs from now on; else -1: EINVAL no handle of a connection; EOPNOTSUPP the server, or
 * EXS_SUNRPC=off, refuses; the handle goes on as it is. Thread: none may use the handle meanwhile. */
EXS_SUNRPC_API int exs_sunrpc_attach(CLIENT* client);

/* exs_sunrpc_threads - serve what comes by exs in `threads` threads of the library, and by TCP in that of svc_run() as ever; 0: all in
 * that. Procedures then run at the same time, those of one connection one after the other: stubs of `rpcgen -M`. 0, or -1 with errno:
 * EINVAL more than 256; EBUSY a client has come by exs already. Thread: one at a time. */
EXS_SUNRPC_API int exs_sunrpc_threads(unsigned threads);

/* exs_xdr_bytes - as xdr_bytes(3t), for opaque data that need not be copied: of a message that has come by exs, `*bytes` becomes a
 * pointer into it, valid in a server until its procedure is answered, in a client until the next call of the handle. All else is as by
 * xdr_bytes, and data of either kind are freed as ever. TRUE, or FALSE: the data are none, or longer than `most`. Thread: any. */
EXS_SUNRPC_API bool_t exs_xdr_bytes(XDR* stream, char** bytes, u_int* length, u_int most);

#ifdef __cplusplus
}
#endif
#endif /* EXS_SUNRPC_H */
