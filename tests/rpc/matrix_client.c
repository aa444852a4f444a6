/* The client of the matrix: calls, and what comes of them, one a line. It knows nothing of exs.
 *   rpc-matrix-client PORT | PATH [large] */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <matrix.h>

static const struct timeval kLimit = {25, 0};
static const struct timeval kNone = {0, 0};

static CLIENT* connect_to(const char* place) {
  int socket = RPC_ANYSOCK;
  if (place[0] == '/') {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, place, sizeof address.sun_path - 1);
    return clntunix_create(&address, MATRIX, MATRIX_1, &socket, 0, 0);
  }
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(place)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  return clnttcp_create(&address, MATRIX, MATRIX_1, &socket, 0, 0);
}

/* What the handle tells of its last call. */
static void tell(CLIENT* client, const char* what, unsigned number, enum clnt_stat status) {
  struct rpc_err error;
  memset(&error, 0, sizeof error);
  clnt_geterr(client, &error);
  printf("%s %u: %d, %s", what, number, (int)status,
         error.re_status == status || status == RPC_SUCCESS ? "told" : "not told");
  if (status == RPC_AUTHERROR) printf(", why %d", (int)error.re_why);
  if (status == RPC_PROGVERSMISMATCH)
    printf(", %u to %u", (unsigned)error.re_vers.low, (unsigned)error.re_vers.high);
  printf("\n");
}

/* A function of XDR as libtirpc takes it: with arguments that it does not name. */
#define CODE(function) ((xdrproc_t)(void (*)(void))(function))

static enum clnt_stat call(CLIENT* client, rpcproc_t procedure, xdrproc_t encode, void* argument,
                           xdrproc_t decode, void* result, struct timeval limit) {
  return clnt_call(client, procedure, encode, argument, decode, result, limit);
}

static void echo(CLIENT* client, unsigned bytes) {
  blob argument = {bytes, malloc(bytes + 1U)};
  blob result = {0, NULL};
  if (argument.blob_val == NULL) exit(2);
  for (unsigned i = 0; i < bytes; ++i) argument.blob_val[i] = (char)(i * 31 + bytes);
  const enum clnt_stat status =
      call(client, ECHO, CODE(xdr_blob), &argument, CODE(xdr_blob), &result, kLimit);
  tell(client, "echo", bytes, status);
  if (status == RPC_SUCCESS &&
      (result.blob_len != bytes || (bytes > 0 && memcmp(result.blob_val, argument.blob_val, bytes) != 0)))
    printf("other bytes\n");
  clnt_freeres(client, CODE(xdr_blob), &result);
  free(argument.blob_val);
}

static void count_bytes(CLIENT* client, unsigned bytes) {
  blob argument = {bytes, calloc(bytes, 1)};
  u_int result = 0;
  if (argument.blob_val == NULL) exit(2);
  tell(client, "count", bytes,
       call(client, COUNT, CODE(xdr_blob), &argument, CODE(xdr_u_int), &result, kLimit));
  printf("%u bytes\n", result);
  free(argument.blob_val);
}

static void make(CLIENT* client, unsigned bytes) {
  blob result = {0, NULL};
  tell(client, "make", bytes, call(client, MAKE, CODE(xdr_u_int), &bytes, CODE(xdr_blob), &result, kLimit));
  printf("%u bytes\n", result.blob_len);
  clnt_freeres(client, CODE(xdr_blob), &result);
}

static void say_total(CLIENT* client) {
  u_int total = 0;
  tell(client, "total", 0, call(client, TOTAL, CODE(xdr_void), NULL, CODE(xdr_u_int), &total, kLimit));
  printf("total is %u\n", total);
}

static void who(CLIENT* client) {
  caller result = {0, 0, NULL};
  tell(client, "who", 0, call(client, WHO, CODE(xdr_void), NULL, CODE(xdr_caller), &result, kLimit));
  printf("flavor %d, user %u, machine %s\n", result.flavor, result.user,
         result.machine == NULL ? "none" : result.machine);
  clnt_freeres(client, CODE(xdr_caller), &result);
}

static void play_sizes(CLIENT* client) {
  static const unsigned kSizes[] = {0,    1,    8,    3072, 4000, 4040, 4044,  4048,     4052,
                                    4056, 4060, 4092, 4096, 4100, 9000, 65536, 1U << 20U};
  for (size_t i = 0; i < sizeof kSizes / sizeof *kSizes; ++i) echo(client, kSizes[i]);
  for (unsigned bytes = 4064; bytes < 4080; bytes += 4) make(client, bytes);
  make(client, 5000000);
}

static void play_batches(CLIENT* client) {
  for (u_int number = 1; number <= 50; ++number) /* sent by the next call that waits, at the latest */
    tell(client, "batched", number, call(client, ADD, CODE(xdr_u_int), &number, CODE(NULL), NULL, kNone));
  say_total(client);
  for (u_int number = 1; number <= 5; ++number)
    tell(client, "one way", number, call(client, ADD, CODE(xdr_u_int), &number, CODE(xdr_void), NULL, kNone));
  say_total(client);
}

