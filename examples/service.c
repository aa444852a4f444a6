/* A service by name. With a key file, which it makes if there is none, the program is the service: it prints its ID, and then
 * each message. With an ID, or a name of /etc/exs/services, and texts it is a client: it sends each text, and pings to learn
 * that all have been accepted. Meanwhile the service may be killed and started again with the same file. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <exs/service.h>
#include <stdio.h>
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

static int serve(exs_svc_node_t* node, const char* path) {
  exs_svc_key_t* key = load_or_make_key(path);
  if (key == NULL || exs_svc_open(node, key, NULL, NULL) == NULL) return fail();
  exs_svc_id_t id;
  char text[EXS_SVC_ID_TEXT];
  exs_svc_key_id(key, &id);
  exs_svc_id_text(&id, text);
  exs_svc_key_free(key);
  puts(text);
  for (;;) {
    exs_svc_event_t event;
    fflush(stdout);
    if (exs_svc_wait(node, &event, 1, -1) != 1) return fail();
    if (event.type == EXS_SVC_EVT_OVERTAKEN)
      return fprintf(stderr, "another process is the service by now\n"), 1;
    for (uint32_t i = 0; event.type == EXS_SVC_EVT_MESSAGE && i < event.message->items_count; ++i) {
      const exs_svc_item_t* item = &event.message->items[i];
      printf("%.*s\n", (int)item->length, (const char*)item->data);
    }
    exs_svc_release(event.message); /* a request ends with ECANCELED, as this service answers none */
  }
}

/* Reports messages that may be lost. Returns the type of the event; 0: none within the time; -1: an error. */
static int next_event(exs_svc_node_t* node, int64_t timeout_ns) {
  exs_svc_event_t event;
  const int count = exs_svc_wait(node, &event, 1, timeout_ns);
  if (count != 1) return count;
  if (event.type != EXS_SVC_EVT_PONG)
    fprintf(stderr, "%llu messages may be lost: %s\n", (unsigned long long)event.count,
            strerror(event.error));
  return event.type;
}

/* The service accepts messages of a peer in order, and answers a ping behind them after them. */
static int send_all(exs_svc_node_t* node, const char* to, char** texts, int count) {
  exs_svc_id_t id;
  if (exs_svc_find(NULL, to, &id) != 0) return fail();
  exs_svc_peer_t* peer = exs_svc_peer_open(node, NULL, &id, NULL, NULL);
  if (peer == NULL) return fail();
  int type = 0;
  for (int i = 0; i < count && type != EXS_SVC_EVT_LOST;) {
    exs_svc_item_t item = {texts[i], strlen(texts[i])};
    if (exs_svc_send_short(peer, &item, 1) == 0)
      ++i;
    else if (errno != EAGAIN || (type = next_event(node, 10000000)) < 0) /* EAGAIN: 64 are pending */
      return fail();
  }
  if (type != EXS_SVC_EVT_LOST && exs_svc_ping(peer) != 0) return fail();
  while (type != EXS_SVC_EVT_LOST && type != EXS_SVC_EVT_PONG)
    if ((type = next_event(node, -1)) < 0) return fail();
  return type == EXS_SVC_EVT_PONG ? 0 : 1;
}

static const char help[] =
    "usage: service KEY-FILE\n"
    "       service ID TEXT...\n"
    "With KEY-FILE, which it makes if there is none, it is the service. It prints its ID and\n"
    "then each message. With ID, or a name of /etc/exs/services, it sends each TEXT to it.\n"
    "The exit status is 0, 1 after an error, or 2 if the arguments are invalid.\n";

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  if (argc < 2) {
    fputs(help, stderr);
    return 2;
  }
  exs_svc_node_t* node = exs_svc_node_open(NULL);
  if (node == NULL) return fail();
  const int status = argc == 2 ? serve(node, argv[1]) : send_all(node, argv[1], argv + 2, argc - 2);
  exs_svc_node_close(node);
  return status;
}
