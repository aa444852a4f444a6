/* Serves batch.x at a port of the loopback interface, which it prints. With the library, and a number of threads, by so many:
 *   rpc-batch-server [THREADS] */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <batch.h>

#include "exs/sunrpc.h"

#pragma weak exs_sunrpc_threads

void batch_1(struct svc_req* request, SVCXPRT* transport); /* of rpcgen */

enum { kSendersMax = 64 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  tally told;
  u_int last;
} senders[kSendersMax];

static u_int count_note(const note* argument) {
  pthread_mutex_lock(&mutex);
  const u_int sender = argument->sender % kSendersMax;
  tally* const told = &senders[sender].told;
  if (told->notes++ == 0) told->in_order = TRUE;
  if (argument->number <= senders[sender].last) told->in_order = FALSE;
  senders[sender].last = argument->number;
  const u_int notes = told->notes;
  pthread_mutex_unlock(&mutex);
  return notes;
}

bool_t send_1_svc(note* argument, void* result, struct svc_req* request) {
  (void)result, (void)request;
  count_note(argument);
  return FALSE;
}

bool_t call_1_svc(note* argument, u_int* result, struct svc_req* request) {
  (void)request;
  *result = count_note(argument);
  return TRUE;
}

bool_t hold_1_svc(note* argument, u_int* result, struct svc_req* request) {
  char byte = 0;
  (void)request;
  *result = count_note(argument);
  return read(STDIN_FILENO, &byte, 1) == 1;
}

bool_t tally_1_svc(u_int* argument, tally* result, struct svc_req* request) {
  (void)request;
  pthread_mutex_lock(&mutex);
  *result = senders[*argument % kSendersMax].told;
  pthread_mutex_unlock(&mutex);
  return TRUE;
}

int batch_1_freeresult(SVCXPRT* transport, xdrproc_t code, caddr_t result) {
  (void)transport;
  xdr_free(code, result);
  return 1;
}

int main(int count, char** words) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  if (bind(listener, (struct sockaddr*)&address, length) != 0 || listen(listener, 16) != 0 ||
      getsockname(listener, (struct sockaddr*)&address, &length) != 0)
    return 2;
  if (count == 2 && exs_sunrpc_threads != NULL && exs_sunrpc_threads((unsigned)atoi(words[1])) != 0) return 1;
  SVCXPRT* const transport = svc_vc_create(listener, 0, 0);
  if (transport == NULL || !svc_reg(transport, BATCH, BATCH_1, batch_1, NULL)) return 1;
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  svc_run();
  return 1;
}
