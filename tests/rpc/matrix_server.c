/* The server of the matrix, as any user of rpcgen writes it: it knows nothing of exs. Listens at a port of the loopback interface, and at
 * a local socket if a path is given; prints the port.
 *   rpc-matrix-server [PATH]
 *   rpc-matrix-server -n NETWORK      by svc_create(), and so with rpcbind; prints how many transports there are */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <matrix.h>

void matrix_1(struct svc_req* request, SVCXPRT* transport); /* of rpcgen */
static void strike_before_answer(void);

/* Above this there is no answer: some clients ask for anything. */
static const unsigned kMakeMax = 64U << 20U;
static unsigned total;
/* A signal to itself, in the procedure of the call that makes it due. */
static strike due;

void* nothing_1_svc(void* argument, struct svc_req* request) {
  static char result;
  (void)argument, (void)request;
  strike_before_answer();
  return &result;
}

blob* echo_1_svc(blob* argument, struct svc_req* request) {
  static blob result;
  (void)request;
  free(result.blob_val);
  result.blob_val = malloc(argument->blob_len + 1U);
  result.blob_len = argument->blob_len;
  if (result.blob_val == NULL) return NULL;
  if (argument->blob_len > 0) memcpy(result.blob_val, argument->blob_val, argument->blob_len);
  return &result;
}

u_int* count_1_svc(blob* argument, struct svc_req* request) {
  static u_int result;
  (void)request;
  result = argument->blob_len;
  return &result;
}

void* add_1_svc(u_int* argument, struct svc_req* request) {
  (void)request;
  total += *argument;
  return NULL; /* no answer */
}

u_int* total_1_svc(void* argument, struct svc_req* request) {
  (void)argument, (void)request;
  return &total;
}

caller* who_1_svc(void* argument, struct svc_req* request) {
  static caller result;
  static char nobody[] = "";
  (void)argument;
  result.flavor = request->rq_cred.oa_flavor;
  result.user = 0;
  result.machine = nobody;
  if (result.flavor == AUTH_SYS) {
    const struct authunix_parms* parms = request->rq_clntcred;
    result.user = parms->aup_uid;
    result.machine = parms->aup_machname;
  }
  return &result;
}

u_int* refuse_1_svc(u_int* argument, struct svc_req* request) {
  switch (*argument) {
    case 0: svcerr_noproc(request->rq_xprt); break;
    case 1: svcerr_decode(request->rq_xprt); break;
    case 2: svcerr_systemerr(request->rq_xprt); break;
    case 3: svcerr_auth(request->rq_xprt, AUTH_TOOWEAK); break;
    case 4: svcerr_noprog(request->rq_xprt); break;
    case 5: svcerr_progvers(request->rq_xprt, 3, 7); break;
    default: break; /* no answer at all */
  }
  return NULL;
}

u_int* wait_for_1_svc(char** fifo, struct svc_req* request) {
  static u_int result;
  (void)request;
  const int reader = open(*fifo, O_RDONLY);
  if (reader >= 0) close(reader);
  return &result;
}

blob* make_1_svc(u_int* argument, struct svc_req* request) {
  static blob result;
  (void)request;
  if (*argument > kMakeMax) return NULL;
  free(result.blob_val);
  result.blob_val = calloc(*argument + 1U, 1);
  result.blob_len = *argument;
  return result.blob_val == NULL ? NULL : &result;
}

u_int* strike_1_svc(strike* argument, struct svc_req* request) {
  (void)request;
  due = *argument;
  return &argument->calls;
}

static void strike_before_answer(void) {
  if (due.number == 0 || due.calls-- > 0) return;
  const int number = (int)due.number;
  due.number = 0;
  raise(number);
}

static int serve(int socket) {
  SVCXPRT* const transport = svc_vc_create(socket, 0, 0);
  return transport != NULL && svc_reg(transport, MATRIX, MATRIX_1, matrix_1, NULL) ? 0 : -1;
}

static int listen_at_port(void) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  if (bind(listener, (struct sockaddr*)&address, length) != 0 || listen(listener, 16) != 0 ||
      getsockname(listener, (struct sockaddr*)&address, &length) != 0 || serve(listener) != 0)
    return -1;
  printf("%d\n", ntohs(address.sin_port));
  return fflush(stdout);
}

static int listen_at_path(const char* path) {
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (bind(listener, (struct sockaddr*)&address, sizeof address) != 0 || listen(listener, 16) != 0) return -1;
  return serve(listener);
}

static int serve_by_name(const char* network) {
  printf("%d\n", svc_create(matrix_1, MATRIX, MATRIX_1, network));
  fflush(stdout);
  svc_run();
  return 1;
}

int main(int count, char** words) {
  signal(SIGPIPE, SIG_IGN); /* libtirpc writes to connections whose clients have been killed */
  if (count == 3 && strcmp(words[1], "-n") == 0) return serve_by_name(words[2]);
  if (count > 1 && listen_at_path(words[1]) != 0) return 1;
  if (listen_at_port() != 0) return 1;
  svc_run();
  return 1;
}