static void play_refusals(CLIENT* client) {
  for (u_int kind = 0; kind < 6; ++kind) {
    u_int result = 0;
    tell(client, "refuse", kind,
         call(client, REFUSE, CODE(xdr_u_int), &kind, CODE(xdr_u_int), &result, kLimit));
  }
  tell(client, "no procedure", 99, call(client, 99, CODE(xdr_void), NULL, CODE(xdr_void), NULL, kLimit));
  u_int result = 0;
  tell(client, "short argument", 0,
       call(client, ECHO, CODE(xdr_void), NULL, CODE(xdr_u_int), &result, kLimit));
  tell(client, "other result", 0,
       call(client, NOTHING, CODE(xdr_void), NULL, CODE(xdr_u_int), &result, kLimit));
  tell(client, "no result wanted", 0,
       call(client, TOTAL, CODE(xdr_void), NULL, CODE(xdr_void), NULL, kLimit));
}

static void play_programs(CLIENT* client) {
  u_int32_t number = 0;
  u_int32_t other = 0x2fffffff;
  printf("control %d", (int)clnt_control(client, CLGET_PROG, &number));
  printf(", program %x", number);
  clnt_control(client, CLSET_PROG, &other);
  tell(client, ", no program", 0, call(client, NOTHING, CODE(xdr_void), NULL, CODE(xdr_void), NULL, kLimit));
  clnt_control(client, CLSET_PROG, &number);
  other = 9;
  clnt_control(client, CLSET_VERS, &other);
  tell(client, "no version", 9, call(client, NOTHING, CODE(xdr_void), NULL, CODE(xdr_void), NULL, kLimit));
  other = 1;
  clnt_control(client, CLSET_VERS, &other);
  number = 4711;
  clnt_control(client, CLSET_XID, &number);
  tell(client, "numbered", number, call(client, NOTHING, CODE(xdr_void), NULL, CODE(xdr_void), NULL, kLimit));
  number = 0;
  printf("control %d", (int)clnt_control(client, CLGET_XID, &number));
  printf(", number %u\n", number);
  tell(client, "again", 0, call(client, NOTHING, CODE(xdr_void), NULL, CODE(xdr_void), NULL, kLimit));
}

/* The answer to it comes when its time has been up for a while, whatever that is. */
static void call_late(CLIENT* client, const char* what, struct timeval limit) {
  char folder[] = "/tmp/rpc-matrix-XXXXXX";
  char path[sizeof folder + 8];
  char* fifo = path;
  u_int result = 0;
  if (mkdtemp(folder) == NULL) exit(2);
  snprintf(path, sizeof path, "%s/fifo", folder);
  if (mkfifo(path, 0600) != 0) exit(2);
  tell(client, what, 0, call(client, WAIT_FOR, CODE(xdr_wrapstring), &fifo, CODE(xdr_u_int), &result, limit));
  const int writer = open(path, O_WRONLY);
  if (writer >= 0) close(writer);
  unlink(path);
  rmdir(folder);
}

static void play_limits(CLIENT* client) {
  struct timeval limit = {-1, 0};
  printf("bad limit: %d\n", (int)clnt_control(client, CLSET_TIMEOUT, &limit));
  limit.tv_sec = 0;
  limit.tv_usec = 30000;
  call_late(client, "late", limit);
  tell(client, "after it", 0, call(client, NOTHING, CODE(xdr_void), NULL, CODE(xdr_void), NULL, kLimit));
  printf("set limit: %d\n", (int)clnt_control(client, CLSET_TIMEOUT, &limit));
  call_late(client, "late again", kLimit);
  memset(&limit, 0, sizeof limit);
  printf("get limit: %d", (int)clnt_control(client, CLGET_TIMEOUT, &limit));
  printf(", %ld.%06ld s\n", (long)limit.tv_sec, (long)limit.tv_usec);
  limit = kLimit;
  clnt_control(client, CLSET_TIMEOUT, &limit);
  echo(client, 100);
}

static int play(const char* place, AUTH* (*prove)(void)) {
  CLIENT* const client = connect_to(place);
  if (client == NULL) {
    clnt_pcreateerror(place);
    return 1;
  }
  if (prove != NULL) {
    auth_destroy(client->cl_auth);
    client->cl_auth = prove();
  }
  who(client);
  for (int i = 0; i < 5; ++i)
    tell(client, "nothing", 0, call(client, NOTHING, CODE(xdr_void), NULL, CODE(xdr_void), NULL, kLimit));
  who(client);
  play_sizes(client);
  play_batches(client);
  play_refusals(client);
  play_programs(client);
  play_limits(client);
  auth_destroy(client->cl_auth);
  clnt_destroy(client);
  return 0;
}

/* The second is longer than what a server takes by exs. */
static int play_large(const char* place) {
  CLIENT* const client = connect_to(place);
  if (client == NULL) return 1;
  for (int i = 0; i < 2; ++i)
    tell(client, "nothing", 0, call(client, NOTHING, CODE(xdr_void), NULL, CODE(xdr_void), NULL, kLimit));
  echo(client, 100U << 20U);
  count_bytes(client, 257U << 20U);
  echo(client, 8);
  clnt_destroy(client);
  return 0;
}

int main(int count, char** words) {
  if (count != 2 && (count != 3 || strcmp(words[2], "large") != 0)) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (count == 3) return play_large(words[1]);
  return play(words[1], NULL) != 0 || play(words[1], authunix_create_default) != 0 ? 1 : 0;
}
