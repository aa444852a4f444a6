/* A client that calls as its words say, and prints a line for each; it stops at none that fails.
 *   rpc-batch-client PORT WORD...
 *     new, destroy            a handle of a new sender; its end
 *     sys                     the calls that follow have AUTH_SYS
 *     limit=MS                of the calls that follow
 *     call=BYTES, hold        a call that waits for its answer
 *     send=COUNT,BYTES        so many calls that have none, and wait for nothing
 *     ask=COUNT,BYTES         the same of calls that have an answer
 *     mixed=COUNT             the same of calls that have none, short and long, with a call that waits now and then
 *     threads=COUNT           so many do all that by handles of their own
 *     tally                   what the server has had, by the handle
 *     await=COUNT             until the server has had so many, by a handle of its own
 *     end                     by a link, what ends a link only if it comes by TCP
 *     link                    whether calls go by exs
 *     wait                    for a line of the standard input */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <batch.h>

#include "exs/sunrpc.h"

#define CODE(function) ((xdrproc_t)(void (*)(void))(function))
enum { kLongest = 300000 };

static struct timeval limit = {20, 0};
static const struct timeval none = {0, 0};
static uint16_t port;
static char bytes[kLongest];

typedef struct {
  CLIENT* client;
  u_int id;
  u_int calls;
} sender;

static sender make_sender(u_int id) {
  int socket = RPC_ANYSOCK;
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  const sender made = {clnttcp_create(&address, BATCH, BATCH_1, &socket, 0, 0), id, 0};
  if (made.client != NULL) return made;
  printf("no handle\n");
  exit(2);
}

static void end_sender(sender* self) {
  auth_destroy(self->client->cl_auth);
  clnt_destroy(self->client);
  self->client = NULL;
}

static const char* name_of(enum clnt_stat status) {
  switch (status) {
    case RPC_SUCCESS: return "done";
    case RPC_TIMEDOUT: return "timed out";
    default: return clnt_sperrno(status);
  }
}

static note next_note(sender* self, u_int length) {
  const note made = {self->id, ++self->calls, {length < kLongest ? length : kLongest, bytes}};
  return made;
}

static enum clnt_stat call(sender* self, rpcproc_t procedure, u_int length) {
  note argument = next_note(self, length);
  u_int result = 0;
  return clnt_call(self->client, procedure, CODE(xdr_note), &argument, CODE(xdr_u_int), (char*)&result,
                   limit);
}
static enum clnt_stat call_briefly(sender* self, u_int length) {
  note argument = next_note(self, length);
  return clnt_call(self->client, SEND, CODE(xdr_note), &argument, (xdrproc_t)NULL, NULL, none);
}
static enum clnt_stat ask_in_vain(sender* self, u_int length) {
  note argument = next_note(self, length);
  u_int result = 0;
  return clnt_call(self->client, CALL, CODE(xdr_note), &argument, CODE(xdr_u_int), (char*)&result, none);
}

static void print_many(const char* word, sender* self, const char* value,
                       enum clnt_stat (*do_one)(sender*, u_int), enum clnt_stat expected) {
  u_int count = 0;
  u_int length = 0;
  u_int as_expected = 0;
  enum clnt_stat other = expected;
  if (sscanf(value, "%u,%u", &count, &length) != 2) exit(2);
  for (u_int i = 0; i < count; ++i) {
    const enum clnt_stat status = do_one(self, length);
    if (status == expected) ++as_expected;
    if (status != expected) other = status;
  }
  printf("%s: %u %s%s%s\n", word, as_expected, name_of(expected), other == expected ? "" : ", ",
         other == expected ? "" : name_of(other));
}

static u_int count_wrong_of_mixed(sender* self, u_int count) {
  const u_int lengths[] = {4, 5000, 200, 200000, 0, 60000, 100};
  u_int wrong = 0;
  for (u_int i = 0; i < count; ++i) {
    const u_int length = lengths[i % (sizeof lengths / sizeof *lengths)];
    wrong += call_briefly(self, length) != RPC_SUCCESS;
    if (i % 31 == 30) wrong += call(self, CALL, length) != RPC_SUCCESS;
  }
  return wrong;
}

static tally ask_tally(CLIENT* client, u_int id) {
  tally told = {0, FALSE};
  if (clnt_call(client, TALLY, CODE(xdr_u_int), &id, CODE(xdr_tally), (char*)&told, limit) != RPC_SUCCESS)
    printf("tally: no answer\n");
  return told;
}
static void print_tally(const char* word, tally told) {
  printf("%s: %u %s\n", word, told.notes, told.in_order ? "in order" : "in another order");
}

