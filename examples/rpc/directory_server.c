/* directory_server: a directory for rpcgen's clients. It uses libtirpc and knows nothing of exs. Run with
 * LD_PRELOAD=libexs-sunrpc.so, it serves clients that preload the same library by exs. Prints its port.
 *   directory_server */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <directory.h>

void directory_1(struct svc_req* request, SVCXPRT* transport); /* of rpcgen */

enum { kEntries = 1024 };
static entry entries[kEntries];
static int entry_count;

static entry* find(const char* who) {
  for (int i = 0; i < entry_count; ++i)
    if (strcmp(entries[i].who, who) == 0) return &entries[i];
  return NULL;
}

bool_t* add_1_svc(entry* added, struct svc_req* request) {
  static bool_t is_added;
  (void)request;
  is_added = entry_count < kEntries && find(added->who) == NULL;
  if (!is_added) return &is_added;
  entries[entry_count++] = *added; /* ours from now on: rpcgen's server frees the rest of the argument */
  memset(added, 0, sizeof *added);
  added->who = calloc(1, 1);
  return &is_added;
}

found* look_up_1_svc(name* who, struct svc_req* request) {
  static found result;
  (void)request;
  const entry* const there = find(*who);
  result.is_there = there != NULL;
  if (there != NULL) result.found_u.it = *there;
  return &result;
}

names* list_1_svc(void* nothing, struct svc_req* request) {
  static names list[kEntries + 1];
  static char nobody[] = "";
  (void)nothing, (void)request;
  list[0].who = nobody;
  for (int i = 0; i < entry_count; ++i) {
    list[i].next = &list[i + 1];
    list[i + 1].who = entries[i].who;
  }
  list[entry_count].next = NULL;
  return list;
}

static const char help[] =
    "usage: directory_server\n"
    "Serves a directory by libtirpc at a free port of 127.0.0.1, which it prints, until a\n"
    "signal ends it. The exit status is 1 after an error.\n";

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener == -1 || bind(listener, (struct sockaddr*)&address, length) != 0 ||
      listen(listener, 16) != 0 || getsockname(listener, (struct sockaddr*)&address, &length) != 0) {
    perror("directory_server");
    return 1;
  }
  SVCXPRT* const transport = svc_vc_create(listener, 0, 0);
  if (transport == NULL || !svc_reg(transport, DIRECTORY, DIRECTORY_1, directory_1, NULL)) return 1;
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  svc_run();
  return 1;
}
