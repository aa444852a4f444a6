# SPDX-License-Identifier: BSD-2-Clause
"""Programs that cannot load libexs_sockets.so, started by one that has it. They must run as without it, with nothing on
their standard error. EXS_SOCKETS_LIBRARY is the library. The test needs a compiler, and musl-gcc for a program with
another C library."""
import os
import shutil
import subprocess
import tempfile
import unittest

from compared import LIBRARY, LIMIT_S

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  const char* preload = getenv("LD_PRELOAD");
  printf("hello %s\\n", preload == NULL ? "alone" : preload);
  return 0;
}
"""


class Children(unittest.TestCase):
    def make(self, *compiler):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = folder.name + "/hello"
        subprocess.run([*compiler, "-x", "c", "-o", path, "-"], input=PROGRAM, text=True, check=True, timeout=LIMIT_S)
        return path

    def expect(self, path, said, preload=LIBRARY):
        ways = {
            "a shell": ["sh", "-c", path + "; exit $?"],
            "a script's interpreter": ["sh", "-c", path + ".sh; exit $?"],
            "a search": ["env", "PATH=" + os.path.dirname(path), "hello"],
            "posix_spawn": ["/usr/bin/python3", "-c", "import os, sys\nos.waitpid(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)", path],
        }
        with open(path + ".sh", "w", encoding="utf-8") as script:
            script.write("#!" + path + "\n")
        os.chmod(path + ".sh", 0o755)
        for name, command in ways.items():
            with self.subTest(by=name):
                done = subprocess.run(command, env={**os.environ, "LD_PRELOAD": preload}, capture_output=True, text=True, timeout=LIMIT_S, check=False)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, said, ""))

    @unittest.skipIf(shutil.which("musl-gcc") is None, "needs musl-gcc")
    def test_of_another_c_library(self):
        self.expect(self.make("musl-gcc"), "hello alone\n")

    def test_with_an_address_sanitizer(self):
        self.expect(self.make("gcc", "-fsanitize=address"), "hello alone\n")

    def test_other_libraries_are_still_loaded(self):
        path = self.make("gcc", "-fsanitize=address")
        folder = os.path.dirname(path)
        subprocess.run(["gcc", "-shared", "-x", "c", "-o", folder + "/libother.so", "/dev/null"], check=True, timeout=LIMIT_S)
        runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True, timeout=LIMIT_S).stdout.strip()
        others = os.path.realpath(runtime) + ":" + folder + "/libother.so"
        self.expect(path, "hello " + others + "\n", preload=os.path.realpath(runtime) + ":" + LIBRARY + ":" + folder + "/libother.so")

    def test_one_that_can_load_it_does(self):
        self.expect(self.make("gcc"), "hello " + LIBRARY + "\n")


if __name__ == "__main__":
    unittest.main()