static void await_tally(u_int id, u_int count) {
  sender asker = make_sender(0);
  tally told = {0, FALSE};
  while (told.notes < count) told = ask_tally(asker.client, id);
  end_sender(&asker);
  print_tally("await", told);
}

static void* work(void* number) {
  sender self = make_sender((u_int)(size_t)number);
  long wrong = 0;
  for (int i = 0; i < 4; ++i) wrong += call(&self, CALL, 100) != RPC_SUCCESS;
  wrong += count_wrong_of_mixed(&self, 200);
  const tally told = ask_tally(self.client, self.id);
  wrong += told.notes != self.calls || !told.in_order;
  end_sender(&self);
  return (void*)wrong;
}

static void work_by_threads(u_int count) {
  enum { kThreadsMax = 16, kFirstId = 32 };
  pthread_t threads[kThreadsMax];
  long wrong = 0;
  u_int started = 0;
  while (started < count && started < kThreadsMax &&
         pthread_create(&threads[started], NULL, work, (void*)(size_t)(kFirstId + started)) == 0)
    ++started;
  for (u_int i = 0; i < started; ++i) {
    void* result = NULL;
    pthread_join(threads[i], &result);
    wrong += (long)result;
  }
  printf("threads: %u, %ld wrong\n", started, wrong);
}

static const char* way_of(CLIENT* client) {
  exs_sunrpc_info_t info = {.struct_bytes = sizeof info};
  return clnt_control(client, EXS_SUNRPC_GET_INFO, (char*)&info) && info.by_exs == 1 ? "exs" : "TCP";
}

static void use_sys(CLIENT* client) {
  auth_destroy(client->cl_auth);
  client->cl_auth = authunix_create_default();
}

static enum clnt_stat call_nothing(CLIENT* client, rpcproc_t procedure) {
  return clnt_call(client, procedure, CODE(xdr_void), NULL, CODE(xdr_void), NULL, limit);
}

static void try_to_end_link(void) {
  enum { kProgram = 0x20455853, kVersion = 1, kEnd = 2 };
  int socket = RPC_ANYSOCK;
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  CLIENT* const client = clnttcp_create(&address, kProgram, kVersion, &socket, 0, 0);
  if (client == NULL) exit(2);
  printf("end: %s", name_of(call_nothing(client, NULLPROC)));
  limit.tv_sec = 0;
  limit.tv_usec = 50000;
  printf(", %s", name_of(call_nothing(client, kEnd)));
  limit.tv_sec = 20;
  printf(", %s by %s\n", name_of(call_nothing(client, NULLPROC)), way_of(client));
  clnt_destroy(client);
}

static void perform(sender* self, const char* word) {
  const char* const value = strchr(word, '=') == NULL ? "" : strchr(word, '=') + 1;
  const u_int number = (u_int)atoi(value);
  const size_t letters = strcspn(word, "=");
#define IS(name) (letters == strlen(name) && strncmp(word, name, letters) == 0)
  if (IS("new")) *self = make_sender(self->id + 1);
  if (IS("destroy")) end_sender(self);
  if (IS("sys")) use_sys(self->client);
  if (IS("limit")) limit = (struct timeval){number / 1000, number % 1000 * 1000};
  if (IS("call")) printf("call: %s\n", name_of(call(self, CALL, number)));
  if (IS("hold")) printf("hold: %s\n", name_of(call(self, HOLD, 0)));
  if (IS("send")) print_many("send", self, value, call_briefly, RPC_SUCCESS);
  if (IS("ask")) print_many("ask", self, value, ask_in_vain, RPC_TIMEDOUT);
  if (IS("mixed")) printf("mixed: %u wrong\n", count_wrong_of_mixed(self, number));
  if (IS("threads")) work_by_threads(number);
  if (IS("tally")) print_tally("tally", ask_tally(self->client, self->id));
  if (IS("await")) await_tally(self->id, number);
  if (IS("link")) printf("link: %s\n", way_of(self->client));
  if (IS("end")) try_to_end_link();
  if (IS("wait")) {
    printf("wait\n");
    for (int letter = getchar(); letter != '\n' && letter != EOF;) letter = getchar();
  }
}

int main(int count, char** words) {
  sender self = {NULL, 0, 0};
  if (count < 2) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  port = (uint16_t)atoi(words[1]);
  for (int i = 2; i < count; ++i) perform(&self, words[i]);
  if (self.client != NULL) end_sender(&self);
  return 0;
}
