/* Networks and names of programs. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <rpc/auth_des.h>
#include <rpc/netdb.h>
#include <unistd.h>

#include "tests/rpc/same/same.h"

int bindresvport_sa(int descriptor, struct sockaddr* address);

static void show_entry(const struct netconfig* entry) {
  if (entry == NULL) {
    printf("no entry\n");
    return;
  }
  printf("entry %s: %lu, %lu, %s, %s, %s, %lu\n", entry->nc_netid, entry->nc_semantics, entry->nc_flag,
         entry->nc_protofmly, entry->nc_proto, entry->nc_device == NULL ? "(null)" : entry->nc_device,
         entry->nc_nlookups);
}

static void show_networks(void) {
  void* list = setnetconfig();
  SHOW_IF(list);
  for (int i = 0; i < 10; ++i) show_entry(getnetconfig(list));
  SHOW(endnetconfig(list));
  SHOW_IF(getnetconfig(NULL));
  SHOW_TEXT(nc_sperror());
  SHOW(endnetconfig(NULL));
  nc_perror("list");
  for (const char* const* name = (const char* const[]){"tcp", "udp", "local", "nonsense", "", "tcp6", NULL};
       *name != NULL; ++name) {
    struct netconfig* const entry = getnetconfigent(*name);
    show_entry(entry);
    if (entry == NULL) SHOW_TEXT(nc_sperror());
    if (entry != NULL) freenetconfigent(entry);
  }
  SHOW_IF(getnetconfigent(NULL));
}

static void show_path(const char* path) {
  if (path == NULL) unsetenv("NETPATH");
  if (path != NULL) setenv("NETPATH", path, 1);
  void* list = setnetpath();
  SHOW_IF(list);
  for (int i = 0; list != NULL && i < 8; ++i) show_entry(getnetpath(list));
  if (list != NULL) SHOW(endnetpath(list));
}

static void show_port(int family, struct sockaddr_in* address) {
  const int descriptor = socket(family, SOCK_STREAM, 0);
  SHOW(bindresvport(descriptor, address));
  struct sockaddr_storage bound;
  socklen_t length = sizeof bound;
  if (getsockname(descriptor, (struct sockaddr*)&bound, &length) == 0 && bound.ss_family == AF_INET) {
    const int port = ntohs(((struct sockaddr_in*)&bound)->sin_port);
    printf("a port that is reserved: %d\n", port > 0 && port < IPPORT_RESERVED);
  }
  close(descriptor);
}

void same_entries(void) {
  show_networks();
  show_path(NULL);
  show_path("tcp:udp:nonsense:local");
  show_path("");
  SHOW_IF(getnetpath(NULL));
  SHOW(endnetpath(NULL));
  setrpcent(1);
  for (int i = 0; i < 3; ++i) {
    const struct rpcent* const entry = getrpcent();
    printf("program %s: %d\n", entry == NULL ? "none" : entry->r_name, entry == NULL ? 0 : entry->r_number);
  }
  endrpcent();
  SHOW_IF(getrpcbyname("portmapper"));
  SHOW_IF(getrpcbyname("nonsense"));
  SHOW_IF(getrpcbynumber(100000));
  SHOW_IF(getrpcbynumber(-1));
  char host[] = HOST;
  char nobody[] = "256.1.1.1";
  SHOW(getrpcport(host, kProgram, kVersion, IPPROTO_TCP) > 0);
  SHOW(getrpcport(host, kNoProgram, kVersion, IPPROTO_TCP));
  SHOW(getrpcport(nobody, kProgram, kVersion, IPPROTO_TCP));
  struct sockaddr_in address = {.sin_family = AF_INET};
  show_port(AF_INET, NULL);
  show_port(AF_INET, &address);
  address.sin_family = AF_UNIX;
  show_port(AF_INET, &address);
  SHOW(bindresvport(-1, NULL));
  SHOW(bindresvport_sa(-1, NULL));
  const int descriptor = socket(AF_INET6, SOCK_STREAM, 0);
  SHOW(bindresvport_sa(descriptor, NULL));
  close(descriptor);
  struct timeval time = {0, 0};
  address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  SHOW(rtime(&address, &time, NULL));
}
