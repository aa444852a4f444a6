/* A preload that makes a program the hostile twin of itself: it changes bytes of what the program sends, and words of the memory that
 * the program shares with others. Of the processes that have it loaded, TWIN_HOSTILE says which are hostile: "odd" or "even", by
 * their number, or the name of a program. Their numbers go to the file TWIN_NOTES, a line each.
 *
 *   TWIN_SEED=S          other changes with each seed; the same for the same seed and order of calls
 *   TWIN_RATE=N          one send in N is changed (8)
 *   TWIN_SKIP=K          the first K sends are left alone (0)
 *   TWIN_SCRIBBLE_US=U   a thread writes into shared memory each U microseconds (0: not at all)
 *
 * All calls go straight to the kernel. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { kHead = 96, kChangesMax = 4, kMapsMax = 64 };

static int g_hostile;
static unsigned long g_rate = 8, g_skip, g_sends;
static uint64_t g_state;

static uint64_t any(void) {
  uint64_t x = g_state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return g_state = x;
}
static unsigned long setting(const char* name, unsigned long otherwise) {
  const char* const text = getenv(name);
  return text == NULL ? otherwise : strtoul(text, NULL, 10);
}
static uint64_t edge(void) {
  static const uint64_t edges[] = {
      0,      1,       0x7f,       0x80,       0xff,       0x7fff,     0x8000,
      0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff, UINT64_MAX, (uint64_t)1 << 63};
  return edges[any() % (sizeof edges / sizeof *edges)];
}

static void change_once(unsigned char* bytes, size_t count) {
  /* The beginning, more often than not: headers are there. */
  const size_t limit = count > kHead && any() % 2 == 0 ? (size_t)kHead : count;
  const size_t at = any() % limit, width = (size_t)1 << any() % 4;
  switch (any() % 4) {
    case 0: bytes[at] ^= (unsigned char)(1U << any() % 8); break;
    case 1: bytes[at] = (unsigned char)any(); break;
    case 2: {
      uint64_t number = edge();
      if (any() % 2 == 0) number = __builtin_bswap64(number) >> (64 - 8 * width);
      if (at + width <= count) memcpy(bytes + at, &number, width);
      break;
    }
    default: {
      const size_t from = any() % count, most = count - (from > at ? from : at);
      memmove(bytes + at, bytes + from, most > 16 ? 16 : most);
    }
  }
}

static int is_socket(int descriptor) {
  int type = 0;
  socklen_t length = sizeof type;
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0;
}
static int is_next(int descriptor) {
  if (!g_hostile || !is_socket(descriptor)) return 0;
  if (__atomic_add_fetch(&g_sends, 1, __ATOMIC_RELAXED) <= g_skip) return 0;
  return any() % g_rate == 0;
}

/* The bytes of all pieces, changed; NULL: none, or no memory. */
static unsigned char* changed(const struct iovec* pieces, size_t pieces_count, size_t* count) {
  unsigned char* bytes = NULL;
  size_t at = 0;
  *count = 0;
  for (size_t i = 0; i < pieces_count; ++i) *count += pieces[i].iov_len;
  if (*count == 0 || (bytes = malloc(*count)) == NULL) return NULL;
  for (size_t i = 0; i < pieces_count; at += pieces[i++].iov_len)
    if (pieces[i].iov_len > 0) memcpy(bytes + at, pieces[i].iov_base, pieces[i].iov_len);
  for (uint64_t changes = 1 + any() % kChangesMax; changes > 0; --changes) change_once(bytes, *count);
  return bytes;
}
static ssize_t send_changed(int descriptor, const struct msghdr* message, int flags) {
  struct iovec whole;
  struct msghdr other = *message;
  unsigned char* const bytes = changed(message->msg_iov, message->msg_iovlen, &whole.iov_len);
  if (bytes == NULL) return syscall(SYS_sendmsg, descriptor, message, flags);
  whole.iov_base = bytes;
  other.msg_iov = &whole;
  other.msg_iovlen = 1;
  const ssize_t sent = syscall(SYS_sendmsg, descriptor, &other, flags);
  const int error = errno;
  free(bytes);
  errno = error;
  return sent;
}

