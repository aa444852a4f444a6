/* What client and server of RPCSEC_GSS say to each other. */
/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <rpc/auth_gss.h>
#include <rpc/rpc.h>
#include <rpc/rpcsec_gss.h>

#define CODE(function) ((xdrproc_t)(void (*)(void))(function))
enum { kGssProgram = 0x20004753, kGssVersion = 1, kGssEcho = 1, kGssWho = 2 };
enum { kGssLongest = 1 << 24 };

typedef struct gss_bytes {
  u_int count;
  char* start;
} gss_bytes;
static inline bool_t xdr_gss_bytes(XDR* stream, gss_bytes* bytes) {
  return xdr_bytes(stream, &bytes->start, &bytes->count, kGssLongest);
}
