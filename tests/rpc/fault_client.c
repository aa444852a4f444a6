/* A client that does what its words say, and prints a line for each; it stops at none that fails.
 *   rpc-fault-client PORT WORD...
 *     null, echo=BYTES        a call
 *     send                    a call that waits for nothing
 *     limit=MS                of the calls that follow
 *     strike=SIGNAL,CALLS     the server sends the signal to itself in the null call after so many more
 *     link                    whether calls go by exs
 *     attach, attach-nothing  exs_sunrpc_attach() of the handle, or of none
 *     serve=COUNT             exs_sunrpc_threads()
 *     wait                    for a line of the standard input
 *     new, destroy            another handle; the last one ends
 *     many=COUNT              so many handles more, a call by each; how many succeed, and whether any goes by exs
 *     cycle=COUNT             handles that come, call and go; "descriptors stay" when there are no more of them after the last than
 *                             after the first tenth
 *     threads=COUNT           so many make 100 calls each by the handle, and by ones of their own; how many go wrong
 *     fork=WORD,WORD...       a child does these words, and is waited for
 *     leave                   a child goes on with the words; this process ends */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <matrix.h>

#include "exs/sunrpc.h"

#define CODE(function) ((xdrproc_t)(void (*)(void))(function))
enum { kHandlesMax = 2048 };

static struct timeval limit = {20, 0};
static uint16_t port;
static CLIENT* handles[kHandlesMax];
static int handle_count;

static void perform(char* word);

static CLIENT* make_handle(void) {
  int socket = RPC_ANYSOCK;
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  return clnttcp_create(&address, MATRIX, MATRIX_1, &socket, 0, 0);
}

static void destroy_handle(CLIENT* client) {
  auth_destroy(client->cl_auth);
  clnt_destroy(client);
}

static CLIENT* handle(void) {
  if (handle_count > 0) return handles[handle_count - 1];
  printf("there is no handle\n");
  exit(2);
}

#pragma weak exs_sunrpc_attach
#pragma weak exs_sunrpc_threads
static const char* name_of_errno(int result) {
  if (result == 0) return "done";
  return errno == EINVAL ? "EINVAL" : errno == EOPNOTSUPP ? "EOPNOTSUPP" : strerror(errno);
}

static enum clnt_stat call_null(CLIENT* client) {
  return clnt_call(client, NOTHING, CODE(xdr_void), NULL, CODE(xdr_void), NULL, limit);
}

static enum clnt_stat send_add(CLIENT* client) {
  u_int number = 1;
  const struct timeval none = {0, 0};
  return clnt_call(client, ADD, CODE(xdr_u_int), &number, CODE(xdr_void), NULL, none);
}

static const char* name_of(enum clnt_stat status) {
  switch (status) {
    case RPC_SUCCESS: return "done";
    case RPC_TIMEDOUT: return "timed out";
    case RPC_CANTSEND:
    case RPC_CANTRECV: return "no connection";
    default: return clnt_sperrno(status);
  }
}

static int goes_by_exs(CLIENT* client) {
  exs_sunrpc_info_t info = {.struct_bytes = sizeof info};
  return clnt_control(client, EXS_SUNRPC_GET_INFO, (char*)&info) && info.by_exs == 1;
}

static void echo(unsigned bytes) {
  blob argument = {bytes, calloc(bytes + 1U, 1)};
  blob result = {0, NULL};
  if (argument.blob_val == NULL) exit(2);
  const enum clnt_stat status =
      clnt_call(handle(), ECHO, CODE(xdr_blob), &argument, CODE(xdr_blob), &result, limit);
  printf("echo: %s\n", status == RPC_SUCCESS && result.blob_len != bytes ? "other bytes" : name_of(status));
  if (status == RPC_SUCCESS) clnt_freeres(handle(), CODE(xdr_blob), (caddr_t)&result);
  free(argument.blob_val);
}

static void send_strike(const char* words) {
  strike argument = {0, 0};
  u_int result = 0;
  if (sscanf(words, "%u,%u", &argument.number, &argument.calls) != 2) exit(2);
  const enum clnt_stat status =
      clnt_call(handle(), STRIKE, CODE(xdr_strike), &argument, CODE(xdr_u_int), &result, limit);
  printf("strike: %s\n", name_of(status));
}

static void add_handles(int count) {
  int successes = 0;
  int by_exs = 0;
  for (int i = 0; i < count && handle_count < kHandlesMax; ++i) {
    CLIENT* const made = make_handle();
    if (made == NULL) continue;
    handles[handle_count++] = made;
    successes += call_null(made) == RPC_SUCCESS;
    by_exs += goes_by_exs(made);
  }
  printf("many: %d succeed, %s by exs\n", successes, by_exs == 0 ? "none" : by_exs == count ? "all" : "some");
}

