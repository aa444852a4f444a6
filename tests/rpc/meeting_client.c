/* A client of meeting.x; it prints a line for each of its words and stops at a call that fails.
 *   rpc-meeting-client PORT WORD...
 *     double=COUNT     so many calls, each with its right result
 *     repeat=BYTES     a call with so many bytes there and back
 *     meet=COUNT       a call that is answered when so many are there
 *     link             whether calls go by exs */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <meeting.h>

#include "exs/sunrpc.h"

static CLIENT* client;

static int call_double(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    u_int result = 0;
    if (double_1(&i, &result, client) != RPC_SUCCESS || result != 2 * i) return 0;
  }
  return 1;
}

static int call_repeat(unsigned count) {
  octets argument = {count, malloc(count + 1U)};
  octets result = {0, NULL};
  if (argument.octets_val == NULL) return 0;
  memset(argument.octets_val, 'x', count + 1U);
  const int is_right = repeat_1(&argument, &result, client) == RPC_SUCCESS && result.octets_len == count &&
                       (count == 0 || memcmp(argument.octets_val, result.octets_val, count) == 0);
  free(argument.octets_val);
  clnt_freeres(client, (xdrproc_t)(void (*)(void))xdr_octets, (caddr_t)&result);
  return is_right;
}

static int call_meet(unsigned count) {
  int result = 0;
  return meet_1(&count, &result, client) == RPC_SUCCESS && result == 1;
}

static int is_linked(void) {
  exs_sunrpc_info_t info = {.struct_bytes = sizeof info};
  return clnt_control(client, EXS_SUNRPC_GET_INFO, (char*)&info) && info.by_exs;
}

static int perform(const char* word) {
  const char* const number = strchr(word, '=');
  const unsigned count = number == NULL ? 0 : (unsigned)strtoul(number + 1, NULL, 10);
  if (strncmp(word, "double", 6) == 0) return call_double(count);
  if (strncmp(word, "repeat", 6) == 0) return call_repeat(count);
  if (strncmp(word, "meet", 4) == 0) return call_meet(count);
  return is_linked();
}

int main(int count, char** words) {
  int socket = RPC_ANYSOCK;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if (count < 2) return 2;
  address.sin_port = htons((uint16_t)atoi(words[1]));
  client = clnttcp_create(&address, MEETING, MEETING_1, &socket, 0, 0);
  if (client == NULL) return 1;
  for (int i = 2; i < count; ++i) {
    const int is_right = perform(words[i]);
    printf("%s %s\n", words[i], is_right ? "yes" : "no");
    fflush(stdout);
    if (!is_right && strcmp(words[i], "link") != 0) return 1;
  }
  clnt_destroy(client);
  return 0;
}
