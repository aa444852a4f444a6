# SPDX-License-Identifier: BSD-2-Clause
"""A program with few descriptors, little address space or a low limit of locked memory has as much of them as without
libexs_sockets.so. EXS_SOCKETS_LIBRARY is the library."""
import os
import subprocess
import sys
import tempfile
import unittest

from compared import LIBRARY, LIMIT_S, Compared

# Locks its memory as another user, up to a limit. Prints its size and the result of mlockall(). The words say what it
# does: a connection before or after that, of one call or of many; what it locks; and a mapping in the end.
LOCKS = """
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
static int near, far;
static void take_turns(int count) {
  char byte = 1;
  for (; count > 0; --count)
    if (write(near, &byte, 1) != 1 || read(far, &byte, 1) != 1 || write(far, &byte, 1) != 1 || read(near, &byte, 1) != 1) exit(3);
}
static void connect_both(void) {
  struct sockaddr_in name = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof name;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  near = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (void*)&name, length) != 0 || listen(listener, 1) != 0 || getsockname(listener, (void*)&name, &length) != 0) exit(3);
  if (connect(near, (void*)&name, length) != 0) exit(3);
  far = accept(listener, NULL, NULL);
  take_turns(1);
}
int main(int count, char** words) {
  const rlim_t limit = strtoul(words[1], NULL, 10);
  const struct rlimit both = {limit, limit};
  unsigned long pages = 0;
  FILE* sizes = fopen("/proc/self/statm", "r");
  if (sizes == NULL || fscanf(sizes, "%lu", &pages) != 1) return 1;
  fclose(sizes);
  printf("%lu", pages * 4096);
  for (int i = 2; i < count; ++i) {
    const char* const word = words[i];
    if (strcmp(word, "connected") == 0) connect_both();
    if (strcmp(word, "met") == 0) take_turns(100);
    if (strcmp(word, "unread") == 0 && write(near, "unread", 6) != 6) return 3;
    char bytes[6];
    if (strcmp(word, "read") == 0 && (recv(far, bytes, 6, MSG_WAITALL) != 6 || memcmp(bytes, "unread", 6) != 0)) return 3;
    if (strcmp(word, "limited") == 0 && (setrlimit(RLIMIT_MEMLOCK, &both) != 0 || setgid(65534) != 0 || setuid(65534) != 0)) return 2;
    if (strcmp(word, "lock") == 0) printf(" %d", mlockall(MCL_CURRENT));
    if (strcmp(word, "lock-later") == 0) printf(" %d", mlockall(MCL_FUTURE));
    if (strcmp(word, "lock-all") == 0) printf(" %d", mlockall(MCL_CURRENT | MCL_FUTURE));
    if (strcmp(word, "map") == 0) printf(" %d", mmap(NULL, 1 << 18, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
    fflush(stdout);
  }
  puts("");
  return 0;
}
"""


OPEN_ALL = """
opened = []
try:
    while True:
        opened.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    print(len(opened), opened[-1], error.errno)
"""


class Scarce(Compared):
    def test_descriptors(self):
        self.compare("""
import resource
pairs = [pair() for _ in range(3)]
for one in pairs:
    take_turns(*one)
used = max(one.fileno() for two in pairs for one in two) + 1
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
more = pair()
take_turns(*more)
""" + OPEN_ALL)

    def test_descriptors_of_a_program_that_begins_with_few(self):
        program = """
import resource, socket, os
listener = socket.create_server(("127.0.0.1", 0))
near = socket.create_connection(listener.getsockname())
far = listener.accept()[0]
for _ in range(100):
    near.sendall(b"x")
    far.sendall(far.recv(1))
    near.recv(1)
""" + OPEN_ALL
        said = []
        for more in {}, {"LD_PRELOAD": LIBRARY, "EXS_SOCKETS": "after=1"}:
            said.append(subprocess.run(["prlimit", "--nofile=32:32", "setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-c", program],
                                       env={**os.environ, **more}, capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout)
        self.assertEqual(said[0], said[1])

    def test_address_space(self):
        self.compare("""
import mmap, resource
used = int(open("/proc/self/statm").read().split()[0]) * mmap.PAGESIZE
resource.setrlimit(resource.RLIMIT_AS, (used + (400 << 20), used + (400 << 20)))
pairs = [pair() for _ in range(300)]
for one in pairs:
    take_turns(*one, times=10)
memory = mmap.mmap(-1, 200 << 20)
print("there")
""")

    @unittest.skipIf(os.geteuid() != 0, "only root becomes another user")
    def test_memory_to_be_locked(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = folder.name + "/locks"
        subprocess.run(["gcc", "-w", "-x", "c", "-o", program, "-"], input=LOCKS, text=True, check=True, timeout=LIMIT_S)
        os.chmod(folder.name, 0o755)

        def run(limit, more, *words):
            done = subprocess.run([program, str(limit), *words], env={**os.environ, **more}, capture_output=True, text=True, timeout=LIMIT_S, check=True)
            return [int(word) for word in done.stdout.split()]

        (size,) = run(0, {})
        limit = size + (3 << 20)  # must suffice for a library that may serve thousands of connections
        for words in ("limited lock", "connected limited lock", "connected met limited lock met", "limited connected met lock met",
                      "connected met limited lock-all met map", "limited lock-all connected met map met", "limited lock-later connected met map met",
                      "connected met unread limited lock read met", "connected met unread limited lock-all unread read read met map"):
            for ring in "", ",ring=4k", ",ring=256k":
                with self.subTest(words, ring=ring):
                    expected = run(limit, {}, *words.split())[1:]
                    self.assertEqual(set(expected), {0})
                    layered = {"LD_PRELOAD": LIBRARY, "EXS_SOCKETS": "after=1" + ring}
                    self.assertEqual(run(limit, layered, *words.split())[1:], expected)


if __name__ == "__main__":
    unittest.main()
