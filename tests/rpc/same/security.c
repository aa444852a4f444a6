/* Proofs of identity by keys, where nobody has keys. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <rpc/auth_des.h>
#include <rpc/auth_gss.h>
#include <rpc/rpcsec_gss.h>

#include "tests/rpc/same/same.h"

/* In no header. */
int key_decryptsession(const char* peer, des_block* key);
int key_encryptsession(const char* peer, des_block* key);
int key_gendes(des_block* key);
int key_setsecret(const char* key);

static void show_keys(void) {
  char name[MAXNETNAMELEN + 1];
  char host[300];
  des_block key = {{0}};
  uid_t user = 0;
  gid_t group = 0;
  int count = 0;
  gid_t groups[20];
  SHOW(getnetname(name));
  SHOW(user2netname(name, 7, "example.org"));
  SHOW_TEXT(name);
  SHOW(host2netname(name, "here", "example.org"));
  SHOW_TEXT(name);
  SHOW(netname2host(name, host, sizeof host));
  strcpy(name, "unix.7@example.org");
  SHOW(netname2user(name, &user, &group, &count, groups));
  strcpy(name, "nonsense");
  SHOW(netname2user(name, &user, &group, &count, groups));
  SHOW(netname2host(name, host, sizeof host));
  SHOW(key_setsecret("0123456789abcdef0123456789abcdef0123456789abcdef"));
  SHOW(key_gendes(&key));
  SHOW(key_encryptsession(name, &key));
  SHOW(key_decryptsession(name, &key));
  SHOW_IF(authdes_create(name, 60, NULL, NULL));
}

static bool_t refuse(struct svc_req* request, gss_cred_id_t credential, gss_ctx_id_t context,
                     rpc_gss_lock_t* lock, void** cookie) {
  (void)request, (void)credential, (void)context, (void)lock, (void)cookie;
  return FALSE;
}

static void show_mechanisms(void) {
  char** names = rpc_gss_get_mechanisms();
  for (int i = 0; names != NULL && names[i] != NULL; ++i) SHOW_TEXT(names[i]);
  char mechanism[] = "kerberos_v5";
  char nonsense[] = "nonsense";
  rpc_gss_service_t service = rpcsec_gss_svc_none;
  char** qualities = rpc_gss_get_mech_info(mechanism, &service);
  SHOW_IF(qualities);
  printf("service %d\n", (int)service);
  SHOW_IF(rpc_gss_get_mech_info(nonsense, &service));
  u_int high = 0;
  u_int low = 0;
  SHOW(rpc_gss_get_versions(&high, &low));
  printf("versions %u to %u\n", low, high);
  SHOW(rpc_gss_is_installed(mechanism));
  SHOW(rpc_gss_is_installed(nonsense));
  rpc_gss_OID identifier = NULL;
  SHOW(rpc_gss_mech_to_oid(mechanism, &identifier));
  SHOW(rpc_gss_mech_to_oid(nonsense, &identifier));
  u_int quality = 0;
  char text[] = "default";
  SHOW(rpc_gss_qop_to_num(text, mechanism, &quality));
  SHOW(rpc_gss_qop_to_num(nonsense, mechanism, &quality));
}

void same_security(void) {
  show_keys();
  show_mechanisms();
  CLIENT* const client = make_tcp_client();
  rpc_gss_options_ret_t told;
  memset(&told, 0, sizeof told);
  char principal[] = "nobody@" HOST;
  char mechanism[] = "kerberos_v5";
  char nonsense[] = "nonsense";
  rpc_gss_error_t error;
  SHOW_IF(rpc_gss_seccreate(client, principal, mechanism, rpcsec_gss_svc_none, NULL, NULL, &told));
  rpc_gss_get_error(&error);
  printf("error %d, %d\n", error.rpc_gss_error, error.system_error);
  SHOW_IF(rpc_gss_seccreate(client, principal, nonsense, rpcsec_gss_svc_none, NULL, NULL, &told));
  rpc_gss_get_error(&error);
  printf("error %d, %d\n", error.rpc_gss_error, error.system_error);
  SHOW_IF(rpc_gss_seccreate(NULL, principal, mechanism, rpcsec_gss_svc_none, NULL, NULL, &told));
  for (int i = 0; i < 5; ++i) SHOW_STATUS(call_nothing(client));
  clnt_destroy(client);
  rpc_gss_callback_t callback = {kNoProgram, 1, refuse};
  SHOW(rpc_gss_set_callback(&callback));
  SHOW(rpc_gss_set_svc_name(principal, mechanism, 0, kNoProgram, 1));
  SHOW(rpc_gss_set_svc_name(principal, nonsense, 0, kNoProgram, 1));
#ifndef __SANITIZE_ADDRESS__ /* libtirpc writes a byte behind its own memory */
  rpc_gss_principal_t name = NULL;
  SHOW(rpc_gss_get_principal_name(&name, mechanism, nonsense, nonsense, nonsense));
  SHOW(rpc_gss_get_principal_name(&name, nonsense, nonsense, NULL, NULL));
#endif
}
