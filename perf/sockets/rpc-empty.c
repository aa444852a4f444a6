/* An empty remote procedure by libtirpc, as in SOVIA's Figure 10: the argument is a string, the result a number.
 * perf/sockets/run compiles this if libtirpc is installed.
 *   rpc-empty serve tcp|unix:PATH               prints the address and serves until it is ended
 *   rpc-empty call BYTES SECONDS tcp:PORT|unix:PATH */
/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rpc/rpc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

enum {
  kProgram = 0x20000531,
  kVersion = 1,
  kVoid = 1,
  kString = 2,
  kBytesMax = 1 << 16,
  kBatch = 16,
  kWarmUp = 100
};

static void check(int is_good, const char* what) {
  if (is_good) return;
  perror(what);
  exit(1);
}

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static bool_t xdr_argument(XDR* xdr, char** text) {
  return xdr_string(xdr, text, kBytesMax);
}

static bool_t xdr_nothing(XDR* xdr, char** text) {
  (void)xdr, (void)text;
  return TRUE;
}

static void dispatch(struct svc_req* request, SVCXPRT* transport) {
  static int result = 1;
  char* text = NULL;
  const int is_string = request->rq_proc == kString;
  if (is_string && !svc_getargs(transport, (xdrproc_t)xdr_argument, (char*)&text)) {
    svcerr_decode(transport);
    return;
  }
  svc_sendreply(transport, (xdrproc_t)xdr_int, (char*)&result);
  if (is_string) svc_freeargs(transport, (xdrproc_t)xdr_argument, (char*)&text);
}

static struct sockaddr_in loopback(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

static int serve(char* where) {
  SVCXPRT* transport;
  if (strcmp(where, "tcp") == 0) {
    struct sockaddr_in address = loopback(0);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    check(bind(listener, (struct sockaddr*)&address, sizeof address) == 0, "bind");
    check(listen(listener, 8) == 0, "listen");
    transport = svctcp_create(listener, 0, 0);
    check(transport != NULL, "svctcp_create");
    printf("tcp:%d\n", transport->xp_port);
  } else {
    check(strncmp(where, "unix:", 5) == 0, "an address is tcp or unix:PATH");
    transport = svcunix_create(RPC_ANYSOCK, 0, 0, where + 5);
    check(transport != NULL, "svcunix_create");
    printf("%s\n", where);
  }
  /* Protocol 0: no registration with the port mapper. */
  check(svc_register(transport, kProgram, kVersion, dispatch, 0), "svc_register");
  fflush(stdout);
  svc_run();
  return 1;
}

static CLIENT* client_of(const char* where) {
  int descriptor = RPC_ANYSOCK;
  if (strncmp(where, "tcp:", 4) == 0) {
    struct sockaddr_in address = loopback(atoi(where + 4));
    return clnttcp_create(&address, kProgram, kVersion, &descriptor, 0, 0);
  }
  check(strncmp(where, "unix:", 5) == 0 && strlen(where) < sizeof((struct sockaddr_un*)0)->sun_path, where);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, where + 5);
  return clntunix_create(&address, kProgram, kVersion, &descriptor, 0, 0);
}

static void calls(CLIENT* client, char* text, int count) {
  const struct timeval limit = {10, 0};
  const rpcproc_t procedure = *text == '\0' ? kVoid : kString;
  const xdrproc_t argument = *text == '\0' ? (xdrproc_t)xdr_nothing : (xdrproc_t)xdr_argument;
  for (int number = 0; number < count; number++) {
    int result = 0;
    const enum clnt_stat status =
        clnt_call(client, procedure, argument, (char*)&text, (xdrproc_t)xdr_int, (char*)&result, limit);
    if (status == RPC_SUCCESS && result == 1) continue;
    clnt_perror(client, "clnt_call");
    exit(1);
  }
}

static int call(size_t size, double seconds, const char* where) {
  CLIENT* const client = client_of(where);
  check(client != NULL, "no client");
  check(size < kBytesMax, "the string is too long");
  char* const text = calloc(size + 1, 1);
  memset(text, 'x', size);
  calls(client, text, kWarmUp);
  const double began = now();
  double spent = 0;
  long count = 0;
  for (; spent < seconds; spent = now() - began, count += kBatch) calls(client, text, kBatch);
  printf("{\"call_us\": %.4f, \"calls\": %ld}\n", spent / (double)count * 1e6, count);
  return 0;
}

int main(int count, char** words) {
  if (count == 3 && strcmp(words[1], "serve") == 0) return serve(words[2]);
  if (count == 5 && strcmp(words[1], "call") == 0)
    return call(strtoul(words[2], NULL, 10), atof(words[3]), words[4]);
  fputs("usage: rpc-empty serve tcp|unix:PATH\n       rpc-empty call BYTES SECONDS tcp:PORT|unix:PATH\n",
        stderr);
  return 2;
}
