/* Programs written to Listing 2 of the paper: three processes that find each other by a list, each of the thirteen functions, and
 * what they refuse. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <ibvx/ibvx.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kProcs = 3, kPsl = 128 << 10, kMuch = 100000, kMore = 300000, kTag = 7, kContext = 3, kLimitS = 60 };

static int own_rank = -1;

#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "rank %d, line %d: %s (errno %d)\n", own_rank, __LINE__, #condition, errno); \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

static int fails_with(int outcome, int error) {
  return outcome == -1 && errno == error;
}

static char* pattern(int size, int seed) {
  char* const made = (char*)malloc((size_t)size);
  EXPECT(made != NULL);
  for (int i = 0; i < size; ++i) made[i] = (char)(seed + i * 31 + i / 251);
  return made;
}

static void expect_pattern(const char* bytes, int size, int seed) {
  char* const wanted = pattern(size, seed);
  EXPECT(memcmp(bytes, wanted, (size_t)size) == 0);
  free(wanted);
}

/* Nobody else gets the port as long as the socket is there. */
static int hold_port(void) {
  const int holder = socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  struct sockaddr_in address;
  socklen_t length = sizeof address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT(setsockopt(holder, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0);
  EXPECT(bind(holder, (struct sockaddr*)&address, length) == 0);
  EXPECT(getsockname(holder, (struct sockaddr*)&address, &length) == 0);
  return ntohs(address.sin_port);
}

/* ---- the programs: rank 0 is told of by the others when they have come so far ---- */

static void meet(void) {
  for (int rank = 0; rank < kProcs; ++rank)
    if (rank != own_rank) EXPECT(IBV_Send(NULL, 0, rank, kTag, 0) == 0);
  for (int rank = 0; rank < kProcs; ++rank)
    if (rank != own_rank) EXPECT(IBV_Recv(NULL, 0, rank, kTag, 0, NULL) == 0);
}

static void blocking(void) {
  Status status;
  char got[16] = "";
  if (own_rank == 1) EXPECT(IBV_Send("hello", 6, 0, kTag, kContext) == 0);
  if (own_rank == 2) EXPECT(IBV_Ssend("there", 6, 0, kTag + 1, kContext) == 0);
  if (own_rank != 0) return;
  EXPECT(IBV_Probe(2, ANY_TAG, kContext, &status) == 0);
  EXPECT(status.source == 2 && status.tag == kTag + 1 && status.size == 6 && status.error == 0);
  EXPECT(IBV_Recv(got, sizeof got, 2, kTag + 1, kContext, NULL) == 0);
  EXPECT(strcmp(got, "there") == 0);
  EXPECT(IBV_Recv(got, sizeof got, ANY_SOURCE, ANY_TAG, kContext, &status) == 0);
  EXPECT(strcmp(got, "hello") == 0);
  EXPECT(status.source == 1 && status.tag == kTag && status.size == 6 && status.error == 0);
  EXPECT(IBV_Iprobe(ANY_SOURCE, ANY_TAG, kContext, &status) == 0);
}

/* A send up to psl returns though nobody receives, and its memory is free. */
static void ahead(void) {
  char* bytes = pattern(kMuch, 1);
  Status status;
  Request request;
  if (own_rank == 1) {
    EXPECT(IBV_Send(bytes, kMuch, 0, kTag, kContext) == 0);
    memset(bytes, 0, kMuch);
    free(bytes);
    bytes = pattern(kMuch, 2);
    EXPECT(IBV_Isend(bytes, kMuch, 0, kTag, kContext, &request) == 0);
    EXPECT(IBV_Test(&request, &status) == 1);
    EXPECT(status.source == 0 && status.size == kMuch && status.error == 0);
    memset(bytes, 0, kMuch);
    EXPECT(IBV_Issend(bytes, kMuch, 0, kTag + 1, kContext, &request) == 0);
    EXPECT(IBV_Test(&request, NULL) == 0);
    EXPECT(IBV_Send(NULL, 0, 0, kTag + 2, kContext) == 0); /* only now rank 0 receives */
    EXPECT(IBV_Wait(&request, &status) == 0);
    EXPECT(status.source == 0 && status.tag == kTag + 1);
    EXPECT(IBV_Wait(&request, NULL) == 0); /* it is over */
  } else if (own_rank == 0) {
    EXPECT(IBV_Recv(NULL, 0, 1, kTag + 2, kContext, NULL) == 0);
    for (int seed = 1; seed <= 2; ++seed) {
      EXPECT(IBV_Recv(bytes, kMuch, 1, kTag, kContext, NULL) == 0);
      expect_pattern(bytes, kMuch, seed);
    }
    EXPECT(fails_with(IBV_Recv(bytes, 10, 1, kTag + 1, kContext, &status), EMSGSIZE));
    EXPECT(status.size == kMuch && status.error == EMSGSIZE);
  }
  free(bytes);
}

/* Longer than psl: it is over when it is received. */
static void rendezvous(void) {
  char* const bytes = pattern(kMore, 3);
  Request request;
  if (own_rank == 2) {
    EXPECT(IBV_Isend(bytes, kMore, 0, kTag, kContext, &request) == 0);
    EXPECT(IBV_Test(&request, NULL) == 0);
    EXPECT(IBV_Send(NULL, 0, 0, kTag + 1, kContext) == 0);
    EXPECT(IBV_Wait(&request, NULL) == 0);
  } else if (own_rank == 0) {
    memset(bytes, 0, kMore);
    EXPECT(IBV_Recv(NULL, 0, 2, kTag + 1, kContext, NULL) == 0);
    EXPECT(IBV_Irecv(bytes, kMore, 2, kTag, kContext, &request) == 0);
    EXPECT(IBV_Wait(&request, NULL) == 0);
    expect_pattern(bytes, kMore, 3);
  }
  free(bytes);
}

static void* send_to_self(void* unused) {
  static Request late;
  char byte = 'z';
  /* As long as the other thread sleeps in IBV_Peek, it hears of this one alone. */
  EXPECT(IBV_Isend(&byte, 1, own_rank, kTag, kContext, &late) == 0);
  return unused == NULL ? &late : NULL;
}

/* Each request is told once, by its address, whichever way it ended. */
static void peeking(void) {
  enum { kRequests = 6 };
  static char* bytes[kRequests];
  Request requests[kRequests];
  int told[kRequests] = {0};
  if (own_rank == 2) return;
  const int sizes[kRequests] = {1, 40000, kMuch, kMore, 0, kMore};
  for (int i = 0; i < kRequests; ++i) {
    bytes[i] = pattern(sizes[i] + 1, i);
    if (own_rank == 1)
      EXPECT(IBV_Isend(bytes[i], sizes[i], 0, i, kContext, &requests[i]) == 0);
    else
      EXPECT(IBV_Irecv(bytes[i], sizes[i], 1, i, kContext, &requests[i]) == 0);
  }
  for (int i = 0; i < kRequests; ++i) {
    Request* const found = IBV_Peek();
    EXPECT(found >= requests && found < requests + kRequests);
    EXPECT(told[found - requests]++ == 0);
    EXPECT(IBV_Wait(found, NULL) == 0);
  }
  for (int i = 0; i < kRequests; ++i) {
    if (own_rank == 0) expect_pattern(bytes[i], sizes[i], i);
    free(bytes[i]);
  }
  /* A send that ends as it begins wakes who waits here. */
  pthread_t thread;
  void* late = NULL;
  char byte = 0;
  EXPECT(pthread_create(&thread, NULL, send_to_self, NULL) == 0);
  Request* const found = IBV_Peek();
  EXPECT(pthread_join(thread, &late) == 0);
  EXPECT(found != NULL && (void*)found == late);
  EXPECT(IBV_Wait(found, NULL) == 0);
  EXPECT(IBV_Recv(&byte, 1, own_rank, kTag, kContext, NULL) == 0 && byte == 'z');
}

static void refusals(void) {
  Request request;
  EXPECT(fails_with(IBV_Send(NULL, 8, 1, kTag, kContext), EINVAL));
  EXPECT(fails_with(IBV_Send(NULL, -1, 1, kTag, kContext), EINVAL));
  EXPECT(fails_with(IBV_Ssend(NULL, 0, kProcs, kTag, kContext), EINVAL));
  EXPECT(fails_with(IBV_Recv(NULL, -1, 1, kTag, kContext, NULL), EINVAL));
  EXPECT(fails_with(IBV_Isend(NULL, 0, 1, ANY_TAG, kContext, &request), EINVAL));
  EXPECT(fails_with(IBV_Isend(NULL, 0, 1, kTag, kContext, NULL), EFAULT));
  EXPECT(fails_with(IBV_Irecv(NULL, 0, -1, kTag, kContext, &request), EINVAL));
  EXPECT(fails_with(IBV_Irecv(NULL, -1, 1, kTag, kContext, &request), EINVAL));
  EXPECT(fails_with(IBV_Wait(NULL, NULL), EFAULT));
  EXPECT(fails_with(IBV_Iprobe(1, kTag, -1, NULL), EINVAL));
  EXPECT(fails_with(IBV_Probe(kProcs, kTag, kContext, NULL), EINVAL));
}

static void refusals_outside(void) {
  Request request;
  char host[] = "127.0.0.1";
  char none[] = "no such host";
  char* hosts[] = {host, none};
  int ports[] = {70000, 70001};
  EXPECT(fails_with(IBV_Init(NULL, NULL, 1, 0, 0), EFAULT));
  EXPECT(fails_with(IBV_Init(hosts, NULL, 0, 0, 0), EINVAL));
  EXPECT(fails_with(IBV_Init(hosts, NULL, 1, 1, 0), EINVAL));
  EXPECT(fails_with(IBV_Init(hosts, NULL, 1, 0, -1), EINVAL));
  EXPECT(fails_with(IBV_Init(hosts, ports, 2, 0, 0), EINVAL));
  EXPECT(fails_with(IBV_Init(hosts, NULL, 2, 0, 0), EINVAL));
  EXPECT(fails_with(IBV_Finalize(), ENOTCONN));
  EXPECT(fails_with(IBV_Send(NULL, 0, 0, 0, 0), ENOTCONN));
  EXPECT(fails_with(IBV_Isend(NULL, 0, 0, 0, 0, &request), ENOTCONN));
  EXPECT(IBV_Peek() == NULL && errno == ENOTCONN);
}

static int live(char** names, int* list, int rank) {
  own_rank = rank;
  alarm(kLimitS);
  EXPECT(IBV_Init(names, list, kProcs, rank, kPsl) == 0);
  EXPECT(fails_with(IBV_Init(names, list, kProcs, rank, kPsl), EISCONN));
  void (*const programs[])(void) = {blocking, ahead, rendezvous, peeking, refusals};
  for (size_t i = 0; i < sizeof programs / sizeof *programs; ++i) {
    programs[i]();
    meet();
  }
  EXPECT(IBV_Finalize() == 0);
  EXPECT(fails_with(IBV_Finalize(), ENOTCONN));
  return 0;
}

static int run(char** names, int* list) {
  int failed = 0;
  for (int rank = 0; rank < kProcs; ++rank) {
    const pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) exit(live(names, list, rank));
  }
  for (int rank = 0; rank < kProcs; ++rank) {
    int status = 0;
    EXPECT(wait(&status) > 0);
    failed |= status;
  }
  return failed != 0;
}

int main(void) {
  char host[] = "127.0.0.1";
  char* hosts[kProcs] = {host, host, host};
  char with_port[kProcs][32];
  char* names[kProcs];
  int ports[kProcs];
  int ranks[kProcs] = {2, 0, 1};
  refusals_outside();
  for (int i = 0; i < kProcs; ++i) {
    ports[i] = hold_port();
    names[i] = with_port[i];
    snprintf(with_port[i], sizeof with_port[i], "127.0.0.1:%d", hold_port());
  }
  return run(hosts, ports) | run(names, ranks) | run(names, NULL);
}
