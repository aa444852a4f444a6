/* directory_stub_server: the directory of directory.x by stubs of exs-rpcgen. Prints its port; SIGINT or SIGTERM ends it.
 *   directory_stub_server */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "directory_exs.h"

enum { kEntries = 1024 };
static entry entries[kEntries];
static int entry_count;

static entry* find(const char* who) {
  for (int i = 0; i < entry_count; ++i)
    if (strcmp(entries[i].who, who) == 0) return &entries[i];
  return NULL;
}

/* Arguments are freed when a procedure returns, so the directory copies them. */
int add_1_serve(const entry* argument, int* result, exs_rpc_request_t* request) {
  (void)request;
  if (entry_count == kEntries || find(argument->who) != NULL) return *result = 0, 0;
  entry* const added = &entries[entry_count];
  *added = *argument;
  added->who = strdup(argument->who);
  added->notes.notes_val = malloc(argument->notes.notes_len);
  if (added->who == NULL || added->notes.notes_val == NULL) return 1; /* the client gets EREMOTEIO */
  memcpy(added->notes.notes_val, argument->notes.notes_val, argument->notes.notes_len);
  ++entry_count;
  return *result = 1, 0;
}

/* Results may point to permanent memory. */
int look_up_1_serve(const char* argument, found* result, exs_rpc_request_t* request) {
  (void)request;
  const entry* const there = find(argument);
  result->is_there = there != NULL;
  if (there != NULL) result->found_u.it = *there;
  return 0;
}

/* Results may also point to memory of the request, which the library frees. */
int list_1_serve(names* result, exs_rpc_request_t* request) {
  names* const list = exs_rpc_request_alloc(request, (size_t)(entry_count + 1) * sizeof *list);
  if (list == NULL) return 1;
  result->who = "";
  names* last = result;
  for (int i = 0; i < entry_count; ++i) {
    list[i].who = entries[i].who;
    last = last->next = &list[i];
  }
  return 0;
}

static exs_rpc_server_t* server;

static void* stop_at_signal(void* signals) {
  int number = 0;
  sigwait(signals, &number);
  exs_rpc_server_stop(server);
  return NULL;
}

static const char help[] =
    "usage: directory_stub_server\n"
    "Serves a directory by stubs of exs-rpcgen at a free port of 127.0.0.1, which it prints,\n"
    "until SIGINT or SIGTERM. The exit status is 0, or 1 after an error.\n";

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before the library starts threads */
  const struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  server = exs_rpc_server_create(NULL);
  int port = -1;
  if (server != NULL && exs_rpc_server_add(server, &directory_directory_1_service, NULL) == 0)
    port = exs_rpc_server_listen(server, (const struct sockaddr*)&address, sizeof address);
  if (port == -1) {
    fprintf(stderr, "directory_stub_server: %s\n", exs_rpc_errtext());
    return 1;
  }
  printf("%d\n", port);
  fflush(stdout);
  pthread_t waiting;
  pthread_create(&waiting, NULL, stop_at_signal, &signals);
  const int told = exs_rpc_server_run(server);
  pthread_join(waiting, NULL);
  exs_rpc_server_delete(server);
  return told == 0 ? 0 : 1;
}
