/* A program that is linked with the library and has called exs_init() runs one thread and has no descriptor
 * open but the three it was given: loading starts nothing. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <exs/exs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How many entries `path` has, without . and .. */
static int entries_in(const char* path) {
  DIR* folder = opendir(path);
  int count = 0;
  if (folder == NULL) {
    perror(path);
    exit(1);
  }
  for (const struct dirent* entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) ++count;
  }
  closedir(folder);
  return count;
}

static int is_quiet(const char* when) {
  const int threads = entries_in("/proc/self/task");
  const int descriptors = entries_in("/proc/self/fd") - 1; /* the one that looks */
  printf("%s: %d thread(s), %d descriptor(s)\n", when, threads, descriptors);
  return threads == 1 && descriptors == 3;
}

int main(int argc, char** argv) {
  int quiet = 1;
  if (argc == 1) { /* whoever started us may have left descriptors open: begin again without them */
    char again[] = "again";
    char* arguments[] = {argv[0], again, NULL};
    if (close_range(3, ~0U, 0) != 0) perror("close_range");
    execv("/proc/self/exe", arguments);
    perror("execv");
    return 1;
  }
  quiet &= is_quiet("after loading");
  if (exs_init(EXS_VERSION) != 0) {
    perror("exs_init");
    return 1;
  }
  quiet &= is_quiet("after exs_init");
  if (exs_fini() != 0) {
    perror("exs_fini");
    return 1;
  }
  quiet &= is_quiet("after exs_fini");
  return quiet ? 0 : 1;
}
