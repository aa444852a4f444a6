# SPDX-License-Identifier: BSD-2-Clause
"""iperf3 both ways, with several connections."""
import json
import time
import unittest

from servers import LIMIT_S, ServerTest, free_port

BUSY = "the server is busy running a test. try again later"


class Iperf3(ServerTest):
    def measure(self, port, direction, environment):
        """Asks again while the server has not put the previous test away: a client ends before its server does."""
        end = time.monotonic() + LIMIT_S
        while True:
            told, log = self.client(["iperf3", "-c", "127.0.0.1", "-p", port, "-t", "1", "-P", "3", "-l", "64K", "-J", *direction],
                                    environment)
            result = json.loads(told)
            if result.get("error") != BUSY or time.monotonic() >= end:
                return result, log

    def play(self, environment):
        port = str(free_port())
        folder = self.folder()
        server = self.start(["iperf3", "-s", "-p", port], environment, int(port), folder)
        log = ""
        for direction in ([], ["-R"]):
            result, more = self.measure(port, direction, environment)
            self.assertNotIn("error", result)
            self.assertGreater(result["end"]["sum_received"]["bytes"], 1_000_000)
            self.assertGreaterEqual(result["end"]["sum_sent"]["bytes"], result["end"]["sum_received"]["bytes"])
            log += more
        return [], log + server.end()

    def test_bytes_arrive(self):
        self.needs("iperf3")
        self.compare(self.play)


if __name__ == "__main__":
    unittest.main()
