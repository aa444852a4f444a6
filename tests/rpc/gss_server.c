/* A server that takes calls of those who have proved who they are, as "demo" of this host; prints its port. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/rpc/gss.h"

#include "exs/sunrpc.h"

static void echo(SVCXPRT* transport) {
  gss_bytes bytes = {0, NULL};
  if (!svc_getargs(transport, CODE(xdr_gss_bytes), &bytes)) {
    svcerr_decode(transport);
    return;
  }
  svc_sendreply(transport, CODE(xdr_gss_bytes), (char*)&bytes);
  svc_freeargs(transport, CODE(xdr_gss_bytes), &bytes);
}

/* The caller's name, what protects the call, and how much fits into an answer of 2,000 bytes. */
static void tell_who(struct svc_req* request, SVCXPRT* transport) {
  static char text[400];
  char* start = text;
  rpc_gss_rawcred_t* raw = NULL;
  rpc_gss_ucred_t* user = NULL;
  if (rpc_gss_getcred(request, &raw, &user, NULL) && raw != NULL) {
    snprintf(text, sizeof text, "%.*s, %s, service %d, %s, answer %d", raw->client_principal->len,
             raw->client_principal->name, raw->mechanism, (int)raw->service, raw->svc_principal,
             rpc_gss_svc_max_data_length(request, 2000));
  } else {
    snprintf(text, sizeof text, "nobody");
  }
  svc_sendreply(transport, CODE(xdr_wrapstring), (char*)&start);
}

static void serve(struct svc_req* request, SVCXPRT* transport) {
  switch (request->rq_proc) {
    case NULLPROC: svc_sendreply(transport, CODE(xdr_void), NULL); break;
    case kGssEcho: echo(transport); break;
    case kGssWho: tell_who(request, transport); break;
    default: svcerr_noproc(transport);
  }
}

/* By as many threads of the library as RPC_TEST_THREADS says. */
#pragma weak exs_sunrpc_threads
static int use_threads(void) {
  const char* const threads = getenv("RPC_TEST_THREADS");
  return threads == NULL || exs_sunrpc_threads == NULL || exs_sunrpc_threads((unsigned)atoi(threads)) == 0;
}

int main(void) {
  char name[] = "demo@localhost";
  char mechanism[] = "kerberos_v5";
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  if (!use_threads() || !rpc_gss_set_svc_name(name, mechanism, 0, kGssProgram, kGssVersion) ||
      bind(listener, (struct sockaddr*)&address, length) != 0 || listen(listener, 16) != 0 ||
      getsockname(listener, (struct sockaddr*)&address, &length) != 0)
    return 1;
  SVCXPRT* const transport = svc_vc_create(listener, 0, 0);
  if (transport == NULL || !svc_reg(transport, kGssProgram, kGssVersion, serve, NULL)) return 1;
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  svc_run();
  return 1;
}
