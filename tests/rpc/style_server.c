/* The procedures of style.x as each style of rpcgen calls them; main() is rpcgen's. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <style.h>

static char* repeated(const pair* of) {
  static char text[32];
  const size_t count = of->right < 0 ? 0 : (size_t)of->right % sizeof text;
  memset(text, 'a' + of->left % 26, count);
  text[count] = '\0';
  return text;
}

#if defined(STYLE_M)
bool_t sum_1_svc(pair* argument, int* result, struct svc_req* request) {
  (void)request;
  *result = argument->left + argument->right;
  return TRUE;
}
bool_t repeat_1_svc(pair* argument, char** result, struct svc_req* request) {
  (void)request;
  *result = strdup(repeated(argument));
  return *result != NULL;
}
int style_1_freeresult(SVCXPRT* transport, xdrproc_t code, caddr_t result) {
  (void)transport;
  xdr_free(code, result);
  return 1;
}
#else
#if defined(STYLE_N)
#define ARGUMENT pair argument
#define THE_ARGUMENT (&argument)
#else
#define ARGUMENT pair* argument
#define THE_ARGUMENT argument
#endif
int* sum_1_svc(ARGUMENT, struct svc_req* request) {
  static int result;
  (void)request;
  result = THE_ARGUMENT->left + THE_ARGUMENT->right;
  return &result;
}
char** repeat_1_svc(ARGUMENT, struct svc_req* request) {
  static char* result;
  (void)request;
  result = repeated(THE_ARGUMENT);
  return &result;
}
#endif