EXPORT ssize_t sendmsg(int descriptor, const struct msghdr* message, int flags) {
  return is_next(descriptor) ? send_changed(descriptor, message, flags)
                             : syscall(SYS_sendmsg, descriptor, message, flags);
}
EXPORT ssize_t sendto(int descriptor, const void* bytes, size_t count, int flags, __CONST_SOCKADDR_ARG to,
                      socklen_t length) {
  const struct sockaddr* const name = to.__sockaddr__;
  if (!is_next(descriptor)) return syscall(SYS_sendto, descriptor, bytes, count, flags, name, length);
  struct iovec piece = {(void*)(uintptr_t)bytes, count};
  const struct msghdr message = {
      .msg_name = (void*)(uintptr_t)name, .msg_namelen = length, .msg_iov = &piece, .msg_iovlen = 1};
  return send_changed(descriptor, &message, flags);
}
EXPORT ssize_t send(int descriptor, const void* bytes, size_t count, int flags) {
  return sendto(descriptor, bytes, count, flags, (struct sockaddr*)NULL, 0);
}
EXPORT ssize_t write(int descriptor, const void* bytes, size_t count) {
  if (g_hostile && is_socket(descriptor))
    return sendto(descriptor, bytes, count, MSG_NOSIGNAL, (struct sockaddr*)NULL, 0);
  return syscall(SYS_write, descriptor, bytes, count);
}
EXPORT ssize_t writev(int descriptor, const struct iovec* pieces, int count) {
  if (!g_hostile || !is_socket(descriptor)) return syscall(SYS_writev, descriptor, pieces, count);
  const struct msghdr message = {.msg_iov = (struct iovec*)(uintptr_t)pieces, .msg_iovlen = (size_t)count};
  return sendmsg(descriptor, &message, MSG_NOSIGNAL);
}

struct map {
  unsigned char* start;
  size_t bytes;
};
/* What this process may write and others see. */
static size_t shared_maps(struct map* maps) {
  char line[512];
  size_t count = 0;
  FILE* const file = fopen("/proc/self/maps", "re");
  while (file != NULL && count < kMapsMax && fgets(line, sizeof line, file) != NULL) {
    unsigned long start, end;
    char rights[8];
    if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) != 3 || strcmp(rights, "rw-s") != 0) continue;
    if (strstr(line, "memfd") == NULL && strstr(line, "/dev/shm") == NULL) continue;
    maps[count++] = (struct map){(unsigned char*)start, end - start};
  }
  if (file != NULL) fclose(file);
  return count;
}
/* By way of the kernel: the memory may be gone meanwhile. */
static void scribble(const struct map* map) {
  const size_t limit = map->bytes > 16384 && any() % 2 == 0 ? 16384 : map->bytes;
  uint64_t word = 0;
  struct iovec own = {&word, sizeof word}, place = {map->start + (any() % limit & ~(size_t)7), sizeof word};
  if (process_vm_readv(getpid(), &own, 1, &place, 1, 0) != (ssize_t)sizeof word) return;
  switch (any() % 5) {
    case 0: word = any(); break;
    case 1: word = edge(); break;
    case 2: ++word; break;
    case 3: word -= 1 + any() % 64; break;
    default: word ^= (uint64_t)1 << any() % 64; break;
  }
  own.iov_len = place.iov_len = any() % 2 == 0 ? 4 : 8;
  process_vm_writev(getpid(), &own, 1, &place, 1, 0);
}
static void* scribble_on(void* every_us) {
  struct map maps[kMapsMax];
  const struct timespec pause = {0, (long)(uintptr_t)every_us * 1000};
  size_t count = 0;
  for (unsigned long i = 0;; ++i) {
    nanosleep(&pause, NULL);
    if (i % 500 == 0) count = shared_maps(maps);
    if (count > 0) scribble(&maps[any() % count]);
  }
  return NULL;
}

static int is_meant(const char* who) {
  char name[512] = "";
  if (who == NULL) return 0;
  if (strcmp(who, "odd") == 0) return getpid() % 2 == 1;
  if (strcmp(who, "even") == 0) return getpid() % 2 == 0;
  const ssize_t length = readlink("/proc/self/exe", name, sizeof name - 1);
  const char* const last = length > 0 ? strrchr(name, '/') : NULL;
  return last != NULL && strcmp(last + 1, who) == 0;
}
static void note(void) {
  char line[32];
  const char* const path = getenv("TWIN_NOTES");
  const int file = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const int length = snprintf(line, sizeof line, "%d\n", (int)getpid());
  if (file < 0) return;
  syscall(SYS_write, file, line, (size_t)length);
  close(file);
}
__attribute__((constructor)) static void begin(void) {
  const unsigned long every_us = setting("TWIN_SCRIBBLE_US", 0);
  pthread_t thread;
  if (!is_meant(getenv("TWIN_HOSTILE"))) return;
  g_hostile = 1;
  g_rate = setting("TWIN_RATE", g_rate);
  if (g_rate == 0) g_rate = 1;
  g_skip = setting("TWIN_SKIP", 0);
  g_state = 0x9E3779B97F4A7C15ULL ^ setting("TWIN_SEED", 1);
  for (int i = 0; i < 10; ++i) any();
  note();
  pthread_atfork(NULL, NULL, note);
  if (every_us > 0 && pthread_create(&thread, NULL, scribble_on, (void*)(uintptr_t)every_us) == 0)
    pthread_detach(thread);
}
