/* Messages, encoded and decoded. */
/* SPDX-License-Identifier: BSD-2-Clause */

#include "tests/rpc/same/same.h"
/* clang-format off: it needs the one before it */
#include <rpc/pmap_prot.h>
/* clang-format on */

bool_t xdr_authunix_parms(XDR* stream, struct authunix_parms* parms);

static unsigned char bytes[2048];

static void show_bytes(XDR* stream) {
  const u_int count = xdr_getpos(stream);
  printf("%u bytes:", count);
  for (u_int i = 0; i < count; ++i) printf(" %02x", bytes[i]);
  printf("\n");
}

/* Then decoded from all the bytes, from fewer, and from others, into what has been prepared. */
#define SHOW_CODE(function, value, other, prepare)                  \
  do {                                                              \
    XDR stream;                                                     \
    xdrmem_create(&stream, (char*)bytes, sizeof bytes, XDR_ENCODE); \
    SHOW(function(&stream, value));                                 \
    show_bytes(&stream);                                            \
    const u_int count = xdr_getpos(&stream);                        \
    for (u_int length = 0; length <= count; length += 4) {          \
      memset(other, 0, sizeof *(other)), prepare;                   \
      xdrmem_create(&stream, (char*)bytes, length, XDR_DECODE);     \
      SHOW(function(&stream, other));                               \
      xdr_free(CODE(function), other);                              \
    }                                                               \
    for (u_int place = 0; place < count; place += 4) {              \
      bytes[place] ^= 0x80;                                         \
      memset(other, 0, sizeof *(other)), prepare;                   \
      xdrmem_create(&stream, (char*)bytes, count, XDR_DECODE);      \
      SHOW(function(&stream, other));                               \
      xdr_free(CODE(function), other);                              \
      bytes[place] ^= 0x80;                                         \
    }                                                               \
  } while (0)

static void show_messages(void) {
  static struct rpc_msg message;
  static struct rpc_msg other;
  memset(&message, 0, sizeof message);
  message.rm_xid = 5;
  message.rm_direction = CALL;
  message.rm_call.cb_rpcvers = RPC_MSG_VERSION;
  message.rm_call.cb_prog = kProgram;
  SHOW_CODE(xdr_callhdr, &message, &other, (void)0);
  SHOW_CODE(xdr_callmsg, &message, &other, (void)0);
  memset(&message.ru, 0, sizeof message.ru);
  message.rm_direction = REPLY;
  message.rm_reply.rp_stat = MSG_ACCEPTED;
  message.acpted_rply.ar_stat = PROG_MISMATCH;
  message.acpted_rply.ar_vers.low = 2;
  message.acpted_rply.ar_vers.high = 3;
  SHOW_CODE(xdr_replymsg, &message, &other, other.acpted_rply.ar_results.proc = CODE(xdr_void));
  message.rm_reply.rp_stat = MSG_DENIED;
  message.rjcted_rply.rj_stat = AUTH_ERROR;
  message.rjcted_rply.rj_why = AUTH_TOOWEAK;
  SHOW_CODE(xdr_replymsg, &message, &other, other.acpted_rply.ar_results.proc = CODE(xdr_void));
}

void same_codes(void) {
  show_messages();
  static struct accepted_reply accepted;
  static struct accepted_reply other_accepted;
  accepted.ar_stat = PROC_UNAVAIL;
  SHOW_CODE(xdr_accepted_reply, &accepted, &other_accepted, other_accepted.ar_results.proc = CODE(xdr_void));
  static struct rejected_reply rejected;
  static struct rejected_reply other_rejected;
  rejected.rj_stat = RPC_MISMATCH;
  rejected.rj_vers.high = 4;
  SHOW_CODE(xdr_rejected_reply, &rejected, &other_rejected, (void)0);
  char proof[MAX_AUTH_BYTES + 1] = "abcdefg";
  struct opaque_auth auth = {AUTH_SYS, proof, 7};
  struct opaque_auth other_auth;
  SHOW_CODE(xdr_opaque_auth, &auth, &other_auth, (void)0);
  auth.oa_length = MAX_AUTH_BYTES + 1;
  XDR longer;
  xdrmem_create(&longer, (char*)bytes, sizeof bytes, XDR_ENCODE);
  SHOW(xdr_opaque_auth(&longer, &auth));
  char machine[] = "here";
  gid_t groups[] = {4, 5};
  struct authunix_parms parms = {7, machine, 8, 9, 2, groups};
  struct authunix_parms other_parms;
  SHOW_CODE(xdr_authunix_parms, &parms, &other_parms, (void)0);
  struct pmap map = {kProgram, 1, IPPROTO_TCP, 111};
  struct pmap other_map;
  SHOW_CODE(xdr_pmap, &map, &other_map, (void)0);
  struct pmaplist second = {map, NULL};
  struct pmaplist first = {map, &second};
  struct pmaplist* list = &first;
  struct pmaplist* other_list = NULL;
  SHOW_CODE(xdr_pmaplist, &list, &other_list, (void)0);
}
