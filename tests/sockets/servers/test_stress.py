# SPDX-License-Identifier: BSD-2-Clause
"""stress-ng's work on sockets and descriptors, with its own checks."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from servers import LAYERED, LIMIT_S, ServerTest, free_ports, layer, ring_bytes

# The stressors, their counts, and their ports, as offsets from the first of several in a row.
STRESSORS = {
    "all": ["--sock", "2", "--sock-ops", "60", "--sock-port", 0, "--sockmany", "1", "--sockmany-ops", "40", "--sockmany-port", 2,
            "--epoll", "2", "--epoll-domain", "ipv4", "--epoll-ops", "200", "--epoll-port", 4, "--sockfd", "1", "--sockfd-ops", "2000",
            "--poll", "1", "--poll-ops", "1000", "--splice", "1", "--splice-ops", "1000", "--sendfile", "1", "--sendfile-ops", "50",
            "--dup", "1", "--dup-ops", "5", "--vfork", "1", "--vfork-ops", "200"],
    "sock by sendmsg": ["--sock", "2", "--sock-ops", "60", "--sock-opts", "sendmsg", "--sock-nodelay", "--sock-port", 0],
    "sock by sendmmsg": ["--sock", "1", "--sock-ops", "30", "--sock-opts", "sendmmsg", "--sock-zerocopy", "--sock-port", 0],
}
RUNS_TO_MEET = 10
PORTS = 12  # four for each worker of --epoll


class Stress(ServerTest):
    def play(self, options, environment):
        """Returns (what must be the same, the layer's lines)."""
        with tempfile.TemporaryDirectory() as folder:
            first = free_ports(PORTS)
            words = [str(word + first) if isinstance(word, int) else word for word in options]
            done = subprocess.run(["stress-ng", "--verify", "--timeout", str(LIMIT_S), *words], cwd=folder,
                                  env={**os.environ, **environment}, capture_output=True, text=True, timeout=2 * LIMIT_S, check=False)
        lines = [re.sub(r"\[\d+\]|in [0-9.]+s", "", line) for line in (done.stdout + done.stderr).splitlines()]
        told = [line for line in lines if not line.startswith("exs-sockets: ")]
        return (done.returncode, told), done.stderr

    def test_it_is_the_same(self):
        self.needs("stress-ng")
        for stressor, options in STRESSORS.items():
            expected, _ = self.play(options, {})
            for name, words in LAYERED.items():
                with self.subTest(stressor=stressor, layer=name):
                    found, log = self.play(options, layer(words))
                    self.assertEqual(found, expected)
                    if (stressor, name) == ("all", "short"):
                        # Short connections may end before their ends have met. One of several runs must show a meeting.
                        for _ in range(RUNS_TO_MEET):
                            if ring_bytes(log) > 0:
                                break
                            _, log = self.play(options, layer(words))
                        self.assertGreater(ring_bytes(log), 0, f"nothing went through shared memory: {log[-2000:]}")


if __name__ == "__main__":
    unittest.main()
