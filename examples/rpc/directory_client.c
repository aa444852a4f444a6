/* directory_client: fills a directory and reads it. It uses rpcgen's stubs and knows nothing of exs.
 *   directory_client PORT */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <directory.h>

enum { kPeople = 100 };

static void give_up(CLIENT* client, const char* what) {
  clnt_perror(client, what);
  exit(1);
}

static void fill(CLIENT* client) {
  static char notes[] = "has a desk by the window";
  for (unsigned i = 0; i < kPeople; ++i) {
    char who[32];
    snprintf(who, sizeof who, "person %u", i);
    entry added = {.who = who, .number = 1000 + i, .notes = {sizeof notes, notes}};
    const bool_t* const is_added = add_1(&added, client);
    if (is_added == NULL) give_up(client, "add");
    if (!*is_added) printf("%s was there\n", who);
  }
}

static void look_up(CLIENT* client, char* who) {
  found* const result = look_up_1(&who, client);
  if (result == NULL) give_up(client, "look up");
  if (result->is_there) {
    printf("%s: number %llu, %s\n", who, (unsigned long long)result->found_u.it.number,
           result->found_u.it.notes.notes_val);
  } else {
    printf("%s: not there\n", who);
  }
  clnt_freeres(client, (xdrproc_t)xdr_found, (char*)result);
}

static void count(CLIENT* client) {
  names* const list = list_1(NULL, client);
  if (list == NULL) give_up(client, "list");
  int people = 0;
  for (const names* at = list->next; at != NULL; at = at->next) ++people;
  printf("%d people\n", people);
  clnt_freeres(client, (xdrproc_t)xdr_names, (char*)list);
}

static const char help[] =
    "usage: directory_client PORT\n"
    "Fills the directory at 127.0.0.1, PORT, and reads it, by stubs of rpcgen.\n"
    "The exit status is 0, 1 after an error, or 2 if the arguments are invalid.\n";

int main(int words, char** word) {
  if (words == 2 && strcmp(word[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  if (words != 2) {
    fputs(help, stderr);
    return 2;
  }
  struct sockaddr_in server = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)atoi(word[1])),
                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int socket = RPC_ANYSOCK;
  CLIENT* const client = clnttcp_create(&server, DIRECTORY, DIRECTORY_1, &socket, 0, 0);
  if (client == NULL) {
    clnt_pcreateerror("directory_client");
    return 1;
  }
  fill(client);
  look_up(client, "person 42");
  look_up(client, "nobody");
  count(client);
  clnt_destroy(client);
  return 0;
}