static int count_descriptors(void) {
  DIR* const folder = opendir("/proc/self/fd");
  int count = 0;
  if (folder == NULL) exit(2);
  while (readdir(folder) != NULL) ++count;
  closedir(folder);
  return count;
}

static void cycle(int count) {
  int first = 0;
  for (int i = 0; i < count; ++i) {
    CLIENT* const made = make_handle();
    if (made == NULL || call_null(made) != RPC_SUCCESS) printf("cycle: no call\n");
    if (made != NULL) destroy_handle(made);
    if (i == count / 10) first = count_descriptors(); /* libexs keeps some for the next connection */
  }
  const int more = count_descriptors() - first;
  if (more > 0) printf("cycle: %d descriptors more\n", more);
  if (more <= 0) printf("cycle: descriptors stay\n");
}

/* Half by the shared handle. Each call knows its answer. */
static void* call_often(void* shared) {
  CLIENT* const own = make_handle();
  long wrong = own == NULL;
  for (u_int i = 0; own != NULL && i < 200; ++i) {
    const u_int bytes = i % 4 == 0 ? 9000 + i : i;
    blob argument = {bytes, calloc(bytes + 1U, 1)};
    u_int result = 0;
    CLIENT* const client = i % 2 == 0 ? shared : own;
    if (argument.blob_val == NULL) exit(2);
    wrong += clnt_call(client, COUNT, CODE(xdr_blob), &argument, CODE(xdr_u_int), (char*)&result, limit) !=
                 RPC_SUCCESS ||
             result != bytes;
    free(argument.blob_val);
  }
  if (own != NULL) destroy_handle(own);
  return (void*)wrong;
}

static void call_by_threads(int count) {
  enum { kThreadsMax = 32 };
  pthread_t threads[kThreadsMax];
  long wrong = 0;
  int started = 0;
  while (started < count && started < kThreadsMax &&
         pthread_create(&threads[started], NULL, call_often, handle()) == 0)
    ++started;
  for (int i = 0; i < started; ++i) {
    void* result = NULL;
    pthread_join(threads[i], &result);
    wrong += (long)result;
  }
  printf("threads: %d, %ld wrong\n", started, wrong);
}

static void fork_for(char* words) {
  fflush(stdout);
  const pid_t child = fork();
  if (child != 0) {
    int status = 0;
    waitpid(child, &status, 0);
    printf("child: %d\n", status);
    return;
  }
  char* rest = NULL;
  for (char* word = strtok_r(words, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest))
    perform(word);
  fflush(stdout);
  exit(0);
}

static void leave(void) {
  fflush(stdout);
  if (fork() != 0) exit(0);
}

static void wait_for_line(void) {
  printf("wait\n");
  fflush(stdout);
  for (int letter = getchar(); letter != '\n' && letter != EOF;) letter = getchar();
}

static void perform(char* word) {
  char* const value = strchr(word, '=');
  const size_t letters = value == NULL ? strlen(word) : (size_t)(value - word);
#define IS(name) (letters == strlen(name) && strncmp(word, name, letters) == 0)
  if (value == NULL) {
    if (IS("null")) printf("null: %s\n", name_of(call_null(handle())));
    if (IS("attach")) printf("attach: %s\n", name_of_errno(exs_sunrpc_attach(handle())));
    if (IS("attach-nothing")) printf("attach-nothing: %s\n", name_of_errno(exs_sunrpc_attach(NULL)));
    if (IS("send")) printf("send: %s\n", name_of(send_add(handle())));
    if (IS("link")) printf("link: %s\n", goes_by_exs(handle()) ? "exs" : "TCP");
    if (IS("wait")) wait_for_line();
    if (IS("leave")) leave();
    if (IS("destroy")) destroy_handle(handle()), --handle_count;
    if (IS("new") && (handles[handle_count++] = make_handle()) == NULL) printf("no handle\n"), --handle_count;
    return;
  }
  const int number = atoi(value + 1);
  if (IS("echo")) echo((unsigned)number);
  if (IS("limit")) limit = (struct timeval){number / 1000, number % 1000 * 1000};
  if (IS("strike")) send_strike(value + 1);
  if (IS("many")) add_handles(number);
  if (IS("cycle")) cycle(number);
  if (IS("threads")) call_by_threads(number);
  if (IS("serve")) printf("serve: %s\n", name_of_errno(exs_sunrpc_threads((unsigned)number)));
  if (IS("fork")) fork_for(value + 1);
}

int main(int count, char** words) {
  if (count < 2) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  signal(SIGPIPE, SIG_IGN); /* libtirpc writes to connections that have ended */
  port = (uint16_t)atoi(words[1]);
  for (int i = 2; i < count; ++i) perform(words[i]);
  while (handle_count > 0) destroy_handle(handles[--handle_count]);
  return 0;
}
