/* directory_stub_client: fills a directory and reads it, by stubs of exs-rpcgen. Its output is that of directory_client.
 *   directory_stub_client PORT */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "directory_exs.h"

enum { kPeople = 100, kUnderWay = 8 };

static void check(int told, const char* what) {
  if (told == 0) return;
  fprintf(stderr, "%s: %s\n", what, exs_rpc_errtext());
  exit(1);
}

static void end_add(exs_rpc_call_t* call, unsigned person) {
  int is_added = 0;
  check(add_1_end(call, &is_added), "add");
  if (!is_added) printf("person %u was there\n", person);
}

/* A call leaves when it begins, and its argument may change then. Up to eight calls are under way. */
static void fill(exs_rpc_client_t* client) {
  static char notes[] = "has a desk by the window";
  exs_rpc_call_t* calls[kUnderWay];
  for (unsigned i = 0; i < kPeople; ++i) {
    if (i >= kUnderWay) end_add(calls[i % kUnderWay], i - kUnderWay);
    char who[32];
    snprintf(who, sizeof who, "person %u", i);
    const entry added = {.who = who, .number = 1000 + i, .notes = {sizeof notes, notes}};
    calls[i % kUnderWay] = add_1_begin(client, &added, NULL);
    check(calls[i % kUnderWay] == NULL, "add");
  }
  for (unsigned i = kPeople; i < kPeople + kUnderWay; ++i) end_add(calls[i % kUnderWay], i - kUnderWay);
}

static void look_up(exs_rpc_client_t* client, const char* who) {
  found result;
  check(look_up_1(client, who, &result, NULL), "look up");
  if (result.is_there) {
    printf("%s: number %llu, %s\n", who, (unsigned long long)result.found_u.it.number,
           result.found_u.it.notes.notes_val);
  } else {
    printf("%s: not there\n", who);
  }
  found_free(&result);
}

static void count(exs_rpc_client_t* client) {
  names list;
  check(list_1(client, &list, NULL), "list");
  int people = 0;
  for (const names* at = list.next; at != NULL; at = at->next) ++people;
  printf("%d people\n", people);
  names_free(&list);
}

static const char help[] =
    "usage: directory_stub_client PORT\n"
    "Fills the directory at 127.0.0.1, PORT, and reads it, by stubs of exs-rpcgen.\n"
    "The exit status is 0, 1 after an error, or 2 if the arguments are invalid.\n";

int main(int words, char** word) {
  if (words == 2 && strcmp(word[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  if (words != 2) {
    fputs(help, stderr);
    return 2;
  }
  /* Uses shared memory if the server is on this host, else messages. */
  const exs_rpc_client_options_t options = {
      .struct_bytes = sizeof options, .slots = kUnderWay, .flags = EXS_RPC_MAPPED};
  exs_rpc_client_t* const client = directory_directory_1_open("127.0.0.1", word[1], &options);
  check(client == NULL, "directory_stub_client");
  fill(client);
  look_up(client, "person 42");
  look_up(client, "nobody");
  count(client);
  exs_rpc_close(client);
  return 0;
}
