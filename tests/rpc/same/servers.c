/* Functions of servers: transports of each kind, programs of theirs, and requests that a child sends. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <rpc/pmap_clnt.h>
#include <rpc/raw.h>
#include <rpc/rpc_com.h>
#include <rpc/svc_dg.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/rpc/same/same.h"

enum { kServed = 0x20008888, kSum = 20, kEnd = 21 };
static struct netconfig* tcp;
static int is_over;
static int runs_itself;

static void serve(struct svc_req* request, SVCXPRT* transport) {
  u_int number = 0;
  switch (request->rq_proc) {
    case 0: svc_sendreply(transport, CODE(xdr_void), NULL); break;
    case 1: svcerr_noproc(transport); break;
    case 2: svcerr_decode(transport); break;
    case 3: svcerr_systemerr(transport); break;
    case 4: svcerr_auth(transport, AUTH_BADCRED); break;
    case 5: svcerr_weakauth(transport); break;
    case 6: svcerr_noprog(transport); break;
    case 7: svcerr_progvers(transport, 4, 6); break;
    case kSum:
      if (!svc_getargs(transport, CODE(xdr_u_int), &number)) {
        svcerr_decode(transport);
        break;
      }
      number += (u_int)svc_getrpccaller(transport)->len;
      svc_sendreply(transport, CODE(xdr_u_int), (char*)&number);
      svc_freeargs(transport, CODE(xdr_u_int), &number);
      break;
    case kEnd:
      svc_sendreply(transport, CODE(xdr_void), NULL);
      is_over = 1;
      if (runs_itself) svc_exit();
      break;
    default: svcerr_noproc(transport);
  }
}

static void call_each(CLIENT* client) {
  if (client == NULL) {
    printf("no client, status %d\n", (int)rpc_createerr.cf_stat);
    return;
  }
  for (rpcproc_t procedure = 0; procedure <= kEnd; ++procedure) {
    u_int number = 1000;
    const struct timeval limit = {20, 0};
    const enum clnt_stat status =
        procedure == kSum
            ? clnt_call(client, procedure, CODE(xdr_u_int), &number, CODE(xdr_u_int), (char*)&number, limit)
            : clnt_call(client, procedure, CODE(xdr_void), NULL, CODE(xdr_void), NULL, limit);
    printf("procedure %u: status %d, %u\n", (unsigned)procedure, (int)status, number);
    SHOW_TEXT(clnt_sperror(client, "answer"));
  }
  clnt_destroy(client);
}

/* The child calls until it ends the loop. */
static void serve_child(const char* what, CLIENT* (*connect)(const void*), const void* place,
                        void (*loop)(void)) {
  printf("%s\n", what);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    call_each(connect(place));
    fflush(stdout);
    _exit(0);
  }
  loop();
  int status = 0;
  waitpid(child, &status, 0);
  printf("child %d\n", status);
}

static CLIENT* connect_tcp(const void* place) {
  struct sockaddr_in address = *(const struct sockaddr_in*)place;
  int descriptor = RPC_ANYSOCK;
  return clnttcp_create(&address, kServed, 1, &descriptor, 0, 0);
}
static CLIENT* connect_local(const void* place) {
  struct sockaddr_un address = *(const struct sockaddr_un*)place;
  int descriptor = RPC_ANYSOCK;
  return clntunix_create(&address, kServed, 1, &descriptor, 0, 0);
}

/* Loops of the program's own, by each of the functions that there are; the last request ends them. */
static void loop_by_sets(void) {
  for (is_over = 0; !is_over;) {
    fd_set set = svc_fdset;
    if (select(FD_SETSIZE, &set, NULL, NULL, NULL) > 0) svc_getreqset(&set);
  }
}
static void loop_by_poll(void) {
  for (is_over = 0; !is_over;) {
    const int ready = poll(svc_pollfd, (nfds_t)svc_max_pollfd, -1);
    if (ready > 0) svc_getreq_poll(svc_pollfd, ready);
  }
}
static void loop_by_descriptors(void) {
  for (is_over = 0; !is_over;) {
    fd_set set = svc_fdset;
    if (select(FD_SETSIZE, &set, NULL, NULL, NULL) <= 0) continue;
    for (int descriptor = 0; descriptor < FD_SETSIZE; ++descriptor)
      if (FD_ISSET(descriptor, &set)) svc_getreq_common(descriptor);
  }
}
static void loop_by_words(void) {
  for (is_over = 0; !is_over;) {
    fd_set set = svc_fdset;
    if (select(FD_SETSIZE, &set, NULL, NULL, NULL) > 0) svc_getreq((int)set.fds_bits[0]);
  }
}
static void loop_by_run(void) {
  runs_itself = 1;
  svc_run();
  runs_itself = 0;
}

static struct sockaddr_in place_of(const SVCXPRT* transport) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_port = htons(transport->xp_port)};
  return address;
}

static void show_transport(const char* what, SVCXPRT* transport) {
  if (transport == NULL) {
    printf("%s: none\n", what);
    return;
  }
  printf("%s: port %d, network %s, type %d\n", what, transport->xp_port != 0,
         transport->xp_netid == NULL ? "(null)" : transport->xp_netid, transport->xp_type);
  int value = 0;
  SHOW(SVC_CONTROL(transport, SVCGET_VERSQUIET, &value));
  SHOW(SVC_CONTROL(transport, 4711, &value));
  SHOW(svc_reg(transport, kServed, 1, serve, NULL));
  SHOW(svc_reg(transport, kServed, 1, serve, NULL));
  svc_unreg(kServed, 1);
  svc_destroy(transport);
}

#define SHOW_TRANSPORT(expression) show_transport(#expression, expression)

