/* A service that a new process takes over while it is used: it counts requests, and none is lost or counted twice. With a key
 * file, which it makes if there is none, the program is the service. If a process of this service runs already, that one hands
 * over the service with the count, and ends. With an ID and a number it is a client, which makes that many requests, one after
 * the other. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <exs/service.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(void) {
  return fprintf(stderr, "%s\n", exs_svc_errtext()), 1;
}

static exs_svc_key_t* load_or_make_key(const char* path) {
  exs_svc_key_t* key = exs_svc_key_load(path);
  if (key != NULL || errno != ENOENT) return key;
  key = exs_svc_key_create();
  if (key != NULL && exs_svc_key_store(key, path) == 0) return key;
  exs_svc_key_free(key);
  return NULL;
}

/* A message in the service's own name proves that its sender has the key; it asks for the service. */
static exs_svc_t* take_over(exs_svc_node_t* node, const exs_svc_key_t* key, const exs_svc_id_t* id) {
  exs_svc_t* service = exs_svc_adopt(node, key, NULL, NULL);
  exs_svc_peer_t* running = service == NULL ? NULL : exs_svc_peer_open(node, service, id, NULL, NULL);
  return running != NULL && exs_svc_send_short(running, NULL, 0) == 0 ? service : NULL;
}

static int serve(exs_svc_node_t* node, const char* path) {
  uint64_t count = 0;
  const exs_iovec_t state = {&count, sizeof count, EXS_MHANDLE_UNREGISTERED, 0};
  const exs_svc_move_options_t move = {.struct_bytes = sizeof move, .state = &state, .state_count = 1};
  exs_svc_id_t id;
  char text[EXS_SVC_ID_TEXT];
  exs_svc_key_t* key = load_or_make_key(path);
  if (key == NULL || exs_svc_key_id(key, &id) != 0 || exs_svc_id_text(&id, text) != 0) return fail();
  exs_svc_t* service = exs_svc_open(node, key, NULL, NULL);
  if (service == NULL && errno == EADDRINUSE) service = take_over(node, key, &id);
  exs_svc_key_free(key);
  if (service == NULL) return fail();
  for (;;) {
    exs_svc_event_t event;
    fflush(stdout);
    if (exs_svc_wait(node, &event, 1, -1) != 1) return fail();
    if (event.type == EXS_SVC_EVT_OPEN) {
      printf("%s\n", text);
    } else if (event.type == EXS_SVC_EVT_ADOPTED) {
      memcpy(&count, event.message->longs[0].data, sizeof count);
      printf("%s\ntaken over at %llu\n", text, (unsigned long long)count);
    } else if (event.type == EXS_SVC_EVT_REQUEST) {
      const exs_svc_item_t reply = {&count, sizeof count};
      ++count;
      exs_svc_reply(event.message, 0, &reply, 1, NULL, 0, 0, NULL);
    } else if (event.type == EXS_SVC_EVT_MESSAGE && memcmp(&event.message->from, &id, sizeof id) == 0) {
      exs_svc_move(service, &move, NULL); /* begins when all earlier messages, and this one, are done */
    } else if (event.type == EXS_SVC_EVT_MOVED && event.error == 0) {
      printf("given away at %llu\n", (unsigned long long)count);
      return 0;
    } else if (event.type == EXS_SVC_EVT_MOVED && event.error == EOWNERDEAD) {
      return fprintf(stderr, "nobody knows whether the other was the service\n"), 1;
    } else if (event.type == EXS_SVC_EVT_MOVED && event.error != ENOENT) {
      exs_svc_move(service, &move,
                   NULL); /* this process is still the service, and the other one waits for it */
    } else if (event.type == EXS_SVC_EVT_OVERTAKEN) {
      return fprintf(stderr, "another process is the service by now\n"), 1;
    }
    exs_svc_release(event.message);
  }
}

static int ask(exs_svc_node_t* node, const char* to, long requests) {
  uint64_t first = 0;
  uint64_t last = 0;
  exs_svc_id_t id;
  if (exs_svc_find(NULL, to, &id) != 0) return fail();
  exs_svc_peer_t* peer = exs_svc_peer_open(node, NULL, &id, NULL, NULL);
  if (peer == NULL) return fail();
  for (long i = 0; i < requests; ++i) {
    exs_svc_event_t event;
    uint64_t count;
    if (exs_svc_request(peer, NULL, 0, NULL, 0, NULL, NULL) != 0 || exs_svc_wait(node, &event, 1, -1) != 1)
      return fail();
    if (event.type != EXS_SVC_EVT_REPLY || event.error != 0)
      return fprintf(stderr, "no reply: %s\n", strerror(event.error)), 1;
    if (event.message->items_count != 1 || event.message->items[0].length != sizeof count)
      return fprintf(stderr, "the reply is not a count\n"), 1;
    memcpy(&count, event.message->items[0].data, sizeof count);
    exs_svc_release(event.message);
    if (i > 0 && count != last + 1) return fprintf(stderr, "a request is missing, or counted twice\n"), 1;
    if (i == 0) first = count;
    last = count;
  }
  printf("%ld requests, counted from %llu to %llu\n", requests, (unsigned long long)first,
         (unsigned long long)last);
  return 0;
}

static const char help[] =
    "usage: service_counter KEY-FILE\n"
    "       service_counter ID REQUESTS\n"
    "With KEY-FILE, which it makes if there is none, it is a service that counts requests.\n"
    "It takes the service over from a process that runs already. With ID it makes REQUESTS,\n"
    "one after the other, and checks that each was counted once.\n"
    "The exit status is 0, 1 after an error, or 2 if the arguments are invalid.\n";

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  if (argc < 2 || argc > 3) {
    fputs(help, stderr);
    return 2;
  }
  exs_svc_node_t* node = exs_svc_node_open(NULL);
  if (node == NULL) return fail();
  const int status = argc == 2 ? serve(node, argv[1]) : ask(node, argv[1], atol(argv[2]));
  exs_svc_node_close(node);
  return status;
}
