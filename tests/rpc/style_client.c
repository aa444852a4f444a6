/* Calls by what rpcgen makes of style.x, in each style:
 *   rpc-style-client HOST NETWORK */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include <style.h>

static void tell_sum(CLIENT* client, pair argument) {
#if defined(STYLE_M)
  int result = 0;
  const enum clnt_stat status = sum_1(&argument, &result, client);
  printf("%d + %d: %d, %d\n", argument.left, argument.right, (int)status, result);
#else
#if defined(STYLE_N)
  const int* const result = sum_1(argument, client);
#else
  const int* const result = sum_1(&argument, client);
#endif
  printf("%d + %d: %d, %d\n", argument.left, argument.right, result == NULL, result == NULL ? 0 : *result);
#endif
}

static void tell_text(CLIENT* client, pair argument) {
#if defined(STYLE_M)
  char* result = NULL;
  const enum clnt_stat status = repeat_1(&argument, &result, client);
  printf("text: %d, %s\n", (int)status, result == NULL ? "none" : result);
  clnt_freeres(client, (xdrproc_t)(void (*)(void))xdr_wrapstring, (caddr_t)&result);
#else
#if defined(STYLE_N)
  char** const result = repeat_1(argument, client);
#else
  char** const result = repeat_1(&argument, client);
#endif
  printf("text: %d, %s\n", result == NULL, result == NULL ? "none" : *result);
#endif
}

int main(int count, char** words) {
  if (count != 3) return 2;
  CLIENT* const client = clnt_create(words[1], STYLE, STYLE_1, words[2]);
  if (client == NULL) {
    clnt_pcreateerror(words[1]);
    return 1;
  }
  for (int i = 0; i < 10; ++i) {
    tell_sum(client, (pair){i, 1000 * i});
    tell_text(client, (pair){i, i});
  }
  clnt_destroy(client);
  return 0;
}
