"""A program with few descriptors, little address space or a low limit of locked memory has as much of them as without
libexs_sockets.so. EXS_SOCKETS_LIBRARY is the library."""
import os
import subprocess
import sys
import tempfile
import unittest

from compared import LIBRARY, LIMIT_S, Compared

# Locks its memory as another user, up to a limit. Prints its size and the result. With one more word it has a
# connection first.
LOCKS = """
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
static int connects(void) {
  struct sockaddr_in name = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof name;
  char byte = 1;
  const int listener = socket(AF_INET, SOCK_STREAM, 0), near = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (void*)&name, length) != 0 || listen(listener, 1) != 0 || getsockname(listener, (void*)&name, &length) != 0) return 0;
  if (connect(near, (void*)&name, length) != 0) return 0;
  const int far = accept(listener, NULL, NULL);
  return write(near, &byte, 1) == 1 && read(far, &byte, 1) == 1;
}
int main(int count, char** arguments) {
  const rlim_t limit = strtoul(arguments[1], NULL, 10);
  const struct rlimit both = {limit, limit};
  unsigned long pages = 0;
  FILE* sizes = fopen("/proc/self/statm", "r");
  if (sizes == NULL || fscanf(sizes, "%lu", &pages) != 1) return 1;
  fclose(sizes);
  if (count > 2 && !connects()) return 3;
  if (setrlimit(RLIMIT_MEMLOCK, &both) != 0 || setgid(65534) != 0 || setuid(65534) != 0) return 2;
  printf("%lu %d\\n", pages * 4096, mlockall(MCL_CURRENT));
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

        size, _ = run(0, {})
        # A few MiB must suffice for a library that may serve thousands of connections.
        for words in (), ("connected",):
            with self.subTest(words):
                self.assertEqual(run(size + (3 << 20), {"LD_PRELOAD": LIBRARY}, *words)[1], 0)


if __name__ == "__main__":
    unittest.main()
