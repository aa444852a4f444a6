/* Calls with RPCSEC_GSS, and what comes of them:
 *   rpc-gss-client PORT none | integrity | privacy [BYTES]      of one echo, or many of them and more */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/rpc/gss.h"

static const struct timeval kLimit = {20, 0};

static void echo(CLIENT* client, u_int count) {
  gss_bytes sent = {count, malloc(count + 1U)};
  gss_bytes received = {0, NULL};
  if (sent.start == NULL) exit(2);
  for (u_int i = 0; i < count; ++i) sent.start[i] = (char)(i * 7);
  const enum clnt_stat status =
      clnt_call(client, kGssEcho, CODE(xdr_gss_bytes), &sent, CODE(xdr_gss_bytes), (char*)&received, kLimit);
  const int is_same =
      received.count == count && (count == 0 || memcmp(sent.start, received.start, count) == 0);
  printf("echo %u: status %d, %s\n", count, (int)status, is_same ? "the same" : "other bytes");
  if (status != RPC_SUCCESS) printf("%s\n", clnt_sperror(client, "echo"));
  clnt_freeres(client, CODE(xdr_gss_bytes), (caddr_t)&received);
  free(sent.start);
}

static void who(CLIENT* client) {
  char* text = NULL;
  const enum clnt_stat status =
      clnt_call(client, kGssWho, CODE(xdr_void), NULL, CODE(xdr_wrapstring), (char*)&text, kLimit);
  printf("who: status %d, %s\n", (int)status, text == NULL ? "none" : text);
  clnt_freeres(client, CODE(xdr_wrapstring), (caddr_t)&text);
}

static rpc_gss_service_t service_of(const char* word) {
  if (strcmp(word, "integrity") == 0) return rpcsec_gss_svc_integrity;
  return strcmp(word, "privacy") == 0 ? rpcsec_gss_svc_privacy : rpcsec_gss_svc_none;
}

static AUTH* prove(CLIENT* client, const char* name, rpc_gss_service_t service) {
  char principal[64];
  char mechanism[] = "kerberos_v5";
  rpc_gss_options_ret_t told;
  memset(&told, 0, sizeof told);
  strncpy(principal, name, sizeof principal - 1);
  principal[sizeof principal - 1] = '\0';
  AUTH* const auth = rpc_gss_seccreate(client, principal, mechanism, service, NULL, NULL, &told);
  rpc_gss_error_t error = {0, 0};
  rpc_gss_get_error(&error);
  printf("%s: %s, statuses %d, %d\n", name, auth == NULL ? "refused" : "proved", told.major_status,
         told.minor_status);
  return auth;
}

static void call_all(CLIENT* client) {
  static const u_int kCounts[] = {0, 1, 8, 400, 3072, 3900, 3960, 4000, 4040, 4096, 8100, 8180, 20000};
  who(client);
  for (size_t i = 0; i < sizeof kCounts / sizeof *kCounts; ++i) echo(client, kCounts[i]);
  for (u_int count = 3880; count < 4060; count += 12) echo(client, count); /* where a frame ends */
  printf("no procedure: status %d\n",
         (int)clnt_call(client, 77, CODE(xdr_void), NULL, CODE(xdr_void), NULL, kLimit));
  who(client);
}

int main(int count, char** words) {
  if (count != 3 && count != 4) return 2;
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)atoi(words[1])),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int socket = RPC_ANYSOCK;
  CLIENT* const client = clnttcp_create(&address, kGssProgram, kGssVersion, &socket, 0, 0);
  if (client == NULL) return 1;
  AUTH* const plain = client->cl_auth;
  prove(client, "stranger@localhost", service_of(words[2]));
  AUTH* const auth = prove(client, "demo@localhost", service_of(words[2]));
  if (auth == NULL) return 1;
  client->cl_auth = auth;
  if (count == 4) {
    echo(client, (u_int)atoi(words[3]));
    return 0;
  }
  call_all(client);
  printf("longest %d\n", rpc_gss_max_data_length(auth, 2000));
  char quality[] = "default";
  printf("defaults %d\n", rpc_gss_set_defaults(auth, rpcsec_gss_svc_integrity, quality));
  printf("defaults %d\n", rpc_gss_set_defaults(auth, rpcsec_gss_svc_privacy, NULL));
  call_all(client);
  auth_destroy(auth);
  client->cl_auth = plain;
  who(client);
  clnt_destroy(client);
  return 0;
}