static int bound(int type) {
  const int descriptor = socket(AF_INET, type, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if (bind(descriptor, (struct sockaddr*)&address, sizeof address) != 0) printf("not bound\n");
  if (type == SOCK_STREAM) listen(descriptor, 5);
  return descriptor;
}

static void show_creators(void) {
  char path[] = "/run/same-socket";
  SHOW_TRANSPORT(svctcp_create(RPC_ANYSOCK, 0, 0));
  SHOW_TRANSPORT(svcudp_create(RPC_ANYSOCK));
  SHOW_TRANSPORT(svcudp_bufcreate(RPC_ANYSOCK, 900, 900));
  SHOW_TRANSPORT(svcunix_create(RPC_ANYSOCK, 0, 0, path));
  SHOW_TRANSPORT(svcunix_create(RPC_ANYSOCK, 0, 0, path)); /* it is taken */
  SHOW_TRANSPORT(svc_vc_create(bound(SOCK_STREAM), 0, 0));
  SHOW_TRANSPORT(svc_dg_create(bound(SOCK_DGRAM), 0, 0));
  SHOW_TRANSPORT(svc_tli_create(RPC_ANYFD, tcp, NULL, 0, 0));
  SHOW_TRANSPORT(svc_tli_create(RPC_ANYFD, NULL, NULL, 0, 0));
  SHOW_TRANSPORT(svc_tli_create(bound(SOCK_STREAM), NULL, NULL, 0, 0));
  SHOW_TRANSPORT(svc_tp_create(serve, kServed, 1, tcp));
  SHOW_TRANSPORT(svc_tp_create(serve, kServed, 1, NULL));
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return; /* -1 is an assertion of libtirpc's */
  SHOW_TRANSPORT(svcunixfd_create(dup(pair[0]), 0, 0));
  SHOW_TRANSPORT(svc_fd_create(dup(pair[0]), 0, 0));
  SHOW_TRANSPORT(svcfd_create(dup(pair[0]), 0, 0));
  close(pair[0]);
  close(pair[1]);
  SHOW(svc_create(serve, kServed, 1, "tcp"));
  SHOW(svc_create(serve, kServed, 1, "nonsense"));
  SHOW(svc_create(serve, kServed, 1, ""));
  svc_unreg(kServed, 1);
  SVCXPRT* const datagrams = svcudp_create(RPC_ANYSOCK);
  SHOW(svc_dg_enablecache(datagrams, 10));
  SHOW(svc_dg_enablecache(datagrams, 10));
  svc_destroy(datagrams);
}

static char* answer_simply(char* argument) {
  static u_int number;
  number = *(u_int*)(void*)argument + 1;
  return (char*)&number;
}

static enum auth_stat accept_all(struct svc_req* request, struct rpc_msg* message) {
  (void)request, (void)message;
  return AUTH_OK;
}

static void show_registrations(void) {
  SVCXPRT* const transport = svctcp_create(RPC_ANYSOCK, 0, 0);
  SHOW(svc_register(transport, kServed, 2, serve, IPPROTO_TCP));
  SHOW(svc_register(transport, kServed, 2, serve, IPPROTO_TCP));
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  SHOW(pmap_getport(&address, kServed, 2, IPPROTO_TCP) == transport->xp_port);
  svc_unregister(kServed, 2);
  SHOW(pmap_getport(&address, kServed, 2, IPPROTO_TCP));
  xprt_unregister(transport);
  xprt_register(transport);
  SHOW(FD_ISSET(transport->xp_fd, &svc_fdset));
  svc_destroy(transport);
  SHOW(rpc_reg(kServed, 3, 1, answer_simply, CODE(xdr_u_int), CODE(xdr_u_int), "tcp"));
  SHOW(rpc_reg(kServed, 3, 1, answer_simply, CODE(xdr_u_int), CODE(xdr_u_int), "nonsense"));
  SHOW(registerrpc(kServed, 4, 1, answer_simply, CODE(xdr_u_int), CODE(xdr_u_int)));
  SHOW(svc_auth_reg(77, accept_all));
  SHOW(svc_auth_reg(77, accept_all));
  svc_unreg(kServed, 3);
  svc_unreg(kServed, 4);
}

static void show_raw(void) {
  SVCXPRT* const transport = svc_raw_create();
  SHOW(svc_reg(transport, kServed, 5, serve, NULL));
  CLIENT* const client = clnt_raw_create(kServed, 5);
  SHOW_STATUS(call_nothing(client));
  clnt_destroy(client);
  SHOW_IF(svcraw_create());
  CLIENT* const old = clntraw_create(kServed, 5);
  SHOW_STATUS(call_nothing(old));
  svc_unreg(kServed, 5);
}

void same_servers(void) {
  tcp = getnetconfigent("tcp");
  show_creators();
  show_registrations();
  show_raw();
  SVCXPRT* const transport = svctcp_create(RPC_ANYSOCK, 0, 0);
  svc_reg(transport, kServed, 1, serve, NULL);
  const struct sockaddr_in place = place_of(transport);
  serve_child("svc_getreqset", connect_tcp, &place, loop_by_sets);
  serve_child("svc_getreq_poll", connect_tcp, &place, loop_by_poll);
  serve_child("svc_getreq_common", connect_tcp, &place, loop_by_descriptors);
  serve_child("svc_getreq", connect_tcp, &place, loop_by_words);
  const int local = socket(AF_UNIX, SOCK_STREAM, 0);
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/same-other"};
  if (bind(local, (struct sockaddr*)&address, sizeof address) != 0 || listen(local, 5) != 0)
    printf("not bound\n");
  svc_vc_create(local, 0, 0);
  serve_child("a local socket", connect_local, &address, loop_by_poll);
  serve_child("svc_run", connect_tcp, &place, loop_by_run);
  svc_unreg(kServed, 1);
}
