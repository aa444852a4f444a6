/* Makes handles by names, and tells for each whether a call succeeds and goes by exs:
 *   rpc-name-client HOST NETWORK */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <netconfig.h>
#include <stdio.h>
#include <string.h>

#include <matrix.h>

#include "exs/sunrpc.h"

#define CODE(function) ((xdrproc_t)(void (*)(void))(function))
static const struct timeval kLimit = {20, 0};

static void tell(const char* how, CLIENT* client) {
  if (client == NULL) {
    printf("%s: none, status %d\n", how, (int)rpc_createerr.cf_stat);
    return;
  }
  const enum clnt_stat status =
      clnt_call(client, NOTHING, CODE(xdr_void), NULL, CODE(xdr_void), NULL, kLimit);
  exs_sunrpc_info_t info = {.struct_bytes = sizeof info};
  const int by_exs = clnt_control(client, EXS_SUNRPC_GET_INFO, (char*)&info) && info.by_exs == 1;
  printf("%s: status %d by %s\n", how, (int)status,
         by_exs                     ? "exs"
         : client->cl_netid == NULL ? "nothing"
                                    : client->cl_netid);
  clnt_destroy(client);
}

static void tell_entry(const char* host, const char* network) {
  struct netconfig* const entry = getnetconfigent(network);
  if (entry == NULL) {
    printf("entry: none\n");
    return;
  }
  printf("entry: %s, %s, %s, %lu\n", entry->nc_netid, entry->nc_protofmly, entry->nc_proto,
         entry->nc_semantics);
  tell("clnt_tp_create", clnt_tp_create(host, MATRIX, MATRIX_1, entry));
  tell("clnt_tp_create_timed", clnt_tp_create_timed(host, MATRIX, MATRIX_1, entry, &kLimit));
  freenetconfigent(entry);
}

int main(int count, char** words) {
  if (count != 3) return 2;
  const char* const host = words[1];
  const char* const network = words[2];
  rpcvers_t version = 0;
  tell("clnt_create", clnt_create(host, MATRIX, MATRIX_1, network));
  tell("clnt_create_timed", clnt_create_timed(host, MATRIX, MATRIX_1, network, &kLimit));
  tell("clnt_create_vers", clnt_create_vers(host, MATRIX, &version, 1, 3, network));
  printf("version %u\n", (unsigned)version);
  const enum clnt_stat status =
      rpc_call(host, MATRIX, MATRIX_1, NOTHING, CODE(xdr_void), NULL, CODE(xdr_void), NULL, network);
  printf("rpc_call: status %d\n", (int)status);
  tell_entry(host, network);
  tell("clnt_create by NETPATH", clnt_create(host, MATRIX, MATRIX_1, "netpath"));
  tell("clnt_create of no program", clnt_create(host, MATRIX + 1, MATRIX_1, network));
  tell("clnt_create at no host", clnt_create("256.1.1.1", MATRIX, MATRIX_1, network));
  tell("clnt_create after these, by tcp", clnt_create(host, MATRIX, MATRIX_1, "tcp"));
  return 0;
}
