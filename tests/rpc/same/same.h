/* Programs that call each function of libtirpc's manual pages, with right arguments and wrong ones, and print what comes of it, without
 * what differs from run to run. test_sameness.py compares what they print with exs-sunrpc and without it. */
/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <errno.h>
#include <netconfig.h>
#include <netinet/in.h>
#include <rpc/rpc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define CODE(function) ((xdrproc_t)(void (*)(void))(function))
#define HOST "127.0.0.1"
enum { kProgram = 0x20004d58, kVersion = 1, kNoProgram = 0x20009999 };
extern const struct timeval kLimit;

/* A result that is a number; what fails (0 or less) tells errno, too. */
#define SHOW(expression) show(#expression, (errno = 0, (long)(expression)))
/* One that is there or not. */
#define SHOW_IF(expression) show_if(#expression, (errno = 0, (expression) != NULL))
/* A status, and what is left of it in rpc_createerr. */
#define SHOW_STATUS(expression) show_status(#expression, (int)(expression))
#define SHOW_TEXT(expression) show_text(#expression, expression)
/* A handle is made, used, and ends. */
#define SHOW_CLIENT(expression) \
  show_client(#expression, (memset(&rpc_createerr, 0, sizeof rpc_createerr), (expression)))

void show(const char* what, long result);
void show_if(const char* what, int is_there);
void show_status(const char* what, int status);
void show_text(const char* what, const char* text);
void show_client(const char* what, CLIENT* client);
enum clnt_stat call_nothing(CLIENT* client);
CLIENT* make_tcp_client(void);

void same_entries(void);
void same_clients(void);
void same_calls(void);
void same_binder(void);
void same_servers(void);
void same_codes(void);
void same_security(void);
