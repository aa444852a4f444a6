/* Serves meeting.x at a port of the loopback interface, which it prints. With the library, by so many threads:
 *   rpc-meeting-server THREADS */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <meeting.h>

#include "exs/sunrpc.h"

#pragma weak exs_sunrpc_threads

void meeting_1(struct svc_req* request, SVCXPRT* transport); /* of rpcgen */

enum { kLimitSeconds = 20 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned here;
static unsigned meetings;

bool_t double_1_svc(u_int* argument, u_int* result, struct svc_req* request) {
  (void)request;
  *result = 2 * *argument;
  return TRUE;
}

bool_t meet_1_svc(u_int* argument, int* result, struct svc_req* request) {
  struct timespec end;
  (void)request;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += kLimitSeconds;
  pthread_mutex_lock(&mutex);
  const unsigned before = meetings;
  if (++here == *argument) {
    here = 0;
    ++meetings;
    pthread_cond_broadcast(&changed);
  }
  while (meetings == before && pthread_cond_timedwait(&changed, &mutex, &end) == 0) continue;
  *result = meetings != before;
  pthread_mutex_unlock(&mutex);
  return TRUE;
}

bool_t repeat_1_svc(octets* argument, octets* result, struct svc_req* request) {
  (void)request;
  result->octets_len = argument->octets_len;
  result->octets_val = malloc(argument->octets_len + 1U);
  if (result->octets_val != NULL && argument->octets_len > 0)
    memcpy(result->octets_val, argument->octets_val, argument->octets_len);
  return result->octets_val != NULL;
}

int meeting_1_freeresult(SVCXPRT* transport, xdrproc_t code, caddr_t result) {
  (void)transport;
  xdr_free(code, result);
  return 1;
}

int main(int count, char** words) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  if (count != 2 || bind(listener, (struct sockaddr*)&address, length) != 0 || listen(listener, 16) != 0 ||
      getsockname(listener, (struct sockaddr*)&address, &length) != 0)
    return 2;
  if (exs_sunrpc_threads != NULL && exs_sunrpc_threads((unsigned)atoi(words[1])) != 0) return 1;
  SVCXPRT* const transport = svc_vc_create(listener, 0, 0);
  if (transport == NULL || !svc_reg(transport, MEETING, MEETING_1, meeting_1, NULL)) return 1;
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  svc_run();
  return 1;
}
