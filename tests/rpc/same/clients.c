/* Creators of handles. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <rpc/pmap_clnt.h>
#include <rpc/raw.h>
#include <rpc/rpcb_clnt.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/rpc/same/same.h"

static struct sockaddr_in server_address(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  address.sin_port = htons(pmap_getport(&address, kProgram, kVersion, IPPROTO_TCP));
  return address;
}

CLIENT* make_tcp_client(void) {
  struct sockaddr_in address = server_address();
  int descriptor = RPC_ANYSOCK;
  return clnttcp_create(&address, kProgram, kVersion, &descriptor, 0, 0);
}

static int connected(void) {
  struct sockaddr_in address = server_address();
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(descriptor, (struct sockaddr*)&address, sizeof address) != 0) printf("no connection\n");
  return descriptor;
}

static void show_by_names(void) {
  static const char* const kNetworks[] = {"tcp",       "tcp6",      "udp",        "visible",
                                          "circuit_v", "circuit_n", "datagram_v", "netpath",
                                          "nonsense",  "",          NULL};
  rpcvers_t version = 0;
  for (size_t i = 0; i < sizeof kNetworks / sizeof *kNetworks; ++i) {
    const char* const network = kNetworks[i];
    printf("network %s\n", network == NULL ? "(null)" : network);
    SHOW_CLIENT(clnt_create(HOST, kProgram, kVersion, network));
    SHOW_CLIENT(clnt_create_timed(HOST, kProgram, kVersion, network, &kLimit));
    SHOW_CLIENT(clnt_create_vers(HOST, kProgram, &version, 1, 5, network));
    SHOW_CLIENT(clnt_create_vers(HOST, kProgram, &version, 3, 5, network));
    SHOW_CLIENT(clnt_create_vers_timed(HOST, kProgram, &version, 1, 5, network, &kLimit));
  }
  SHOW_CLIENT(clnt_create("256.1.1.1", kProgram, kVersion, "tcp"));
  SHOW_CLIENT(clnt_create(HOST, kNoProgram, kVersion, "tcp"));
  SHOW_CLIENT(clnt_create(HOST, kProgram, 9, "tcp"));
}

static void show_by_entries(void) {
  struct netconfig* const entry = getnetconfigent("tcp");
  SHOW_CLIENT(clnt_tp_create(HOST, kProgram, kVersion, entry));
  SHOW_CLIENT(clnt_tp_create(HOST, kNoProgram, kVersion, entry));
  SHOW_CLIENT(clnt_tp_create(HOST, kProgram, kVersion, NULL));
  SHOW_CLIENT(clnt_tp_create_timed(HOST, kProgram, kVersion, entry, &kLimit));
  struct sockaddr_in place = server_address();
  struct netbuf address = {sizeof place, sizeof place, &place};
  SHOW_CLIENT(clnt_tli_create(RPC_ANYFD, entry, &address, kProgram, kVersion, 0, 0));
  SHOW_CLIENT(clnt_tli_create(RPC_ANYFD, entry, &address, kProgram, kVersion, 100, 100));
  SHOW_CLIENT(clnt_tli_create(RPC_ANYFD, NULL, &address, kProgram, kVersion, 0, 0));
  SHOW_CLIENT(clnt_tli_create(connected(), NULL, &address, kProgram, kVersion, 0, 0));
  SHOW_CLIENT(clnt_vc_create(connected(), &address, kProgram, kVersion, 0, 0));
  SHOW_CLIENT(clnt_vc_create(socket(AF_INET, SOCK_STREAM, 0), &address, kProgram, kVersion, 400, 400));
  SHOW_CLIENT(clnt_vc_create(-1, &address, kProgram, kVersion, 0, 0));
  SHOW_CLIENT(clnt_dg_create(socket(AF_INET, SOCK_DGRAM, 0), &address, kNoProgram, kVersion, 0, 0));
  SHOW_CLIENT(clnt_dg_create(-1, &address, kProgram, kVersion, 0, 0));
  place.sin_port = htons(9); /* nobody listens there */
  SHOW_CLIENT(clnt_tli_create(RPC_ANYFD, entry, &address, kProgram, kVersion, 0, 0));
  SHOW_CLIENT(clnt_vc_create(socket(AF_INET, SOCK_STREAM, 0), &address, kProgram, kVersion, 0, 0));
  freenetconfigent(entry);
}

static void show_old_ones(void) {
  struct sockaddr_in address = server_address();
  int descriptor = RPC_ANYSOCK;
  SHOW_CLIENT(clnttcp_create(&address, kProgram, kVersion, &descriptor, 0, 0));
  address.sin_port = 0; /* to be asked for */
  descriptor = RPC_ANYSOCK;
  SHOW_CLIENT(clnttcp_create(&address, kProgram, kVersion, &descriptor, 0, 0));
  address.sin_port = 0;
  descriptor = RPC_ANYSOCK;
  SHOW_CLIENT(clnttcp_create(&address, kNoProgram, kVersion, &descriptor, 0, 0));
  descriptor = connected();
  address = server_address();
  SHOW_CLIENT(clnttcp_create(&address, kProgram, kVersion, &descriptor, 0, 0));
  address.sin_port = 0;
  descriptor = RPC_ANYSOCK;
  SHOW_CLIENT(clntudp_create(&address, kProgram, kVersion, (struct timeval){1, 0}, &descriptor));
  address.sin_port = 0;
  descriptor = RPC_ANYSOCK;
  SHOW_CLIENT(
      clntudp_bufcreate(&address, kProgram, kVersion, (struct timeval){1, 0}, &descriptor, 1000, 1000));
  const char* const path = getenv("SAME_PATH");
  struct sockaddr_un local = {.sun_family = AF_UNIX};
  strncpy(local.sun_path, path == NULL ? "/nowhere" : path, sizeof local.sun_path - 1);
  descriptor = RPC_ANYSOCK;
  SHOW_CLIENT(clntunix_create(&local, kProgram, kVersion, &descriptor, 0, 0));
  strncpy(local.sun_path, "/nowhere", sizeof local.sun_path - 1);
  descriptor = RPC_ANYSOCK;
  SHOW_CLIENT(clntunix_create(&local, kProgram, kVersion, &descriptor, 0, 0));
}

void same_clients(void) {
  setenv("NETPATH", "tcp", 1);
  show_by_names();
  show_by_entries();
  show_old_ones();
}
