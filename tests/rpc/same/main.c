// SPDX-License-Identifier: BSD-2-Clause
#include <signal.h>

#include "tests/rpc/same/same.h"

const struct timeval kLimit = {20, 0};

void show(const char* what, long result) {
  const int error = errno;
  if (result > 0) {
    printf("%s: %ld\n", what, result);
  } else {
    printf("%s: %ld, errno %d\n", what, result, error);
  }
}
void show_if(const char* what, int is_there) {
  const int error = errno;
  if (is_there) {
    printf("%s: there\n", what);
  } else {
    printf("%s: none, errno %d\n", what, error);
  }
}
void show_status(const char* what, int status) {
  printf("%s: status %d\n", what, status);
}
void show_text(const char* what, const char* text) {
  printf("%s: \"%s\"\n", what, text == NULL ? "(null)" : text);
}

enum clnt_stat call_nothing(CLIENT* client) {
  return clnt_call(client, 0, CODE(xdr_void), NULL, CODE(xdr_void), NULL, kLimit);
}

static void show_controls(CLIENT* client) {
  struct timeval limit = {0, 0};
  struct sockaddr_storage address = {.ss_family = 0};
  struct netbuf buffer = {0, 0, NULL};
  u_int32_t number = 0;
  int descriptor = -1;
  SHOW(clnt_control(client, CLGET_TIMEOUT, (char*)&limit));
  limit = (struct timeval){7, 5};
  SHOW(clnt_control(client, CLSET_RETRY_TIMEOUT, (char*)&limit));
  SHOW(clnt_control(client, CLGET_RETRY_TIMEOUT, (char*)&limit));
  SHOW(clnt_control(client, CLSET_TIMEOUT, (char*)&limit));
  memset(&limit, 0, sizeof limit);
  SHOW(clnt_control(client, CLGET_TIMEOUT, (char*)&limit));
  printf("%ld s, %ld us\n", (long)limit.tv_sec, (long)limit.tv_usec);
  SHOW(clnt_control(client, CLGET_FD, (char*)&descriptor));
  printf("descriptor %d\n", descriptor >= 0);
  SHOW(clnt_control(client, CLGET_SERVER_ADDR, (char*)&address));
  printf("family %d\n", address.ss_family);
  SHOW(clnt_control(client, CLGET_SVC_ADDR, (char*)&buffer));
  printf("address of %u bytes\n", buffer.len);
  number = 99;
  SHOW(clnt_control(client, CLSET_XID, (char*)&number));
  number = 0;
  SHOW(clnt_control(client, CLGET_XID, (char*)&number));
  printf("number %u\n", number);
  SHOW(clnt_control(client, CLGET_VERS, (char*)&number));
  printf("version %u\n", number);
  SHOW(clnt_control(client, CLGET_PROG, (char*)&number));
  printf("program %x\n", number);
  SHOW(clnt_control(client, CLSET_FD_NCLOSE, NULL));
  SHOW(clnt_control(client, CLSET_FD_CLOSE, NULL));
  SHOW(clnt_control(client, CLSET_ASYNC, NULL));
  SHOW(clnt_control(client, 4711, (char*)&number));
  SHOW(clnt_control(client, CLGET_TIMEOUT, NULL));
}

void show_client(const char* what, CLIENT* client) {
  if (client == NULL) {
    printf("%s: none, status %d, errno %d\n", what, (int)rpc_createerr.cf_stat,
           rpc_createerr.cf_error.re_errno);
    SHOW_TEXT(clnt_spcreateerror("made"));
    clnt_pcreateerror("made");
    return;
  }
  printf("%s: there, of %s\n", what, client->cl_netid == NULL ? "no network" : client->cl_netid);
  for (int i = 0; i < 5; ++i) SHOW_STATUS(call_nothing(client));
  show_controls(client);
  SHOW_STATUS(call_nothing(client));
  u_int32_t number = 77;
  SHOW(clnt_control(client, CLSET_VERS, (char*)&number));
  SHOW_STATUS(call_nothing(client));
  SHOW_TEXT(clnt_sperror(client, "call"));
  number = kNoProgram;
  SHOW(clnt_control(client, CLSET_PROG, (char*)&number));
  SHOW_STATUS(call_nothing(client));
  SHOW_TEXT(clnt_sperror(client, "call"));
  clnt_perror(client, "call");
  auth_destroy(client->cl_auth);
  clnt_destroy(client);
}

int main(int count, char** words) {
  static const struct {
    const char* name;
    void (*run)(void);
  } kParts[] = {{"entries", same_entries},  {"clients", same_clients}, {"calls", same_calls},
                {"binder", same_binder},    {"servers", same_servers}, {"codes", same_codes},
                {"security", same_security}};
  signal(SIGPIPE, SIG_IGN);
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (size_t i = 0; count == 2 && i < sizeof kParts / sizeof *kParts; ++i) {
    if (strcmp(words[1], kParts[i].name) != 0) continue;
    kParts[i].run();
    printf("end\n");
    return 0;
  }
  return 2;
}
