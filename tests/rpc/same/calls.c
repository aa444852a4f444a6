/* Calls without handles and with them, errors in words, proofs of identity. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <rpc/pmap_clnt.h>
#include <rpc/rpc_com.h>

#include "tests/rpc/same/same.h"

static bool_t is_enough(char* result, struct netbuf* address, struct netconfig* entry) {
  (void)result, (void)address, (void)entry;
  return TRUE;
}

static void show_words(void) {
  for (int status = -1; status <= 30; ++status) SHOW_TEXT(clnt_sperrno((enum clnt_stat)status));
  clnt_perrno(RPC_TIMEDOUT);
  memset(&rpc_createerr, 0, sizeof rpc_createerr);
  rpc_createerr.cf_stat = RPC_PMAPFAILURE;
  rpc_createerr.cf_error.re_status = RPC_PROGNOTREGISTERED;
  SHOW_TEXT(clnt_spcreateerror("made"));
  clnt_pcreateerror("made");
}

static void show_single_calls(void) {
  SHOW_STATUS(rpc_call(HOST, kProgram, kVersion, 0, CODE(xdr_void), NULL, CODE(xdr_void), NULL, "tcp"));
  SHOW_STATUS(rpc_call(HOST, kProgram, kVersion, 99, CODE(xdr_void), NULL, CODE(xdr_void), NULL, "tcp"));
  SHOW_STATUS(rpc_call(HOST, kProgram, 9, 0, CODE(xdr_void), NULL, CODE(xdr_void), NULL, "tcp"));
  SHOW_STATUS(rpc_call(HOST, kNoProgram, kVersion, 0, CODE(xdr_void), NULL, CODE(xdr_void), NULL, "tcp"));
  SHOW_STATUS(
      rpc_call("256.1.1.1", kProgram, kVersion, 0, CODE(xdr_void), NULL, CODE(xdr_void), NULL, "tcp"));
  SHOW_STATUS(rpc_call(HOST, kProgram, kVersion, 0, CODE(xdr_void), NULL, CODE(xdr_void), NULL, "nonsense"));
  for (int i = 0; i < 6; ++i) /* it keeps its handle */
    SHOW_STATUS(rpc_call(HOST, kProgram, kVersion, 0, CODE(xdr_void), NULL, CODE(xdr_void), NULL, "tcp"));
  SHOW_STATUS(callrpc(HOST, kProgram, kVersion, 0, CODE(xdr_void), NULL, CODE(xdr_void), NULL));
  SHOW_STATUS(callrpc(HOST, kProgram, kVersion, 99, CODE(xdr_void), NULL, CODE(xdr_void), NULL));
  SHOW_STATUS(callrpc(HOST, kNoProgram, kVersion, 0, CODE(xdr_void), NULL, CODE(xdr_void), NULL));
  SHOW_STATUS(rpc_broadcast(kNoProgram, kVersion, 0, CODE(xdr_void), NULL, CODE(xdr_void), NULL,
                            (resultproc_t)(void (*)(void))is_enough, "nonsense"));
  SHOW_STATUS(rpc_broadcast_exp(kNoProgram, kVersion, 0, CODE(xdr_void), NULL, CODE(xdr_void), NULL,
                                (resultproc_t)(void (*)(void))is_enough, 1, 1, "udp") != RPC_SUCCESS);
}

static void show_proof(CLIENT* client, const char* name, AUTH* auth) {
  printf("%s: %d\n", name, auth == NULL ? -1 : auth->ah_cred.oa_flavor);
  if (auth == NULL) return;
  AUTH* const before = client->cl_auth;
  client->cl_auth = auth;
  for (int i = 0; i < 5; ++i) SHOW_STATUS(call_nothing(client));
  struct rpc_err error;
  memset(&error, 0, sizeof error);
  clnt_geterr(client, &error);
  printf("error: %d\n", (int)error.re_status);
  client->cl_auth = before;
  auth_destroy(auth);
}

static void show_proofs(void) {
  CLIENT* const client = make_tcp_client();
  gid_t groups[20] = {1, 2, 3};
  char machine[] = "here";
  char long_name[400];
  memset(long_name, 'x', sizeof long_name);
  long_name[sizeof long_name - 1] = '\0';
  show_proof(client, "none", authnone_create());
  show_proof(client, "unix", authunix_create(machine, 7, 8, 3, groups));
  show_proof(client, "default", authunix_create_default());
  show_proof(client, "sys", authsys_create(machine, 7, 8, 3, groups));
  show_proof(client, "sys default", authsys_create_default());
  show_proof(client, "too many groups", authunix_create(machine, 7, 8, 17, groups));
  show_proof(client, "a long name", authunix_create(long_name, 7, 8, 0, groups));
  /* Results that are freed, and some that do not decode. */
  for (int i = 0; i < 3; ++i) {
    u_int wanted = 5000;
    SHOW_STATUS(clnt_call(client, 8, CODE(xdr_u_int), &wanted, CODE(xdr_void), NULL, kLimit));
    char* text = NULL;
    SHOW_STATUS(clnt_call(client, 8, CODE(xdr_u_int), &wanted, CODE(xdr_wrapstring), (char*)&text, kLimit));
    SHOW(clnt_freeres(client, CODE(xdr_wrapstring), (caddr_t)&text));
    SHOW_IF(text);
    double number = 0;
    SHOW_STATUS(clnt_call(client, 2, CODE(xdr_void), NULL, CODE(xdr_double), (char*)&number, kLimit));
    SHOW_TEXT(clnt_sperror(client, "short"));
  }
  SHOW_STATUS(clnt_call(client, 0, CODE(xdr_void), NULL, CODE(xdr_void), NULL, ((struct timeval){-1, -1})));
  clnt_destroy(client);
}

void same_calls(void) {
  show_words();
  show_single_calls();
  show_proofs();
}
