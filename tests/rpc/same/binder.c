/* What rpcbind and the portmapper are asked. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <rpc/pmap_clnt.h>
#include <rpc/rpcb_clnt.h>

#include "tests/rpc/same/same.h"
/* clang-format off: it needs the one before it */
#include <rpc/pmap_prot.h>
/* clang-format on */

int get_myaddress(struct sockaddr_in* address);

static int count_maps(const rpcblist* list) {
  int count = 0;
  for (; list != NULL; list = list->rpcb_next) ++count;
  return count;
}
static int count_old_maps(const struct pmaplist* list) {
  int count = 0;
  for (; list != NULL; list = list->pml_next) ++count;
  return count;
}

static void show_binder(const struct netconfig* entry) {
  struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(1234)};
  struct netbuf address = {sizeof place, sizeof place, &place};
  SHOW(rpcb_set(kNoProgram, 1, entry, &address));
  SHOW(rpcb_set(kNoProgram, 1, entry, &address));
  SHOW(rpcb_set(kNoProgram, 2, NULL, &address));
  SHOW(rpcb_set(kNoProgram, 2, entry, NULL));
  memset(&place, 0, sizeof place);
  SHOW(rpcb_getaddr(kNoProgram, 1, entry, &address, HOST));
  printf("port %d\n", ntohs(place.sin_port));
  SHOW(rpcb_getaddr(kNoProgram, 7, entry, &address, HOST));
  SHOW(rpcb_getaddr(kNoProgram + 1, 7, entry, &address, HOST));
  SHOW(rpcb_getaddr(kNoProgram, 1, entry, &address, "256.1.1.1"));
  SHOW(rpcb_getaddr(kNoProgram, 1, NULL, &address, HOST));
  printf("%d maps\n", count_maps(rpcb_getmaps(entry, HOST)));
  printf("%d maps\n", count_maps(rpcb_getmaps(entry, "256.1.1.1")));
  time_t now = 0;
  SHOW(rpcb_gettime(HOST, &now));
  printf("time %d\n", now > 0);
  SHOW(rpcb_gettime("256.1.1.1", &now));
  SHOW_STATUS(rpcb_rmtcall(entry, HOST, kNoProgram + 2, 1, 0, CODE(xdr_void), NULL, CODE(xdr_void), NULL,
                           ((struct timeval){0, 100}), &address));
  SHOW(rpcb_unset(kNoProgram, 1, entry));
  SHOW(rpcb_unset(kNoProgram, 1, entry));
  SHOW(rpcb_unset(kNoProgram, 1, NULL));
}

void same_binder(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  SHOW(pmap_set(kNoProgram, 3, IPPROTO_TCP, 999));
  SHOW(pmap_set(kNoProgram, 3, IPPROTO_TCP, 998));
  SHOW(pmap_set(kNoProgram, 3, 77, 998));
  SHOW(pmap_getport(&address, kNoProgram, 3, IPPROTO_TCP));
  SHOW(pmap_getport(&address, kNoProgram, 4, IPPROTO_TCP));
  SHOW(pmap_getport(&address, kNoProgram + 1, 3, IPPROTO_UDP));
  SHOW(pmap_getport(&address, kProgram, kVersion, IPPROTO_TCP) > 0);
  SHOW(pmap_getport(&address, 0x20455853, 1, IPPROTO_TCP)); /* is not listed */
  printf("%d maps\n", count_old_maps(pmap_getmaps(&address)));
  u_long port = 0;
  SHOW_STATUS(pmap_rmtcall(&address, kNoProgram + 2, 1, 0, CODE(xdr_void), NULL, CODE(xdr_void), NULL,
                           ((struct timeval){0, 100}), &port));
  SHOW(pmap_unset(kNoProgram, 3));
  SHOW(pmap_unset(kNoProgram, 3));
  address.sin_addr.s_addr = htonl(0x7f000009); /* there, too, is rpcbind */
  SHOW(pmap_getport(&address, kProgram, kVersion, IPPROTO_TCP) > 0);
  memset(&address, 0, sizeof address);
  SHOW(get_myaddress(&address));
  printf("address %08x\n", ntohl(address.sin_addr.s_addr));
  struct netconfig* const entry = getnetconfigent("tcp");
  show_binder(entry);
  freenetconfigent(entry);
}
